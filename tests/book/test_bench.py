"""The stored table of `make bench`, of which chapters tell, and what measures it."""

import json

import numpy as np
import pytest

from tools.bench import STORED, long_sequences, table

BENCH = json.loads(STORED.read_text("utf-8"))
LENGTHS = [length for length in long_sequences.ROUNDS if length != long_sequences.ALONE]


def row(what, other, length):
    """Return the one row of this name; of a library the version does not matter."""
    (found,) = (
        row
        for row in BENCH["rows"]
        if (row["what"], row["length"]) == (what, length) and other in row["other"]
    )
    return found


def test_the_machine_is_named():
    assert set(BENCH["machine"]) == {*table.machine(), "operations", "bytes read"}
    assert all(BENCH["machine"].values())


def test_a_ratio_says_how_many_times_as_much_the_other_takes():
    for each in BENCH["rows"]:
        assert each["ratio"] == pytest.approx(each["amount of other"] / each["amount"], rel=0.02)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("other", ["whole matrix", "eager", "fused"])
def test_the_chapter_finds_times_and_memory(length, other):
    assert row("blockwise", other, length)["unit"] == "ms"
    assert row("blockwise, peak memory", other, length)["unit"] == "MB"


@pytest.mark.parametrize("length", [2048, 8192])
def test_what_the_chapter_tells_of_long_sequences_holds(length):
    assert row("blockwise", "whole matrix", length)["ratio"] > 1.3
    assert row("blockwise, causal", "blockwise, full", length)["ratio"] > 1.5
    assert row("blockwise, peak memory", "whole matrix", length)["ratio"] > 20
    assert row("blockwise, peak memory", "eager", length)["ratio"] > 20


def test_the_chapter_finds_the_longest_generation_and_shared_heads():
    alone, cached = long_sequences.ALONE, long_sequences.CACHED
    assert row("blockwise, 1 head", "fused", alone)["unit"] == "ms"
    assert row("a token, with the cache", "without it", 512)["ratio"] > 10
    for kv_heads in (4, 1):
        fewer = f"{kv_heads} KV heads of 8"
        assert row(f"{fewer}: cache", "8 KV heads", cached)["ratio"] == 8 / kv_heads
        assert row(f"{fewer}: one step", "8 KV heads", cached)["unit"] == "ms"


def test_beside_the_libraries_the_book_is_not_slow():
    beside = [each for each in BENCH["rows"] if each["what"].startswith("side by side")]
    assert len(beside) == 8
    assert all(3 * each["ratio"] > 1 for each in beside)


def test_a_row_is_kept_and_printed(capsys):
    rows = table.Table()
    rows.add("ours", 2.0, "theirs", 5.0, "ms", 1024)
    assert rows.rows[0]["ratio"] == 2.5
    assert {"ours", "1,024", "theirs", "2.50"} <= set(capsys.readouterr().out.split())


def test_the_peak_of_numpy_is_the_most_held_at_a_time():
    def hold_two_then_one():
        first, second = np.ones(10_000), np.ones(20_000)
        del first
        return second

    assert 240_000 <= table.peak_of_numpy(hold_two_then_one) < 250_000
