"""The quizzes: their form, and the truth of every answer, computed here."""

import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest
from quiz_text import CHAPTERS, QUIZZES, ROOT, quiz_source

from attnbook import (
    additive_attention,
    causal_mask,
    cross_attention,
    influence,
    pretrained,
    relative_rotation,
    scaled_dot_product_attention,
    self_attention,
    sinusoidal_encoding,
    softmax,
    split_heads,
)

COUNTS = {5: "Five", 6: "Six", 7: "Seven", 8: "Eight"}
QUESTIONS = {(name[:2], q.heading): q for name, quiz in QUIZZES.items() for q in quiz.questions}
CHECKS = {}
rng = np.random.default_rng(0)

every_quiz = pytest.mark.parametrize("name", CHAPTERS)


def check(chapter, heading):
    """Record a function that works out the right answer, as words of the right choice."""

    def record(function):
        assert (chapter, heading) not in CHECKS
        CHECKS[chapter, heading] = function
        return function

    return record


# Form


def test_each_chapter_has_a_quiz_and_each_quiz_a_chapter():
    assert sorted(p.stem for p in quiz_source.QUIZZES.glob("[0-9]*.txt")) == CHAPTERS


@every_quiz
def test_a_quiz_has_the_chapters_title_and_five_to_eight_questions(name):
    cells = json.loads((ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    title = re.search(r"^# (.+)$", "".join(cells[0]["source"]), re.M)[1]
    assert QUIZZES[name].title == title
    assert 5 <= len(QUIZZES[name].questions) <= 8


@every_quiz
def test_one_choice_is_right_and_each_wrong_one_names_a_section_of_the_chapter(name):
    labels = quiz_source.sections(ROOT / f"book/{name}.ipynb")
    for question in QUIZZES[name].questions:
        assert 3 <= len(question.choices) <= 4
        assert sum(choice.right for choice in question.choices) == 1
        assert len({choice.text for choice in question.choices}) == len(question.choices)
        for choice in question.choices:
            assert len(choice.misconception.split()) >= 3, choice
            # Of a fold that a formula alone opens, a screen reader would not know the name.
            assert re.sub(r"\$[^$]+\$", "", choice.text).strip(), choice
            assert choice.right == (choice.section is None), choice
            assert choice.right or choice.section in labels, choice


@every_quiz
def test_no_place_is_the_right_one_too_often(name):
    places = [[c.right for c in q.choices].index(True) for q in QUIZZES[name].questions]
    assert len(set(places)) >= 3
    assert max(map(places.count, places)) <= len(places) / 2


@every_quiz
def test_a_choice_is_not_known_by_its_look(name):
    """Neither does a reason mark the wrong ones, nor the length the right ones."""
    questions = QUIZZES[name].questions
    reasons = [choice.right for q in questions for choice in q.choices if ", since " in choice.text]
    assert not reasons or any(reasons)
    for extreme in (max, min):
        stand_out = 0
        for question in questions:
            lengths = [len(choice.text) for choice in question.choices]
            chosen = question.choices[lengths.index(extreme(lengths))]
            stand_out += chosen.right and lengths.count(extreme(lengths)) == 1
        assert stand_out <= len(questions) / 2


@every_quiz
def test_the_chapter_ends_with_its_quiz_and_says_how_many_questions_there_are(name):
    cells = json.loads((ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    last = "".join(cells[-1]["source"])
    count = COUNTS[len(QUIZZES[name].questions)]
    assert f"## Check yourself\n\n:::{{admonition}} {count} questions\n:class: quiz\n" in last
    assert f"/attnbook/book/{name}.html#check-yourself)" in last
    stated = (quiz_source.QUIZZES / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1]
    assert stated == f"Quiz description: {count} questions on chapter {int(name[:2])} of " + (
        "The Attention Book."
    )


def test_has_no_filler():
    words = "simply|obviously|clearly|powerful|delve|crucial|straightforward|of course"
    for path in quiz_source.QUIZZES.glob("[0-9]*.txt"):
        assert not re.findall(rf"\b({words})\b", path.read_text(encoding="utf-8"), re.I)


@pytest.mark.parametrize(
    "line", ["just words", "e)  a fifth choice", "=   42", "a) one blank", "...", "  1.  indented"]
)
def test_what_is_not_of_the_form_is_an_error_and_not_left_out(line):
    sound = "Quiz title: T\n\nTitle: H\n1.  Q?\na)  no\n... why\n*b) yes\n... so"
    assert len(quiz_source.parse(sound).questions[0].choices) == 2
    with pytest.raises(ValueError, match="is not part of a quiz"):
        quiz_source.parse(f"{sound}\n{line}")


def test_requirements_are_pinned_with_a_reason_and_agree_with_the_constraints():
    def lines(name):
        return (quiz_source.QUIZZES / name).read_text(encoding="utf-8").splitlines()

    wanted = [line for line in lines("requirements.txt") if line and line[0] not in "#-"]
    assert wanted
    assert "-c constraints.txt" in lines("requirements.txt")
    assert all(re.match(r"[\w.-]+==[\w.]+  # \w", line) for line in wanted)
    assert {line.split()[0] for line in wanted} <= set(lines("constraints.txt"))


# Truth


def test_every_question_is_worked_out_here():
    assert set(CHECKS) == set(QUESTIONS)


@pytest.mark.parametrize("key", QUESTIONS, ids=lambda key: f"{key[0]} {key[1]}")
def test_the_right_choice_is_what_comes_out_and_no_wrong_one_is(key):
    answer = CHECKS[key](QUESTIONS[key])
    for choice in QUESTIONS[key].choices:
        said = re.search(rf"(?<![\w.]){re.escape(answer)}(?!\w|[.,]\w)", choice.text)
        assert bool(said) == choice.right, (answer, choice.text)


def code(shape):
    return f"`{tuple(shape)}`"


def numbers(question):
    """All whole numbers in a question, in their order: its sizes are read, not copied."""
    return [int(number) for number in re.findall(r"\d+", question.text)]


@check("01", "The way back")
def way_back(question):
    n = 9
    assert question.text.startswith("A sentence has nine words, and so has its translation.")
    links = {f"{a}{i}": f"{a}{i + 1}" for a in "hg" for i in range(n - 1)}
    links[f"h{n - 1}"] = "g0"
    start = rng.standard_normal(3)
    here, state = "h0", start
    while here != f"g{n - 1}":
        here, state = links[here], state @ (0.5 * np.eye(3))
    factor = np.linalg.norm(state) / np.linalg.norm(start)
    assert (round(0.5**8, 3), round(0.5 / len(links), 2)) == (0.004, 0.03)
    return f"{factor:.6f}"


def shift_register(units, inputs):
    return np.column_stack([np.roll(inputs, lag) for lag in range(units)])


@check("01", "The sum of the recalls")
def sum_of_recalls(question):
    (units,) = numbers(question)
    inputs = rng.uniform(-1, 1, 4000)
    past = shift_register(100, inputs)[200:]
    trained = np.tanh(shift_register(50, inputs) @ rng.standard_normal((50, units)) / 9)[200:]
    sums = []
    for states in (shift_register(units, inputs)[200:], trained):
        spans = [np.linalg.qr(a - a.mean(axis=0))[0] for a in (states, past)]
        shared = (spans[0].T @ spans[1]) ** 2  # of each direction of the state, by each lag
        assert len(shared) == units
        assert shared.sum(axis=1).max() <= 1 + 1e-9
        sums.append(shared.sum())
    assert np.isclose(sums[0], units)  # reached
    assert sums[1] <= units + 1e-9  # by no function of the inputs exceeded
    assert units**2 == 1024
    return str(round(sums[0]))


@check("01", "One unit, thirty bits")
def thirty_bits(question):
    bits, state, states = rng.integers(0, 2, 3000), 0.0, []
    for bit in bits:
        state = (state + bit) / 2
        states.append(state)
    states = np.array(states)
    for lag in range(30):
        digit = np.floor(states * 2.0 ** (lag + 1)) % 2
        assert (digit[100:] == bits[100 - lag : len(bits) - lag]).all()
    past = shift_register(100, bits)[200:].astype(float)
    q = np.linalg.qr(past - past.mean(axis=0))[0]
    one = states[200:] - states[200:].mean()
    assert np.linalg.norm(q.T @ one / np.linalg.norm(one)) ** 2 <= 1 + 1e-9  # by linear reading
    return "taking digits apart is not linear"


@check("01", "Near or alike")
def near_or_alike(question):
    def differ(query, key, sharpness=3):
        by_dot = softmax(sharpness * query @ key.T)
        distances = ((query[:, None] - key) ** 2).sum(axis=-1)
        return not np.allclose(by_dot, softmax(-sharpness * distances / 2))

    def unit(rows):
        return rows / np.linalg.norm(rows, axis=-1, keepdims=True)

    query, key = rng.standard_normal((7, 5)), rng.standard_normal((11, 5))
    assert differ(query, key)  # not always
    assert differ(unit(query), key)  # a query's length does not help
    assert not differ(query, 2 * unit(key))  # of seven lengths
    return "When all keys are equally long"


@check("01", "No match")
def no_match(question):
    value = rng.standard_normal((6, 3))
    answer = scaled_dot_product_attention(np.zeros((1, 15)), np.eye(6, 15), value, scale=5)
    np.testing.assert_allclose(answer.output[0], value.mean(axis=0))
    return "The mean of all six values"


@check("01", "Key as value")
def key_as_value(question):
    contents, query = rng.standard_normal((2, 7, 3))
    exchanged = contents[[0, 1, 4, 3, 2, 5, 6]]
    before = scaled_dot_product_attention(query, contents, contents).output
    after = scaled_dot_product_attention(query, exchanged, exchanged).output
    np.testing.assert_allclose(after, before)
    fixed = scaled_dot_product_attention(query, contents, exchanged).output
    assert not np.allclose(fixed, before)  # what the feedback says
    return "Nothing"


@check("01", "All pairs")
def all_pairs(question):
    len_q, d_q, len_k, d_k, hidden = numbers(question)
    query, key = rng.standard_normal((len_q, d_q)), rng.standard_normal((len_k, d_k))
    w_query, w_key = rng.standard_normal((d_q, hidden)), rng.standard_normal((d_k, hidden))
    w_score = rng.standard_normal(hidden)
    found = (query @ w_query)[:, None] + key @ w_key
    weights = additive_attention(query, key, key, w_query, w_key, w_score).weights
    np.testing.assert_allclose(softmax(np.tanh(found) @ w_score), weights)
    assert weights.shape == (4, 9)
    with pytest.raises(ValueError, match="mismatch"):
        query @ key.T
    return f"{code(found.shape)}, and the dot product could not"


@check("01", "Reading a heatmap")
def reading(question):
    sentence = pretrained.sentences()[0]
    weights = pretrained.recorded_weights(sentence)[3, 1].astype(float)
    it = pretrained.tokens(sentence).index("it")
    assert np.isclose(weights[it].sum(), 1, atol=1e-2)
    assert abs(weights[:, it].sum() - 1) > 0.1
    return "`weights[it]`"


@check("02", "Shapes")
def shapes(question):
    sizes = numbers(question)
    query, key, value = (rng.standard_normal(sizes[i : i + 2]) for i in (0, 2, 4))
    found = scaled_dot_product_attention(query, key, value)
    assert found.weights.shape == (5, 7)
    return code(found.output.shape)


@check("02", "A constant")
def constant(question):
    *value, first, root, added = numbers(question)[:5]
    scores, value = np.array([first, np.log(root)]), np.array(value, dtype=float)
    exps = np.exp(scores + added)  # no maximum subtracted
    output = exps / exps.sum() @ value
    np.testing.assert_allclose(softmax(scores) @ value, output)
    np.testing.assert_allclose(exps / exps.sum(), [1 / 4, 3 / 4])
    assert value.mean() == 6
    assert 709 < np.log(np.finfo(np.float64).max) < 710
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(np.float32(added)))
    return f"{output:.0f}"


@check("02", "Spread of the scores")
def spread(question):
    d_k = numbers(question)[-1]
    query, key = rng.standard_normal((2, 20_000, d_k))
    products = (query * key).sum(axis=-1)
    assert np.isclose(products.std(), np.sqrt(d_k), rtol=0.02)
    assert np.isclose((products / np.sqrt(d_k)).std(), 1, rtol=0.02)
    lengths = np.linalg.norm(query, axis=-1), np.linalg.norm(key, axis=-1)
    assert round((products / lengths[0] / lengths[1]).std(), 2) == 0.06  # of the cosine
    return f"{np.sqrt(d_k):.0f}"


@check("02", "Which gradient vanishes")
def which_gradient(question):
    """Differences of the losses themselves, so that no formula of a gradient is trusted."""
    d_k, _, _, num_keys = numbers(question)
    rows = 300
    query, key = rng.standard_normal((rows, 1, d_k)), rng.standard_normal((rows, num_keys, d_k))
    scores, wanted = (query * key).sum(axis=-1), rng.integers(num_keys, size=rows)
    value = rng.standard_normal((rows, num_keys, num_keys))
    value /= np.linalg.norm(value, axis=-1, keepdims=True)
    each = np.arange(rows)

    def of_output(scores):
        output = (softmax(scores)[:, :, None] * value).sum(axis=1)
        return ((output - value[each, wanted]) ** 2).sum(axis=-1) / 2

    def cross_entropy(scores):
        return np.logaddexp.reduce(scores, axis=-1) - scores[each, wanted]

    def gradient(loss):
        nudges = 1e-5 * np.eye(num_keys)
        return np.stack([(loss(scores + e) - loss(scores - e)) / 2e-5 for e in nudges], axis=-1)

    found = {loss: np.linalg.norm(gradient(loss), axis=-1) for loss in (of_output, cross_entropy)}
    assert np.median(found[of_output]) < 1e-3
    assert found[of_output].mean() > 0.01  # the feedback: the mean falls less
    assert np.isclose(np.median(found[cross_entropy]), np.sqrt(2), rtol=0.01)
    y = np.eye(num_keys)[wanted]
    np.testing.assert_allclose(gradient(cross_entropy), softmax(scores) - y, atol=1e-6)
    return "A loss on the output of attention, but no cross-entropy"


@check("02", "A wrong line")
def wrong_line(question):
    block = re.search(r"```\n(.*)\n```", question.text, re.S)[1]
    arrays = [rng.standard_normal(shape) for shape in ((5, 3), (7, 3), (7, 2))]
    right = scaled_dot_product_attention(*arrays).output

    def run(lines):
        names = dict(zip(("query", "key", "value"), arrays, strict=True), np=np)
        exec("\n".join(lines), names)
        return names["output"]

    lines = block.splitlines()
    assert not np.allclose(run(lines), right)
    mended = "weights = exps / exps.sum(axis=-1, keepdims=True)"
    np.testing.assert_allclose(run([*lines[:2], mended, lines[3]]), right)
    return "The third"


@check("02", "Nothing to see")
def nothing_to_see(question):
    scores = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(softmax(scores - 1e9), softmax(scores), rtol=1e-6)
    single = softmax(scores.astype(np.float32) - np.float32(1e9))
    np.testing.assert_allclose(single, np.full(3, 1 / 3), rtol=1e-6)
    none = np.zeros((1, 3), dtype=bool)
    ours = scaled_dot_product_attention(np.ones((1, 1)), scores[:, None], scores[:, None], none)
    assert (ours.weights == 0).all()
    with np.errstate(invalid="ignore"):
        e = np.exp(np.full(3, -np.inf) - -np.inf)
    assert np.isnan(e).all()
    return "The same as without a mask"


@check("02", "The other way round")
def other_way_round(question):
    file = ROOT / "attnbook/data/mask_conventions.json"
    golden = json.loads(file.read_text(encoding="utf-8"))
    recipes = {row["recipe"] for row in golden["rows"]}
    assert recipes == {"mask", "~mask", "additive"}
    mask = causal_mask(5)
    np.testing.assert_array_equal(mask.T ^ ~mask, np.eye(5, dtype=bool))  # only the diagonal
    return "`~mask`"


class Counted(float):
    """A number that counts how often numbers of its kind are multiplied."""

    total = 0

    def __mul__(self, other):
        Counted.total += 1
        return float(self) * float(other)

    __rmul__ = __mul__


@check("02", "Twice as long")
def twice_as_long(question):
    def count(n, d_k=3, d_v=5):
        Counted.total = 0
        q, k, v = (np.frompyfunc(Counted, 1, 1)(np.ones((n, d))) for d in (d_k, d_k, d_v))
        softmax((q @ k.T).astype(float)) @ v
        return Counted.total

    bits, short, long = numbers(question)
    assert long == 2 * short
    assert count(7) == 7**2 * (3 + 5)
    query, key = np.ones((2, long, 3), dtype=f"float{bits}")
    size = (query @ key.T).nbytes
    assert size == 4 * (query[:short] @ key[:short].T).nbytes == 16e6
    return f"{Fraction(count(14), count(7))} times, and {size / 1e6:.0f} MB"


@check("03", "The scale")
def scale(question):
    _, d_k, _, d_v = numbers(question)
    x = rng.standard_normal((6, 10))
    w_q, w_k = rng.standard_normal((2, 10, d_k))
    weights = self_attention(x, w_q, w_k, rng.standard_normal((10, d_v))).weights
    for size in (d_v, 6, 10, d_k):
        same = np.allclose(softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(size)), weights)
        assert same == (size == d_k)
    return f"The root of {d_k}"


@check("03", "Backwards")
def backwards(question):
    x, matrices = rng.standard_normal((7, 5)), rng.standard_normal((3, 5, 3))
    forth, back = self_attention(x, *matrices), self_attention(x[::-1], *matrices)
    np.testing.assert_allclose(back.output, forth.output[::-1])
    np.testing.assert_allclose(back.weights, forth.weights[::-1, ::-1])
    assert not np.allclose(back.output, forth.output)
    assert not np.allclose(back.weights, forth.weights[::-1])
    only_rows = forth.weights[::-1] @ (x[::-1] @ matrices[2])
    assert not np.allclose(only_rows, back.output)  # what the feedback says
    return "Rows and columns of the weights are reversed"


@check("03", "A mask after softmax")
def mask_after_softmax(question):
    x = rng.standard_normal((5, 3))

    def attend(x, again=False):
        weights = softmax(x @ x.T) * causal_mask(len(x))
        return weights / (weights.sum(axis=-1, keepdims=True) if again else 1)

    sums = attend(x).sum(axis=-1)
    assert (sums[:-1] < 1).all()
    assert np.isclose(sums[-1], 1)
    moved = influence(lambda x: attend(x) @ x, x, rng)
    assert moved[np.triu_indices(5, 1)].all()
    before = scaled_dot_product_attention(x, x, x, causal_mask(5), scale=1).weights
    assert not np.allclose(attend(x), before)
    np.testing.assert_allclose(attend(x, again=True), before)
    return "A later token still changes earlier outputs"


@check("03", "Words and patches")
def words_and_patches(question):
    d_x, d_k, d_memory, _ = numbers(question)
    assert question.text.startswith("Four words of ten features look at a memory of nine patches")
    x, memory = rng.standard_normal((4, d_x)), rng.standard_normal((9, d_memory))
    w_q, w_k = rng.standard_normal((d_x, d_k)), rng.standard_normal((d_memory, d_k))
    return code(cross_attention(x, memory, w_q, w_k, w_k).weights.shape)


@check("03", "A shuffled memory")
def shuffled_memory(question):
    x, memory = rng.standard_normal((4, 5)), rng.standard_normal((7, 5))
    matrices = rng.standard_normal((3, 5, 3))
    before = cross_attention(x, memory, *matrices).output
    after = cross_attention(x, memory[rng.permutation(7)], *matrices).output
    np.testing.assert_allclose(after, before)
    return "Nothing"


@check("03", "Where the causal mask belongs")
def where_causal(question):
    chapter = (ROOT / "book/03-self-and-cross.ipynb").read_text(encoding="utf-8")
    causal = re.findall(r"\"\| ([\w -]+) \|[^|]+\|[^|]+\| causal", chapter)
    assert causal == ["decoder self-attention"]
    return "The decoder's self-attention only"


@check("03", "A weight of a third")
def weight_of_a_third(question):
    wide = pretrained.sentences()[1]
    tokens = pretrained.tokens(wide)
    assert "wide" in tokens
    head, x = pretrained.head_projections(layer=3, head=1), pretrained.hidden_states(wide, layer=3)
    q, k, v = (x @ getattr(head, f"w_{n}") + getattr(head, f"b_{n}") for n in "qkv")
    weights = scaled_dot_product_attention(q, k, v).weights[tokens.index("it")]
    lengths = np.linalg.norm(v @ pretrained.multi_head_attention(3).w_o[32:64], axis=-1)
    share = weights * lengths / (weights * lengths).sum()
    assert weights.argmax() == tokens.index("[CLS]")
    assert np.isclose(weights[0], 1 / 3, atol=0.01)
    assert share.argmax() == tokens.index("animal")
    assert lengths[0] < lengths[1:].min() / 10
    return f"{100 * share[0]:.0f} %"


@check("03", "Tired and wide")
def tired_and_wide(question):
    tired, wide = pretrained.sentences()[:2]
    rows, names = [], []
    for sentence in (tired, wide):
        tokens = pretrained.tokens(sentence)
        rows.append(pretrained.recorded_weights(sentence)[:, :, tokens.index("it")])
        names.append(np.array(tokens))
    animal, street = (list(names[0]).index(word) for word in ("animal", "street"))
    assert [list(n).index("street") for n in names] == [street, street]
    main = [n[row.argmax(axis=-1)] for n, row in zip(names, rows, strict=True)]
    moves = ((main[0] == "animal") & (main[1] == "street")).sum()
    lead = [row[..., animal] - row[..., street] for row in rows]
    overtaken = (lead[0] > 0) & (lead[1] < 0)
    assert overtaken.sum() == 5
    largest = rows[1].max(axis=-1)
    assert (largest[overtaken] > rows[1][..., street][overtaken]).all()
    np.testing.assert_allclose(rows[0][3, 1, animal], 0.68, atol=0.006)
    np.testing.assert_allclose(rows[1][3, 1, street], 0.12, atol=0.006)
    assert rows[1][3, 1].argmax() == 0
    assert main[0].size == 72
    return str(moves)


@check("04", "One head, two places")
def one_head_two_places(question):
    places = np.reshape(numbers(question), (2, 2)).astype(float)

    def look(share, places):
        scores = np.log([[share], [1 - share]])
        return scaled_dot_product_attention(np.ones((1, 1)), scores, places, scale=1).output[0]

    for share in (0.05, 0.5, 0.75, 0.99):
        moved = places + np.outer([1 - share, -share], rng.standard_normal(2))
        assert not np.allclose(moved, places)
        np.testing.assert_allclose(look(share, moved), look(share, places))
    one_each = [look(share, places) for share in (1 - 1e-15, 1e-15)]
    np.testing.assert_allclose(one_each, places)
    x, y = look(0.5, places)
    return f"({x:.0f}, {y:.0f}): no, since other places"


@check("04", "The scale of a head")
def scale_of_a_head(question):
    d_model, num_heads = numbers(question)
    head_dim = split_heads(np.zeros((1, d_model)), num_heads).shape[-1]
    assert head_dim == 64
    return f"{np.sqrt(head_dim):.0f}"


@check("04", "Split")
def split(question):
    *shape, batch, head, token, feature, num_heads = numbers(question)
    x, w = rng.standard_normal((*shape[:2], 9)), rng.standard_normal((9, shape[-1]))

    def entry(w):
        return split_heads(x @ w, num_heads)[batch, head, token, feature]

    more = np.eye(shape[-1])
    needed = [c for c, e in enumerate(more) if not np.isclose(entry(w + e), entry(w))]
    (column,) = needed
    size = shape[-1] // num_heads
    alone = x @ w[:, head * size : (head + 1) * size]  # what the loop over heads computes
    assert np.isclose(alone[batch, token, feature], entry(w))
    halfway = np.arange(shape[-1]).reshape(num_heads, size)[token, feature]
    in_turns = np.arange(shape[-1]).reshape(size, num_heads)[feature, head]
    assert (feature, in_turns, halfway) == (3, 10, 11)  # what is said of the wrong ones
    return f"Column {column}"


@check("04", "The shortcut")
def shortcut(question):
    length, width, *wrong_shape = numbers(question)
    x = rng.standard_normal((length, width))
    changed = x + np.isin(np.arange(width), (3, 4, 5))

    def wrong(x):
        return x.reshape(wrong_shape)

    def moved(split):
        weights = [
            scaled_dot_product_attention(*[split(each)] * 3).weights for each in (x, changed)
        ]
        return [not np.allclose(*heads) for heads in zip(*weights, strict=True)]

    assert wrong(x).shape == split_heads(x, 4).shape
    np.testing.assert_array_equal(wrong(x).reshape(x.shape), x)
    weights = scaled_dot_product_attention(*[wrong(x)] * 3).weights
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    assert moved(lambda x: split_heads(x, 4)) == [False, True, False, False]
    assert moved(wrong) == [True] * 4
    for token in range(4):  # what the feedback says
        np.testing.assert_array_equal(wrong(x)[token].ravel(), x[token])
    return "Change features 3 to 5 of every token"


@check("04", "More heads")
def more_heads(question):
    n, d_model = 11, 48
    counts = {}
    for heads in (1, 8):
        size = d_model // heads
        weights = np.prod(split_heads(np.zeros((n, d_model)), heads).shape[:2]) * n
        products = 4 * n * d_model**2 + 2 * heads * n * n * size
        wide, deep = rng.standard_normal((2, d_model, size))
        rank = np.linalg.matrix_rank(wide @ deep.T)
        counts[heads] = {"memory": weights, "parameters": 4 * heads * d_model * size}
        counts[heads] |= {"multiplications": products, "rank": rank}
    grown = [name for name in counts[1] if counts[8][name] > counts[1][name]]
    assert grown == ["memory"]
    assert counts[8]["rank"] == d_model // 8 < counts[1]["rank"]
    return "The memory for the weights"


@check("04", "Packed weights")
def packed_weights(question):
    packed = json.loads((ROOT / "attnbook/data/packed_mha.json").read_text(encoding="utf-8"))
    in_proj_weight = np.array(packed["state_dict"]["in_proj_weight"])
    assert in_proj_weight.shape == (18, 6)
    w_k = in_proj_weight.T[:, 6:12]  # what x meets: columns 6 to 11 of x @ W.T
    fits = []
    for choice in QUESTIONS["04", "Packed weights"].choices:
        given = eval(choice.text.strip("`"), {"in_proj_weight": in_proj_weight})
        assert given.shape == (6, 6) or given.size == 0
        if given.shape == w_k.shape and np.array_equal(given, w_k):
            fits.append(choice.text)
    (right,) = fits
    return right


@check("04", "A mask for two sequences")
def mask_for_two(question):
    sizes = numbers(question)
    mask = np.arange(7) < np.array([7, 3])[:, None, None]
    assert list(mask.shape) == sizes[:3]
    scores = rng.standard_normal(sizes[3:])
    seen = np.broadcast_to(mask, scores.shape)
    for sequence, head in np.ndindex(2, 2):
        assert (seen[sequence, head] == mask[head]).all()
    assert (np.broadcast_to(mask[:, None], scores.shape)[1] == mask[1]).all()
    with pytest.raises(ValueError, match="broadcast"):
        np.broadcast_to(mask, (2, 3, 5, 7))
    return "Head 0 of both sequences gets the mask of the first one"


@check("04", "Shared keys")
def shared_keys(question):
    query_heads, all_heads, few_heads = numbers(question)
    n, head_dim = 13, 5
    query = rng.standard_normal((query_heads, n, head_dim))
    counts = []
    for kv_heads in (all_heads, few_heads):
        key, value = rng.standard_normal((2, kv_heads, n, head_dim))
        scores = query.reshape(kv_heads, -1, n, head_dim) @ key[:, None].swapaxes(-1, -2)
        counts.append((key.size + value.size, scores.size))
    assert Fraction(counts[1][0], counts[0][0]) == Fraction(1, 4)
    assert counts[1][1] == counts[0][1]
    return "The cache shrinks to a quarter, the number of scores stays"


@check("05", "Who is before a?")
def who_is_before(question):
    orders = list(itertools.permutations("abcde"))
    assert len(orders) in numbers(question)
    before = ["nobody" if o[0] == "a" else o[o.index("a") - 1] for o in orders]
    best = max(map(before.count, set(before)))
    assert best == 24
    return str(Fraction(best, len(orders)))


@check("05", "The first row")
def first_row(question):
    row = sinusoidal_encoding(1, 4)[0]
    return str([int(entry) for entry in row])


@check("05", "A frequency")
def frequency(question):
    far = sinusoidal_encoding(2, 8)[1]
    omega = np.arctan2(far[2], far[3])  # the hand of pair 1 after one step
    assert np.isclose(10_000 ** (-1 / 8), 0.32, atol=0.005)
    assert np.isclose(10_000 ** (-3 / 8), 0.03, atol=0.005)
    return f"{omega:.1f}"


@check("05", "Moving on")
def moving_on(question):
    here, there, other = numbers(question)
    encoding = sinusoidal_encoding(200, 10)
    rotation = relative_rotation(there - here, 10)
    np.testing.assert_allclose(rotation @ encoding[here], encoding[there])
    assert other * there / here == 125
    for j, (sine, cosine) in enumerate(encoding[there - here].reshape(5, 2)):
        block = rotation[2 * j : 2 * j + 2, 2 * j : 2 * j + 2]
        np.testing.assert_allclose(block, [[cosine, sine], [-sine, cosine]])
    (at,) = np.flatnonzero(np.isclose(encoding, rotation @ encoding[other]).all(axis=1))
    return str(at)


@check("05", "Without the transpose")
def without_transpose(question):
    encoding, back = sinusoidal_encoding(20, 16), relative_rotation(-1, 16)
    looks = {}
    for name, w_q in (("with", back.T), ("without", back), ("identity", np.eye(16))):
        found = scaled_dot_product_attention(encoding @ w_q, encoding, encoding, scale=20)
        looks[name] = found.weights.argmax(axis=-1)[1:-1] - np.arange(1, 19)
    assert (looks["with"] == -1).all()
    assert (looks["identity"] == 0).all()
    assert (looks["without"] == 1).all()
    return "At the next token"


@check("05", "The wrong axis")
def wrong_axis(question):
    x, encoding = rng.standard_normal(numbers(question)[:3]), sinusoidal_encoding(99, 8)

    def wrong(x):
        return x + encoding[: len(x), None]

    def right(x):
        return x + encoding[: x.shape[1]]

    def outputs(x, add):
        return self_attention(add(x), *[np.eye(8)] * 3).output

    def merely_reversed(add):
        return np.allclose(outputs(x[:, ::-1], add), outputs(x, add)[:, ::-1])

    added, changed = wrong(x) - x, x + np.eye(5)[2][:, None]
    assert added.shape == x.shape
    np.testing.assert_allclose(added, np.broadcast_to(added[:, :1], x.shape))  # one for all
    np.testing.assert_allclose(np.linalg.norm(added, axis=-1), 2)
    for add in (wrong, right, np.copy):
        assert (abs(outputs(changed, add) - outputs(x, add)).max(axis=-1) > 1e-12).all()
    assert not merely_reversed(right)
    assert merely_reversed(wrong)
    return "Reverse the tokens"


@check("05", "A learned table")
def learned_table(question):
    one, other = np.reshape(numbers(question), (2, 2))
    assert np.ptp(one) == np.ptp(other)
    for d_model in (2, 10, 384):
        table = sinusoidal_encoding(128, d_model)
        assert np.isclose(table[one[0]] @ table[one[1]], table[other[0]] @ table[other[1]])
    rows = pretrained.position_table()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = [unit[i] @ unit[j] for i, j in (one, other)]
    (both,) = (choice for choice in question.choices if choice.text.startswith("In both"))
    assert re.findall(r"-?0\.\d\d", both.misconception) == [f"{c:.2f}" for c in cosines]
    return "In that of the formula"


@check("05", "Rotary")
def rotary(question):
    query, key = rng.standard_normal((2, 10))

    def score(p, s):
        return (relative_rotation(p, 10) @ query) @ (relative_rotation(s, 10) @ key)

    assert np.isclose(score(3, 8), score(40, 45))
    assert not np.isclose(score(3, 8), score(3, 9))
    assert not np.isclose(score(3, 8), query @ key)
    return "$s - p$ alone"
