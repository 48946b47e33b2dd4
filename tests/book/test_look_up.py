"""The pages to look things up in: what they list is what there is."""

import functools
import importlib
import inspect
import json
import pkgutil
import re

import numpy as np
import pytest

import attnbook
from course.chapters import ROOT, cells, chapters
from course.pages import MASKS, mask_conventions

package = importlib.import_module("book._ext.package")
API = (ROOT / "book/api.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "book/glossary.md").read_text(encoding="utf-8")
MASK_PAGE = (ROOT / "book/masks.md").read_text(encoding="utf-8")
DATA = json.loads(MASKS.read_text(encoding="utf-8"))
LABELS = {label for chapter in chapters() for label in chapter.sections}
MODULES = re.findall(r"automodule:: (\S+)", API)
TAUGHT = package.taught()
SEARCHED = """RoPE, GQA, MQA, BERT, GPT, bfloat16, FlashAttention, NaN, reshape, transpose,
    embedding, -inf, layer norm, KV cache, causal mask, padding mask, teacher forcing,
    residual connection, cross-attention, self-attention, autoregressive, decoder-only,
    encoder-only, additive mask, RMSNorm, KV heads, ALiBi, logits, temperature, [CLS],
    attention sink, induction head, positional encoding, query, key, value, head,
    d_model, broadcasting, softmax, special tokens, online softmax, logsumexp, prefill, decode,
    sliding window, receptive field, arithmetic intensity, memory-bound, linear attention,
    blockwise attention, paged attention, speculative decoding, ring attention,
    activation checkpointing, backpropagation, gradient, gradient check, cross-entropy, Adam,
    learning rate, warm-up, alignment, activation patching, beam search, greedy decoding,
    byte pair encoding, BPE, tokenizer, chat template, sampling, nucleus sampling, top-p,
    residual stream, logit lens, ablation, weight tying, SwiGLU, FLOPs, mask, batch, dropout,
    context length"""


@functools.cache
def texts():
    """Return the text and code of each page of a chapter."""
    pages = [page for chapter in chapters() for page in chapter.notebooks]
    read = [cells(page, "markdown", "code") for page in pages]
    return ["\n".join(cell["source"] for cell in found) for found in read]


def section(label):
    """Return the text and code from a label to the next."""
    for text in texts():
        _, label_line, rest = text.partition(f"({label})=\n")
        if label_line:
            return re.split(r"^\([\w-]+\)=$", rest, flags=re.M)[0]
    raise KeyError(label)


# The package


@functools.cache
def public():
    """Return the functions and classes that are anybody's, by their paths in attnbook."""
    of_checkers, things_by_path = "attnbook.exercises", {}
    for module_info in pkgutil.walk_packages(attnbook.__path__, "attnbook."):
        module = importlib.import_module(module_info.name)
        if not module_info.name.startswith(of_checkers) and "._" not in module_info.name:
            for name, thing in inspect.getmembers(module, callable):
                if thing.__module__ == module_info.name and name[0] != "_":
                    things_by_path[package.imported(module_info.name, name)[0]] = thing
    return things_by_path


def test_the_page_lists_each_module_that_has_something_public():
    assert {thing.__module__ for thing in public().values()} <= set(MODULES)
    assert "attnbook.exercises" in MODULES


def test_each_public_name_is_taught_somewhere_and_no_other():
    names = {path for path in public() if not path.startswith("plotting.")}
    assert names <= set(TAUGHT), "each name stands under [teaches] in one chapter.toml"
    assert set(TAUGHT) <= names, "what stands under [teaches] is there"


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_section_that_teaches_is_one_of_its_chapter(chapter):
    texts = [cell["source"] for page in chapter.notebooks for cell in cells(page, "markdown")]
    labels = set(re.findall(r"^\((sec-[\w-]+)\)=$", "\n".join(texts), re.M))
    assert set(chapter.teaches.values()) <= labels


@pytest.mark.parametrize("path", TAUGHT)
def test_the_section_that_teaches_a_name_has_it(path):
    things, text = public(), section(TAUGHT[path])
    names = [path]
    if inspect.isclass(things[path]):  # or what returns it, or has it as a field
        names += [
            other
            for other, label in TAUGHT.items()
            if label == TAUGHT[path] and things[other].__module__ == things[path].__module__
        ]
    assert any(re.search(rf"\b{name.rpartition('.')[2]}\b", text) for name in names)


def test_the_table_of_wishes_is_short():
    wishes = API.partition("| I want …")[2].partition("\n\n")[0]
    assert 15 <= wishes.count("\n") - 1 <= 25


def test_the_package_is_installed_as_the_readme_says():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    clone = re.search(r"^git clone .+$", API, re.M)[0]
    assert clone in readme.splitlines()
    assert "`pip install .` in this folder" in readme
    assert f"{clone}\npip install ./attnbook" in API


def introduced(name):
    lines = ["Docstring."]
    package.introduce(None, "function", name, None, None, lines)
    return lines


def test_a_function_says_how_it_is_imported():
    (first, *_) = introduced("attnbook.functional.softmax")
    assert first.startswith("``from attnbook import softmax``")
    assert ":ref:`sec-softmax`" in first
    (of_two, *_) = introduced("attnbook.toys.translator.loss_and_gradient")
    expected = "``from attnbook.toys import translator``, then ``translator.loss_and_gradient``"
    assert of_two.startswith(expected)
    assert ":ref:`sec-other-parts`" in of_two
    plotted = introduced("attnbook.plotting.attention_heatmap")
    assert plotted == ["``from attnbook.plotting import attention_heatmap``", "", "Docstring."]
    assert introduced("attnbook.layers.MultiHeadAttention.init") == ["Docstring."]


def test_a_source_link_leads_to_the_lines_that_define_it():
    about = {"module": "attnbook.layers", "fullname": "MultiHeadAttention.init"}
    address, first, last = re.fullmatch(
        r"https://.+/blob/main/(.+)#L(\d+)-L(\d+)", package.source_address("py", about)
    ).groups()
    lines = (ROOT / address).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
    assert "def init(" in "\n".join(lines[:3])
    assert "\n".join(lines).count("def ") == 1


# The glossary


def glossary():
    """Return the lines of each entry: its words, and below them what they mean."""
    body = re.search(r"```\{glossary\}\n(.+?)\n```", GLOSSARY, re.S)[1]
    return [entry.splitlines() for entry in body.split("\n\n")]


def out_of_order(words):
    """List the words that stand before one of an earlier letter; signs do not count."""
    keys = [re.sub(r"[\W_]+", " ", word).strip().casefold() for word in words]
    return [word for word, key, after in zip(words, keys, keys[1:], strict=False) if key > after]


def test_the_entries_of_the_glossary_are_in_alphabetical_order():
    assert out_of_order(["ALiBi", "[CLS]", "d_model", "-inf"]) == []
    assert out_of_order(["online softmax", "learning rate", "padding"]) == ["online softmax"]
    assert not out_of_order([entry[0] for entry in glossary()])


def test_the_glossary_has_what_people_search_for_with_links_that_exist():
    entries = glossary()
    terms = [line for entry in entries for line in entry if not line.startswith(" ")]
    assert set(re.split(r",\s+", SEARCHED)) <= set(terms)
    assert len(terms) == len(set(terms))
    assert all(len([line for line in entry if line.startswith("  ")]) == 1 for entry in entries)
    assert set(re.findall(r"\]\((sec-[\w-]+)\)", GLOSSARY)) <= LABELS
    unlinked = [entry[0] for entry in entries if "](sec-" not in entry[-1]]
    assert not unlinked


def test_the_largest_numbers_of_the_short_floats():
    entry = re.search(r"^bfloat16\n  (.+)$", GLOSSARY, re.M)[1]
    half = np.finfo(np.float16)
    assert f"float16 has {half.nmant + 1} bits and ends at {half.max:.0f}" in entry
    (bits,) = map(int, re.findall(r"only (\d+) significant bits", entry))
    assert f"beyond {2**bits} " in entry
    # bfloat16 is the upper half of a float32, which has 24 bits, 16 of them in the lower half.
    assert bits == np.finfo(np.float32).nmant + 1 - 16


# Masks in every library


def test_each_row_of_the_table_says_what_was_recorded():
    _, *rows = list(mask_conventions())
    outcomes = {"zeros": "zeros", "nan": "NaN", "mean of all values": "mean of *all* values"}
    means = {"mask": "`True`: may attend", "~mask": "**`True`: blocked**"}
    means["additive"] = "`0`: may attend, `-inf`: blocked"
    flagged = 0
    for row, line in zip(DATA["rows"], rows, strict=True):
        library, call, entry, shape, empty = line.strip("| ").split(" | ")
        assert library == f"{row['library']} {DATA['made_with'][row['library']]}"
        argument, dtype = call.partition("<br>")[2].split(", ")
        assert call.startswith(f"`{row['function']}`<br>")
        assert f"{argument.strip('`')}, {dtype}" == row["argument"]
        assert (entry, shape) == (means[row["recipe"]], row["axes"])
        assert type(np.array(row["given"], dtype=object).flat[0]).__name__ == dtype
        before = ""
        for empty_row in DATA["empty_rows"]:
            if empty_row["call"].startswith(row["call"]):
                flag, _, fused = empty_row["argument"].partition("; ")[2].partition(", ")
                gives = outcomes[empty_row["gives"]]
                if fused:
                    again = re.findall(r", and (.+) again in the fused kernel \(below\)$", empty)
                    assert again == [gives] * (gives != before)
                elif flag:
                    parts = re.split(r", (?:but|and) ", empty)
                    (flags,) = [p.removeprefix(f"{gives} with ") for p in parts if "`" in p]
                    assert f"`{flag}`" in flags.split(" or ")
                else:
                    assert re.split(", (?:but|and) ", empty)[0] == gives
                before = gives
                flagged += bool(flag)
    assert flagged + len(rows) == len(DATA["empty_rows"])


def test_the_translations_on_the_page_give_what_the_libraries_were_given():
    namespace = {"np": np, "num_heads": 1, "len_q": 2, "len_k": 5} | {
        name: np.array(DATA[name]) for name in ("mask", "padding", "query")
    }
    namespace["causal_mask"] = attnbook.causal_mask
    for code in re.findall(r"```python\n(.+?)```", MASK_PAGE, re.S):
        exec(code, namespace)
    assert (namespace["mask"] == np.array(DATA["mask"])).all()  # there and back
    names = {"~mask": "blocked", "additive": "bias", "mask": "mask"}
    shaped = {"(batch, 1, len_q, len_k)": "with_heads", "(batch, len_k)": "key_padding_mask"}
    for row in DATA["rows"]:
        array = np.array(row["given"], dtype=float)
        if row["of"] == "mask":
            value = namespace[names[row["recipe"]]]
            assert (value.reshape(array.shape) == array).all()
        if (row["recipe"] == "mask" and row["axes"] in shaped) or row["of"] == "padding":
            assert np.array_equal(namespace[shaped[row["axes"]]], array)
        if row["recipe"] == "~mask" and row["of"] == "mask":
            assert np.array_equal(namespace["folded"], array)


def test_where_the_causal_masks_of_pytorch_begin():
    assert len(DATA["causal"]) == 2
    for flags, weights in DATA["causal"].items():
        argument = flags.replace("2", "len_q").replace("5", "len_k")
        (code,) = re.findall(rf"^(\w+ = .+?)  # torch: {re.escape(argument)}$", MASK_PAGE, re.M)
        namespace = {"np": np, "causal_mask": attnbook.causal_mask, "len_q": 2, "len_k": 5}
        exec(f"mask = {code}", namespace)
        zeros = np.zeros((2, 1)), np.zeros((5, 1))
        ours = attnbook.scaled_dot_product_attention(*zeros, np.eye(5), namespace["mask"]).output
        np.testing.assert_allclose(ours, weights)
    query, key = np.ones((2, 1)), np.ones((5, 1))
    ours = attnbook.blockwise_attention(query, key, np.eye(5), causal=True).output
    np.testing.assert_allclose(ours, weights)  # the last: as in a cache


def test_an_additive_mask_may_end_in_a_finite_number():
    back = re.search(r"^mask = .+$", MASK_PAGE, re.M)[0]
    mask = np.array(DATA["mask"])
    for lowest in (-np.inf, -1e9, np.finfo(np.float32).min, np.finfo(np.float16).min):
        namespace = {"np": np, "bias": np.where(mask, 0.0, lowest)}
        exec(back, namespace)
        assert (namespace["mask"] == mask).all()
    there = re.search(r"^bias = .+$", MASK_PAGE, re.M)[0]
    namespace = {"np": np, "mask": mask, "query": np.ones(1, np.float32)}
    exec(there, namespace)
    assert namespace["bias"].dtype == np.float32


def test_heads_are_folded_into_the_batch_entry_by_entry():
    code = re.search(r"^folded = .+$", MASK_PAGE, re.M)[0]
    namespace = {"np": np, "num_heads": 3, "mask": np.random.default_rng(0).random((2, 5, 7)) < 0.5}
    exec(code, namespace)
    split = namespace["folded"].reshape(2, 3, 5, 7)
    assert (split == ~namespace["mask"][:, None]).all()


def test_a_mask_of_integers_is_refused_and_why():
    for dtype in (int, float):
        with pytest.raises(TypeError):
            attnbook.scaled_dot_product_attention(
                np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 2), dtype)
            )
    assert ~np.int64(1) == -2
    assert "the integer 1 into −2" in MASK_PAGE
