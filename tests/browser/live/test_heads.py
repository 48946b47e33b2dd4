"""Where each head of a trained model looks."""

import numpy as np
import pytest

from attnbook.pretrained import minilm
from tests.browser.live.figures import said, tried
from tests.browser.waiting import wait_for


def test_its_numbers_are_attnbooks(open_figure):
    page, figure = open_figure("heads", page_of="book/01-why-attention.html")
    rng, sentences = np.random.default_rng(0), minilm.sentences()
    for number in range(len(sentences)):  # each comes when it is first chosen
        figure.locator("[name=sentence]").select_option(str(number))
        wait_for(
            page,
            f"() => (window.liveData ?? {{}})['heads-{number}'] || {number} === 0",
            "its weights are there",
        )
        said(figure)
    settings = []
    for _ in range(200):
        number = int(rng.integers(len(sentences)))
        settings.append(
            {
                "sentence": str(number),
                "word": int(rng.integers(len(minilm.tokens(sentences[number])))),
                "layer": int(rng.choice([0, 1, 2, 3, 3, 3, 4, 5])),
                "head": int(rng.integers(12)),
                "measure": str(rng.choice(["weight", "norm"])),
            }
        )
    read = """{shares: [...e.querySelectorAll(".word")].map((word) => +word.dataset.share),
      words: [...e.querySelectorAll(".word")].map((word) => word.firstChild.data),
      arcs: [...e.querySelectorAll(".arc[d]")].map((arc) => +arc.getAttribute("stroke-width")),
      grid: [...e.querySelectorAll(".grid i")].map((cell) => +cell.dataset.most)}"""
    for setting, shown in zip(settings, tried(page, "heads", settings, read), strict=True):
        sentence, word = sentences[int(setting["sentence"])], setting["word"]
        weights = minilm.recorded_weights(sentence)
        layer, head = setting["layer"], setting["head"]
        expected = weights[layer, head, word]
        if setting["measure"] == "norm" and (layer == 3 or (layer, head) in [(0, 2), (1, 8)]):
            about = minilm.head_projections(layer, head)
            values = minilm.hidden_states(sentence, layer) @ about.w_v + about.b_v
            expected = expected * np.linalg.norm(values, axis=-1)
            expected /= expected.sum()
        percents = np.rint(100 * expected)
        assert shown["words"] == list(minilm.tokens(sentence))
        assert shown["shares"] == percents.tolist()
        others = np.delete(percents, word)
        np.testing.assert_allclose(shown["arcs"], others[others >= 2] / 9, atol=1e-6)
        most = np.rint(100 * weights[:, :, word].max(axis=-1)).ravel()
        assert shown["grid"] == most.tolist()


def test_the_slider_of_words_ends_with_the_sentence_and_says_the_word(open_figure):
    _, figure = open_figure("heads", page_of="book/01-why-attention.html")
    for number, sentence in enumerate(minilm.sentences()):
        figure.locator("[name=sentence]").select_option(str(number))
        slider = figure.locator("[name=word]")
        slider.press("End")
        assert said(figure)
        assert slider.get_attribute("aria-valuetext") == minilm.tokens(sentence)[-1]
        assert int(slider.input_value()) == len(minilm.tokens(sentence)) - 1


def test_squares_stand_beside_the_words_or_below_them(open_figure):
    for width in (1280, 390):
        _, figure = open_figure("heads", width=width)
        said(figure)
        words, squares = (figure.locator(part).bounding_box() for part in (".words", ".grid"))
        assert (
            max(
                squares["x"] - words["x"] - words["width"],
                squares["y"] - words["y"] - words["height"],
            )
            >= 0
        )
        each = figure.locator(".grid i").first.bounding_box()["width"]
        assert 12 * each == pytest.approx(squares["width"], abs=1)
