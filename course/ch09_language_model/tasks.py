"""Assignment 9, Build a language model, whole."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import each, projection, returning
from attnbook.pretrained import storyteller
from attnbook.toys.small_world import story
from attnbook.training import map_arrays
from course.grading.task import Measurement, sizes

# count-by-part


def _count_cases(rng):
    def config(vocabs, head_dims, layers, kv_heads, times, hidden, tied):
        v, size, n, kv, t, h = sizes(rng, vocabs, head_dims, layers, kv_heads, times, hidden)
        return {
            "vocab": v, "d_model": kv * t * size, "num_layers": n, "num_heads": kv * t,
            "num_kv_heads": kv, "hidden": h, "tied": tied,
        }  # fmt: skip

    yield config((97, 211), (8, 12), (7, 11), (3,), (4, 5), (53, 71, 89), True), "part_by_part"
    yield config((101, 307), (6, 10), (4,), (2,), (3, 5), (47, 59, 83), False), "not_tied"
    yield config((89, 131), (10, 14), (3, 6), (4, 5), (1,), (61, 67), True), "as_many_kv_heads"
    yield config((73, 113), (16, 18), (2,), (1,), (7, 9), (79, 103), False), "one_kv_head"
    yield config((40_009, 60_013), (64,), (31, 37), (3, 5), (4,), (1301, 1409), True), "large"


def _count(
    embedding=lambda v, d, tied: v * d * (1 if tied else 2),
    kv=lambda d, heads, kv_heads: d // heads * kv_heads,
    attention=lambda d, kv: 2 * d * d + 2 * d * kv,
    feed_forward=lambda d, hidden: 3 * d * hidden,
    norms=lambda d, n: (2 * n + 1) * d,
    layers=lambda n: n,
):
    def count(vocab, d, n, heads, kv_heads, hidden, tied):
        return (
            embedding(vocab, d, tied),
            layers(n) * attention(d, kv(d, heads, kv_heads)),
            layers(n) * feed_forward(d, hidden),
            norms(d, n),
        )

    return count


_COUNT_BY_PART = Exercise(
    call="count_by_part(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied)",
    returns=("embedding", "attention", "feed_forward", "norms"),
    reference=_count(),
    cases=_count_cases,
    mistakes=dict(
        **each(
            _count,
            never_tied=lambda v, d, tied: 2 * v * d,
            always_tied=lambda v, d, tied: v * d,
            vocab_alone=lambda v, d, tied: v * (1 if tied else 2),
        ),
        **each(
            lambda kv: _count(kv=kv),
            heads_not_shared=lambda d, heads, kv_heads: d,
            kv_heads_as_size=lambda d, heads, kv_heads: kv_heads,
            kv_heads_times_d_model=lambda d, heads, kv_heads: d * kv_heads,
            heads_per_kv_head=lambda d, heads, kv_heads: d // kv_heads,
            one_kv_head_counted=lambda d, heads, kv_heads: d // heads,
        ),
        **each(
            lambda attention: _count(attention=attention),
            no_w_o=lambda d, kv: d * d + 2 * d * kv,
            no_w_v=lambda d, kv: 2 * d * d + d * kv,
            w_o_of_kv=lambda d, kv: d * d + 3 * d * kv,
            all_of_kv=lambda d, kv: 4 * d * kv,
            biases=lambda d, kv: 2 * d * d + 2 * d * kv + 2 * d + 2 * kv,
        ),
        **each(
            lambda feed_forward: _count(feed_forward=feed_forward),
            two_matrices=lambda d, hidden: 2 * d * hidden,
            four_times=lambda d, hidden: 3 * d * 4 * d,
            hidden_squared=lambda d, hidden: 2 * d * hidden + hidden**2,
        ),
        **each(
            lambda norms: _count(norms=norms),
            no_final_norm=lambda d, n: 2 * n * d,
            one_norm_a_layer=lambda d, n: (n + 1) * d,
            norm_biases=lambda d, n: 2 * (2 * n + 1) * d,
            final_norm_alone=lambda d, n: d,
        ),
        one_layer=_count(layers=lambda n: 1),
        **returning(
            _count(),
            total=sum,
            others_first=lambda parts: (parts[1], parts[2], parts[3], parts[0]),
            feed_forward_first=lambda parts: (parts[0], parts[2], parts[1], parts[3]),
        ),
    ),
)


# without-heads


def _without_cases(rng):
    def inputs(batches, head_counts, lengths, dims, models, taken):
        b, heads, n, dim, d_model = sizes(rng, batches, head_counts, lengths, dims, models)
        return {
            "heads": rng.standard_normal((b, heads, n, dim)) + rng.standard_normal((heads, 1, dim)),
            "w_o": projection(rng, heads * dim, d_model),
            "taken": sorted(rng.choice(heads, taken, replace=False).tolist()),
        }

    square = inputs((2, 3), (5, 6), (4,), (7, 8), (40,), 2)
    width = len(square["w_o"])
    square["taken"] = [1, square["heads"].shape[1] - 1]  # neither is the first
    yield square | {"w_o": projection(rng, width, width)}, "mean_of_all_tokens"
    yield inputs((2, 3), (5, 6), (7, 8), (4, 9), (10, 11), 1), "mean_of_all_tokens"
    yield inputs((3, 4), (5,), (6, 8), (7, 9), (11, 13), 5), "all_taken"
    yield inputs((2, 4), (3, 5), (7, 8), (6, 9), (11, 13), 0), "none_taken"
    yield inputs((1,), (3, 4), (5, 7), (6, 8), (9, 11), 2), "one_sequence"


def _merged(x):
    return x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)


def _without(
    instead=lambda x: x.mean(axis=(0, 2), keepdims=True),
    which=lambda taken, count: taken,
    merge=_merged,
    project=lambda merged, w_o: merged @ w_o,
):
    def without(heads, w_o, taken):
        out = np.isin(np.arange(heads.shape[1]), which(taken, heads.shape[1]))[:, None, None]
        kept = np.where(out, np.broadcast_to(instead(heads), heads.shape), heads)
        return project(merge(kept), w_o)

    return without


_WITHOUT_HEADS = Exercise(
    call="without_heads(heads, w_o, taken)",
    returns=("output",),
    reference=_without(),
    cases=_without_cases,
    clues={"broadcast": "mean_keeps_axes"},
    mistakes=dict(
        **each(
            _without,
            zeros=lambda x: 0 * x,
            mean_of_sequence=lambda x: x.mean(axis=2, keepdims=True),
            mean_of_batch=lambda x: x.mean(axis=0, keepdims=True),
            mean_of_heads=lambda x: x.mean(axis=1, keepdims=True),
            mean_of_features=lambda x: x.mean(axis=-1, keepdims=True),
            one_number=lambda x: x.mean(axis=(0, 2, 3), keepdims=True),
            mean_of_everything=lambda x: x.mean(),
            all_heads_mean=lambda x: x.mean(axis=(0, 1, 2), keepdims=True),
            first_sequence=lambda x: x[:1].mean(axis=2, keepdims=True),
            first_token=lambda x: x[:, :, :1],
            shuffled=lambda x: x[:, :, ::-1],
            summed=lambda x: x.sum(axis=(0, 2), keepdims=True),
        ),
        **each(
            lambda which: _without(which=which),
            others_taken=lambda taken, count: [h for h in range(count) if h not in taken],
            last_taken=lambda taken, count: taken[-1:],
            first_taken=lambda taken, count: taken[:1],
            from_one=lambda taken, count: [head - 1 for head in taken],
            nothing_taken=lambda taken, count: [],
            everything_taken=lambda taken, count: range(count),
        ),
        **each(
            lambda merge: _without(merge=merge),
            no_swap=lambda x: x.reshape(len(x), x.shape[2], -1),
            features_first=lambda x: x.transpose(0, 2, 3, 1).reshape(len(x), x.shape[2], -1),
        ),
        **each(
            lambda project: _without(project=project),
            not_projected=lambda merged, w_o: merged,
            transposed=lambda merged, w_o: merged @ w_o.T,
        ),
        taken_alone=lambda heads, w_o, taken: (
            _without()(heads, w_o, []) - _without(lambda x: 0 * x)(heads, w_o, taken)
        ),
        difference=lambda heads, w_o, taken: (
            _without()(heads, w_o, taken) - _without()(heads, w_o, [])
        ),
    ),
)


# worth-of-heads


def _told_stories(rng):
    """Draw four stories, filled up with the last word, and where a word answers a question."""
    stories = [story(rng, length=72, people=(2, 3), things=(1, 2), final=3) for _ in range(4)]
    tokens, answers = np.ones((4, 72), int), np.zeros((4, 72), bool)
    for row, each_story in enumerate(stories):
        words = _model().tokenizer.encode(" ".join(each_story.words))
        tokens[row, : len(words)] = words
        answers[row, [question.position for question in each_story.questions]] = True
    yield {"tokens": tokens, "answers": answers}, "loss_without_each"


@functools.cache
def _model():
    """Return the storyteller in float64, where no rounding shows."""
    return map_arrays(lambda array: array.astype(float), storyteller.load())


def _rows(attention, head):
    w_o = attention.w_o.copy()
    w_o[16 * head : 16 * head + 16] = 0
    return dataclasses.replace(attention, w_o=w_o)


def _columns(attention, head):
    w_o = attention.w_o.copy()
    w_o[:, 16 * head : 16 * head + 16] = 0
    return dataclasses.replace(attention, w_o=w_o)


def _in_turns(attention, head):
    w_o = attention.w_o.copy()
    w_o[head::4] = 0
    return dataclasses.replace(attention, w_o=w_o)


def _queries(attention, head):
    w_q = attention.w_q.copy()
    w_q[:, 16 * head : 16 * head + 16] = 0
    return dataclasses.replace(attention, w_q=w_q)


def _values(attention, head):
    w_v = attention.w_v.copy()
    w_v[:, 16 * (head // 2) : 16 * (head // 2) + 16] = 0
    return dataclasses.replace(attention, w_v=w_v)


@functools.lru_cache(2000)  # of a class's stories many mistakes ask the same
def _computed(stories, taken, out):
    """Return the logarithms of the probabilities of all next words, without some heads."""
    tokens = np.frombuffer(stories, int).reshape(4, 72)
    layers = list(_model().layers)
    for layer, head in taken:
        attention = out(layers[layer].attention, head)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
    logits = dataclasses.replace(_model(), layers=tuple(layers)).logits(tokens)
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def _nats(logs, tokens, answers):
    """Return minus the logarithm of the probability of each answer."""
    return -np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0][answers[:, 1:]]


_EIGHT = [(layer, head) for layer in range(2) for head in range(4)]


def _worth(
    taken=lambda head: (head,),
    out=_rows,
    loss=lambda logs, tokens, answers: _nats(logs, tokens, answers).mean(),
    change=lambda found, whole: found,
):
    def losses(tokens, answers):
        def of(*heads):
            stories = np.ascontiguousarray(tokens, int).tobytes()
            return loss(_computed(stories, heads, out), tokens, answers)

        without = np.array([of(*taken(head)) for head in _EIGHT]).reshape(2, 4)
        return change(without, of())

    return losses


_WORTH = _worth()


def _both(rng, tokens, answers):
    first, second = np.argsort(-_WORTH(tokens, answers), axis=None)[:2]
    both = _EIGHT[first], _EIGHT[second]
    return float(_worth(lambda head: both)(tokens, answers)[0, 0])


_WORTH_OF_HEADS = Measurement(
    call="found",
    reference=_WORTH,
    cases=_told_stories,
    returns=("found",),
    read=_both,
    how="the_two_at_once",
    mistakes=dict(
        **each(
            _worth,
            not_put_back=lambda head: tuple(_EIGHT[: _EIGHT.index(head) + 1]),
            others_out=lambda head: tuple(h for h in _EIGHT if h[0] == head[0] and h != head),
            whole_layer=lambda head: tuple((head[0], number) for number in range(4)),
            same_in_both=lambda head: ((0, head[1]), (1, head[1])),
            last_layers=lambda head: ((head[0] + 2, head[1]),),
            nothing_out=lambda head: (),
        ),
        **each(
            lambda out: _worth(out=out),
            columns=_columns,
            in_turns=_in_turns,
            queries=_queries,
            values=_values,
        ),
        **each(
            lambda loss: _worth(loss=loss),
            all_words=lambda logs, t, a: _nats(logs, t, np.ones_like(a)).mean(),
            all_but_padding=lambda logs, t, a: _nats(logs, t, t != 1).mean(),
            one_late=lambda logs, t, a: -np.take_along_axis(logs, t[..., None], -1)[..., 0][a].mean(),
            summed=lambda logs, t, a: _nats(logs, t, a).sum(),
            mean_of_stories=lambda logs, t, a: np.mean(
                [_nats(logs[i : i + 1], t[i : i + 1], a[i : i + 1]).mean() for i in range(4)]
            ),
            bits=lambda logs, t, a: _nats(logs, t, a).mean() / np.log(2),
            perplexity=lambda logs, t, a: np.exp(_nats(logs, t, a).mean()),
            probability=lambda logs, t, a: np.exp(-_nats(logs, t, a)).mean(),
            log_of_mean=lambda logs, t, a: -np.log(np.exp(-_nats(logs, t, a)).mean()),
            share_right=lambda logs, t, a: (
                (logs[:, :-1].argmax(axis=-1) == t[:, 1:])[a[:, 1:]].mean()
            ),
        ),
        **each(
            lambda change: _worth(change=change),
            rises=lambda found, whole: found - whole,
            ratios=lambda found, whole: found / whole,
            transposed=lambda found, whole: found.T,
            turned=lambda found, whole: -found,
        ),
    ),
)  # fmt: skip

TASKS = with_hints(
    __file__,
    {
        "count-by-part": _COUNT_BY_PART,
        "without-heads": _WITHOUT_HEADS,
        "worth-of-heads": _WORTH_OF_HEADS,
    },
)
