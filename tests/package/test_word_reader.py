"""The reader of words, against PyTorch's GRU; its words and counts."""

import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from attnbook.pretrained import word_reader
from attnbook.pretrained.word_reader import GRU, WordReader

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "attnbook/data"
GOLDEN = json.loads((Path(__file__).parent / "golden/g2p.json").read_text())
READER, COUNTS = word_reader.load(), word_reader.by_length()
SAMPLE, JOINED = word_reader.facts("g2p")["sample"], word_reader.joined()


def test_states_and_answers_are_those_of_pytorch():
    words = list(GOLDEN["answers"])
    assert len(words) > 40
    assert {len(word) for word in words} >= {1, 2, 3, 5, 7, 9, 11, 13, 15, 16, 17}
    states = READER.encode(words)  # words of many lengths at once
    np.testing.assert_allclose(states[:, ::17], list(GOLDEN["states"].values()), atol=1e-12)
    said = READER.decode(states)
    assert [" ".join(each) for each in said] == list(GOLDEN["answers"].values())
    for word, answer in zip(words[::11], said[::11], strict=True):
        assert READER(word) == answer
    published = GOLDEN["as published"]
    assert sum(published[word] != GOLDEN["answers"][word] for word in words) <= 1


def test_a_step_is_the_formula_one_number_at_a_time():
    rng = np.random.default_rng(0)
    layer = GRU(*(rng.standard_normal(shape) for shape in ((5, 9), (3, 9), (9,))))
    before, symbols = rng.standard_normal((2, 3)), [4, 0]
    after = layer.step(np.array(symbols), before)
    for n, symbol in enumerate(symbols):

        def old(i, n=n):
            return sum(before[n, j] * layer.w_h[j, i] for j in range(3)) + layer.b_h[i]

        for i in range(3):
            new = layer.inputs[symbol]
            reset = 1 / (1 + math.exp(-(new[i] + old(i))))
            update = 1 / (1 + math.exp(-(new[3 + i] + old(3 + i))))
            candidate = math.tanh(new[6 + i] + reset * old(6 + i))
            expected = (1 - update) * candidate + update * before[n, i]
            assert math.isclose(after[n, i], expected, rel_tol=1e-12)


def test_large_sums_are_no_overflow():
    layer = GRU(np.full((1, 3), -1e4), np.zeros((1, 3)), np.zeros(3))
    assert layer.step(np.array([0]), np.ones((1, 1))).tolist() == [[-1]]


def test_who_has_ended_says_nothing_more_and_none_says_more_than_twenty():
    # A decoder whose state does not matter: it says its first phoneme, then the end.
    silent = GRU(np.zeros((4, 3)), np.zeros((1, 3)), np.zeros(3))
    after = GRU(np.array([[9.0] * 3, [0] * 3, [-9, -9, 9], [0] * 3]), silent.w_h, silent.b_h)
    brief = WordReader(("B", "AH"), silent, after, np.array([[0, 0, 0, 1.0]]), np.zeros(4))
    assert brief.decode(np.ones((3, 1))) == ((), (), ())
    endless = WordReader(("B", "AH"), silent, silent, np.zeros((1, 4)), np.array([0, 1.0, 0, 0]))
    assert endless.decode(np.zeros((2, 1))) == (("AH",) * 20,) * 2


def test_no_words_are_no_states():
    assert READER.encode([]).shape == (0, 256)
    assert READER.decode(READER.encode([])) == ()


def test_a_word_may_have_every_letter():
    assert READER.encode(["abcdefghijklmnopqrstuvwxyz"]).shape == (1, 256)


@pytest.mark.parametrize("word", ["", "Ball", "it's", "naïve", "a b", 3, None, ["a"]])
def test_what_is_no_word_of_letters_is_refused(word):
    message = f"words must be made of letters from a to z, got {word!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        READER.encode(["fine", word])


def plain(sounds):
    return re.sub(r"\d", "", " ".join(sounds))


def test_counts_over_the_dictionary_agree_with_the_words_that_are_shipped():
    assert COUNTS.length.tolist() == list(range(3, 18))
    shares = COUNTS.right / COUNTS.words
    # BOOK.md's measurement of the model as published, at five lengths.
    for length, share in ((3, 0.78), (7, 0.70), (11, 0.53), (15, 0.33), (17, 0.18)):
        assert abs(shares[length - 3] - share) < 0.035
    np.testing.assert_allclose(shares.round(2), (COUNTS.as_published / COUNTS.words).round(2))
    assert (COUNTS.joined_right <= COUNTS.pairs).all()

    said = READER.decode(READER.encode(SAMPLE))
    for length in range(3, 18, 2):
        drawn = [i for i, word in enumerate(SAMPLE) if len(word) == length]
        right = sum(said[i] in word_reader.pronunciations(SAMPLE[i]) for i in drawn)
        share, n = shares[length - 3], len(drawn)
        assert n == min(200, COUNTS.words[length - 3])
        assert abs(right / n - share) <= 3 * math.sqrt(share * (1 - share) / n)
    assert right == COUNTS.right[-1]  # of 17 letters all are shipped


def test_pairs_are_spelt_and_sound_like_the_word_they_make():
    assert len(set(JOINED)) == len(JOINED) == 697
    for pair in JOINED:
        whole = [plain(each) for each in word_reader.pronunciations("".join(pair))]
        first, second = (map(plain, word_reader.pronunciations(each)) for each in pair)
        seconds = list(second)
        assert any(f"{a} {b}" in whole for a in first for b in seconds)

    words = sorted({each for pair in JOINED for each in (*pair, "".join(pair))})
    said = dict(zip(words, READER.decode(READER.encode(words)), strict=True))
    good = {
        word for word in words if plain(said[word]) in map(plain, word_reader.pronunciations(word))
    }
    fifteen = [pair for pair in JOINED if len("".join(pair)) == 15]  # all there are
    assert len(fifteen) == COUNTS.pairs[12]
    assert sum("".join(pair) in good for pair in fifteen) == COUNTS.joined_right[12]
    assert sum(set(pair) <= good for pair in fifteen) == COUNTS.both_right[12]


@pytest.mark.parametrize("word", ["attention", "Ball", "", 7])
def test_a_word_that_is_not_shipped_has_no_pronunciation(word):
    message = f"word must be one of those shipped, got {word!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        word_reader.pronunciations(word)


def test_arrays_are_the_readers_own():
    for array in (READER.encoder.inputs, READER.decoder.b_h, READER.w_out, READER.b_out):
        assert array.dtype == np.float64
    mine = word_reader.load()
    mine.encoder.inputs[...] = 7
    mine.b_out[...] = 7
    counts = word_reader.by_length()
    counts.right[...] = 7
    assert word_reader.load()("ball") == ("B", "AO1", "L")
    assert word_reader.by_length().right[0] == COUNTS.right[0]


def test_provenance_and_licences_lie_beside_the_data():
    facts = json.loads((DATA / "g2p.json").read_text())
    readme = (DATA / "g2p.README.md").read_text()
    script = (ROOT / "tools/extract_g2p.py").read_text()
    for source in ("source", "words_source"):
        for about in facts[source].values():
            assert about in readme
            assert about in script
    for name in ("g2p.npz", "g2p.json"):
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() in readme
    for length, words, before, after in zip(*COUNTS[:4], strict=True):
        assert f"| {length} | {words:,} | {before:,} | {after:,} |" in readme
    assert f"{facts['answers_changed']:,} of the dictionary's" in readme
    assert "Apache License" in (DATA / "g2p.LICENSE.txt").read_text()
    assert "Carnegie Mellon" in (DATA / "g2p.words.LICENSE.txt").read_text()
    assert facts["licence"] == "Apache-2.0"


def test_the_new_models_take_less_than_a_megabyte():
    names = ("g2p.npz", "g2p.json", "romanizer.npz", "romanizer.json")
    assert sum((DATA / name).stat().st_size for name in names) < 1_000_000
