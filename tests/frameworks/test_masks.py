"""*Masks in every library*: what was recorded is what each library does today."""

import importlib.util
import json
import warnings

import numpy as np
import pytest

from course.chapters import ROOT

MASKS = ROOT / "attnbook/data/mask_conventions.json"
GOLDEN = ROOT / "tests/package/golden/make_golden.py"
STORED = json.loads(MASKS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return what the script records when it is run again."""
    spec = importlib.util.spec_from_file_location("make_golden", GOLDEN)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.CONVENTIONS = tmp_path_factory.mktemp("golden") / MASKS.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how libraries make arrays of one another's
        script.torch_conventions()
        script.jax_conventions()
    return json.loads(script.CONVENTIONS.read_text(encoding="utf-8"))


def numbers(held):
    return np.array(held, dtype=float)


@pytest.mark.parametrize("kind", ["rows", "empty_rows"])
def test_each_call_gives_what_was_recorded(recorded, kind):
    calls = [row["call"] for row in STORED[kind]]
    assert [row["call"] for row in recorded[kind]] == calls
    for new, old in zip(recorded[kind], STORED[kind], strict=True):
        told = f"{old['call']}: book/masks.md tells of {old['version']}, which gave something else"
        assert new["version"].partition("+")[0] == old["version"].partition("+")[0], told
        if kind == "rows":
            assert new["given"] == old["given"]
            np.testing.assert_allclose(
                numbers(new["output"]), numbers(old["output"]), atol=1e-6, err_msg=told
            )
        else:
            assert new["gives"] == old["gives"], told


def test_the_fused_kernel_runs_under_all_its_conditions():
    import torch

    torch.manual_seed(0)
    x = torch.randn(2, 5, 8)
    blocked = torch.ones(5, 5, dtype=torch.bool).triu(1)
    blocked[1] = True

    def empty_row(
        heads=2, bias=True, batch_first=True, training=False, grad=False, same=True, floats=False
    ):
        layer = torch.nn.MultiheadAttention(8, heads, bias=bias, batch_first=batch_first)
        layer.train(training)
        mask = torch.zeros(5, 5).masked_fill(blocked, -torch.inf) if floats else blocked
        query = x if batch_first else x.transpose(0, 1)
        key = query if same else query.clone()
        with torch.set_grad_enabled(grad):
            output, _ = layer(query, key, key, attn_mask=mask, need_weights=False)
        return output[:, 1] if batch_first else output[1]

    assert empty_row().isnan().all()
    one_missing = {"heads": 1, "bias": False, "batch_first": False, "training": True}
    one_missing |= {"grad": True, "same": False, "floats": True}
    for name, value in one_missing.items():
        assert (empty_row(**{name: value}) == 0).all(), name


def in_onnx(x, key, value, mask=None, **flags):
    """Return what ONNX's operator gives in the reference evaluator, for (batch, heads, len, d)."""
    from onnx import TensorProto, defs, helper
    from onnx.reference import ReferenceEvaluator

    feeds = {"Q": x, "K": key, "V": value} | ({} if mask is None else {"M": mask})
    info = helper.make_tensor_value_info
    types = {"M": TensorProto.BOOL}
    graph = helper.make_graph(
        [helper.make_node("Attention", [*feeds], ["Y"], **flags)],
        "attention",
        [
            info(name, types.get(name, TensorProto.FLOAT), each.shape)
            for name, each in feeds.items()
        ],
        [info("Y", TensorProto.FLOAT, x.shape[:-1] + value.shape[-1:])],
    )
    opset = helper.make_opsetid("", defs.get_schema("Attention").since_version)
    model = helper.make_model(graph, opset_imports=[opset])
    return ReferenceEvaluator(model).run(None, feeds)[0]


def test_a_mask_without_an_axis_for_heads_goes_unnoticed():
    import jax
    import keras
    import torch
    from flax import linen, nnx

    def in_torch(x, mask):
        x, mask = torch.from_numpy(x), torch.from_numpy(mask)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask).numpy()

    def heads_after_length(attention):
        def call(x, mask):
            x = x.swapaxes(1, 2)
            return np.asarray(attention(x, x, x, mask=jax.numpy.asarray(mask)))

        return call

    functions = [heads_after_length(each.dot_product_attention) for each in (jax.nn, linen, nnx)]
    functions.append(heads_after_length(keras.ops.dot_product_attention))
    functions += [in_torch, lambda x, mask: in_onnx(x, x, x, mask)]
    rng = np.random.default_rng(0)
    for batch, heads, off in ((1, 2, False), (2, 2, True), (3, 3, True)):
        x = rng.normal(size=(batch, heads, 5, 4)).astype(np.float32)
        mask = rng.random((batch, 5, 5)) < 0.5
        mask |= np.eye(5, dtype=bool)
        for attention in functions:
            differs = np.abs(attention(x, mask) - attention(x, mask[:, None])).max()
            assert differs > 0.1 if off else differs < 1e-5


def test_causal_flags_begin_at_the_first_key(recorded):
    import jax
    import keras
    from flax import nnx

    first = STORED["causal"]["is_causal=True"]
    assert recorded["causal"]["is_causal=True"] == first
    query, key = np.zeros((1, 2, 1, 5), np.float32), np.zeros((1, 5, 1, 5), np.float32)
    value = np.eye(5, dtype=np.float32)[None, :, None]  # so that the output is the weights
    for library in (jax.nn, nnx, keras.ops):
        weights = library.dot_product_attention(query, key, value, is_causal=True)
        np.testing.assert_allclose(weights[0, :, 0], first, atol=1e-6)
    arrays = (each.swapaxes(1, 2) for each in (query, key, value))
    np.testing.assert_allclose(in_onnx(*arrays, is_causal=1)[0, 0], first, atol=1e-6)
    layer = keras.layers.MultiHeadAttention(1, key_dim=5)
    flags = {"use_causal_mask": True, "return_attention_scores": True}
    _, weights = layer(query[:, :, 0], key[:, :, 0], **flags)
    np.testing.assert_allclose(weights[0, 0], first, atol=1e-6)


def test_where_the_causal_masks_begin(recorded):
    assert recorded["causal"] == STORED["causal"]
