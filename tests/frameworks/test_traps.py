"""The traps that *The same in PyTorch and JAX* tells of: each is as told, in these versions."""

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax.test_util import check_grads
from torch import nn
from torch.autograd.gradcheck import GradcheckError
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.profiler import profile

from attnbook import alibi_bias, apply_rotary, softmax
from attnbook.pretrained import smollm2, storyteller

same = np.testing.assert_allclose
sdpa, jax_attention = F.scaled_dot_product_attention, jax.nn.dot_product_attention
HIDDEN = torch.tensor([[True, True, False], [False, False, False]])  # the second row is empty


@pytest.fixture
def heads():
    """Return queries, keys and values of (batch, heads, len, head_dim), in single precision."""
    torch.manual_seed(0)
    return torch.randn(2, 3, 2, 4), torch.randn(2, 3, 3, 4), torch.randn(2, 3, 3, 4)


def turned(*tensors):
    """Return tensors as JAX wants them, (batch, len, heads, head_dim)."""
    return [jnp.asarray(tensor.numpy()).swapaxes(1, 2) for tensor in tensors]


def of_jax(tensors, **options):
    return np.asarray(jax_attention(*turned(*tensors), **options).swapaxes(1, 2))


def boolean(mask):
    return jnp.asarray(mask.numpy())[None, None]


def layer(**options):
    torch.manual_seed(1)
    return nn.MultiheadAttention(8, 2, batch_first=True, **options)


# Precision, layout, dtype


def test_jax_is_in_single_precision():
    with jax.enable_x64(False):
        assert jnp.asarray(np.ones(3)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert jnp.asarray(np.ones(3)).dtype == jnp.float64


def test_heads_stand_behind_the_length():
    x = torch.randn(2, 5, 5, 4)  # as many heads as tokens
    wrong = jax_attention(*[jnp.asarray(x.numpy())] * 3)
    assert abs(np.asarray(wrong) - sdpa(x, x, x).numpy()).max() > 0.1
    same(of_jax([x, x, x]), sdpa(x, x, x), atol=1e-5)


def test_softmax():
    with pytest.raises(TypeError):
        torch.softmax(torch.ones(3))
    with pytest.raises(NotImplementedError):
        torch.softmax(torch.arange(3), dim=-1)
    assert jax.nn.softmax(jnp.arange(3)).dtype == jnp.float32


def test_softmax_of_an_empty_row():
    added = torch.zeros(2, 3).masked_fill(~HIDDEN, -torch.inf)

    def gradient(scored):
        scores = torch.randn(2, 3, requires_grad=True)
        weights = torch.softmax(scored(scores), dim=-1)
        assert weights[1].isnan().all()
        weights.masked_fill(~HIDDEN, 0).square().sum().backward()
        return scores.grad

    assert gradient(lambda scores: 2 * scores + added)[1].isnan().all()
    assert gradient(lambda scores: (2 * scores).masked_fill(~HIDDEN, -torch.inf)).isfinite().all()
    weights = jax.nn.softmax(jnp.zeros((2, 3)), where=jnp.asarray(HIDDEN.numpy()))
    assert weights.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]


def test_attention_in_single_precision(heads):
    doubled = [each.double() for each in heads]
    right = sdpa(*doubled).numpy()
    with jax.enable_x64(True):
        found = of_jax(doubled)
        assert found.dtype == np.float64
    assert 1e-10 < abs(found - right).max() < 1e-6


def test_dropout(heads):
    assert not torch.equal(sdpa(*heads, dropout_p=0.5), sdpa(*heads))


def test_transpose():
    x = np.ones((2, 3, 5))
    assert x.T.shape == jnp.asarray(x).T.shape == (5, 3, 2)
    assert x.mT.shape == jnp.asarray(x).mT.shape == torch.ones(2, 3, 5).mT.shape == (2, 5, 3)


def test_view_is_no_transpose():
    x = torch.arange(24.0).view(1, 4, 6)
    right, wrong = x.unflatten(-1, (2, 3)).transpose(1, 2), x.view(1, 2, 4, 3)
    assert right.shape == wrong.shape
    assert not torch.equal(right, wrong)


def test_shared_memory():
    array = np.zeros(2)
    torch.from_numpy(array)[0] = 1
    assert array[0] == 1


# Masks


def test_polarity(heads):
    """True lets a query attend in functions, and blocks it in PyTorch's layer."""
    query, key, value = heads
    mask = torch.tensor([True, True, False])
    two = [query, key[..., :2, :], value[..., :2, :]]
    same(sdpa(*heads, attn_mask=mask.expand(2, 3)), sdpa(*two))
    same(of_jax(heads, mask=boolean(mask.expand(2, 3))), sdpa(*two), atol=1e-6)
    x, of_layer = torch.randn(1, 3, 8), layer()
    expected, _ = of_layer(x, x[:, :2], x[:, :2])
    for blocked in (
        {"attn_mask": ~mask.expand(3, 3)},
        {"key_padding_mask": ~mask[None]},
    ):
        same(of_layer(x, x, x, **blocked)[0].detach(), expected.detach(), atol=1e-6)


def test_an_empty_row(heads):
    _, _, value = heads
    mean = value.mean(dim=-2)
    assert (sdpa(*heads, attn_mask=HIDDEN)[..., 1, :] == 0).all()
    same(of_jax(heads, mask=boolean(HIDDEN))[..., 1, :], mean, atol=1e-6)
    bias = jnp.where(boolean(HIDDEN), 0, -jnp.inf)
    assert np.isnan(of_jax(heads, bias=bias)[..., 1, :]).all()
    found, _ = layer()(*[torch.ones(1, 3, 8)] * 3, attn_mask=torch.ones(3, 3, dtype=torch.bool))
    assert found.isnan().all()


def test_layer_empty_row():
    x, blocked = torch.randn(1, 3, 8), torch.ones(3, 3, dtype=torch.bool).triu(1)
    blocked[0] = True
    assert layer()(x, x, x, attn_mask=blocked)[0][0, 0].isnan().all()
    assert (layer()(x, x, x, attn_mask=blocked, need_weights=False)[0][0, 0] == 0).all()


def test_a_float_mask(heads):
    mask = torch.tensor([[1, 1, 0], [1, 0, 1]])
    allowed = sdpa(*heads, attn_mask=mask.bool())
    assert abs(sdpa(*heads, attn_mask=mask.float()) - allowed).max() > 0.1
    same(sdpa(*heads, attn_mask=mask.float()), of_jax(heads, bias=boolean(mask.float())), atol=1e-6)
    for other in (mask, mask.float()):
        with pytest.raises(ValueError, match="bool"):
            of_jax(heads, mask=boolean(other))
    for integers in (torch.int64, torch.int32, torch.uint8):
        with pytest.raises(RuntimeError):
            sdpa(*heads, attn_mask=mask.to(integers))


def test_nan_behind_a_mask(heads):
    query, key, value = heads
    value[..., 2, :] = torch.nan
    mask = torch.tensor([True, True, False]).expand(2, 3)
    assert sdpa(query, key, value, attn_mask=mask).isnan().any()
    assert np.isnan(of_jax([query, key, value], mask=boolean(mask))).any()


def test_bias_after_scale(heads):
    query, key, value = heads
    bias = torch.randn(2, 3)
    weights = torch.softmax(query @ key.mT / 2 + bias, dim=-1)
    same(sdpa(*heads, attn_mask=bias), weights @ value, atol=1e-6)
    same(of_jax(heads, bias=boolean(bias)), weights @ value, atol=1e-6)


def test_scale_replaces(heads):
    query, key, value = heads
    expected = torch.softmax(0.25 * query @ key.mT, dim=-1) @ value
    same(sdpa(*heads, scale=0.25), expected, atol=1e-6)
    same(of_jax(heads, scale=0.25), expected, atol=1e-6)


def test_causal_with_fewer_queries():
    """Both begin the triangle at the first key; with such values the output is the weights."""
    query, key, value = torch.zeros(1, 1, 2, 5), torch.zeros(1, 1, 5, 5), torch.eye(5)[None, None]
    first = [[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0]]
    last = [[0.25, 0.25, 0.25, 0.25, 0], [0.2] * 5]
    same(sdpa(query, key, value, is_causal=True)[0, 0], first)
    same(of_jax([query, key, value], is_causal=True)[0, 0], first)
    same(sdpa(query, key, value, attn_mask=causal_lower_right(2, 5))[0, 0], last, atol=1e-6)


def test_causal_and_mask(heads):
    _, key, value = heads
    mask = torch.tensor([[True, True, True], [False, True, True], [True, True, True]])
    both = sdpa(key, key, value, attn_mask=mask.tril())
    same(of_jax([key, key, value], mask=boolean(mask), is_causal=True), both, atol=1e-6)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        same(sdpa(key, key, value, attn_mask=mask, is_causal=True), both, atol=1e-6)
    with sdpa_kernel(SDPBackend.MATH), pytest.raises(RuntimeError, match="is_causal"):
        sdpa(key, key, value, attn_mask=mask, is_causal=True)


def test_padding_needs_axes():
    x = torch.randn(3, 1, 3, 4)  # a batch of as many as a sequence is long
    lengths = torch.tensor([3, 1, 2])
    padding = torch.arange(3) < lengths[:, None]
    right = sdpa(x, x, x, attn_mask=padding[:, None, None])
    assert abs(sdpa(x, x, x, attn_mask=padding) - right).max() > 0.1


def test_window():
    zeros, value = torch.zeros(1, 1, 4, 4), torch.eye(4)[None, None]
    both = of_jax([zeros, zeros, value], local_window_size=1)[0, 0] > 0
    left = of_jax([zeros, zeros, value], local_window_size=(1, 0))[0, 0] > 0
    assert both.tolist() == (np.tri(4, k=1) - np.tri(4, k=-2) > 0).tolist()
    assert left.tolist() == (np.tri(4) - np.tri(4, k=-2) > 0).tolist()
    fewer = of_jax([zeros[..., :2, :], zeros, value], local_window_size=(1, 0))[0, 0] > 0
    assert fewer.tolist() == left[:2].tolist()


def test_masked_after():
    weights = torch.softmax(torch.zeros(3), -1)
    assert weights.masked_fill(torch.tensor([False, False, True]), 0).sum() < 0.7


def test_causal_cross(heads):
    assert abs(sdpa(*heads, is_causal=True) - sdpa(*heads)).max() > 0.1


def test_additive_memory():
    names = "additive_attention", "bahdanau_attention"
    assert not any(hasattr(F, name) or hasattr(jax.nn, name) for name in names)


# Layers


def test_linear_is_transposed():
    assert nn.Linear(3, 5).weight.shape == (5, 3)
    w, x = torch.randn(4, 4), torch.randn(4)
    assert abs(F.linear(x, w) - x @ w).max() > 0.1
    same(F.linear(x, w), x @ w.T, atol=1e-6)


def test_one_head():
    x = torch.randn(2, 3, 4)
    same(of_jax([x[:, None]] * 3)[:, 0], sdpa(x, x, x), atol=1e-6)
    read = jnp.asarray(x.numpy())  # 2 tokens of 3 heads
    assert abs(jax_attention(read, read, read) - sdpa(x, x, x).numpy()).max() > 0.1


def test_layer_defaults():
    assert not nn.MultiheadAttention(8, 2).batch_first
    assert [*inspect.signature(nn.MultiheadAttention).parameters][2:4] == ["dropout", "bias"]
    assert nn.MultiheadAttention(8, 2, False).in_proj_bias is not None


def test_layer_averages():
    x = torch.randn(1, 3, 8)
    maps = layer()(x, x, x, average_attn_weights=False)[1]
    assert maps.shape == (1, 2, 3, 3)
    same(layer()(x, x, x)[1].detach(), maps.mean(dim=1).detach())
    assert layer()(x, x, x, need_weights=False)[1] is None


def test_separate_keys():
    names = {*layer(kdim=5, vdim=3).state_dict()}
    assert {"q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias"} <= names
    assert "in_proj_weight" not in names


def test_layer_hint():
    x = torch.randn(1, 3, 8)
    with pytest.raises(RuntimeError, match="attn_mask"):
        layer()(x, x, x, is_causal=True)
    fused = layer().eval()
    with torch.no_grad():  # no error, and nothing hidden
        same(fused(x, x, x, is_causal=True)[0], fused(x, x, x)[0])
        blocked = torch.ones(3, 3, dtype=torch.bool).triu(1)
        assert abs(fused(x, x, x, attn_mask=blocked)[0] - fused(x, x, x)[0]).max() > 0.01
    nothing = torch.zeros(3, 3, dtype=torch.bool)  # another mask than the flag promises
    for weights, obeyed in ((True, nothing), (False, blocked)):
        promised = layer()(x, x, x, attn_mask=nothing, is_causal=True, need_weights=weights)[0]
        same(promised.detach(), layer()(x, x, x, attn_mask=obeyed)[0].detach(), atol=1e-6)


def test_grouped_heads():
    query, key, value = torch.randn(1, 6, 3, 4), *torch.randn(2, 1, 2, 3, 4)
    with pytest.raises(RuntimeError):
        sdpa(query, key, value)
    shared = sdpa(query, key, value, enable_gqa=True)
    copied = [each.repeat_interleave(3, dim=1) for each in (key, value)]
    tiled = [each.repeat(1, 3, 1, 1) for each in (key, value)]
    same(sdpa(query, *copied), shared, atol=1e-6)
    same(of_jax([query, key, value]), shared, atol=1e-6)
    assert abs(sdpa(query, *tiled) - shared).max() > 0.1
    one = [each[:, :1] for each in (key, value)]  # multi-query attention needs no flag
    same(sdpa(query, *one), sdpa(query, *one, enable_gqa=True), atol=1e-6)


# Positions


def test_sinusoids():
    assert len(set(np.arange(2049).astype(np.float16))) == 2049
    assert np.float16(2049) == np.float16(2048)


def test_rotary_in_bfloat16():
    positions = torch.arange(256, 258, dtype=torch.bfloat16)
    assert positions[0] == positions[1]
    assert torch.arange(254, 257, dtype=torch.bfloat16).unique().numel() == 3


def test_pairings(rng):
    query, key = rng.standard_normal((2, 3, 8))
    scores = {}
    for pairing in ("interleaved", "halves"):
        q, k = (apply_rotary(each, pairing=pairing) for each in (query, key))
        later = [apply_rotary(each, np.arange(3) + 7, pairing=pairing) for each in (query, key)]
        same(np.linalg.norm(q, axis=-1), np.linalg.norm(query, axis=-1))
        same(later[0] @ later[1].T, q @ k.T)
        scores[pairing] = q @ k.T
    assert abs(scores["halves"] - scores["interleaved"]).max() > 0.1


def test_rotary_of_hugging_face():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(head_dim=4)
    assert config.rope_parameters["rope_theta"] == 10000.0
    cosine, _ = LlamaRotaryEmbedding(config)(torch.zeros(1).double(), torch.arange(3)[None])
    assert cosine.shape == (1, 3, 4)
    assert cosine.dtype == torch.float64
    assert (cosine != cosine.float()).sum() == 0


def test_reordered_weights():
    """SmolLM2 is right with neighbours, as its file has it, and wrong by halves."""
    costs = smollm2.cost_of_mistakes()
    assert costs["why-rotary-pairs"][0] > costs["right"][0] + 1
    assert smollm2.load().positions.pairing == "interleaved"


def test_alibi_dtype(heads):
    with pytest.raises(RuntimeError):
        sdpa(*heads, attn_mask=torch.zeros(2, 3).double())
    bias = torch.randn(2, 3)
    for dtype, atol in ((torch.float64, 1e-6), (torch.bfloat16, 0.05)):
        found = sdpa(*(each.to(dtype) for each in heads), attn_mask=bias)
        same(found.float(), sdpa(*heads, attn_mask=bias), atol=atol)
    _, key, value = heads
    bias = torch.randn(3, 3)
    causal = bias.masked_fill(~torch.ones(3, 3).bool().tril(), -torch.inf)
    theirs = of_jax([key, key, value], bias=boolean(bias), is_causal=True)
    same(sdpa(key, key, value, attn_mask=causal), theirs, atol=1e-6)


def test_alibi_slopes():
    assert alibi_bias(8, 2)[:, 1, 0].tolist() == [-(2.0**-head) for head in range(1, 9)]
    assert not np.allclose(alibi_bias(6, 2)[:, 1, 0], [-(2 ** (-8 * h / 6)) for h in range(1, 7)])


# Long sequences


def kernels(*tensors, **options):
    with profile() as ran:
        sdpa(*tensors, **options)
    return {event.key for event in ran.key_averages()}


FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"


def test_which_kernel(heads):
    assert FLASH in kernels(*heads)
    assert FLASH in kernels(*heads, attn_mask=HIDDEN)
    assert FLASH not in kernels(*heads, dropout_p=0.5)
    assert FLASH not in kernels(*heads, attn_mask=torch.zeros(2, 3, requires_grad=True))
    query, key, value = heads
    assert FLASH not in kernels(query[0], key[0], value[0])
    assert FLASH not in kernels(query, key, value[..., :2])


def test_forced_kernel(heads):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(RuntimeError):
        sdpa(*heads, dropout_p=0.5)
    with sdpa_kernel(SDPBackend.MATH):
        assert FLASH not in kernels(*heads)


def test_jax_whole_matrix():
    arrays = [jnp.ones((1, 64, 1, 8))] * 3
    text = jax.jit(jax_attention).lower(*arrays).compile().as_text()
    assert re.search(r"f32\[[\d,]*64,64\]", text)


def test_residual_shape(heads):
    _, residual = jax_attention(*turned(*heads), return_residual=True)
    assert residual.shape == (2, 2, 3)


def test_mean_of_halves(heads):
    query, key, value = (torch.cat([each] * 2, dim=-2) for each in heads)
    value = torch.randn_like(value)
    key[..., 3:, :] *= 2
    first = sdpa(query, key[..., :3, :], value[..., :3, :])
    rest = sdpa(query, key[..., 3:, :], value[..., 3:, :])
    assert abs((first + rest) / 2 - sdpa(query, key, value)).max() > 0.1


def test_jax_compiles_again():
    compiled = []

    @jax.jit
    def attend(key):
        compiled.append(key.shape)
        return jax_attention(key, key, key)

    for length in (3, 4, 4, 5):
        attend(jnp.ones((1, length, 1, 2)))
    assert len(compiled) == 3


def test_jax_updates_are_clamped():
    cache = jnp.arange(4.0)
    moved = jax.lax.dynamic_update_slice_in_dim(cache, jnp.array([9.0]), 7, axis=0)
    assert moved.tolist() == [0, 1, 2, 9]


def test_zeros_are_no_mask(heads):
    query, key, value = heads
    room = [torch.cat([each, torch.zeros_like(each)], dim=-2) for each in (key, value)]
    assert abs(sdpa(query, *room) - sdpa(*heads)).max() > 0.1


# Training


def test_gradients_add_up():
    x = torch.ones(1, requires_grad=True)
    for expected in (2, 4):
        (2 * x).sum().backward()
        assert x.grad == expected
    assert torch.autograd.grad((2 * x).sum(), x)[0] == 2


def test_argnums():
    assert jax.grad(lambda a, b: a * b)(2.0, 3.0) == 3
    assert jax.grad(lambda a, b: a * b, argnums=1)(2.0, 3.0) == 2


@pytest.mark.filterwarnings("ignore")
def test_gradient_checks(heads):
    few = [each[:1, :1].clone().requires_grad_() for each in heads]
    with pytest.raises(GradcheckError):
        torch.autograd.gradcheck(sdpa, few)
    assert torch.autograd.gradcheck(sdpa, few, eps=1e-2, atol=1e-2, rtol=1e-2)
    assert torch.autograd.gradcheck(sdpa, [each.detach().double().requires_grad_() for each in few])
    with jax.enable_x64(True), pytest.raises(AssertionError):
        check_grads(jax_attention, turned(*(each.double() for each in heads)), order=1)


def test_class_axis():
    logits, targets = torch.randn(3, 5, 5), torch.randint(5, (3, 5))
    wrong, right = F.cross_entropy(logits, targets), F.cross_entropy(logits.mT, targets)
    assert abs(wrong - right) > 0.01
    same(F.cross_entropy(logits.flatten(0, 1), targets.flatten()), right)


def test_nothing_counts():
    assert inspect.signature(F.cross_entropy).parameters["ignore_index"].default == -100
    assert np.isnan(jnp.ones(3).mean(where=jnp.zeros(3, bool)))
    assert F.cross_entropy(torch.zeros(3, 5), torch.full((3,), -100)).isnan()


def test_adam_defaults():
    adam = torch.optim.Adam([torch.zeros(1)]).defaults
    theirs = inspect.signature(optax.adam).parameters
    found = theirs["b1"].default, theirs["b2"].default, theirs["eps"].default
    assert (*adam["betas"], adam["eps"]) == found == (0.9, 0.999, 1e-8)
    assert torch.optim.AdamW([torch.zeros(1)]).defaults["weight_decay"] == 0.01
    assert inspect.signature(optax.adamw).parameters["weight_decay"].default == 0.0001


def test_warm_up_begins():
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1.0, 5, 20)
    assert schedule(0) == 0
    start = inspect.signature(torch.optim.lr_scheduler.LinearLR).parameters["start_factor"]
    assert start.default == 1 / 3


def test_clipping():
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    w.grad = torch.full((1,), 3.0, dtype=torch.float64)
    assert nn.utils.clip_grad_norm_([w], 1.0) == 3
    same(w.grad, 3 / (3 + 1e-6), rtol=1e-12)
    with jax.enable_x64(True):
        clip = optax.clip_by_global_norm(1.0)
        clipped, _ = clip.update(jnp.array([3.0, 4.0]), clip.init(None))
        same(clipped, [0.6, 0.8], rtol=1e-12)


def test_order_of_the_chain():
    gradient, clip = jnp.array([300.0]), optax.clip_by_global_norm(0.5)
    before, after = optax.chain(clip, optax.sgd(0.1)), optax.chain(optax.sgd(0.1), clip)
    same(before.update(gradient, before.init(gradient))[0], [-0.05])
    same(after.update(gradient, after.init(gradient))[0], [-0.5])


# The other parts, and sampling


def test_rms_norm_eps():
    x = torch.full((2,), 1e-4)
    eps = torch.finfo(torch.float32).eps
    same(F.rms_norm(x, (2,)), x / (x**2 + eps).sqrt(), rtol=1e-5)
    for dtype in (torch.bfloat16, torch.float16):  # by its own step it would be 0.1 or 0.3
        assert abs(F.rms_norm(torch.full((2,), 0.01, dtype=dtype), (2,))[0] - 1) < 0.01
    assert F.rms_norm(x, (2,))[0] > 5 * F.rms_norm(x, (2,), eps=1e-5)[0]
    assert not hasattr(jax.nn, "rms_norm")


def test_unbiased_std():
    x = torch.tensor([1.0, 7.0])
    same(F.layer_norm(x, (2,)), [-1, 1], rtol=1e-5)
    same(jax.nn.standardize(jnp.array([1.0, 7.0])), [-1, 1], rtol=1e-5)
    assert x.std() > 4


def test_gelu():
    exact = F.gelu(torch.tensor(1.0)).item()
    assert abs(jax.nn.gelu(1.0) - exact) > 1e-4
    same(jax.nn.gelu(1.0, approximate=False), exact, rtol=1e-6)


def test_relu_at_zero():
    x = torch.zeros(1, requires_grad=True)
    x.relu().sum().backward()
    assert x.grad.item() == jax.grad(jax.nn.relu)(0.0) == 0
    assert jax.grad(lambda x: jnp.maximum(x, 0.0))(0.0) == 0.5


def test_token_out_of_range():
    with pytest.raises(IndexError):
        F.embedding(torch.tensor(9), torch.eye(3))
    assert jnp.eye(3)[jnp.array(9)].tolist() == [0, 0, 1]
    assert jnp.eye(3)[jnp.array(-100)].tolist() == [1, 0, 0]
    assert np.isnan(jnp.eye(3).at[jnp.array(9)].get(mode="fill")).all()
    assert jnp.eye(3).at[jnp.array(-1)].get(mode="fill").tolist() == [0, 0, 1]


def test_values_are_not_rotated():
    costs = smollm2.cost_of_mistakes()
    assert costs["why-rotary-values"][0] > costs["right"][0] + 1
    assert costs["why-rotary-split"][0] > costs["right"][0] + 1


def test_norm_first():
    default = inspect.signature(nn.TransformerEncoderLayer).parameters["norm_first"].default
    assert default is False


def test_tied_output():
    assert storyteller.load().output is None
    assert smollm2.load().output is None


def test_base_of_smollm2():
    assert smollm2.load().positions.base == 100_000


def test_logits_or_probabilities():
    probabilities = torch.tensor([0.9, 0.1])
    torch.manual_seed(0)
    drawn = torch.multinomial(probabilities, 10_000, replacement=True)
    assert abs((drawn == 0).float().mean() - 0.9) < 0.02
    for given, share in ((jnp.log(jnp.array([0.9, 0.1])), 0.9), (jnp.array([0.9, 0.1]), 0.69)):
        drawn = jax.random.categorical(jax.random.key(0), given, shape=(10_000,))
        assert abs((drawn == 0).mean() - share) < 0.02
    logits = torch.tensor([3.0, 1.0])  # as weights they would be 3 to 1
    drawn = torch.multinomial(logits, 10_000, replacement=True)
    assert abs((drawn == 0).float().mean() - 0.75) < 0.02
    with pytest.raises(RuntimeError):
        torch.multinomial(torch.tensor([3.0, -1.0]), 1)


def test_same_key():
    key, logits = jax.random.key(3), jnp.zeros(1000)
    first, second = jax.random.split(key)
    draw = jax.random.categorical
    assert draw(key, logits) == draw(key, logits)
    assert draw(first, logits) != draw(second, logits)


def test_ties_at_the_border():
    logits = torch.tensor([3.0, 2.0, 2.0, 1.0])
    assert (logits >= logits.topk(2).values[-1:]).sum() == 3
    bits = torch.tensor([20.01, 20.02])
    assert bits[0] != bits[1]
    assert bits.bfloat16()[0] == bits.bfloat16()[1]


def test_crossing_token():
    shares = torch.tensor([0.95, 0.05])
    assert (shares.cumsum(-1) <= 0.9).sum() == 0
    assert (shares.cumsum(-1) - shares < 0.9).sum() == 1


def test_order_of_warpers():
    logits = np.log([0.5, 0.2, 0.15, 0.1, 0.05])

    def of_top_p(logits):
        shares = softmax(logits)  # sorted already
        return (shares.cumsum() - shares < 0.9).sum()

    assert of_top_p(logits) == 4
    assert of_top_p(logits / 0.5) == 3  # the temperature first
    assert of_top_p(logits[:4]) == 3 + (softmax(logits[:4]).cumsum()[2] < 0.9)
    assert of_top_p(logits[:2]) == 2
    assert (softmax(logits[:2]).cumsum() - softmax(logits[:2]))[1] > 0.7  # more than of all


# Back again


def test_llama_by_halves():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRMSNorm

    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 5}
    state = LlamaDecoderLayer(LlamaConfig(**sizes), 0).state_dict()
    assert not any("eps" in key for key in state)
    x = torch.randn(3, 8, dtype=torch.float64)
    norm = LlamaRMSNorm(8, 1e-5).double()
    right = F.rms_norm(x, (8,), eps=1e-5)
    assert 1e-10 < abs(norm(x) - right).max() < 1e-6


def test_conv1d():
    from transformers.pytorch_utils import Conv1D

    conv, x = Conv1D(6, 2), torch.randn(3, 2)
    assert conv.weight.shape == (2, 6)
    same(conv(x).detach(), (x @ conv.weight + conv.bias).detach(), atol=1e-6)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
