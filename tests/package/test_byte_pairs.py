"""Byte pairs, with small vocabularies made here; SmolLM2's own is in test_smollm2_whole.py."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.pretrained.byte_pairs import LETTERS, BytePairTokenizer

MERGES = (("l", "o"), ("lo", "w"), ("e", "r"), ("Ġ", "low"), ("a", "a"), ("aa", "a"))
MERGES += (("Ã", "¤"), ("1", "2"))
SPECIAL = ("<|a|>", "<b+>")
WHOLE = BytePairTokenizer((*SPECIAL, *LETTERS.values(), *map("".join, MERGES)), MERGES)


def parts(text):
    return [WHOLE.tokens[number] for number in WHOLE.encode(text)]


def test_each_byte_has_a_letter_of_its_own_that_can_be_seen():
    assert sorted(LETTERS) == [*range(256)]
    assert len({*LETTERS.values()}) == 256
    assert all(letter.isprintable() and not letter.isspace() for letter in LETTERS.values())
    assert (LETTERS[ord("A")], LETTERS[ord(" ")], LETTERS[ord("\n")]) == ("A", "Ġ", "Ċ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("lower", "low er"),
        ("slow lower low", "s low Ġlow er Ġlow"),
        ("aaaaa", "aa aaa"),  # pairs from the left, aa aa a; then the second takes the rest
        ("low low", "low Ġlow"),
        ("low  low", "low Ġ Ġlow"),  # only the last space belongs to the word
        ("low 12low", "low Ġ 1 2 low"),  # digits stand alone, and take no space
        ("lo1w", "lo 1 w"),
        ("lo_w low_", "lo _ w Ġlow _"),
        ("lo'low", "lo ' low"),
        ("ä", "ä"),
        ("<|a|>low<b+><b+>", "<|a|> low <b+> <b+>"),
        ("<|a|low|>", "< | a | low | >"),
    ],
)
def test_a_text_becomes_the_tokens_that_one_finds_by_hand(text, expected):
    expected = expected.replace("ä", "Ã¤").split()
    assert parts(text) == expected


def test_what_was_learned_first_is_joined_first():
    tokens = ("a", "b", "c", "ab", "bc")
    for merges, expected in [
        ((("a", "b"), ("b", "c")), ["ab", "c"]),
        ((("b", "c"), ("a", "b")), ["a", "bc"]),
    ]:
        tokenizer = BytePairTokenizer(tokens, merges)
        assert [tokens[number] for number in tokenizer.encode("abc")] == expected


def test_the_steps_lead_from_bytes_to_tokens():
    assert [" ".join(step) for step in WHOLE.steps("lowlow")] == [
        "l o w l o w",
        "lo w lo w",
        "low low",
    ]
    assert WHOLE.steps("x") == [("x",)]


@given(st.text(max_size=40) | st.lists(st.sampled_from([*SPECIAL, "low", " ", "1"])).map("".join))
def test_decoding_what_was_encoded_gives_the_text(text):
    assert WHOLE.decode(WHOLE.encode(text)) == text


def test_bytes_that_make_no_character_are_marked():
    half = WHOLE.encode("ß")[:1]
    assert WHOLE.decode(half) == "\N{REPLACEMENT CHARACTER}"


def test_a_byte_that_is_not_in_the_vocabulary_is_named():
    tokenizer = BytePairTokenizer(("a", "b"), ())
    with pytest.raises(ValueError, match="no token for 'c' in 'abc'"):
        tokenizer.encode("abc")


@pytest.mark.parametrize("token", [-1, 3])
def test_a_token_that_is_not_in_the_vocabulary_is_refused(token):
    tokenizer = BytePairTokenizer(("a", "b", "c"), ())
    with pytest.raises(ValueError, match=f"from 0 to 2, got {token}"):
        tokenizer.decode([1, token])


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        WHOLE.tokens = ()


def test_it_says_how_large_it_is_and_not_all_that_it_holds():
    assert repr(WHOLE) == "BytePairTokenizer(266 tokens, 8 merges)"
