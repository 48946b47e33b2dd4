"""A small world to tell stories about, in which every question has a known answer.

A few people are in places and have things; things have colours. People go about and give things
to each other, and some sentences say it with a pronoun (*she goes to the park because she has
it*). Questions stand in the story and at its end. The storyteller of ``attnbook.pretrained`` was
trained on such stories; ``data/storyteller.README.md`` has the grammar in ten lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

START, END = "<start>", "<end>"
MEN = ("Tom", "Sam", "Ben", "Max", "Leo", "Jim")
WOMEN = ("Ann", "Mia", "Eva", "Zoe", "Ida", "Kim")
PEOPLE = MEN + WOMEN
THINGS = ("kite", "ball", "book", "drum", "cake", "boat", "hat", "key", "lamp", "cup")
COLOURS = ("red", "blue", "green", "white", "black", "yellow")
PLACES: tuple[str, ...] = ("park", "garden", "kitchen", "forest", "barn")
PLACES += ("shop", "tower", "cave", "mill", "school")
_OTHERS = "is in the with gives to goes because has it he she happy sad who where what colour ? ."
WORDS = (START, END, *PEOPLE, *THINGS, *COLOURS, *PLACES, *_OTHERS.split())

REACH = 100  # how far back, in words, the sentence may begin that decides a question
_QUESTION, _EVENT = 9, 17  # tokens of the longest question with its answer, of the longest event


class Question(NamedTuple):
    """A question of a story.

    ``kind`` says which sentence decides it: ``"has"`` (*the kite is with Tom*), ``"given"``,
    ``"place"`` (*Tom is in the park*), ``"moved"``, ``"pronoun"`` (*she goes to the park because
    …*) or ``"colour"``. ``position`` is the index of the answer's word, ``distance`` how many
    tokens before it the deciding sentence begins.
    """

    kind: str
    position: int
    answer: str
    distance: int


class Story(NamedTuple):
    """The words of a story, from ``<start>`` to ``<end>``, and its questions in order."""

    words: tuple[str, ...]
    questions: tuple[Question, ...]


def story(
    rng: np.random.Generator,
    *,
    length: int = 128,
    people: tuple[int, int] = (2, 5),
    things: tuple[int, int] = (1, 4),
    ask: float = 0.0,
    final: int = 4,
) -> Story:
    """Tell a story that ends in questions; none is asked twice.

    Parameters
    ----------
    rng : numpy.random.Generator
    length : int, the most words
    people, things : (int, int), the fewest and the most
    ask : float, the probability of a question after a sentence
    final : int, the questions at the end, where room may give a few more

    Returns
    -------
    Story

    Raises
    ------
    ValueError
        If so many people and things do not fit into the length, or do not exist.

    Examples
    --------
    >>> rng = np.random.default_rng(5)
    >>> words, questions = story(rng, length=30, people=(1, 1), things=(1, 1), final=1)
    >>> print(*words, questions[0].kind, questions[0].distance)
    <start> Zoe is in the barn . the book is with Zoe . where is Zoe ? in the barn . <end> place 18
    """
    bounds = ("people", people, len(PEOPLE)), ("things", things, len(THINGS))
    for name, (fewest, most), all_of_them in bounds:
        if not 1 <= fewest <= most <= all_of_them:
            raise ValueError(
                f"{name} must be two numbers in order from 1 to {all_of_them}, "
                f"got {fewest} and {most}"
            )
    room = length - _QUESTION * final - 1
    if room < 1 + 6 * people[1] + 11 * things[1]:
        raise ValueError(
            f"length ({length}) is too short for {people[1]} people, {things[1]} things "
            f"and {final} questions"
        )
    world = _World(rng, room, ask, people, things)
    world.open()
    while len(world.words) + _EVENT <= room:
        world.event()
    questions_asked = 0
    while (questions_asked < final or len(world.words) + _QUESTION < length) and world.question():
        questions_asked += 1
    return Story((*world.words, END), tuple(world.questions))


class _World:
    """What is true at a point of a story, and the words so far."""

    def __init__(
        self,
        rng: np.random.Generator,
        room: int,
        ask: float,
        people: tuple[int, int],
        things: tuple[int, int],
    ) -> None:
        self.rng, self.room, self.ask = rng, room, ask
        self.people = self.sample(PEOPLE, self.between(*people))
        self.things = self.sample(THINGS, self.between(*things))
        self.words = [START]
        self.place: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        # What may be asked: (question, subject) -> kind, answer, where the sentence begins.
        self.facts: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.questions: list[Question] = []

    # `random` is many times faster than `integers` and `choice`, and training tells millions.
    def between(self, least: int, most: int) -> int:
        return least + int(self.rng.random() * (most - least + 1))

    def pick(self, items: Sequence[str]) -> str:
        return items[int(self.rng.random() * len(items))]

    def sample(self, items: Sequence[str], count: int) -> list[str]:
        rest = list(items)
        return [rest.pop(int(self.rng.random() * len(rest))) for _ in range(count)]

    def say(self, sentence: str, *fact: str) -> None:
        """Say a sentence; ``fact`` is question, subject, kind and answer, or nothing."""
        if fact:
            question, subject, kind, answer = fact
            self.facts[question, subject] = kind, answer, len(self.words)
        self.words += [*sentence.split(), "."]

    def open(self) -> None:
        rest = 6 * len(self.people) + 11 * len(self.things)
        for name in self.sample([*self.people, *self.things], len(self.people + self.things)):
            if name in THINGS:
                self.owner[name] = owner = self.pick(self.people)
                self.say(f"the {name} is with {owner}", "who has the", name, "has", owner)
                if self.rng.random() < 0.5:
                    colour = self.pick(COLOURS)
                    self.say(
                        f"the {name} is {colour}", "what colour is the", name, "colour", colour
                    )
                rest -= 11
            else:
                taken = list(self.place.values())
                place = self.pick(taken if taken and self.rng.random() < 0.4 else PLACES)
                self.place[name] = place
                self.say(f"{name} is in the {place}", "where is", name, "place", place)
                rest -= 6
            self.perhaps_ask(rest)

    def event(self) -> None:
        gifts = [
            (giver, thing, receiver)
            for thing, giver in self.owner.items()
            for receiver in self.people
            if receiver != giver and self.place[receiver] == self.place[giver]
        ]
        if gifts and self.rng.random() < 0.7:
            self.give(*gifts[int(self.rng.random() * len(gifts))])
        else:
            name = self.pick(self.people)
            here = self.place[name]
            company = [self.place[other] for other in self.people if self.place[other] != here]
            if not company or self.rng.random() < 0.2:
                company = [place for place in PLACES if place != here]
            self.go(name, self.pick(company), name, "moved")
        self.perhaps_ask(0)

    def give(self, giver: str, thing: str, receiver: str) -> None:
        self.say(
            f"{giver} gives the {thing} to {receiver}", "who has the", thing, "given", receiver
        )
        self.owner[thing] = receiver
        if self.rng.random() < 0.5:
            return
        # A pronoun must say whom it means, so names stand where both are men or both women.
        he, she = (_pronoun(name) for name in (giver, receiver))
        clear = he != she
        because = f"because {she} has it"
        if self.rng.random() < 0.3:
            self.say(f"{she if clear else receiver} is happy {because}")
        elif clear and self.rng.random() < 0.3:
            self.say(f"{he} is sad {because}")
        else:
            name = receiver if not clear or self.rng.random() < 0.5 else giver
            place = self.pick([place for place in PLACES if place != self.place[name]])
            subject, kind = (_pronoun(name), "pronoun") if clear else (name, "moved")
            self.go(name, place, subject, kind, because)

    def go(self, name: str, place: str, subject: str, kind: str, because: str = "") -> None:
        self.place[name] = place
        self.say(f"{subject} goes to the {place} {because}", "where is", name, kind, place)

    def perhaps_ask(self, rest: int) -> None:
        if self.rng.random() < self.ask and len(self.words) + rest + _QUESTION <= self.room:
            self.question()

    def question(self) -> bool:
        """Ask about a fact, if there is one to ask about."""
        now = len(self.words)
        near = [fact for fact, (*_, start) in self.facts.items() if now - start <= REACH]
        if not near:
            return False
        question, subject = near[int(self.rng.random() * len(near))]
        kind, answer, start = self.facts.pop((question, subject))
        tail = " in the" if question == "where is" else ""
        self.words += f"{question} {subject} ?{tail}".split()
        self.questions.append(Question(kind, len(self.words), answer, len(self.words) - start))
        self.words += [answer, "."]
        return True


def _pronoun(name: str) -> str:
    return "he" if name in MEN else "she"
