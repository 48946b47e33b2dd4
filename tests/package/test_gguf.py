"""The reader of GGUF, on files made here: facts of every kind, tensors against plain loops."""

import io
import struct

import numpy as np
import pytest

from attnbook.pretrained._gguf import KINDS, read_header, read_tensor

F32, Q4_1, Q8_0 = 0, 3, 8
FACTS = [
    ("a.byte", 0, "B", 250),
    ("a.signed", 1, "b", -5),
    ("a.short", 2, "H", 65_000),
    ("a.signed.short", 3, "h", -30_000),
    ("a.number", 4, "I", 4_000_000_000),
    ("a.signed.number", 5, "i", -2_000_000_000),
    ("a.float", 6, "f", 0.5),
    ("a.truth", 7, "?", True),
    ("a.long", 10, "Q", 2**63 + 5),
    ("a.signed.long", 11, "q", -(2**62)),
    ("a.double", 12, "d", 0.1),
]


def text(string):
    return struct.pack("<Q", len(string.encode())) + string.encode()


def made(tensors, *, magic=b"GGUF", version=3, facts=(), step=32):
    """Return a file: facts of all kinds, then tensors (name, NumPy's shape, kind, bytes)."""
    head = magic + struct.pack("<IQQ", version, len(tensors), len(FACTS) + 2 + len(facts))
    for name, kind, letter, number in [*FACTS, *facts]:
        head += text(name) + struct.pack("<I" + letter, kind, number)
    head += text("a.string") + struct.pack("<I", 8) + text("Ġgrüße")
    head += text("a.list") + struct.pack("<IIQ", 9, 8, 3) + b"".join(map(text, ("x", "", "yz")))
    data = b""
    for name, shape, kind, raw in tensors:
        sizes = shape[::-1]
        head += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, len(data))
        data += raw + bytes(-len(raw) % step)
    return io.BytesIO(head + bytes(-len(head) % step) + data)


def read(tensors, **how):
    file = made(tensors, **how)
    facts, places = read_header(file)
    return facts, {name: read_tensor(file, place) for name, place in places.items()}


def test_facts_of_every_kind_are_read():
    facts, _ = read([])
    for name, _, _, number in FACTS:
        assert facts[name] == number
        assert type(facts[name]) is type(number)
    assert facts["a.string"] == "Ġgrüße"
    assert facts["a.list"] == ["x", "", "yz"]


def test_a_tensor_of_plain_numbers_is_read_by_rows():
    numbers = np.arange(15, dtype="<f4").reshape(3, 5) / 7
    _, tensors = read([("first", (3,), F32, bytes(12)), ("plain", (3, 5), F32, numbers.tobytes())])
    np.testing.assert_array_equal(tensors["plain"], numbers)
    np.testing.assert_array_equal(tensors["first"], np.zeros(3))


@pytest.mark.parametrize("step", [8, 64, 128, 256, 4096])
def test_where_tensors_begin_follows_the_alignment_that_the_file_names(step):
    numbers = np.arange(5, dtype="<f4")
    aligned = [("general.alignment", 4, "I", step)]
    two = [("one", (3,), F32, bytes(12)), ("two", (5,), F32, numbers.tobytes())]
    _, tensors = read(two, facts=aligned, step=step)
    np.testing.assert_array_equal(tensors["two"], numbers)


def q8_0(rng, shape):
    """Return random bytes of this kind, and the numbers by a plain loop."""
    raw, numbers = b"", []
    for _ in range(np.prod(shape) // 32):
        scale = np.float16(rng.normal())
        whole = rng.integers(-128, 128, 32)
        raw += scale.tobytes() + bytes(int(n) % 256 for n in whole)
        numbers += [float(scale) * int(n) for n in whole]
    return raw, np.array(numbers).reshape(shape)


def q4_1(rng, shape):
    raw, numbers = b"", []
    for _ in range(np.prod(shape) // 32):
        scale, least = np.float16(rng.normal()), np.float16(rng.normal())
        codes = [int(n) for n in rng.integers(0, 16, 32)]
        raw += scale.tobytes() + least.tobytes()
        raw += bytes(codes[i] + 16 * codes[i + 16] for i in range(16))
        numbers += [float(scale) * code + float(least) for code in codes]
    return raw, np.array(numbers).reshape(shape)


@pytest.mark.parametrize(("kind", "made_of"), [(Q8_0, q8_0), (Q4_1, q4_1)])
def test_a_quantised_tensor_is_what_a_plain_loop_makes_of_it(kind, made_of):
    rng = np.random.default_rng(kind)
    (raw, expected), (other, _) = made_of(rng, (5, 96)), made_of(rng, (3, 32))
    _, tensors = read([("other", (3, 32), kind, other), ("it", (5, 96), kind, raw)])
    assert tensors["it"].dtype == np.float32
    assert tensors["it"].shape == (5, 96)
    np.testing.assert_allclose(tensors["it"], expected, rtol=1e-6, atol=1e-6)


def test_numbers_that_were_read_may_be_written_to():
    rng = np.random.default_rng(2)
    raws = {F32: bytes(128), Q8_0: q8_0(rng, (32,))[0], Q4_1: q4_1(rng, (32,))[0]}
    assert raws.keys() == KINDS.keys()
    _, tensors = read([(f"kind{kind}", (32,), kind, raw) for kind, raw in raws.items()])
    for numbers in tensors.values():
        numbers += 1


@pytest.mark.parametrize(
    ("how", "message"),
    [({"magic": b"GGML"}, "must begin with the letters GGUF"), ({"version": 2}, "be 3, got 2")],
)
def test_a_file_of_another_format_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        read([], **how)


def test_a_tensor_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"one of \[0, 3, 8\], got 14"):
        read([("it", (256,), 14, bytes(210))])
