"""What a reader writes with attnbook: `mypy --strict` reads it, and a test runs it.

Every public function is called; `assert_type` says what a reader may rely on without a check.
"""

import contextlib
import dataclasses
from datetime import date
from typing import Any, assert_type

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from attnbook import (
    Adam,
    Alibi,
    AttentionOutput,
    Decoder,
    DecoderLayer,
    DecoderTrace,
    KVCache,
    MultiHeadAttention,
    Parts,
    Placed,
    Positions,
    Rotary,
    ScoreStatistics,
    Sinusoidal,
    Sizes,
    Spread,
    additive_attention,
    alibi_bias,
    apply_rotary,
    attend,
    attention_backward,
    because,
    blockwise_attention,
    blockwise_attention_backward,
    causal_mask,
    check_gradient,
    cross_attention,
    cross_entropy,
    effective_keys,
    embedding_backward,
    entropy,
    exercises,
    feed_forward,
    feed_forward_backward,
    influence,
    layer_norm,
    layer_norm_backward,
    linear_backward,
    loss_and_gradient,
    map_arrays,
    merge_heads,
    multi_head_backward,
    online_softmax,
    padding_mask,
    pairing_gaps,
    plotting,
    rank_correlation,
    relative_rotation,
    relu_backward,
    rms_norm,
    rms_norm_backward,
    rotary_backward,
    scaled_dot_product_attention,
    score_statistics,
    self_attention,
    sinusoidal_encoding,
    softmax,
    softmax_backward,
    split_heads,
    swiglu,
    swiglu_backward,
    warmup_cosine,
)
from attnbook.pretrained import (
    date_translator,
    minilm,
    romanizer,
    smollm2,
    state_dicts,
    storyteller,
    word_reader,
)
from attnbook.toys import dates, translator
from attnbook.toys.small_world import story
from attnbook.toys.translator import Training, Translator, after_start, train_step

rng = np.random.default_rng(0)
x = rng.standard_normal((5, 8))
memory = rng.standard_normal((2, 7, 8)).astype(np.float32)
w = rng.standard_normal((8, 8))


def attend_in_each_way() -> None:
    output, weights = scaled_dot_product_attention(x, x, x, causal_mask(5))
    assert_type(output, NDArray[np.floating[Any]])
    assert_type(weights, NDArray[np.floating[Any]])
    print((output - x).std(), weights.argmax(axis=-1), weights[..., -1, :])

    distance = np.subtract.outer(np.arange(5), np.arange(5))
    result = scaled_dot_product_attention(x, x, x, bias=-0.5 * distance, scale=1.0)
    assert_type(result, AttentionOutput)
    assert_type(result.output, NDArray[np.floating[Any]])
    scaled_dot_product_attention([[1]], [[0], [2]], [[4], [8]], [[True, False]])

    mixed, logsumexp = blockwise_attention(x, x, x, causal=True, scale=0.5, block_size=2)
    assert_type(logsumexp, NDArray[np.floating[Any]])
    print(mixed @ w, online_softmax(np.split(x, 2, axis=-1)).sum(axis=-1))

    additive_attention(x, memory, memory, w, w, rng.standard_normal(8), padding_mask([3, 7]))
    self_attention(x, w, w, w, mask=causal_mask(5))
    cross_attention(x, memory, w, w, w)
    assert_type(softmax([0.0, 1.0], axis=0), NDArray[np.floating[Any]])


def go_backward() -> None:
    d_query, _, _ = attention_backward(x, x, x, x, causal_mask(5), scale=0.5)
    assert_type(d_query, NDArray[np.floating[Any]])
    kept = blockwise_attention(x, x, x, causal=True)
    _, _, d_value = blockwise_attention_backward(x, x, x, x, *kept, causal=True, block_size=2)
    print(d_value.mean(axis=-1))
    check_gradient(np.tanh, lambda d_output, x: d_output / np.cosh(x) ** 2, x)

    layer, gain = MultiHeadAttention.init(rng, 8, 4), np.ones(8)
    weights = layer(x, mask=causal_mask(5)).weights
    *d_inputs, d_layer = multi_head_backward(x, layer, x, mask=causal_mask(5), weights=weights)
    assert_type(d_layer, MultiHeadAttention)
    d_x, d_w, d_b = linear_backward(sum(d_inputs), x, w, gain)
    d_x, d_gain = rms_norm_backward(relu_backward(d_x, x), x, gain, eps=0.1)
    d_x, _, _ = layer_norm_backward(d_x, x, gain, gain)
    d_x, *_ = feed_forward_backward(d_x, x, w, gain, w, gain)
    d_x, *_ = swiglu_backward(d_x, x, w, w, w)
    d_x = softmax_backward(rotary_backward(d_x, pairing="halves"), softmax(x))
    print(embedding_backward(d_x, [0, 1, 2, 1, 0], 3).shape, d_w, d_b, d_gain)


def learn() -> None:
    parameters = w, MultiHeadAttention.init(rng, 8, 2)
    adam = Adam.start(parameters)
    for step in range(3):
        loss, d_logits = cross_entropy(x @ parameters[0], [0, 1, 2, 3, 4], [True] * 5)
        assert_type(loss, float)
        gradient = x.T @ d_logits, map_arrays(np.zeros_like, parameters[1])
        rate = warmup_cosine(step, steps=3, warmup=1, peak=0.01)
        parameters, adam = adam.step(parameters, gradient, rate, beta2=0.99)
    assert_type(parameters[1], MultiHeadAttention)
    model = storyteller.load()
    _, of_model = loss_and_gradient(model, [0, 2, 40], mask=[True, True, False])
    assert_type(Adam.start(model).step(model, of_model, rate=0.01)[0], Decoder)
    print(adam.steps, adam.square[0].max())


def build_a_layer() -> NDArray[np.floating[Any]]:
    layer = MultiHeadAttention.init(rng, 8, 4, num_kv_heads=2, dtype=np.float32)
    same = MultiHeadAttention(
        w_q=layer.w_q,
        w_k=layer.w_k,
        w_v=layer.w_v,
        w_o=w.tolist(),
        num_heads=layer.num_heads,
        num_kv_heads=layer.num_kv_heads,
        b_o=[0.0] * 8,
    )
    assert_type(same.b_q + 1, NDArray[np.floating[Any]])
    assert_type(same.num_kv_heads + same.head_dim, int)

    output, weights = layer(x, mask=causal_mask(5), bias=np.zeros((4, 5, 5)))
    print(layer(x, memory, memory, padding_mask([3, 7])).weights.mean(axis=-3), weights.shape)

    # By hand: what rotary, a cache or a bias is put in between.
    cache = KVCache(window=6)
    cache.append(apply_rotary(layer.keys(x), pairing="halves"), layer.values(x))
    keys, values = cache.append(apply_rotary(layer.keys(x[:1]), [5]), layer.values(x[:1]))
    print(len(cache), cache.nbytes, keys.mean())
    queries = apply_rotary(layer.queries(x), np.arange(1, 6), base=100)
    assert_type(queries, NDArray[np.floating[Any]])
    own = attend(rng.standard_normal((4, 5, 6)), values, bias=alibi_bias(4, 5, 6))
    assert_type(own, AttentionOutput)
    heads, _ = scaled_dot_product_attention(queries, keys, values, bias=alibi_bias(4, 5, 6))
    return layer.combine(heads) + output


class FirstPairRotary:
    def place(self, positions: NDArray[Any], key_positions: NDArray[Any], sizes: Sizes) -> Placed:
        def turn(heads: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
            turned = apply_rotary(heads[..., :2], positions, base=sizes.d_model)
            return np.concatenate([turned, heads[..., 2:]], axis=-1)

        return Placed(turn=turn)


def with_tiled_heads(
    query: NDArray[np.floating[Any]],
    key: NDArray[np.floating[Any]],
    value: NDArray[np.floating[Any]],
    mask: NDArray[np.bool_],
) -> AttentionOutput:
    key, value = (np.tile(heads, (2, 1, 1)) for heads in (key, value))
    return scaled_dot_product_attention(query, key, value, mask)


def build_a_decoder() -> NDArray[np.floating[Any]]:
    gain, hidden = np.ones(8), rng.standard_normal((8, 3))
    layer = DecoderLayer(
        attention_norm=gain,
        attention=MultiHeadAttention.init(rng, 8, 4, num_kv_heads=2),
        feed_forward_norm=gain,
        w_gate=hidden,
        w_up=hidden,
        w_down=hidden.T,
    )
    model = Decoder(embedding=x, layers=(layer,), final_norm=gain, positions=FirstPairRotary())
    trace = model.trace([[0, 1], [2, 3]], position_ids=[0, 0.5], mask=[[True, True]])
    for scheme in (Rotary(500, "halves"), Sinusoidal(), Alibi(), None):
        print(dataclasses.replace(model, positions=scheme))
    own: Positions = FirstPairRotary()
    print(own)
    assert_type(trace, DecoderTrace)
    print(trace.states[0].shape, trace.weights.argmax(axis=-1))
    model.generate([0], 3, rng=rng, temperature=0.5, top_p=0.9, stop=[4])
    tokens = model.generate([0], 3, caches=[KVCache(window=2)])
    assert_type(tokens, NDArray[np.intp])
    print(tokens.tolist(), model.logits(tokens)[..., -1, :].argmax())
    normed = layer_norm(rms_norm(x, gain, eps=0.1), gain, np.zeros(8))
    b_in, b_out = np.zeros(3), np.zeros(8)
    ahead = feed_forward(normed, hidden, b_in, hidden.T, b_out)
    return ahead + swiglu(normed, hidden, hidden, hidden.T)


def my_heads(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    heads = split_heads(tokens, 2)
    return np.asarray(merge_heads(heads), np.float64)


def measure() -> float:
    weights = softmax(x @ x.T)
    print(entropy(weights).mean(), effective_keys(weights, axis=-1).max())
    statistics = score_statistics(x, x, scale=0.5)
    assert_type(statistics, ScoreStatistics)
    assert_type(statistics.before, Spread)
    print(influence(lambda tokens: self_attention(tokens, w, w, w).output, x, rng).all())
    print(influence(my_heads, x, rng).tolist())
    because([5.0, 6.0], 1, weights.sum() + 3, line=2.5)
    print(pairing_gaps(w, 1)["halves"] > 0)
    return statistics.after.std + rank_correlation([1, 2, 3], weights[0, :3])


def place_tokens() -> NDArray[np.float64]:
    encoding = sinusoidal_encoding(5, 8, base=100)
    return x + encoding @ relative_rotation(-1.5, 8).T


def look_at_a_trained_model() -> None:
    sentence = minilm.sentences()[0]
    where = minilm.tokens(sentence).index("it")
    states = minilm.hidden_states(sentence, layer=3)
    head = minilm.head_projections(3, 1)
    attention = scaled_dot_product_attention(
        states @ head.w_q + head.b_q, states @ head.w_k + head.b_k, states @ head.w_v + head.b_v
    )
    recorded = minilm.recorded_weights(sentence)[3, 1]
    print(np.abs(attention.weights - recorded).max(), recorded[where], minilm.position_table())
    print(minilm.multi_head_attention(3)(states).output.shape)
    found = romanizer.alignment(romanizer.names()[0])
    print(found.letters[found.weights[0].argmax()], found.output[0], found.inverted)
    reader = word_reader.load()
    assert_type(reader, word_reader.WordReader)
    words = list(word_reader.joined()[0])
    said = reader.decode(reader.encode(words))
    print(said[0] in word_reader.pronunciations(words[0]), reader("ball")[0])
    print(word_reader.by_length().right.sum())
    repeated = smollm2.sentences()[3]
    x = rms_norm(smollm2.hidden_states(repeated, 18), smollm2.norm(18))
    queries = smollm2.multi_head_attention(18).queries(x)
    print(apply_rotary(queries, base=smollm2.ROPE_BASE).shape)
    print(x @ smollm2.head_projections(18, 6).w_q == queries[6])
    induction = smollm2.recorded_weights(repeated, 18)[6]
    print(smollm2.tokens(repeated)[induction[20].argmax()])
    print(smollm2.head_table("previous").max())
    print(smollm2.window_loss(64, [0]).mean())
    print(smollm2.rounded_loss(4, "channel", "token").mean())
    with contextlib.suppress(ModuleNotFoundError):  # it is in a package of its own
        print(smollm2.load().tokenizer.encode("Hello"))
    first, other = smollm2.sink_weights()["sees only itself"]
    print(first > other, smollm2.cost_of_mistakes()["right"])
    print(smollm2.letter()[:8])
    weight = state_dicts.take({"fc.weight": states}, "fc.weight", (None, 384)).T
    print(weight.shape)


def let_it_tell_a_story() -> None:
    words, questions = story(rng, length=64, people=(2, 2), things=(1, 2), ask=0.5, final=2)
    model = storyteller.load()
    assert_type(model, Decoder)
    assert_type(questions[0].position, int)
    tokens = model.tokenizer.encode(" ".join(words[: questions[0].position]))
    print(model.tokenizer.decode(model.generate(tokens, 3)[-3:]), questions[0].answer)
    wrong = model.logits(tokens, parts=Parts(attend=with_tiled_heads, norm=rms_norm))
    print(abs(wrong - model.logits(tokens, parts=Parts(feed_forward=swiglu))).max())
    scheme: storyteller.Scheme = "alibi"
    record = storyteller.record(scheme)
    print(storyteller.load(scheme).logits(tokens).dtype, record.right[-1])


def train_a_translator() -> None:
    run = Training(steps=1, warmup=1, batch_size=3)
    train_step(run)
    assert_type(run.model, Translator)
    batch = dates.examples(rng, 2)
    print(dates.fields(batch[0]), dates.write(date(1998, 3, 13), batch[1].form).written)
    source, target = (dates.encode(*texts) for texts in (["1.2.03", "may"], ["20", "19"]))
    loss, gradient = translator.loss_and_gradient(run.model, source, target)
    assert_type((loss, gradient), tuple[float, Translator])
    target_in = after_start(target)
    memory = Translator.init(rng).memory(source)
    trace = run.model.trace(source, target_in, memory)
    print(trace.cross_weights.shape, run.model.logits(source, target_in).dtype)
    print(dates.decode(run.model.greedy(source, memory)), run.model.translate("13.3.98"))
    trained = date_translator.load()
    assert_type(trained, Translator)
    print(trained.translate(dates.unseen_examples()[0].written))
    print(date_translator.record().weights[1200].sum(axis=-1).round(2))
    print([run.exact for run in date_translator.runs()["whole"]])


def draw() -> Axes:
    plotting.use_style()
    weights = softmax(x @ x.T)
    labels = ["I", "saw", "it", "once", "."]
    plotting.attention_heatmap(weights, labels, labels, mask=causal_mask(5), annotate=True)
    page = plotting.grid_page(8, 6, figsize=(4, 3))
    plotting.place_grid(page, 1, 5, np.eye(2), title="w_q", fmt="{:.1f}", color="#ffffff")
    plotting.shaded_words(["Ann", "is", "in"], weights[0, :3])
    return plotting.number_grid(np.eye(3), title="identity")


def my_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return result


def check_an_answer() -> None:
    exercises.check("softmax", my_softmax)
