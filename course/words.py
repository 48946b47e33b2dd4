"""The fixed words of generated pages and packages, which stand in `words.toml`."""

import tomllib
from pathlib import Path

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def say(key: str, **fields: object) -> str:
    """Return the words that have a key, with their fields filled in."""
    if key not in WORDS:
        raise KeyError(f"course/words.toml has no {key!r}: write it there")
    return WORDS[key].strip().format(**fields)


def counted(number: int) -> str:
    """Return a whole number as a text has it: in a word, if there is one of its own."""
    words = ["", *WORDS["units"].split(), *WORDS["teens"].split()]
    return words[number] if 0 < number < len(words) else str(number)
