"""What a reader meets on the way down a chapter: as long, as dense and as pictured as promised."""

import pytest

from course.promises import keep
from tests.browser.waiting import SETTLED
from tests.drafts import every

# Heights in pixels, with all folds closed as they are at first. Words are those of prose and
# captions: not of code and what it prints, of folds, exercises, quizzes and boxes of results.
MEASURE = """async () => {
  for (const picture of document.images) picture.loading = "eager";
  await Promise.all([...document.images].map((picture) => picture.decode().catch(() => 0)));
  await document.fonts.ready;
  const article = document.querySelector("article");
  const box = (e) => e.getBoundingClientRect();
  const seen = (query) => [...article.querySelectorAll(query)]
    .filter((e) => e.checkVisibility() && box(e).height > 4);
  const height = (found) => found.reduce((sum, e) => sum + box(e).height, 0);
  const pictures = seen("figure .live-stage, figure img:not(.live-stage *)");
  const edges = [0, ...pictures.flatMap((e) => [box(e).top, box(e).bottom].map((y) => y + scrollY)),
    box(article).bottom + scrollY];
  const words = seen("p, li, h1, h2, h3, figcaption, td, th")
    .filter((e) => !e.closest("details, .cell_output pre, .quiz, .exercise"))
    .filter((e) => !e.querySelector("p"))
    .map((e) => {
      const copy = e.cloneNode(true);
      copy.querySelectorAll(".katex").forEach((formula) => formula.replaceWith("x"));
      return copy.textContent;
    }).join(" ").split(/\\s+/).filter((word) => /\\p{L}|\\d/u.test(word)).length;
  return {
    height: article.scrollHeight,
    percent_of_code: 100 * height(seen(".cell_input")) / article.scrollHeight,
    words,
    first_picture: edges[1],
    gap: Math.max(...edges.map((y, i) => i % 2 ? y - edges[i - 1] : 0)),
  };
}"""


@pytest.mark.parametrize("name", every(lambda chapter: [f"book/{chapter.name}"]))
def test_a_chapter_is_read_in_about_half_an_hour(one_page, address, name):
    page = one_page
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(media="screen")
    page.goto(f"{address}/{name}.html", wait_until="load")
    page.evaluate(SETTLED)
    for what, measured in page.evaluate(MEASURE).items():
        keep(name, "a chapter's page", what, measured)
    page.set_viewport_size({"width": 390, "height": 844})
    above = page.evaluate(MEASURE)["first_picture"]
    keep(name, "a chapter's page", "first_picture_on_a_phone", above)
