"""What an exercise is made of, and the names for the types of what a checker handles."""

from __future__ import annotations

import configparser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Function: TypeAlias = Callable[..., Any]  # an answer, or what a mistake would compute
Inputs: TypeAlias = dict[str, Any]  # the named arguments of a function
Cases: TypeAlias = Iterator[tuple[Inputs, str]]  # each with the id of a hint


class WrongAnswer(AssertionError):
    """An answer that fails its check; the message names the likely mistake.

    ``ids`` names the entries of the catalogue of hints that the message is made of.
    """

    def __init__(self, message: str, *ids: str) -> None:
        super().__init__(message)
        self.ids = ids


class Mistake(NamedTuple):
    """A known mistake: its id, what it would compute, and what the reader is told."""

    id: str
    wrong: Function
    hint: str


def read_hints(path: Path) -> dict[str, dict[str, str]]:
    """Read a catalogue of hints: the texts by id, in a section for each exercise."""
    catalogue = configparser.RawConfigParser(delimiters=("=",))
    try:
        catalogue.read_string(path.read_text(encoding="utf-8"), path.name)
    except configparser.DuplicateOptionError as error:
        problem = (
            f"the id {error.option!r} is used twice in [{error.section}], rename one of the two"
        )
        raise ValueError(f"{path.name}, line {error.lineno}: {problem}") from None
    sections = ((name, catalogue.items(name)) for name in catalogue.sections())
    return {name: {id_: " ".join(hint.split()) for id_, hint in hints} for name, hints in sections}


COMMON = read_hints(Path(__file__).with_name("common.ini"))["common"]


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What a right answer returns, the inputs to try it on, and the mistakes people make.

    ``cases(rng)`` yields pairs of a dict of named arguments and the id of what to think of when
    the answer fails there and no known mistake explains it. ``mistakes`` has, by id, functions
    that compute what each mistake would return. ``returns`` names the arrays of a result, and
    ``boolean`` says that they must be boolean, not ones and zeros. ``leading`` says what the
    first axis counts in a result of three axes or more. ``clues`` has, by a regular expression
    for the message of an error that an answer raises, the id of what to think of. ``hints`` has
    the text of each id; what several chapters say is in `COMMON`. ``play(answer, *arguments)``
    uses an answer and returns what is compared, where that is more than what the answer returns:
    how many scores it held, for one.
    """

    call: str
    reference: Function
    cases: Callable[[np.random.Generator], Cases]
    mistakes: Mapping[str, Function]
    returns: tuple[str, ...] = ("result",)
    rows_sum_to_one: bool = False
    boolean: bool = False
    leading: str = "sequence"
    play: Function = lambda answer, *arguments: answer(*arguments)
    clues: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)

    def say(self, id_: str, **fields: Any) -> str:
        """Return the text of an id, its fields filled in."""
        text = self.hints.get(id_) or COMMON[id_]
        return text.format(**fields) if fields else text

    @property
    def known(self) -> Iterator[Mistake]:
        """The known mistakes, with their hints."""
        return (Mistake(id_, wrong, self.say(id_)) for id_, wrong in self.mistakes.items())


Kind = TypeVar("Kind", bound=Exercise)


def with_hints(module: str, exercises: dict[str, Kind]) -> dict[str, Kind]:
    """Give exercises their hints, from the catalogue beside a module's file.

    Raises ValueError if it lacks one, or has a section that no exercise asks for.
    """
    path = Path(module).with_suffix(".ini")
    catalogue = read_hints(path)
    if unknown := set(catalogue) - set(exercises):
        raise ValueError(f"{path.name}: no exercise is called {', '.join(sorted(unknown))}")
    hinted = {name: replace(e, hints=catalogue.get(name, {})) for name, e in exercises.items()}
    for name, exercise in hinted.items():
        for id_ in (*exercise.mistakes, *exercise.clues.values(), exercise.leading):
            if id_ not in exercise.hints and id_ not in COMMON:
                raise ValueError(f"{path.name}: write a hint for {id_!r} into [{name}]")
    return hinted
