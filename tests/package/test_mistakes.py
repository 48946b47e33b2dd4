"""The decoder with parts to replace: right as it is, and wrong where it is told to be."""

import dataclasses

import numpy as np
import pytest

from attnbook import mistakes
from attnbook import scaled_dot_product_attention as attention
from attnbook.pretrained import storyteller


@pytest.fixture(scope="module")
def model():
    return storyteller.load()


TOKENS = np.array([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("tied", [True, False])
def test_nothing_replaced_is_the_model(model, pairing, tied):
    output = None if tied else model.embedding.T[:, ::-1]
    model = dataclasses.replace(
        model, rope_base=77.0, rope_pairing=pairing, norm_eps=0.1, output=output
    )
    for tokens in (TOKENS, TOKENS[0]):
        np.testing.assert_allclose(mistakes.logits(model, tokens), model.logits(tokens), atol=1e-4)


def test_heads_that_have_their_own_keys_are_not_repeated(model):
    layers = tuple(
        dataclasses.replace(layer, attention=each_head_its_own(layer.attention))
        for layer in model.layers
    )
    np.testing.assert_allclose(
        mistakes.logits(dataclasses.replace(model, layers=layers), TOKENS),
        model.logits(TOKENS),
        atol=1e-4,
    )


def each_head_its_own(layer):
    def repeated(weight):
        columns = weight.reshape(len(weight), layer.num_kv_heads, -1)
        times = layer.num_heads // layer.num_kv_heads
        return np.repeat(columns, times, axis=1).reshape(len(weight), -1)

    return dataclasses.replace(
        layer,
        num_kv_heads=None,
        w_k=repeated(layer.w_k),
        w_v=repeated(layer.w_v),
        b_k=repeated(layer.b_k[None])[0],
        b_v=repeated(layer.b_v[None])[0],
    )


REPLACED = {
    "rms_norm": lambda x, gain, eps: x * gain,
    "split_heads": lambda x, heads: x.reshape(*x.shape[:-2], heads, x.shape[-2], -1),
    "turn": lambda heads: heads,
    "expanded": lambda heads, count: np.tile(heads, (1, count // heads.shape[1], 1, 1)),
    "causal_mask": lambda length: np.ones((length, length), dtype=bool),
    "attend": lambda query, key, value, mask: attention(query, key, value, mask, scale=1),
    "merge_heads": lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
}


@pytest.mark.parametrize("part", REPLACED)
def test_each_part_can_be_replaced(model, part):
    wrong = mistakes.logits(model, TOKENS, **{part: REPLACED[part]})
    assert wrong.shape == model.logits(TOKENS).shape
    assert abs(wrong - model.logits(TOKENS)).max() > 0.1


def test_values_are_not_turned(model):
    turned = []
    mistakes.logits(model, TOKENS[0], turn=lambda heads: turned.append(heads.shape[-3]) or heads)
    layer = model.layers[0].attention
    assert turned == len(model.layers) * [layer.num_heads, layer.num_kv_heads]


def test_the_continuation_is_that_of_the_model_and_has_the_mistake(model):
    right = model.generate(TOKENS[0], 11)[7:]
    np.testing.assert_array_equal(mistakes.continuation(model, TOKENS[0], 11), right)
    wrong = mistakes.continuation(model, TOKENS[0], 11, expanded=lambda heads, count: np.tile(
        heads, (count // len(heads), 1, 1)))  # fmt: skip
    assert wrong.shape == (11,)
    assert (wrong != right).any()
    assert mistakes.continuation(model, TOKENS[0], 0).size == 0


def test_it_refuses_what_it_cannot_compute(model):
    other = dataclasses.replace(model, positions="none")
    with pytest.raises(ValueError, match=r"model\.positions must be 'rotary', got 'none'"):
        mistakes.logits(other, TOKENS)
    with pytest.raises(ValueError, match="tokens"):
        mistakes.logits(model, [10**6])
    with pytest.raises(TypeError, match="tokens"):
        mistakes.logits(model, [0.5])
    for tokens in ([], TOKENS):
        with pytest.raises(ValueError, match=r"tokens must have shape \(len,\)"):
            mistakes.continuation(model, np.array(tokens, dtype=int), 1)
