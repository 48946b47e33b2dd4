"""What an exercise is made of, and the names for the types of what a checker handles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Function: TypeAlias = Callable[..., Any]  # an answer, or what a mistake would compute
Inputs: TypeAlias = dict[str, Any]  # the named arguments of a function
Cases: TypeAlias = Iterator[tuple[Inputs, str]]  # each with a hint


class WrongAnswer(AssertionError):
    """An answer that fails its check; the message names the likely mistake."""


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What a right answer returns, the inputs to try it on, and the mistakes people make.

    ``cases(rng)`` yields pairs ``(arguments, hint)``: a dict of named arguments, and what to
    think of when the answer fails there and no known mistake explains it. ``mistakes``
    maps a hint to a function that computes what that mistake would return. ``returns`` names
    the arrays of a result, and ``boolean`` says that they must be boolean, not ones and zeros.
    ``leading`` says what the first axis counts in a result of three axes or more.
    ``clues`` maps a regular expression to what to think of when an answer raises an error with
    such a message.
    """

    call: str
    reference: Function
    cases: Callable[[np.random.Generator], Cases]
    mistakes: dict[str, Function]
    returns: tuple[str, ...] = ("result",)
    rows_sum_to_one: bool = False
    boolean: bool = False
    leading: str = "sequence of the batch"
    clues: dict[str, str] = field(default_factory=dict)
