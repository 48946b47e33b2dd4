"""Where a token stands: encodings that are added, rotations, and a bias on the scores."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from attnbook._checks import check_count, check_lengths, check_positions, check_sequences, promote

__all__ = ["Alibi", "Placed", "Positions", "Rotary", "Sinusoidal", "Sizes", "alibi_bias"]
__all__ += ["apply_rotary", "relative_rotation", "sinusoidal_encoding"]

Pairing = Literal["interleaved", "halves"]


def sinusoidal_encoding(
    length_or_positions: ArrayLike, d_model: int, *, base: float = 10000.0
) -> NDArray[np.float64]:
    """Give each position a vector of sines and cosines of d_model/2 frequencies.

    ``encoding[p, 2j] = sin(p w_j)`` and ``encoding[p, 2j+1] = cos(p w_j)`` with the
    frequency ``w_j = base**(-2j/d_model)``, in radians per position :cite:p:`vaswani2017`.

    Parameters
    ----------
    length_or_positions : int, for positions ``0 ... length-1``, or (..., len), may be fractions
    d_model : int, even
    base : float

    Returns
    -------
    (..., len, d_model)

    Raises
    ------
    ValueError, TypeError
        If sizes are negative, d_model odd, positions not finite, or numbers not of their kind.

    Examples
    --------
    >>> sinusoidal_encoding(2, 4).round(2)
    array([[0.  , 1.  , 0.  , 1.  ],
           [0.84, 0.54, 0.01, 1.  ]])
    """
    positions = np.asarray(length_or_positions)
    if positions.ndim:
        positions = check_positions("length_or_positions", positions, positions.shape)
    else:
        positions = np.arange(check_count("length_or_positions", positions[()], 0))
    return _sinusoids(positions, d_model, base)


def _sinusoids(positions: NDArray[Any], d_model: int, base: float) -> NDArray[np.float64]:
    angles = positions[..., None] * _frequencies("d_model", d_model, base)  # (..., len, d_model/2)
    encoding = np.empty((*positions.shape, d_model))
    encoding[..., 0::2], encoding[..., 1::2] = np.sin(angles), np.cos(angles)
    return encoding


def relative_rotation(offset: float, d_model: int, *, base: float = 10000.0) -> NDArray[np.float64]:
    """Build the rotation that moves every sinusoidal encoding by the same offset.

    ``encoding[p + offset] = relative_rotation(offset, d_model) @ encoding[p]`` for every
    ``p`` :cite:p:`vaswani2017`. ``apply_rotary`` turns the other way, as RoFormer's matrix does.

    Parameters
    ----------
    offset : float, in positions; negative moves towards the start
    d_model : int, even
    base : float

    Returns
    -------
    (d_model, d_model), orthogonal; block j turns the plane (sine, cosine) by ``offset * w_j``

    Raises
    ------
    ValueError
        If d_model is odd or not positive, or base not positive.

    Examples
    --------
    >>> relative_rotation(np.pi / 2, 2).round(2)
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    angles = offset * _frequencies("d_model", d_model, base)
    sine, cosine = np.arange(0, d_model, 2), np.arange(1, d_model, 2)
    rotation = np.zeros((d_model, d_model))
    rotation[sine, sine] = rotation[cosine, cosine] = np.cos(angles)
    rotation[sine, cosine] = np.sin(angles)
    rotation[cosine, sine] = -np.sin(angles)
    return rotation


def apply_rotary(
    x: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    base: float = 10000.0,
    pairing: Pairing = "interleaved",
) -> NDArray[np.floating]:
    """Rotate queries or keys by their positions: scores then depend on offsets only (RoPE).

    At position p, pair j turns by the angle ``a = p * base**(-2j/head_dim)``: ``(x0, x1)`` becomes
    ``(x0 cos a - x1 sin a, x0 sin a + x1 cos a)`` :cite:p:`su2024`.

    Parameters
    ----------
    x : (..., len, head_dim), head_dim even
    positions : (len,) or any shape that broadcasts to (..., len), ``0 ... len-1`` by default
    base : float
    pairing : pair j is (2j, 2j+1) if "interleaved", (j, j + head_dim/2) if "halves"

    Returns
    -------
    Shape and dtype of x (float64 for integers)

    Raises
    ------
    ValueError, TypeError
        If head_dim is odd, positions do not fit or are not finite numbers, base is not positive.

    Examples
    --------
    >>> apply_rotary([[1, 0], [1, 0]], [0, np.pi / 2]).round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    (x,), dtype = promote(x=x)
    turn = _turn_for("x", x, positions, base, pairing)
    return _rotated(x, turn, pairing).astype(dtype, copy=False)


def _turn_for(
    name: str, x: NDArray[np.floating], positions: ArrayLike | None, base: float, pairing: Pairing
) -> NDArray[np.complexfloating]:
    """Check what a rotation is given, and return by what x is multiplied."""
    check_sequences(False, **{name: x})
    _check_pairing(pairing)
    positions = np.arange(x.shape[-2]) if positions is None else positions
    positions = check_positions("positions", positions, x.shape[:-1])
    return _turn(positions, x.shape[-1], base, x.dtype)


def _turn(
    positions: NDArray[Any], head_dim: int, base: float, dtype: DTypeLike
) -> NDArray[np.complexfloating]:
    """Return ``cos a + i sin a``, by which each pair of each position is multiplied."""
    turns = positions[..., None] * (_frequencies("head_dim", head_dim, base) / (2 * np.pi))
    # Whole turns change nothing, and float32, which is fast, is exact near 0.
    turns -= np.rint(turns)
    angles = (2 * np.pi * turns).astype(dtype)  # (..., len, head_dim/2)
    turn = np.empty(angles.shape, np.result_type(dtype, np.complex64))
    turn.real, turn.imag = np.cos(angles), np.sin(angles)
    return turn


def _rotated(
    x: NDArray[np.floating], turn: NDArray[np.complexfloating], pairing: Pairing
) -> NDArray[np.floating]:
    """Multiply pairs of numbers, taken as the two parts of a complex one."""
    if pairing == "interleaved":  # as the two parts lie in memory
        if x.strides[-1] != x.itemsize:
            x = np.ascontiguousarray(x)
        rotated: NDArray[np.floating] = (x.view(turn.dtype) * turn).view(x.dtype)
        return rotated
    half = x.shape[-1] // 2
    pairs = np.empty((*x.shape[:-1], half), turn.dtype)  # (..., len, head_dim/2)
    pairs.real, pairs.imag = x[..., :half], x[..., half:]
    pairs *= turn
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def alibi_bias(num_heads: int, len_q: int, len_k: int | None = None) -> NDArray[np.float64]:
    """Lower each score by a slope, one for each head, times the distance (ALiBi).

    ``bias[h, i, j] = -slope[h] * |i + len_k - len_q - j|``: the last query is at the last key.
    Slopes are ``2**(-8 (h+1) / num_heads)`` for a power of two :cite:p:`press2022`; for another
    number, those of the next lower power, then every other one of its double, as the authors do.

    Parameters
    ----------
    num_heads, len_q : int
    len_k : int, optional, as long as len_q by default

    Returns
    -------
    (num_heads, len_q, len_k), to be added to scaled scores; keys after the query are for the mask

    Raises
    ------
    ValueError
        If num_heads is not positive, or a length negative.

    Examples
    --------
    >>> alibi_bias(8, 2, 3)[:2].tolist()
    [[[-0.5, 0.0, -0.5], [-1.0, -0.5, 0.0]], [[-0.25, 0.0, -0.25], [-0.5, -0.25, 0.0]]]
    """
    num_heads = check_count("num_heads", num_heads)
    len_q, len_k = check_lengths(len_q, len_k)
    return _alibi(num_heads, np.arange(len_k - len_q, len_k), np.arange(len_k))


def _alibi(
    num_heads: int, query_positions: NDArray[Any], key_positions: NDArray[Any]
) -> NDArray[np.float64]:
    power = 1 << (num_heads.bit_length() - 1)  # of two, the largest that is not above num_heads
    doubled = 2.0 ** (-8 * np.arange(1, 2 * power + 1) / (2 * power))
    slopes = np.concatenate([doubled[1::2], doubled[0::2]])[:num_heads]
    distance = abs(query_positions[..., None] - key_positions[..., None, :])
    bias: NDArray[np.float64] = slopes[:, None, None] * -distance[..., None, :, :]
    return bias  # (..., num_heads, len_q, len_k)


def _frequencies(name: str, size: int, base: float) -> NDArray[np.float64]:
    size = operator.index(size)
    if size < 1 or size % 2:
        raise ValueError(f"{name} must be positive and even, got {size}")
    _check_base(base)
    return base ** (-np.arange(0, size, 2) / size)


def _check_base(base: float) -> None:
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")


def _check_pairing(pairing: str) -> None:
    if pairing not in ("interleaved", "halves"):
        raise ValueError(f"pairing must be 'interleaved' or 'halves', got {pairing!r}")


class Sizes(NamedTuple):
    """What a scheme of positions may need to know of the decoder that it is in."""

    d_model: int
    num_heads: int
    head_dim: int
    dtype: np.dtype[Any]


class Placed(NamedTuple):
    """Where positions enter a decoder: its embeddings, its queries and keys, its scores.

    Embeddings become ``x * scale + added``, ``added`` (..., len, d_model); ``turn`` is called with
    queries and with keys (..., heads, len, head_dim); ``bias`` (..., num_heads, len_q, len_k) is
    added to the scores. To be trained, ``turn`` at ``-positions`` must undo what it does, as a
    rotation does.
    """

    scale: float = 1.0
    added: NDArray[np.floating] | None = None
    turn: Callable[[NDArray[np.floating]], NDArray[np.floating]] | None = None
    bias: NDArray[np.floating] | None = None


class Positions(Protocol):
    """What a decoder asks of its positions: to be told where they enter."""

    def place(self, positions: NDArray[Any], key_positions: NDArray[Any], sizes: Sizes) -> Placed:
        """Say what changes for tokens at these positions (..., len) that see keys at others."""


def _placed(
    scheme: Positions | None, positions: NDArray[Any], key_positions: NDArray[Any], sizes: Sizes
) -> Placed:
    """Ask a decoder's positions, if it has some, where they enter."""
    return Placed() if scheme is None else scheme.place(positions, key_positions, sizes)


@dataclass(frozen=True)
class Rotary:
    """Positions of a decoder that turn its queries and keys, as ``apply_rotary`` does.

    Parameters
    ----------
    base, pairing : as in ``apply_rotary``

    Raises
    ------
    ValueError
        If the base is not positive, or the pairing another.
    """

    base: float = 10000.0
    pairing: Pairing = "interleaved"

    def __post_init__(self) -> None:
        _check_base(self.base)
        _check_pairing(self.pairing)

    def place(self, positions: NDArray[Any], key_positions: NDArray[Any], sizes: Sizes) -> Placed:
        """Turn the tokens' queries and keys."""
        turn = _turn(positions, sizes.head_dim, self.base, sizes.dtype)
        turn = np.expand_dims(turn, -3)  # (..., 1, len, head_dim/2)
        return Placed(turn=lambda heads: _rotated(heads, turn, self.pairing))


@dataclass(frozen=True)
class Sinusoidal:
    """Positions of a decoder that are added, ``x * sqrt(d_model) + sinusoidal_encoding``.

    Parameters
    ----------
    base : float, as in ``sinusoidal_encoding``

    Raises
    ------
    ValueError
        If the base is not positive.
    """

    base: float = 10000.0

    def __post_init__(self) -> None:
        _check_base(self.base)

    def place(self, positions: NDArray[Any], key_positions: NDArray[Any], sizes: Sizes) -> Placed:
        """Add each position's encoding to the embedding of its token."""
        added = _sinusoids(positions, sizes.d_model, self.base)
        return Placed(scale=math.sqrt(sizes.d_model), added=added)


@dataclass(frozen=True)
class Alibi:
    """Positions of a decoder that lower its scores by distance, as ``alibi_bias`` does."""

    def place(self, positions: NDArray[Any], key_positions: NDArray[Any], sizes: Sizes) -> Placed:
        """Bias the scores."""
        return Placed(bias=_alibi(sizes.num_heads, positions, key_positions))
