"""The written tasks: what students are told, the model answers, and the numbers in them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from attncourse import seeds
from attncourse.tasks import all_tasks

SOURCE = Path(__file__).parents[2] / "course/source"
MASTERS = {path.stem: json.loads(path.read_text()) for path in sorted(SOURCE.glob("*/*.ipynb"))}


def text_of(name, last):
    return "".join(MASTERS[name]["cells"][-last]["source"])


def model_answer(name):
    return text_of(name, 1).partition("A model answer:\n")[2].partition("\nRubric")[0]


@pytest.mark.parametrize("name", MASTERS)
def test_a_model_answer_keeps_to_the_length_and_the_rubric_to_the_five_points_that_are_told(name):
    low, high = map(int, re.search(r"In (\d+) to (\d+) words", text_of(name, 2)).groups())
    assert low <= len(model_answer(name).split()) <= high
    told = re.search(r"One point each: (.+)\.$", text_of(name, 2), re.M)[1].split("; ")
    rubric = re.findall(r"^- 1 point: .+\.$", text_of(name, 1), re.M)
    assert len(told) == len(rubric) == 5


def test_the_reach_and_the_scores_of_windows():
    position = np.arange(40)
    back = position[:, None] - position
    reach = np.linalg.matrix_power(((back >= 0) & (back < 4)).astype(int), 6)
    assert np.max(np.where(reach, back, 0)) == 18
    window, causal = sum(min(i + 1, 4) for i in range(4096)), sum(i + 1 for i in range(4096))
    answer = model_answer("assignment-02-scaled-dot-product")
    for number in (f"{window:,}", f"{causal:,}", f"{causal / window:.0f} times"):
        assert number.replace(",", " ") in answer


def test_the_bytes_of_keys_and_values():
    size = np.empty((2, 24, 16, 64, 4096), dtype=np.float16).nbytes
    answer = model_answer("assignment-04-multi-head")
    assert f"{size:,} bytes".replace(",", " ") in answer
    assert f"{size / 2**20:.0f} MiB" in answer
    assert f"{size / 4 / 2**20:.0f} MiB" in answer


@pytest.mark.parametrize("number", range(20))
def test_what_is_said_of_measurements_holds_in_every_class(number, monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, f"class {number}")

    def measured(name):
        arguments, _ = next(
            iter(all_tasks()[name].cases(np.random.default_rng(seeds.class_seed())))
        )
        return all_tasks()[name].reference(*arguments.values())

    one, two, four, _ = measured("fewer-groups")
    assert 0.15 < four < 0.4  # about a quarter
    assert min(one, two) > 0.75  # nearly all
    kept = measured("noisy-head")  # sizes from 0 to 4 in steps of 1/40
    assert round(kept[0], 2) == 0.89
    assert 0.2 < kept[80] < 0.5
    assert kept[160] < 0.2
