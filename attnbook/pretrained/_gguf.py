"""GGUF, the file format of llama.cpp: facts by name, then tensors, here of the kinds we need.

Of a quantised tensor 32 neighbours in a row share a scale, and in Q4_1 a least value.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = 3
_STRING, _ARRAY = 8, 9
_NUMBERS = dict(zip([0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12], "BbHhIif?Qqd", strict=True))


class Tensor(NamedTuple):
    """Where a tensor lies in its file: its shape as NumPy has it, its kind, its first byte."""

    shape: tuple[int, ...]
    kind: int
    start: int


class Kind(NamedTuple):
    """How numbers are stored: so many bytes hold so many of them, and what makes them float32."""

    nbytes: int
    numbers: int
    expand: Callable[[NDArray[np.uint8]], NDArray[np.float32]]


def read_header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return a file's facts, and where its tensors lie; no tensor is read."""
    if file.read(4) != b"GGUF":
        raise ValueError("not a GGUF file: it must begin with the letters GGUF")
    if (version := _number(file, "I")) != VERSION:
        raise ValueError(f"GGUF version must be {VERSION}, got {version}")
    num_tensors, num_facts = _number(file, "Q"), _number(file, "Q")
    facts = {_string(file): _value(file, _number(file, "I")) for _ in range(num_facts)}
    tensors = {}
    for _ in range(num_tensors):
        name = _string(file)
        sizes = [_number(file, "Q") for _ in range(_number(file, "I"))]
        tensors[name] = Tensor(tuple(sizes[::-1]), _number(file, "I"), _number(file, "Q"))
    step = facts.get("general.alignment", 32)
    start = -(-file.tell() // step) * step  # the tensors' offsets count from here
    return facts, {
        name: tensor._replace(start=start + tensor.start) for name, tensor in tensors.items()
    }


def read_tensor(file: BinaryIO, tensor: Tensor) -> NDArray[np.float32]:
    """Return a tensor's numbers, in float32."""
    if tensor.kind not in KINDS:
        raise ValueError(f"kind of tensor must be one of {sorted(KINDS)}, got {tensor.kind}")
    nbytes, numbers, expand = KINDS[tensor.kind]
    file.seek(tensor.start)
    raw = file.read(math.prod(tensor.shape) // numbers * nbytes)
    return expand(np.frombuffer(raw, np.uint8).reshape(-1, nbytes)).reshape(tensor.shape)


def _f32(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    return blocks.view("<f4").astype(np.float32)  # a copy, which may be written to


def _q8_0(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A scale, then 32 whole numbers from -128 to 127."""
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return scale * blocks[:, 2:].view(np.int8)


def _q4_1(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A scale, a least value, then 16 bytes: the first 16 numbers in the low 4 bits of each."""
    scale, least = blocks[:, :4].copy().view("<f2").astype(np.float32).T[..., None]
    codes = blocks[:, 4:]
    numbers: NDArray[np.float32] = np.hstack([codes & 15, codes >> 4]) * scale
    numbers += least
    return numbers


KINDS = {0: Kind(4, 1, _f32), 3: Kind(20, 32, _q4_1), 8: Kind(34, 32, _q8_0)}


def _number(file: BinaryIO, letter: str) -> Any:
    form = struct.Struct("<" + letter)
    return form.unpack(file.read(form.size))[0]


def _string(file: BinaryIO) -> str:
    return file.read(_number(file, "Q")).decode()


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        inner, length = _number(file, "I"), _number(file, "Q")
        return [_value(file, inner) for _ in range(length)]
    return _number(file, _NUMBERS[kind])
