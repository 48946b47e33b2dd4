"""What a reader meets on the way down a chapter: as long, as dense and as pictured as promised."""

from course.promises import keep

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


def measured(page):
    """Return what a reader meets on a chapter's page, and what of it is promised at its width."""
    found = page.evaluate(MEASURE)
    if page.viewport_size["width"] > 1000:
        return found
    return {"first_picture_on_a_phone": found["first_picture"]}


def check(name, found):
    """Assert that a chapter is read in about half an hour."""
    for what, count in found.items():
        keep(name, "a chapter's page", what, count)
