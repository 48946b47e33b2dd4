"""Names for what the checkers' functions take and return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Function: TypeAlias = Callable[..., Any]  # an answer, or what a mistake would compute
Inputs: TypeAlias = dict[str, Any]  # the named arguments of a function
Cases: TypeAlias = Iterator[tuple[Inputs, str]]  # each with a hint
