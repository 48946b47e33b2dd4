"""The exercises of the chapter Tell positions apart with sine and cosine."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs
from attnbook.exercises.mistakes import SIZES
from attnbook.positional import relative_rotation, sinusoidal_encoding

_BASE = "Right before, wrong for another base: is one fixed in the code?"
_PAIR = "Here d_model is 2: there is one pair, and its frequency is 1."


def _pairs(d_model: int) -> Array:
    return np.arange(d_model // 2)


def _right_frequencies(d_model: int, base: float) -> Array:
    return base ** (-2 * _pairs(d_model) / d_model)


_DEGREES = (
    "you take the angles for degrees: np.sin and np.cos work in radians, and position times "
    "frequency is in radians already."
)
_ALONE = "you raise the base to the power of -2 alone: put the whole exponent in parentheses."
_IN_REVERSE = "you have the frequencies in reverse: the first pair is the fastest."
_CUT = "you cut the numbers to integers: is the array that you fill one of integers?"
_FIXED_BASE = "you take 10000 for the base: use the one you are given."

# What can go wrong with the frequencies of the pairs, whatever they are needed for.
_FREQUENCY_MISTAKES = {
    "you give pair j the exponent -j / d_model: the pair counts twice, -2j / d_model.": (
        lambda d, base: base ** (-_pairs(d) / d)
    ),
    (
        "you give pair j the exponent -4j / d_model: either you divide by d_model / 2, or you "
        "double the number of a column, which is 2j already."
    ): lambda d, base: base ** (-4 * _pairs(d) / d),
    "you give pair j the exponent -(2j + 1) / d_model: the first pair has frequency 1.": (
        lambda d, base: base ** (-(2 * _pairs(d) + 1) / d)
    ),
    "you count the pairs from 1: the first is pair 0, with frequency 1.": (
        lambda d, base: base ** (-2 * (_pairs(d) + 1) / d)
    ),
    "you divide by d_model - 1 in the exponent: divide by d_model.": lambda d, base: (
        base ** (-2 * _pairs(d) / (d - 1))
    ),
    (
        "you divide by d_model - 2 in the exponent, so that the last pair ends at 1 / base, as some "
        "libraries do: divide by d_model."
    ): lambda d, base: base ** (-_pairs(d) / (d // 2 - 1)),
    "you do not divide the exponent by d_model.": lambda d, base: base ** (-2.0 * _pairs(d)),
    "you have lost the minus in the exponent, or divide by the frequency: it falls from 1 on.": lambda d, base: (
        base ** (2 * _pairs(d) / d)
    ),
    "you multiply the base with the exponent: raise it to that power.": lambda d, base: (
        base * (-2 * _pairs(d) / d)
    ),
    "you divide after the power: put the whole exponent, -2j / d_model, in parentheses.": (
        lambda d, base: base ** (-2.0 * _pairs(d)) / d
    ),
    _ALONE: lambda d, base: base**-2.0 * _pairs(d) / d,
    "you have np.exp without the logarithm of the base, so that the base makes no difference.": (
        lambda d, base: np.exp(-2 * _pairs(d) / d)
    ),
    "you take np.exp of a logarithm to base 10: np.log is the one that np.exp undoes.": (
        lambda d, base: np.exp(-2 * _pairs(d) / d * np.log10(base))
    ),
    "you give all pairs the frequency 1: pair j has base ** (-2j / d_model).": lambda d, base: (
        np.ones(d // 2)
    ),
    _IN_REVERSE: lambda d, base: _right_frequencies(d, base)[::-1],
    "you have frequencies in equal steps: each is the one before times the same factor.": (
        lambda d, base: np.linspace(1, 1 / base, d // 2)
    ),
    _DEGREES: lambda d, base: np.deg2rad(_right_frequencies(d, base)),
    "you multiply the angles by 2 pi: position times frequency is in radians already.": (
        lambda d, base: 2 * np.pi * _right_frequencies(d, base)
    ),
    _FIXED_BASE: lambda d, base: _right_frequencies(d, 10000.0),
}


def _but(mistakes: Any, *hints: Any) -> dict[str, Function]:
    """Leave out those mistakes that are right for an exercise, or the same as another there."""
    return {hint: wrong for hint, wrong in mistakes.items() if hint not in hints}


# sinusoidal


def _encode_cases(rng: np.random.Generator) -> Cases:
    def inputs(length: int, d_model: int, base: float) -> Inputs:
        return {"length": length, "d_model": d_model, "base": base}

    hint = (
        "Row 0 is 0, 1, 0, 1 and so on; row 1 starts with the sine and the cosine of 1. Which row "
        "or column is the first to differ?"
    )
    yield inputs(7, 10, 50.0), hint
    yield inputs(5, 22, 10000.0), _BASE
    yield (
        inputs(13, 6, 300),
        "Here the base is the integer 300: in NumPy a negative exponent of it must be a float.",
    )
    yield inputs(11, 2, 20.0), _PAIR
    yield inputs(1, 14, 100.0), "Here the length is 1: the result still has two axes."


def _encoded(
    frequencies: Function = _right_frequencies,
    positions: Function = np.arange,
    sine: Function = np.sin,
    cosine: Function = np.cos,
) -> Function:
    """Make an encoding out of frequencies, positions and two functions of the angles."""

    def encode(length: int, d_model: int, base: float) -> Array:
        angles = np.multiply.outer(positions(length), frequencies(d_model, base))
        return np.stack([sine(angles), cosine(angles)], axis=-1).reshape(length, d_model)

    return encode


def _by_column(exponents: Function) -> Function:
    """Make an encoding in which each column has a frequency of its own."""

    def encode(length: int, d_model: int, base: float) -> Any:
        column = np.arange(d_model)
        angles = np.arange(length)[:, None] * base ** exponents(column, d_model)
        return np.where(column % 2 == 0, np.sin(angles), np.cos(angles))

    return encode


def _rearranged(change: Function) -> Function:
    """Make an encoding from what is done to the right one."""
    return lambda length, d_model, base: change(sinusoidal_encoding(length, d_model, base=base))


def _halves(encoding: Array) -> Array:
    """Put all sines before all cosines."""
    return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)


def _by_position(length: int, d_model: int, base: float) -> Any:
    """Take sines in even rows, cosines in odd ones."""
    angles = np.repeat(_angles(length, d_model, base), 2, axis=1)
    return np.where(np.arange(length)[:, None] % 2 == 0, np.sin(angles), np.cos(angles))


def _angles(length: int, d_model: int, base: float) -> Array:
    return np.arange(length)[:, None] * _right_frequencies(d_model, base)


def _power_of_both(length: int, d_model: int, base: float) -> Array:
    """Divide the position by the base before the power."""
    angles = (np.arange(length)[:, None] / base) ** (2 * _pairs(d_model) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)


def _sum_of_both(length: int, d_model: int, base: float) -> Array:
    angles = np.add.outer(np.arange(length), _right_frequencies(d_model, base))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)


def _swapped_pairs(encoding: Array) -> Array:
    return encoding.reshape(len(encoding), -1, 2)[:, :, ::-1].reshape(encoding.shape)


# Those that keep the shape: a sum with another array still works.
_ENCODING_MISTAKES = {
    **{hint: _encoded(frequencies) for hint, frequencies in _FREQUENCY_MISTAKES.items()},
    (
        "you give odd columns an exponent of their own, 2j + 1: the cosine has the frequency of "
        "the sine beside it."
    ): _by_column(lambda column, d: -column / d),
    (
        "you double the number of the column, and odd ones get frequencies of their own: column "
        "2j + 1 has the frequency of column 2j."
    ): _by_column(lambda column, d: -2 * column / d),
    "you put all sines first, then all cosines: they alternate, pair by pair.": _rearranged(
        _halves
    ),
    "you put all cosines first, then all sines: they alternate, sine first.": _rearranged(
        lambda encoding: _halves(_swapped_pairs(encoding))
    ),
    "you have sine and cosine swapped: even columns are sines, and the first column is one.": (
        _rearranged(_swapped_pairs)
    ),
    "you have sines in all columns: odd ones are cosines.": _encoded(cosine=np.sin),
    "you have cosines in all columns: even ones are sines.": _encoded(sine=np.cos),
    "you turn the sign of the sines: is the minus of the exponent in the angle?": _encoded(
        sine=lambda angles: -np.sin(angles)
    ),
    "you turn the sign of the cosines.": _encoded(cosine=lambda angles: -np.cos(angles)),
    "you take sines for even positions and cosines for odd ones: it is the columns that alternate.": (
        _by_position
    ),
    "you count the positions from 1: they start at 0.": _encoded(
        positions=lambda length: np.arange(1, length + 1)
    ),
    "you count the positions down: they start at 0.": _rearranged(lambda encoding: encoding[::-1]),
    "you divide the positions by the length: they are 0, 1, 2 and so on.": _encoded(
        positions=lambda length: np.arange(length) / length
    ),
    "you spread the positions from 0 to 1: they are 0, 1, 2 and so on.": _encoded(
        positions=lambda length: np.linspace(0, 1, length)
    ),
    "you give all positions the same encoding: the angle is position times frequency.": _encoded(
        positions=np.ones
    ),
    "you raise the position to the power, too: only the base has the exponent.": _power_of_both,
    "you add position and frequency: multiply them.": _sum_of_both,
    "you return the angles: take their sine and cosine.": _encoded(
        sine=lambda angles: angles, cosine=lambda angles: angles
    ),
    "you set position 0 to zeros: its cosines are 1.": _encoded(
        cosine=lambda angles: np.where(np.arange(len(angles))[:, None] == 0, 0, np.cos(angles))
    ),
    _CUT: _rearranged(np.trunc),
    "you divide by the length of the vectors, sqrt(d_model / 2): leave sines and cosines as they are.": (
        _rearranged(lambda encoding: encoding / np.sqrt(encoding.shape[1] / 2))
    ),
    "you multiply the encoding by sqrt(d_model): leave sines and cosines as they are.": _rearranged(
        lambda encoding: encoding * np.sqrt(encoding.shape[1])
    ),
    "you divide the encoding by sqrt(d_model): leave sines and cosines as they are.": _rearranged(
        lambda encoding: encoding / np.sqrt(encoding.shape[1])
    ),
}


SINUSOIDAL = Exercise(
    call="encode(length, d_model, base)",
    reference=lambda length, d_model, base: sinusoidal_encoding(length, d_model, base=base),
    cases=_encode_cases,
    mistakes={
        **_ENCODING_MISTAKES,
        "you have the transpose: a row is a position, a column a sine or cosine.": _rearranged(
            np.transpose
        ),
        "you return the sines alone: each pair has two columns.": _rearranged(
            lambda encoding: encoding[:, 0::2]
        ),
        "you return the cosines alone: each pair has two columns.": _rearranged(
            lambda encoding: encoding[:, 1::2]
        ),
        "you return the angles alone, one for each pair: take the sine and the cosine of each.": (
            _angles
        ),
        "you return sines and cosines on an axis of their own: they alternate in the columns.": (
            _rearranged(lambda encoding: encoding.reshape(len(encoding), -1, 2))
        ),
        "you return all sines, then all cosines, on an axis of their own: let them alternate.": (
            _rearranged(lambda encoding: np.stack([encoding[:, 0::2], encoding[:, 1::2]]))
        ),
        "you return one row alone: is your return inside the loop, or your row overwritten?": (
            _rearranged(lambda encoding: encoding[-1])
        ),
        "you squeeze away an axis of length 1: keep two axes, whatever their lengths.": _rearranged(
            np.squeeze
        ),
        "you have d_model pairs, twice as many as there should be: d_model counts columns.": (
            lambda length, d_model, base: sinusoidal_encoding(length, 2 * d_model, base=base)
        ),
        "you have one position too many: they end at length - 1.": lambda length, d_model, base: (
            sinusoidal_encoding(length + 1, d_model, base=base)
        ),
    },
    clues={
        "[Ii]ntegers to negative integer powers": "Make the exponent a fraction before the power.",
        "broadcast (together|input)": (
            "Positions are rows and pairs are columns: length on one axis, d_model / 2 on the other."
        ),
        "out of bounds": "Pair j has the columns 2j and 2j + 1, so there are d_model / 2 pairs.",
        "cannot be interpreted as an integer": "Divide with // to get a whole number.",
    },
)


# rotation


def _rotation_cases(rng: np.random.Generator) -> Cases:
    def inputs(offset: float, d_model: int, base: float) -> Inputs:
        return {"offset": offset, "d_model": d_model, "base": base}

    hint = (
        "Write encode[p + offset] in the sines and cosines of p alone: that gives a block of 2 by 2 "
        "for each pair."
    )
    yield inputs(3, 10, 50.0), hint
    yield inputs(-2, 6, 10000.0), "Here the offset is negative and the base is 10000."
    yield inputs(5, 14, 300), SIZES
    yield inputs(0, 6, 20.0), "Here the offset is 0, so nothing moves."
    yield inputs(7, 2, 30.0), _PAIR


def _alternating(blocks: Any) -> Array:
    """Put blocks of 2 by 2, (pairs, 2, 2), on the diagonal."""
    pairs = len(blocks)
    matrix = np.zeros((pairs, 2, pairs, 2))
    matrix[np.arange(pairs), :, np.arange(pairs)] = blocks
    return matrix.reshape(2 * pairs, 2 * pairs)


def _in_halves(blocks: Any) -> Array:
    """Lay the blocks out for all sines before all cosines."""
    return np.block([[np.diag(blocks[:, i, j]) for j in range(2)] for i in range(2)])


def _blocked(
    block: Function,
    angle: Any = None,
    frequencies: Function = _right_frequencies,
    lay_out: Function = _alternating,
) -> Function:
    """Make a matrix of blocks, each a function of cosine and sine of one angle of its pair.

    ``angle(first, frequency)`` has the exercise's first argument.
    """

    def matrix(first: Any, d_model: int, base: float) -> Any:
        angles = angle(first, frequencies(d_model, base))
        blocks = np.array(block(np.cos(angles), np.sin(angles)))  # (2, 2, pairs)
        return lay_out(np.moveaxis(blocks, -1, 0))

    return matrix


def _move(offset: float, frequency: float) -> float:
    return offset * frequency


def _zero(number: Any) -> Any:
    return 0 * number


def _moved(block: Function | None = None, **others: Any) -> Function:
    return _blocked(block or _rotating, **{"angle": _move, **others})


def _rotating(c: Any, s: Any) -> list[list[Any]]:
    return [[c, s], [-s, c]]


def _turned_back(c: Any, s: Any) -> list[list[Any]]:
    return [[c, -s], [s, c]]


def _reflecting(c: Any, s: Any) -> list[list[Any]]:
    return [[-c, s], [s, c]]


def _right_rotation(offset: float, d_model: int, base: float) -> Array:
    return relative_rotation(offset, d_model, base=base)


def _corner_of_identity(blocks: Any) -> Array:
    matrix = np.eye(2 * len(blocks))
    matrix[:2, :2] = blocks[0]
    return matrix


def _corner_of_zeros(blocks: Any) -> Array:
    matrix = np.zeros((2 * len(blocks), 2 * len(blocks)))
    matrix[:2, :2] = blocks[0]
    return matrix


def _block_by_block(blocks: Any) -> Any:
    return blocks


def _with_ones(blocks: Any) -> Array:
    """Put the blocks on the diagonal, but leave ones around them."""
    return np.where(_alternating(np.ones_like(blocks)) == 0, 1, _alternating(blocks))


ROTATION = Exercise(
    call="rotation(offset, d_model, base)",
    reference=_right_rotation,
    cases=_rotation_cases,
    mistakes={
        (
            "you have the transpose, which moves by -offset: the matrix stands left of encode[p], a "
            "column of sine, cosine, sine and so on."
        ): _moved(_turned_back),
        "you return the identity: it moves nothing.": lambda offset, d_model, base: np.eye(d_model),
        "you lay the matrix out for all sines before all cosines: they alternate, pair by pair.": (
            _moved(lay_out=_in_halves)
        ),
        (
            "you lay the matrix out for all sines before all cosines, and it moves by -offset: they "
            "alternate, and the minus belongs to the row of the cosine."
        ): _moved(_turned_back, lay_out=_in_halves),
        "you have a plus at both sines: the cosine of a sum has a minus.": _moved(
            lambda c, s: [[c, s], [s, c]]
        ),
        "you have a minus at both sines: the sine of a sum has a plus.": _moved(
            lambda c, s: [[c, -s], [-s, c]]
        ),
        "you have sine and cosine swapped in the blocks.": _moved(lambda c, s: [[s, c], [-c, s]]),
        "you have sine and cosine swapped in the blocks, with a minus at a cosine.": _moved(
            lambda c, s: [[s, c], [c, -s]]
        ),
        (
            "you have a reflection, with a minus at a cosine: it turns the order of positions round, "
            "and a rotation keeps it."
        ): _moved(lambda c, s: [[c, s], [s, -c]]),
        "you have a reflection, which turns the order of positions round: a rotation keeps it.": (
            _moved(_reflecting)
        ),
        "you turn the sign of all the blocks.": _moved(lambda c, s: [[-c, -s], [s, -c]]),
        "you leave out the sines: a pair's new sine has a part of its old cosine.": _moved(
            lambda c, s: [[c, _zero(s)], [_zero(s), c]]
        ),
        "you leave out the cosines: a pair's new sine has a part of its old one.": _moved(
            lambda c, s: [[_zero(c), s], [-s, _zero(c)]]
        ),
        "you leave out the sine below the diagonal: the new cosine has a part of the old sine.": (
            _moved(lambda c, s: [[c, s], [_zero(s), c]])
        ),
        "you leave out the sine above the diagonal: the new sine has a part of the old cosine.": (
            _moved(lambda c, s: [[c, _zero(s)], [-s, c]])
        ),
        "you turn by the frequency alone: the offset multiplies it.": _moved(
            angle=lambda offset, frequency: frequency
        ),
        "you add offset and frequency: multiply them.": _moved(
            angle=lambda offset, frequency: offset + frequency
        ),
        "you divide the frequency by the offset: multiply them.": _moved(
            angle=lambda offset, frequency: frequency / offset
        ),
        "you move by offset - 1: is a position counted from 1?": _moved(
            angle=lambda offset, frequency: (offset - 1) * frequency
        ),
        "you move by offset + 1: is a position counted from 1?": _moved(
            angle=lambda offset, frequency: (offset + 1) * frequency
        ),
        "you move twice as far, by 2 * offset.": _moved(
            angle=lambda offset, frequency: 2 * offset * frequency
        ),
        "you turn by an offset in degrees, the same for all pairs: the angle is offset * frequency.": (
            _moved(angle=lambda offset, frequency: np.deg2rad(offset) + _zero(frequency))
        ),
        "you turn all pairs by the frequency of the last: each has its own.": _moved(
            angle=lambda offset, frequency: offset * frequency[-1] + _zero(frequency)
        ),
        "you turn by angles that grow from pair to pair: the offset does not depend on the pair.": (
            _moved(angle=lambda offset, frequency: offset * np.arange(len(frequency)) * frequency)
        ),
        "you lose the sign of the offset: a negative one moves towards the start.": _moved(
            angle=lambda offset, frequency: abs(offset) * frequency
        ),
        "you turn the first pair alone: the others turn, too.": _moved(lay_out=_corner_of_identity),
        "you turn the first pair alone and set the others to 0.": _moved(lay_out=_corner_of_zeros),
        "you return one block alone: there is one for each pair.": _moved(
            lay_out=lambda blocks: blocks[0]
        ),
        "you return the last block alone: is it overwritten in the loop?": _moved(
            lay_out=lambda blocks: blocks[-1]
        ),
        "you return the blocks one by one: put them on the diagonal of one matrix.": _moved(
            lay_out=_block_by_block
        ),
        "you start from ones: outside of the blocks there are zeros.": _moved(lay_out=_with_ones),
        "you start from the identity and add the blocks: start from zeros.": _moved(
            lay_out=lambda blocks: np.eye(2 * len(blocks)) + _alternating(blocks)
        ),
        "you shift columns by the offset: the encoding of another position has other numbers.": (
            lambda offset, d_model, base: np.roll(np.eye(d_model), offset, axis=0)
        ),
        "you return the matrix with ones beside its diagonal: that shifts columns, not positions.": (
            lambda offset, d_model, base: np.eye(d_model, k=offset)
        ),
        "you return the encoding of the offset: make a matrix that moves any position.": (
            lambda offset, d_model, base: _encoded(positions=lambda length: np.array([offset]))(
                1, d_model, base
            )[0]
        ),
        "you put the encoding of the offset on the diagonal: a pair's sine and cosine mix.": (
            lambda offset, d_model, base: np.diag(
                _encoded(positions=lambda length: np.array([offset]))(1, d_model, base)[0]
            )
        ),
        **{hint: _moved(frequencies=f) for hint, f in _FREQUENCY_MISTAKES.items()},
    },
    clues={
        "[Ii]ntegers to negative integer powers": "Make the exponent a fraction before the power.",
        "out of bounds": "Pair j has the rows and columns 2j and 2j + 1: d_model / 2 blocks.",
        "broadcast": "A block has 2 rows and 2 columns: 2j and 2j + 1.",
        "cannot be interpreted as an integer": "Divide with // to get a whole number.",
    },
)


# add-positions


def _add_cases(rng: np.random.Generator) -> Cases:
    def inputs(batch: int, length: int, d_model: int) -> Inputs:
        return {"x": rng.standard_normal((batch, length, d_model))}

    hint = (
        "Here batch and length are both 5, so no shape tells them apart: position is the second "
        "axis of x. What is result - x?"
    )
    yield inputs(5, 5, 6), hint
    yield inputs(3, 7, 10), "Here a batch of 3 sequences has 7 tokens each."
    yield inputs(11, 2, 14), SIZES
    yield {"x": rng.integers(-9, 10, (2, 5, 6))}, "Here x holds integers, and the result does not."


def _added(combine: Function) -> Function:
    """Make a sum, or another function, of x and its right encoding."""

    def add(x: Array) -> Any:
        return combine(x, sinusoidal_encoding(*x.shape[1:]))

    return add


def _added_rows(positions: Function) -> Function:
    """Add the encoding of other positions, as a function of the sizes of x: (batch, len)."""

    def add(x: Array) -> Any:
        p = np.broadcast_to(positions(*np.ogrid[: len(x), : x.shape[1]], x), x.shape[:2])
        table = sinusoidal_encoding(p.max() + 1, x.shape[2])
        return x + table[p]

    return add


_right_sum = _added(lambda x, encoding: x + encoding)


ADD_POSITIONS = Exercise(
    call="add_positions(x)",
    reference=_right_sum,
    cases=_add_cases,
    mistakes={
        (
            "you index the encoding by the batch, so all tokens of a sequence get the same vector: "
            "the position is the second axis of x."
        ): _added_rows(lambda b, p, x: b),
        "you give all tokens the encoding of position 0: each has its own.": _added_rows(
            lambda b, p, x: 0 * p
        ),
        "you give all tokens the encoding of the last position: each has its own.": _added_rows(
            lambda b, p, x: 0 * p + x.shape[1] - 1
        ),
        "you give all tokens the encoding that comes after the last, that of position len: each has its own.": (
            _added_rows(lambda b, p, x: 0 * p + x.shape[1])
        ),
        "you give all tokens the mean of the encodings: each has its own.": _added(
            lambda x, encoding: x + encoding.mean(axis=0)
        ),
        "you give all tokens the sum of the encodings: each has its own.": _added(
            lambda x, encoding: x + encoding.sum(axis=0)
        ),
        "you count on from one sequence to the next: each starts at position 0.": _added_rows(
            lambda b, p, x: b * x.shape[1] + p
        ),
        "you count position and sequence together: each sequence starts at position 0.": (
            _added_rows(lambda b, p, x: b + p)
        ),
        "you add to the first sequence alone: add to the whole batch.": _added(
            lambda x, encoding: x + encoding * (np.arange(len(x)) == 0)[:, None, None]
        ),
        "you return the first sequence alone: keep the whole batch.": _added(
            lambda x, encoding: x[0] + encoding
        ),
        "you add to the first token alone: is the encoding cut to integers, or a loop left too early?": _added(
            lambda x, encoding: x + encoding * (np.arange(x.shape[1]) == 0)[:, None]
        ),
        "you return the encoding alone: add it to x.": _added(lambda x, encoding: encoding),
        "you return the encoding for the whole batch: add it to x.": _added(
            lambda x, encoding: 0 * x + encoding
        ),
        "you return x as it is: add the encoding.": _added(lambda x, encoding: x),
        "you concatenate x and the encoding: add them.": _added(
            lambda x, encoding: np.concatenate([x, 0 * x + encoding], axis=2)
        ),
        "you concatenate the encoding and x: add them.": _added(
            lambda x, encoding: np.concatenate([0 * x + encoding, x], axis=2)
        ),
        "you put the encoding before the tokens, as tokens of its own: add it to them.": _added(
            lambda x, encoding: np.concatenate([0 * x + encoding, x], axis=1)
        ),
        "you put the encoding behind the tokens, as tokens of its own: add it to them.": _added(
            lambda x, encoding: np.concatenate([x, 0 * x + encoding], axis=1)
        ),
        "you multiply x by the encoding: add it.": _added(lambda x, encoding: x * encoding),
        "you subtract the encoding: add it.": _added(lambda x, encoding: x - encoding),
        "you add the encoding twice: once will do.": _added(lambda x, encoding: x + 2 * encoding),
        "you average x and the encoding: add them.": _added(lambda x, encoding: (x + encoding) / 2),
        (
            "you multiply x by sqrt(d_model), as some models do with embeddings: here x is added as "
            "it is."
        ): _added(lambda x, encoding: x * np.sqrt(x.shape[2]) + encoding),
        "you divide x by sqrt(d_model): add it as it is.": _added(
            lambda x, encoding: x / np.sqrt(x.shape[2]) + encoding
        ),
        "you multiply the sum by sqrt(d_model): add x and the encoding as they are.": _added(
            lambda x, encoding: (x + encoding) * np.sqrt(x.shape[2])
        ),
        "you scale the encoding by 0.1: add it as it is.": _added(
            lambda x, encoding: x + 0.1 * encoding
        ),
        "you add the number of the position: add its encoding.": _added(
            lambda x, encoding: x + np.arange(x.shape[1])[:, None]
        ),
        "you add the share of the length that is past: add the encoding of the position.": _added(
            lambda x, encoding: x + np.arange(x.shape[1])[:, None] / x.shape[1]
        ),
        "you add an encoding of features to each token, along the last axis: add one of positions.": (
            lambda x: x + sinusoidal_encoding(x.shape[2], 2 * x.shape[1])[:, ::2].T
        ),
        "you cut the result to integers, as x has them here: make an array of floats.": (
            lambda x: _right_sum(x).astype(x.dtype)
        ),
        "you round the encoding to integers, as x has them here: make an array of floats.": (
            lambda x: x + sinusoidal_encoding(*x.shape[1:]).astype(x.dtype)
        ),
        "you take 1000 for the base: it is 10000.": lambda x: (
            x + sinusoidal_encoding(*x.shape[1:], base=1000)
        ),
        **{
            hint: lambda x, encode=encode: x + encode(*x.shape[1:], 10000.0)
            for hint, encode in _but(_ENCODING_MISTAKES, _FIXED_BASE, _ALONE, _CUT).items()
        },
    },
    clues={
        "broadcast (together|input)": (
            "The encoding has a row for each token: make it (len, d_model), as the last two axes "
            "of x are."
        ),
        "Cannot cast ufunc": "You add fractions in place to integers: make a new array.",
        "out of bounds": "x has the axes batch, length and features: the position is the second.",
        "too many values|not enough values": "x has three axes: batch, length and features.",
    },
)


# offset-score


def _score_cases(rng: np.random.Generator) -> Cases:
    def inputs(offset: float, d_model: int, base: float) -> Inputs:
        return {"offset": offset, "d_model": d_model, "base": base}

    hint = (
        "Take the encodings of two positions 3 apart, say 0 and 3, and work out their dot product."
    )
    yield inputs(3, 10, 50.0), hint
    yield (
        inputs(-13, 6, 10000.0),
        (
            "Here the offset is negative, which changes nothing: cos is even. Does a negative index "
            "count from the end of a table?"
        ),
    )
    yield inputs(38, 14, 300), "Here the offset is 38: is the length of a table fixed in the code?"
    yield inputs(0, 22, 20.0), "Here the offset is 0, so every pair adds 1."
    yield inputs(3, 2, 30.0), f"{_PAIR} The score is negative here."


def _scored(
    combine: Function = np.sum,
    terms: Function = np.cos,
    angle: Function = _move,
    frequencies: Function = _right_frequencies,
) -> Function:
    """Make a score that combines, over the pairs, some function of an angle."""

    def similarity(offset: float, d_model: int, base: float) -> Any:
        return combine(terms(angle(offset, frequencies(d_model, base))))

    return similarity


_right_score = _scored()


def _of_score(change: Function) -> Function:
    """Make a score from what is done to the right one, and to d_model."""
    return lambda offset, d_model, base: change(_right_score(offset, d_model, base), d_model)


OFFSET_SCORE = Exercise(
    call="offset_score(offset, d_model, base)",
    returns=("the score",),
    reference=_right_score,
    cases=_score_cases,
    mistakes={
        "you add up sines: the dot product of two encodings is a sum of cosines.": _scored(
            terms=np.sin
        ),
        "you add up sines and cosines: the sines of the two positions leave none in the sum.": (
            _scored(terms=lambda angles: np.sin(angles) + np.cos(angles))
        ),
        "you count each pair twice: a cosine stands for both columns of its pair.": _of_score(
            lambda score, d: 2 * score
        ),
        (
            "you divide by d_model / 2, the number of pairs: that is a mean, or the cosine "
            "similarity, and a dot product is a sum."
        ): _of_score(lambda score, d: score / (d / 2)),
        "you divide by d_model: a dot product is a sum.": _of_score(lambda score, d: score / d),
        "you divide by sqrt(d_model), as attention does: this is the dot product itself.": (
            _of_score(lambda score, d: score / np.sqrt(d))
        ),
        "you divide by the length of one encoding, sqrt(d_model / 2): a dot product is not divided.": (
            _of_score(lambda score, d: score / np.sqrt(d / 2))
        ),
        "you take the absolute value of the score: it may be negative.": _of_score(
            lambda score, d: abs(score)
        ),
        "you take the absolute value of each cosine: they may be negative.": _scored(
            terms=lambda angles: np.abs(np.cos(angles))
        ),
        "you square each cosine: add them up as they are.": _scored(
            terms=lambda angles: np.cos(angles) ** 2
        ),
        "you square the score.": _of_score(lambda score, d: score**2),
        "you take the square root of the score: it is a dot product, no length.": _of_score(
            lambda score, d: np.sqrt(score)
        ),
        "you turn the sign of the score.": _of_score(lambda score, d: -score),
        "you return the distance of the two encodings: return their dot product.": _of_score(
            lambda score, d: np.sqrt(d - 2 * score)
        ),
        "you return the squared distance of the two encodings: return their dot product.": (
            _of_score(lambda score, d: d - 2 * score)
        ),
        "you return the angle between the two encodings: return their dot product.": _of_score(
            lambda score, d: np.arccos(np.clip(score / (d / 2), -1, 1))
        ),
        "you multiply the cosines: add them up.": _scored(combine=np.prod),
        "you take the cosine of the sum of the angles: add up the cosines.": _scored(
            terms=lambda angles: np.cos(np.sum(angles))
        ),
        "you add up the angles: take their cosines first.": _scored(terms=lambda angles: angles),
        "you add up the frequencies: each is multiplied by the offset, then take the cosine.": (
            _scored(angle=lambda offset, frequency: frequency, terms=lambda angles: angles)
        ),
        "you leave out the offset: it multiplies the frequencies.": _scored(
            angle=lambda offset, frequency: frequency
        ),
        "you multiply the cosine of the frequency by the offset: the offset belongs inside.": (
            lambda offset, d_model, base: offset * np.cos(_right_frequencies(d_model, base)).sum()
        ),
        "you add offset and frequency: multiply them.": _scored(
            angle=lambda offset, frequency: offset + frequency
        ),
        "you take an offset that is one too large: is a position counted from 1?": _scored(
            angle=lambda offset, frequency: (offset + 1) * frequency
        ),
        "you take an offset that is one too small: is a position counted from 1?": _scored(
            angle=lambda offset, frequency: (offset - 1) * frequency
        ),
        "you take twice the offset: are the two positions offset to both sides?": _scored(
            angle=lambda offset, frequency: 2 * offset * frequency
        ),
        "you return the score of a position with itself: the two are offset apart.": _of_score(
            lambda score, d: d / 2
        ),
        "you return the cosines one by one: add them up.": _scored(combine=np.array),
        "you leave out the first pair, of frequency 1.": _scored(combine=lambda c: c[1:].sum()),
        "you leave out the last pair.": _scored(combine=lambda c: c[:-1].sum()),
        "you return the first pair alone: is your return inside the loop?": _scored(
            combine=lambda c: c[0]
        ),
        "you return the last pair alone: is your sum overwritten in the loop?": _scored(
            combine=lambda c: c[-1]
        ),
        "you take position 0's sines, which are all 0: the dot product has the cosines, too.": (
            lambda offset, d_model, base: 0.0
        ),
        "you cut the score to an integer: it is a fraction.": _of_score(
            lambda score, d: np.trunc(score)
        ),
        **{
            hint: _scored(frequencies=frequencies)
            for hint, frequencies in _but(_FREQUENCY_MISTAKES, _ALONE, _IN_REVERSE).items()
        },
    },
    clues={
        "[Ii]ntegers to negative integer powers": "Make the exponent a fraction before the power.",
        "out of bounds": "A table of encodings must reach from one position to the other.",
        "cannot be interpreted as an integer": "Divide with // to get a whole number.",
        "negative": "Here the offset is negative: only how far apart the positions are matters.",
    },
)


# reversal


def _reversal_cases(rng: np.random.Generator) -> Cases:
    def inputs(length: int, d_model: int, base: float) -> Inputs:
        return {"length": length, "d_model": d_model, "base": base}

    hint = (
        "Write encode[length - 1 - p] in the sines and cosines of p alone: that gives a block of 2 "
        "by 2 for each pair."
    )
    # More positions than columns, so that one matrix alone reverses them all.
    yield inputs(23, 10, 50.0), hint
    yield inputs(59, 6, 10000.0), _BASE
    yield inputs(97, 14, 300), SIZES
    yield inputs(5, 2, 30.0), _PAIR


def _to_the_end(length: int, frequency: float) -> float:
    return (length - 1) * frequency


def _reversed(block: Function = _reflecting, **others: Any) -> Function:
    return _blocked(block, **{"angle": _to_the_end, **others})


def _right_reversal(length: int, d_model: int, base: float) -> Array:
    about_0 = np.diag(np.tile([-1.0, 1.0], d_model // 2))  # turns p into -p
    return relative_rotation(length - 1, d_model, base=base) @ about_0


REVERSAL = Exercise(
    call="reversal(length, d_model, base)",
    reference=_right_reversal,
    cases=_reversal_cases,
    mistakes={
        (
            "you have a rotation, which moves all positions by length - 1: turn their order round, "
            "p becomes length - 1 - p."
        ): _reversed(_rotating),
        "you have a rotation, and it moves back: turn the order of the positions round.": _reversed(
            _turned_back
        ),
        "you reverse about length - p: the last position is length - 1.": _reversed(
            angle=lambda length, frequency: length * frequency
        ),
        "you reverse about length - 2 - p: position 0 becomes length - 1.": _reversed(
            angle=lambda length, frequency: (length - 2) * frequency
        ),
        "you reverse about length + 1 - p: position 0 becomes length - 1.": _reversed(
            angle=lambda length, frequency: (length + 1) * frequency
        ),
        "you take half of length - 1, as if each turned about the middle: the angle has all of it.": (
            _reversed(angle=lambda length, frequency: (length - 1) / 2 * frequency)
        ),
        "you take half of the length, as if each turned about the middle: the angle has length - 1.": (
            _reversed(angle=lambda length, frequency: length / 2 * frequency)
        ),
        "you turn p into -p: from there it is length - 1 positions to where it belongs.": _reversed(
            lambda c, s: [[-np.ones_like(c), _zero(s)], [_zero(s), np.ones_like(c)]]
        ),
        "you turn the signs of the cosines: those of the sines change with the order.": (
            _reversed(lambda c, s: [[np.ones_like(c), _zero(s)], [_zero(s), -np.ones_like(c)]])
        ),
        (
            "you move first and then turn p into -p, which gives -(length - 1) - p: turn first, "
            "then move."
        ): _reversed(lambda c, s: [[-c, -s], [-s, c]]),
        "you have the minus at the wrong cosine: the old sine comes with a minus into the new sine.": _reversed(
            lambda c, s: [[c, s], [s, -c]]
        ),
        "you have no minus at all: the sine of a difference has one.": _reversed(
            lambda c, s: [[c, s], [s, c]]
        ),
        "you have a minus at both cosines: only the new sine has one.": _reversed(
            lambda c, s: [[-c, s], [s, -c]]
        ),
        "you have a minus too many at the sine above the diagonal.": _reversed(
            lambda c, s: [[-c, -s], [s, c]]
        ),
        "you have a minus too many at the sine below the diagonal.": _reversed(
            lambda c, s: [[-c, s], [-s, c]]
        ),
        "you turn the sign of all the blocks.": (_reversed(lambda c, s: [[c, -s], [-s, -c]])),
        "you have a minus everywhere: only the old sine has one, in the new sine.": _reversed(
            lambda c, s: [[-c, -s], [-s, -c]]
        ),
        "you have sine and cosine swapped in the blocks.": _reversed(
            lambda c, s: [[-s, c], [c, s]]
        ),
        "you have sine and cosine swapped in the blocks, and the minus at the other sine.": (
            _reversed(lambda c, s: [[s, c], [c, -s]])
        ),
        "you leave out the sines: a pair's new sine has a part of its old cosine.": _reversed(
            lambda c, s: [[-c, _zero(s)], [_zero(s), c]]
        ),
        "you return the identity: it leaves all positions where they are.": (
            lambda length, d_model, base: np.eye(d_model)
        ),
        "you turn the order of the columns round: turn that of the positions.": (
            lambda length, d_model, base: np.fliplr(np.eye(d_model))
        ),
        "you turn all signs round: that does not change the order of positions.": (
            lambda length, d_model, base: -np.eye(d_model)
        ),
        "you swap the sine and the cosine of each pair: that turns each round at another place.": (
            _reversed(lambda c, s: [[_zero(s), np.ones_like(c)], [np.ones_like(c), _zero(s)]])
        ),
        "you turn the order of the rows round, a matrix for positions: M has d_model columns.": (
            lambda length, d_model, base: np.flipud(np.eye(length))
        ),
        "you return the reversed encodings: return the matrix that makes them of the others.": (
            lambda length, d_model, base: sinusoidal_encoding(length, d_model, base=base)[::-1]
        ),
        "you lay the matrix out for all sines before all cosines: they alternate, pair by pair.": (
            _reversed(lay_out=_in_halves)
        ),
        "you move by 1: the angle is length - 1 times the frequency.": _reversed(
            angle=lambda length, frequency: frequency
        ),
        "you turn all pairs by the frequency of the last: each has its own.": _reversed(
            angle=lambda length, frequency: (length - 1) * frequency[-1] + _zero(frequency)
        ),
        "you turn round the first pair alone: the others need it, too.": _reversed(
            lay_out=_corner_of_identity
        ),
        "you turn round the first pair alone and set the others to 0.": _reversed(
            lay_out=_corner_of_zeros
        ),
        "you return one block alone: there is one for each pair.": _reversed(
            lay_out=lambda blocks: blocks[0]
        ),
        "you return the last block alone: is it overwritten in the loop?": _reversed(
            lay_out=lambda blocks: blocks[-1]
        ),
        "you return the blocks one by one: put them on the diagonal of one matrix.": _reversed(
            lay_out=_block_by_block
        ),
        "you start from ones: outside of the blocks there are zeros.": _reversed(
            lay_out=_with_ones
        ),
        **{hint: _reversed(frequencies=f) for hint, f in _FREQUENCY_MISTAKES.items()},
    },
    clues={
        "[Ii]ntegers to negative integer powers": "Make the exponent a fraction before the power.",
        "out of bounds": "Pair j has the rows and columns 2j and 2j + 1: d_model / 2 blocks.",
        "broadcast": "A block has 2 rows and 2 columns: 2j and 2j + 1.",
        "cannot be interpreted as an integer": "Divide with // to get a whole number.",
    },
)


EXERCISES = {
    "sinusoidal": SINUSOIDAL,
    "rotation": ROTATION,
    "add-positions": ADD_POSITIONS,
    "offset-score": OFFSET_SCORE,
    "reversal": REVERSAL,
}
