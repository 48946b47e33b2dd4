"""Make the golden arrays that the tests and a chapter of the book read.

Run by hand, once per environment, from any directory; no framework is a
dependency of this project:

    pip install numpy==2.4.6 torch==2.13.0
    python make_golden.py torch

    pip install numpy==2.4.6 jax==0.10.2 flax==0.12.8 keras==3.15.1 onnx==1.23.2
    python make_golden.py jax

    pip install numpy==2.4.6 torch==2.13.0 onnx==1.23.2 transformers==5.23.0
    python make_golden.py decoder

    pip install numpy==2.4.6 torch==2.13.0
    python make_golden.py backward

    pip install numpy==2.4.6 torch==2.13.0
    python make_golden.py translator

(These are the versions it was last run with, on CPU, under Python 3.11.)
Each run replaces its own libraries' entries and keeps the others':

- ``attnbook/data/mask_conventions.json``: one mask in this book's convention
  (bool, True = may attend), what each library must be handed instead, and what
  it returns, and where torch's causal masks begin; `torch` and `jax` both write to it.
- ``attnbook/data/packed_mha.json``: the weights of one PyTorch layer, packed as
  its state_dict has them, with what it returns; only `torch` writes it.
- ``attention.json`` beside this file: attention, its gradients, multi-head attention and
  softmax by PyTorch in float64, gradients in float32, too; only `torch` writes it.
- ``decoder.json`` beside it: rotary positions by ONNX, PyTorch and transformers, the other
  parts of a decoder by PyTorch, and a whole one by transformers; only `decoder` writes it.
- ``backward.json`` beside it: the gradients of these parts, of cross-entropy and of multi-head
  attention, and three steps of Adam, by PyTorch in both precisions; only `backward` writes it.
- ``translator.json`` beside it: all that the translator of dates computes, and every gradient,
  by PyTorch in float64; only `translator` writes it.

The JSON is strict: non-finite numbers are the strings "nan", "inf" and "-inf",
which ``np.array(x, dtype=float)`` reads back. Every array is compared with plain
loops before it is written, so a wrong convention stops the script; gradients of
parts are compared with differences. (The translator's, in the tests.)
"""

import json
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
ATTENTION = HERE / "attention.json"
DECODER = HERE / "decoder.json"
BACKWARD = HERE / "backward.json"
TRANSLATOR = HERE / "translator.json"
CONVENTIONS = HERE.parents[2] / "attnbook" / "data" / "mask_conventions.json"
PACKED = CONVENTIONS.with_name("packed_mha.json")
LIBRARIES = ["torch", "jax", "flax", "keras", "onnx"]  # the order of the table

RECIPES = {
    "mask": lambda mask: mask,
    "~mask": lambda mask: ~mask,
    "additive": lambda mask: np.where(mask, 0.0, -np.inf),
}
SHAPES = {
    "(batch, len_q, len_k)": (2, 3, 5),
    "(batch * num_heads, len_q, len_k)": (2, 3, 5),
    "(batch, 1, len_q, len_k)": (2, 1, 3, 5),
    "(batch, len_k)": (2, 5),
}
BATCHED, FLAT, HEADED, KEYS = SHAPES
FUSED = "self-attention at inference"  # how a fused kernel may be reached
EMPTY = (0, 1)  # the (batch, query) whose row of the mask is emptied
DIGITS = 10  # significant digits kept of a float64


# --- JSON ---------------------------------------------------------------------


def plain(array, digits):
    """Turn an array into nested lists of JSON values, rounded to significant digits."""
    array = np.asarray(array)
    if array.ndim:
        return [plain(item, digits) for item in array]
    if array.dtype == bool:
        return bool(array)
    number = float(array)
    # `+ 0.0` turns -0.0 into 0.0: some kernels return it for an empty row.
    return float(f"{number:.{digits}g}") + 0.0 if math.isfinite(number) else str(number)


def save(path, content):
    text = json.dumps(content, indent=1, allow_nan=False)
    # Innermost lists on one line, so that a row of an array is a row of the file.
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size / 1024:.1f} KiB")


# --- Plain loops that every recorded array must agree with ----------------------


def softmax_loop(row):
    largest = max(row)
    if largest == -math.inf:
        return [0.0] * len(row)
    exponentials = [math.exp(score - largest) for score in row]
    return [e / sum(exponentials) for e in exponentials]


def attention_loop(query, key, value, mask=None, scale=None):
    """Return (output, weights), one query at a time; all leading axes must be equal."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    weights = np.zeros((*query.shape[:-1], key.shape[-2]))
    mask = np.broadcast_to(True if mask is None else mask, weights.shape)
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for *lead, i in np.ndindex(query.shape[:-1]):
        lead, at = tuple(lead), (*lead, i)
        scores = [
            scale * sum(a * b for a, b in zip(query[at], k, strict=True)) if allowed else -math.inf
            for k, allowed in zip(key[lead], mask[at], strict=True)
        ]
        weights[at] = softmax_loop(scores)
        for j, v in enumerate(value[lead]):
            output[at] += weights[at][j] * v
    return output, weights


def gradient_loop(d_output, query, key, value, mask, bias, scale):
    """Return (d_query, d_key, d_value) by softmax's whole Jacobian, one query at a time."""
    gradients = [np.zeros(x.shape) for x in (query, key, value)]
    d_query, d_key, d_value = gradients
    scores = scale * query @ key.swapaxes(-1, -2) + bias
    for *lead, i in np.ndindex(query.shape[:-1]):
        lead, at = tuple(lead), (*lead, i)
        row = np.array(softmax_loop(np.where(mask[at], scores[at], -np.inf)))
        jacobian = np.diag(row) - np.outer(row, row)
        d_scores = jacobian @ (value[lead] @ d_output[at])
        d_query[at] += scale * d_scores @ key[lead]
        for j in range(key.shape[-2]):
            d_key[lead][j] += scale * d_scores[j] * query[at]
            d_value[lead][j] += row[j] * d_output[at]
    return gradients


def multi_head_loop(parameters, num_heads, query, key, value, mask):
    """Return (output, weights) of torch's layer from its packed, transposed weights."""
    d_model = query.shape[-1]
    head_dim = d_model // num_heads
    packed_weight, packed_bias = parameters["in_proj_weight"], parameters["in_proj_bias"]
    outputs, weights = [], []
    for head in range(num_heads):
        projected = []
        for part, x in enumerate((query, key, value)):
            start = part * d_model + head * head_dim
            rows = slice(start, start + head_dim)
            projected.append(x @ packed_weight[rows].T + packed_bias[rows])
        output, weight = attention_loop(*projected, mask)
        outputs.append(output)
        weights.append(weight)
    merged = np.concatenate(outputs, axis=-1)
    output = merged @ parameters["out_proj.weight"].T + parameters["out_proj.bias"]
    return output, np.stack(weights, axis=1)


def rounded_normal(rng, *shape):
    return rng.normal(size=shape).round(2) + 0.0


# --- mask_conventions.json ------------------------------------------------------


class Call(NamedTuple):
    """One way to hand a library a mask; `run(query, key, value, mask)` gives its output."""

    library: str
    text: str
    run: Callable
    recipe: str
    axes: str
    of: str = "mask"
    in_table: bool = True  # False: differs from a row of the table in its empty rows only


def columns(text):
    """Return (function, argument) of a call: the same without the library, for a narrow table."""
    function, name, kind, flags = re.fullmatch(r"(.+?) ?\((\w+)=(\w+)\)(?:, (.+))?", text).groups()
    function = re.sub(r"^(torch\.nn\.functional|torch\.nn|jax\.nn|flax|keras)\.", "", function)
    function = re.sub(r"^ONNX (\w+), (opset \d+)$", r"\1 (\2)", function)
    return function, f"{name}, {kind}" + (f"; {flags}" if flags else "")


def example():
    """Return the shared arrays: batch 2, len_q 3, len_k 5, d_k = d_v = 4."""
    rng = np.random.default_rng(2)
    arrays = {
        "query": rounded_normal(rng, 2, 3, 4),
        "key": rounded_normal(rng, 2, 5, 4),
        "value": rounded_normal(rng, 2, 5, 4),
    }
    padding = np.arange(5) < np.array([3, 4]).reshape(2, 1, 1)
    # Rows 1 to 3 of the triangle: every row allows and forbids at least one key, so the
    # inverted mask gives finite, plausible, wrong numbers instead of a telltale NaN.
    arrays["mask"] = np.tril(np.ones((5, 5), dtype=bool))[1:4] & padding
    arrays["padding"] = padding
    return arrays


def describe(row, arrays):
    """Name what a query that may attend to nothing received."""
    query, key, value = (arrays[name] for name in ("query", "key", "value"))
    batch, index = EMPTY
    unmasked, _ = attention_loop(query, key, value)
    if np.isnan(row).all():
        return "nan"
    candidates = {
        "zeros": np.zeros_like(row),
        "mean of all values": value[batch].mean(axis=0),
        "attention without the mask": unmasked[batch, index],
    }
    fits = [name for name, array in candidates.items() if np.allclose(row, array, atol=1e-5)]
    return fits[0] if fits else "something else"


def record(calls, versions):
    """Run every call on the shared arrays and merge the results into the file."""
    arrays = example()
    qkv = [arrays[name] for name in ("query", "key", "value")]

    def run(call, mask):
        given = RECIPES[call.recipe](mask).reshape(SHAPES[call.axes])
        output = np.asarray(call.run(*qkv, given))
        assert output.shape == (2, 3, 4), output.shape
        return given, output

    rows, empty_rows = [], []
    for call in calls:
        mask = arrays[call.of]
        given, output = run(call, mask)
        np.testing.assert_allclose(output, attention_loop(*qkv, mask)[0], rtol=0, atol=1e-5)
        inverted, _ = attention_loop(*qkv, ~mask)
        assert (np.abs(output - inverted).max(axis=-1) > 0.1).all(), "cannot tell ~mask apart"
        head = {"library": call.library, "version": versions[call.library], "call": call.text}
        head |= dict(zip(("function", "argument"), columns(call.text), strict=True))
        head |= {"of": call.of, "recipe": call.recipe, "axes": call.axes}
        if call.in_table:
            row = {"dtype": str(output.dtype), "given": plain(given, 7)}
            rows.append(head | row | {"output": plain(output, 7)})

        emptied = mask.copy()
        # A padding mask has no row of its own per query: the whole batch entry is padding.
        emptied[EMPTY if call.of == "mask" else EMPTY[0]] = False
        row = run(call, emptied)[1][EMPTY]
        empty_rows.append(head | {"gives": describe(row, arrays), "row": plain(row, 7)})

    content = {"made_with": {}, "rows": [], "empty_rows": []}
    if CONVENTIONS.exists():
        content = json.loads(CONVENTIONS.read_text(encoding="utf-8"))
    made_with = content["made_with"] | versions
    merged = {
        "made_with": {name: made_with[name] for name in LIBRARIES if name in made_with},
        **{name: plain(array, 7) for name, array in arrays.items()},
        "empty_query": list(EMPTY),
    }
    for name, new in (("rows", rows), ("empty_rows", empty_rows)):
        kept = [row for row in content[name] if row["library"] not in versions]
        merged[name] = sorted(kept + new, key=lambda row: LIBRARIES.index(row["library"]))
    save(CONVENTIONS, content | merged)


def torch_conventions():
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def sdpa(query, key, value, mask):
        query, key, value = (torch.from_numpy(x[:, None]) for x in (query, key, value))
        mask = torch.from_numpy(mask)
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)[:, 0].numpy()

    def layer(argument, need_weights):
        module = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True)
        module = module.to(torch.float64)
        with torch.no_grad():
            module.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
            module.out_proj.weight.copy_(torch.eye(4))

        def call(query, key, value, mask):
            masks = {argument: torch.from_numpy(mask)}
            tensors = map(torch.from_numpy, (query, key, value))
            with torch.no_grad():
                output, _ = module(*tensors, need_weights=need_weights, **masks)
            return output.numpy()

        return call

    def encoder_layer(argument):
        """Make a layer whose fused kernel may run: self-attention, biases, two heads, inference.

        Query, key and value stand side by side in its tokens, and the first head finds them; two
        more queries make as many as there are keys.
        """
        module = torch.nn.MultiheadAttention(12, 2, batch_first=True).to(torch.float64).eval()
        rows = torch.arange(4)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.zero_()
            for i, factor in enumerate((1.5**0.5, 1, 1)):  # scores are divided by √6, not by √4
                module.in_proj_weight[12 * i + rows, 4 * i + rows] = factor
            module.out_proj.weight[rows, rows] = 1

        def call(query, key, value, mask):
            more = np.zeros((2, 2, 4))
            tokens = np.concatenate([np.concatenate([query, more], axis=1), key, value], axis=2)
            if argument == "attn_mask":
                mask = mask[:, [0, 1, 2, 0, 0]]
                mask = np.repeat(mask, 2, axis=0)  # for each head
            x = torch.from_numpy(tokens)
            masks = {argument: torch.from_numpy(mask)}
            with torch.no_grad():
                output, _ = module(x, x, x, need_weights=False, **masks)
            return output[:, :3, :4].numpy()

        return call

    text = "torch.nn.functional.scaled_dot_product_attention(attn_mask={})".format
    calls = [
        Call("torch", text("bool"), sdpa, "mask", HEADED),
        Call("torch", text("float"), sdpa, "additive", HEADED),
    ]
    for text, argument, recipe, axes, of in (
        ("attn_mask=bool", "attn_mask", "~mask", FLAT, "mask"),
        ("attn_mask=float", "attn_mask", "additive", FLAT, "mask"),
        ("key_padding_mask=bool", "key_padding_mask", "~mask", KEYS, "padding"),
    ):
        text = f"torch.nn.MultiheadAttention({text})"
        lean = f"{text}, need_weights=False"
        # Without weights the layer calls the function above, so an empty row gives zeros, but
        # NaN at inference, if a fused kernel runs. It takes no float masks.
        calls += [
            Call("torch", text, layer(argument, True), recipe, axes, of),
            Call("torch", lean, layer(argument, False), recipe, axes, of, in_table=False),
            Call("torch", f"{lean}, {FUSED}", encoder_layer(argument), recipe, axes, of, False),
        ]
    record(calls, {"torch": torch.__version__})
    content = json.loads(CONVENTIONS.read_text(encoding="utf-8"))
    save(CONVENTIONS, content | {"causal": torch_causal()})


def torch_causal():
    """Return the weights of two queries and five keys, all scores equal, under causal masks."""
    import torch
    from torch.nn.attention.bias import causal_lower_right
    from torch.nn.functional import scaled_dot_product_attention

    # With values like these the output is the weights.
    arrays = torch.zeros(2, 1), torch.zeros(5, 1), torch.eye(5)
    query, key, value = (array.to(torch.float64)[None, None] for array in arrays)
    given = {
        "is_causal=True": {"is_causal": True},
        "causal_lower_right(2, 5)": {"attn_mask": causal_lower_right(2, 5)},
    }
    weights = {
        text: scaled_dot_product_attention(query, key, value, **options)[0, 0].numpy()
        for text, options in given.items()
    }
    for (text, found), first in zip(weights.items(), (0, 3), strict=True):
        mask = np.array([[j <= first + i for j in range(5)] for i in range(2)])
        np.testing.assert_allclose(found, mask / mask.sum(axis=1, keepdims=True), err_msg=text)
    return {text: plain(found, 7) for text, found in weights.items()}


def jax_conventions():
    os.environ["KERAS_BACKEND"] = "jax"
    import flax
    import jax
    import keras
    import onnx
    from flax import linen, nnx
    from onnx.reference import ReferenceEvaluator

    def heads_after_length(attention, argument):
        def call(query, key, value, mask):
            single = [np.float32(x[:, :, None]) for x in (query, key, value)]
            mask = mask if mask.dtype == bool else np.float32(mask)
            return attention(*single, **{argument: mask})[:, :, 0]

        return call

    def keras_layer(return_attention_scores, **options):
        layer = keras.layers.MultiHeadAttention(1, key_dim=4, use_bias=False, **options)
        layer.build(query_shape=(2, 3, 4), value_shape=(2, 5, 4), key_shape=(2, 5, 4))
        layer.set_weights([np.eye(4).reshape(w.shape) for w in layer.get_weights()])

        def call(query, key, value, mask):
            result = layer(
                np.float32(query),
                key=np.float32(key),
                value=np.float32(value),
                attention_mask=mask,
                return_attention_scores=return_attention_scores,
            )
            return result[0] if return_attention_scores else result

        return call

    opset = onnx.defs.get_schema("Attention").since_version

    def onnx_attention(query, key, value, mask):
        kinds = {"float64": onnx.TensorProto.DOUBLE, "bool": onnx.TensorProto.BOOL}
        feeds = {"Q": query[:, None], "K": key[:, None], "V": value[:, None], "attn_mask": mask}
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Attention", list(feeds), ["Y"])],
            "attention",
            [info(name, kinds[str(x.dtype)], x.shape) for name, x in feeds.items()],
            [info("Y", onnx.TensorProto.DOUBLE, feeds["Q"].shape)],
        )
        versions = [onnx.helper.make_opsetid("", opset)]
        model = onnx.helper.make_model(graph, opset_imports=versions)
        onnx.checker.check_model(model)
        return ReferenceEvaluator(model).run(None, feeds)[0][:, 0]

    jax_attention = jax.nn.dot_product_attention
    masked, biased = (heads_after_length(jax_attention, name) for name in ("mask", "bias"))
    in_linen = heads_after_length(linen.dot_product_attention, "mask")
    in_nnx = heads_after_length(nnx.dot_product_attention, "mask")
    keras_attention = keras.ops.dot_product_attention
    keras_masked = heads_after_length(keras_attention, "mask")
    keras_biased = heads_after_length(keras_attention, "bias")
    in_ops = "keras.ops.dot_product_attention({})".format
    in_keras = "keras.layers.MultiHeadAttention(attention_mask=bool)"
    with_scores = f"{in_keras}, return_attention_scores=True"
    with_dropout = f"{in_keras}, dropout=0.1"
    dropping = keras_layer(False, dropout=0.1)
    in_onnx = f"ONNX Attention, opset {opset} (attn_mask={{}})".format
    calls = [
        Call("jax", "jax.nn.dot_product_attention(mask=bool)", masked, "mask", HEADED),
        Call("jax", "jax.nn.dot_product_attention(bias=float)", biased, "additive", HEADED),
        Call("flax", "flax.linen.dot_product_attention(mask=bool)", in_linen, "mask", HEADED),
        Call("flax", "flax.nnx.dot_product_attention(mask=bool)", in_nnx, "mask", HEADED),
        Call("keras", in_ops("mask=bool"), keras_masked, "mask", HEADED),
        Call("keras", in_ops("bias=float"), keras_biased, "additive", HEADED),
        Call("keras", in_keras, keras_layer(False), "mask", BATCHED),
        # With scores or dropout, even at inference, Keras takes another path, which treats an
        # empty row otherwise.
        Call("keras", with_scores, keras_layer(True), "mask", BATCHED, in_table=False),
        Call("keras", with_dropout, dropping, "mask", BATCHED, in_table=False),
        Call("onnx", in_onnx("bool"), onnx_attention, "mask", HEADED),
        Call("onnx", in_onnx("float"), onnx_attention, "additive", HEADED),
    ]
    versions = {
        "jax": jax.__version__,
        "flax": flax.__version__,
        "keras": f"{keras.__version__} (JAX backend)",
        "onnx": f"{onnx.__version__} (reference evaluator)",
    }
    record(calls, versions)


# --- attention.json -------------------------------------------------------------


def sdpa_cases(rng):
    """Return cases with batch 2, num_heads 3, len_q 5, len_k 7, d_k 11, d_v 13."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    query = rounded_normal(rng, 2, 3, 5, 11)
    key = rounded_normal(rng, 2, 3, 7, 11)
    value = rounded_normal(rng, 2, 3, 7, 13)
    square = rounded_normal(rng, 2, 3, 7, 11)
    mask = rng.random((2, 1, 5, 7)) < 0.5
    mask[..., 0] |= ~mask.any(axis=-1)
    empty = mask.copy()
    empty[1, 0, 3] = False
    cases = []
    for name, q, options in (
        ("plain", query, {}),
        ("mask", query, {"mask": mask}),
        ("empty_row", query, {"mask": empty}),
        ("scale", query, {"scale": 0.7}),
        ("causal", square, {"is_causal": True}),
    ):
        mask_of_case, scale = options.get("mask"), options.get("scale")
        is_causal = options.get("is_causal", False)

        def run(v, q=q, mask=mask_of_case, scale=scale, is_causal=is_causal):
            tensors = [torch.from_numpy(x) for x in (q, key, v)]
            attn_mask = None if mask is None else torch.from_numpy(mask)
            return scaled_dot_product_attention(
                *tensors, attn_mask=attn_mask, scale=scale, is_causal=is_causal
            ).numpy()

        output = run(value)
        # With the identity as values the public function returns its weights.
        weights = run(np.broadcast_to(np.eye(7), (2, 3, 7, 7)).copy())
        oracle_mask = np.tril(np.ones((7, 7), dtype=bool)) if is_causal else mask_of_case
        expected = attention_loop(q, key, value, oracle_mask, scale)
        np.testing.assert_allclose(output, expected[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights, expected[1], rtol=0, atol=1e-12)
        case = {"query": q, "key": key, "value": value, "output": output, "weights": weights}
        cases.append(
            {"name": name, "scale": scale, "is_causal": is_causal}
            | {"mask": None if mask_of_case is None else plain(mask_of_case, DIGITS)}
            | {field: plain(array, DIGITS) for field, array in case.items()}
        )
    return cases


def gradient_cases(rng):
    """Return gradients at num_heads 2, len_q 3, len_k 5, d_k 7, d_v 11, in both precisions."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    shapes = {"query": (2, 3, 7), "key": (2, 5, 7), "value": (2, 5, 11)}
    usual = {name: rounded_normal(rng, *shape) for name, shape in shapes.items()}
    mask = rng.random((2, 3, 5)) < 0.5
    mask[..., 0] |= ~mask.any(axis=-1)
    empty = mask.copy()
    empty[1, 2] = False
    bias = rounded_normal(rng, 2, 3, 5)
    one = usual | {"key": usual["key"][:1], "value": usual["value"][0]}
    shared = usual | {"query": rounded_normal(rng, 6, 3, 7)}
    square = usual | {"query": rounded_normal(rng, 2, 5, 7)}
    cases = []
    for name, inputs, options in (
        ("plain", usual, {}),
        ("mask", usual, {"mask": mask}),
        ("empty_row", usual, {"mask": empty}),
        ("bias", usual, {"bias": bias}),
        ("scale", usual, {"scale": 0.7}),
        ("causal", square, {"is_causal": True}),
        ("broadcast", one, {"mask": mask}),
        ("grouped", shared, {"enable_gqa": True}),
    ):
        mask_of_case, bias_of_case = options.pop("mask", None), options.pop("bias", None)
        len_q = inputs["query"].shape[-2]
        d_output = rounded_normal(rng, *inputs["query"].shape[:-1], 11)
        case = {"name": name, "causal": options.get("is_causal", False)}
        case |= {"scale": options.get("scale"), "d_output": plain(d_output, DIGITS)}
        for field, array in (*inputs.items(), ("mask", mask_of_case), ("bias", bias_of_case)):
            case[field] = None if array is None else plain(array, DIGITS)
        # The loop takes neither broadcast nor shared heads.
        heads = len(d_output)
        key, value = (
            np.repeat(np.broadcast_to(inputs[field], (2, *shapes[field][1:])), heads // 2, axis=0)
            for field in ("key", "value")
        )
        allowed = np.tri(len_q, 5, dtype=bool) if case["causal"] else np.ones((len_q, 5), bool)
        allowed = np.broadcast_to(allowed, (heads, len_q, 5))
        allowed = allowed if mask_of_case is None else mask_of_case
        added = 0 if bias_of_case is None else bias_of_case
        scale = 1 / math.sqrt(7) if case["scale"] is None else case["scale"]
        expected = gradient_loop(d_output, inputs["query"], key, value, allowed, added, scale)
        for dtype, digits, atol in ((np.float64, DIGITS, 1e-12), (np.float32, 7, 2e-6)):
            leaves = [torch.from_numpy(x.astype(dtype)).requires_grad_() for x in inputs.values()]
            attn_mask = mask_of_case
            if bias_of_case is not None:
                attn_mask = bias_of_case.astype(dtype)
            attn_mask = None if attn_mask is None else torch.from_numpy(attn_mask)
            output = scaled_dot_product_attention(*leaves, attn_mask=attn_mask, **options)
            output.backward(torch.from_numpy(d_output.astype(dtype)))
            for field, leaf, wanted in zip(inputs, leaves, expected, strict=True):
                gradient = leaf.grad.numpy()
                of_each = gradient.reshape(-1, *gradient.shape[-2:])
                wanted = wanted.reshape(len(of_each), -1, *of_each.shape[1:]).sum(axis=1)
                np.testing.assert_allclose(of_each, wanted, rtol=0, atol=atol)
                case[f"d_{field}_{np.dtype(dtype)}"] = plain(gradient, digits)
        cases.append(case)
    return cases


def multi_head_cases(rng):
    """Return cases with two heads of size 5 and with one, every size a different prime."""
    import torch

    cases = []
    for d_model, num_heads, batch, len_q, len_k in ((10, 2, 3, 7, 11), (5, 1, 2, 3, 7)):
        parameters = {
            "in_proj_weight": rounded_normal(rng, 3 * d_model, d_model),
            "in_proj_bias": rounded_normal(rng, 3 * d_model),
            "out_proj.weight": rounded_normal(rng, d_model, d_model),
            "out_proj.bias": rounded_normal(rng, d_model),
        }
        layer = torch.nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        layer = layer.to(torch.float64)
        layer.load_state_dict({k: torch.from_numpy(v) for k, v in parameters.items()})
        query = rounded_normal(rng, batch, len_q, d_model)
        key = rounded_normal(rng, batch, len_k, d_model)
        value = rounded_normal(rng, batch, len_k, d_model)
        random_mask = rng.random((batch, len_q, len_k)) < 0.5
        random_mask[..., 0] |= ~random_mask.any(axis=-1)
        for mask in (None, random_mask):
            theirs = None
            if mask is not None:
                theirs = torch.from_numpy(np.repeat(~mask, num_heads, axis=0))
            with torch.no_grad():
                result = layer(
                    *map(torch.from_numpy, (query, key, value)),
                    attn_mask=theirs,
                    average_attn_weights=False,
                )
            output, weights = (tensor.numpy() for tensor in result)
            expected = multi_head_loop(parameters, num_heads, query, key, value, mask)
            np.testing.assert_allclose(output, expected[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights, expected[1], rtol=0, atol=1e-12)
            arrays = {"query": query, "key": key, "value": value}
            arrays |= {"output": output, "weights": weights}
            cases.append(
                {"name": f"num_heads={num_heads}, {'no mask' if mask is None else 'mask'}"}
                | {"embed_dim": d_model, "num_heads": num_heads}
                | {"state_dict": {k: plain(v, DIGITS) for k, v in parameters.items()}}
                | {"mask": None if mask is None else plain(mask, DIGITS)}
                | {field: plain(array, DIGITS) for field, array in arrays.items()}
            )
    return cases


def packed_layer():
    """Write a layer of three heads of size 2: self-attention, and cross-attention with a mask."""
    import torch

    rng = np.random.default_rng(4)
    d_model, num_heads = 6, 3
    shapes = {"in_proj_weight": (18, 6), "in_proj_bias": (18,)}
    shapes |= {"out_proj.weight": (6, 6), "out_proj.bias": (6,)}
    parameters = {name: rounded_normal(rng, *shape) for name, shape in shapes.items()}
    layer = torch.nn.MultiheadAttention(d_model, num_heads, batch_first=True)
    layer = layer.to(torch.float64)
    layer.load_state_dict({k: torch.from_numpy(v) for k, v in parameters.items()})
    x, memory = rounded_normal(rng, 2, 5, d_model), rounded_normal(rng, 2, 7, d_model)
    mask = rng.random((2, 5, 7)) < 0.5
    mask[..., 0] |= ~mask.any(axis=-1)
    cases = []
    for name, key, allowed in (("self-attention", x, None), ("cross-attention", memory, mask)):
        theirs = None
        if allowed is not None:
            theirs = torch.from_numpy(np.repeat(~allowed, num_heads, axis=0))
        tensors = [torch.from_numpy(array) for array in (x, key, key)]
        expected = multi_head_loop(parameters, num_heads, x, key, key, allowed)
        case = {"name": name, "query": plain(x, DIGITS), "memory": plain(key, DIGITS)}
        case |= {"mask": None if allowed is None else plain(allowed, DIGITS)}
        for averaged in (False, True):
            with torch.no_grad():
                result = layer(*tensors, attn_mask=theirs, average_attn_weights=averaged)
            output, weights = (tensor.numpy() for tensor in result)
            wanted = expected[1].mean(axis=1) if averaged else expected[1]
            np.testing.assert_allclose(output, expected[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights, wanted, rtol=0, atol=1e-12)
            case["weights_averaged" if averaged else "weights"] = plain(weights, DIGITS)
        cases.append(case | {"output": plain(output, DIGITS)})
    content = {"made_with": {"torch": torch.__version__}, "num_heads": num_heads}
    content["state_dict"] = {name: plain(array, DIGITS) for name, array in parameters.items()}
    save(PACKED, content | {"cases": cases})


def softmax_cases():
    import torch

    x = np.array(
        [
            [0, 0, 0, 0, 0],
            [1, 2, 3, 4, 5],
            [1e4, 0, -1e4, 1e4 - 1, 9998.5],
            [-1e4, -1e4, -10001, -10003, -9999.5],
            [1e4, 1e4, 1e4, 1e4, 1e4],
            [0.25, -np.inf, -1.5, -np.inf, 2.75],
            [-745, 0, 0.001, -30, 12],
        ]
    )
    cases = []
    for axis in (-1, 0):
        output = torch.softmax(torch.from_numpy(x), dim=axis).numpy()
        expected = np.apply_along_axis(softmax_loop, axis, x)
        np.testing.assert_allclose(output, expected, rtol=1e-11, atol=0)
        cases.append({"axis": axis, "x": plain(x, DIGITS), "output": plain(output, DIGITS)})
    return cases


def torch_golden():
    import torch

    torch_conventions()
    packed_layer()
    rng = np.random.default_rng(3)
    content = {
        "made_with": {"torch": torch.__version__},
        "sdpa": sdpa_cases(rng),
        "multi_head": multi_head_cases(rng),
        "softmax": softmax_cases(),
        "gradients": gradient_cases(rng),
    }
    save(ATTENTION, content)


# --- decoder.json ---------------------------------------------------------------


def rotary_loop(x, positions, base, interleaved):
    """Rotate one pair of one vector after the other, by RoFormer's formula."""
    half = x.shape[-1] // 2
    positions = np.broadcast_to(positions, x.shape[:-1])
    result = np.empty_like(x)
    for at in np.ndindex(positions.shape):
        for j in range(half):
            pair = (2 * j, 2 * j + 1) if interleaved else (j, j + half)
            angle = positions[at] * base ** (-2 * j / x.shape[-1])
            first, second = (x[at][part] for part in pair)
            result[at][pair[0]] = first * math.cos(angle) - second * math.sin(angle)
            result[at][pair[1]] = first * math.sin(angle) + second * math.cos(angle)
    return result


def onnx_rotary(x, positions, base, interleaved):
    """Call ONNX's operator, which takes tables of cosines and sines, and whole positions."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    head_dim = x.shape[-1]
    frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
    angles = np.arange(positions.max() + 1)[:, None] * frequencies
    feeds = {"X": x, "cos": np.cos(angles), "sin": np.sin(angles), "positions": positions}
    info, types = onnx.helper.make_tensor_value_info, onnx.TensorProto
    kinds = {"float64": types.DOUBLE, "int64": types.INT64}
    node = onnx.helper.make_node("RotaryEmbedding", list(feeds), ["Y"], interleaved=interleaved)
    graph = onnx.helper.make_graph(
        [node],
        "rotary",
        [info(name, kinds[str(array.dtype)], array.shape) for name, array in feeds.items()],
        [info("Y", types.DOUBLE, x.shape)],
    )
    opset = onnx.defs.get_schema("RotaryEmbedding").since_version
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, feeds)[0]


def complex_rotary(x, positions, base, interleaved):
    """Multiply complex numbers in PyTorch, as the first code of LLaMA did."""
    import torch

    assert interleaved
    frequencies = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = torch.from_numpy(positions)[..., None] * frequencies
    pairs = torch.from_numpy(x).reshape(*x.shape[:-1], -1, 2)
    turned = torch.view_as_complex(pairs) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).numpy()


def transformers_rotary(x, positions, base, interleaved):
    """Call LLaMA's own function of transformers, `rotate_half`; its angles are in float32."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama import modeling_llama

    assert not interleaved
    config = LlamaConfig(head_dim=x.shape[-1])
    config.rope_parameters = {"rope_type": "default", "rope_theta": base}
    x, positions = torch.from_numpy(x), torch.from_numpy(positions)
    cos, sin = modeling_llama.LlamaRotaryEmbedding(config)(x, positions)
    return modeling_llama.apply_rotary_pos_emb(x, x, cos, sin)[0].numpy()


def rotary_cases(rng):
    """Return cases with batch 2, num_heads 3, len 5, head_dim 14."""
    x = rounded_normal(rng, 2, 3, 5, 14)
    whole = rng.integers(0, 97, size=(2, 5))
    between = rounded_normal(rng, 2, 1, 5) * 10
    cases = []
    for by, rotate, positions, base, interleaved, atol in (
        ("onnx", onnx_rotary, whole, 10000.0, True, 1e-12),
        ("onnx", onnx_rotary, whole, 10000.0, False, 1e-12),
        ("torch", complex_rotary, between, 10000.0, True, 1e-12),
        ("torch", complex_rotary, whole[:, None], 500.0, True, 1e-12),
        ("transformers", transformers_rotary, whole, 10000.0, False, 1e-5),
        ("transformers", transformers_rotary, whole, 100000.0, False, 1e-5),
    ):
        output = rotate(x, positions, base, interleaved)
        per_head = positions.reshape(2, 1, 5)
        expected = rotary_loop(x, per_head, base, interleaved)
        np.testing.assert_allclose(output, expected, rtol=0, atol=atol)
        pairing = "interleaved" if interleaved else "halves"
        cases.append(
            {"by": by, "pairing": pairing, "base": base, "atol": atol}
            | {"positions": plain(per_head, DIGITS), "output": plain(output, DIGITS)}
        )
    return {"x": plain(x, DIGITS), "cases": cases}


def part_cases(rng):
    """Return RMSNorm, LayerNorm, SwiGLU and feed-forward layers: d_model 11, hidden 13."""
    import torch
    from torch.nn import functional

    shapes = {"x": (2, 5, 11), "gain": (11,), "bias": (11,), "w_in": (11, 13), "b_in": (13,)}
    shapes |= {"w_out": (13, 7), "b_out": (7,), "w_gate": (11, 13), "w_up": (11, 13)}
    shapes |= {"w_down": (13, 7)}
    arrays = {name: rounded_normal(rng, *shape) for name, shape in shapes.items()}
    t = {name: torch.from_numpy(array) for name, array in arrays.items()}
    hidden = t["x"] @ t["w_in"] + t["b_in"]
    gated = functional.silu(t["x"] @ t["w_gate"]) * (t["x"] @ t["w_up"])
    outputs = {
        "rms_norm": functional.rms_norm(t["x"], (11,), t["gain"], eps=0.03),
        "layer_norm": functional.layer_norm(t["x"], (11,), t["gain"], t["bias"], eps=0.03),
        "relu": functional.relu(hidden) @ t["w_out"] + t["b_out"],
        "swiglu": gated @ t["w_down"],
    }
    arrays |= {f"{name}_output": output.numpy() for name, output in outputs.items()}
    return {"eps": 0.03} | {name: plain(array, DIGITS) for name, array in arrays.items()}


def whole_decoder(rng):
    """Return a LLaMA of transformers: vocabulary 13, d_model 8, 4 heads on 2, head_dim 6."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 13, "hidden_size": 8, "intermediate_size": 11, "head_dim": 6}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(**sizes, rms_norm_eps=0.001, tie_word_embeddings=False)
    config._attn_implementation = "eager"
    config.rope_parameters = {"rope_type": "default", "rope_theta": 500.0}
    model = LlamaForCausalLM(config).to(torch.float64).eval()
    state = {name: rounded_normal(rng, *each.shape) for name, each in model.state_dict().items()}
    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    tokens = rng.integers(0, 13, size=(3, 7))
    padding = np.arange(7) < np.array([0, 2, 5])[:, None]  # on the left: none, two, five
    positions = np.maximum(np.arange(7) - padding.sum(axis=-1, keepdims=True), 0)
    # Padding sees itself: a row without any key is NaN there, and reaches those that mask it.
    allowed = np.tril(~padding[:, None] | np.eye(7, dtype=bool))
    with torch.no_grad():
        result = model(
            torch.from_numpy(tokens),
            attention_mask=torch.from_numpy(np.where(allowed, 0.0, -np.inf)[:, None]),
            position_ids=torch.from_numpy(positions),
            output_attentions=True,
            output_hidden_states=True,
        )
        greedy = model.generate(
            torch.from_numpy(tokens[:1]), max_new_tokens=11, do_sample=False, eos_token_id=None
        )
    logits = np.where(padding[..., None], 0, result.logits.numpy())
    return {
        "config": {"rope_theta": 500.0, "rms_norm_eps": 0.001, "num_heads": 4, "num_kv_heads": 2},
        "state_dict": {name: plain(array, DIGITS) for name, array in state.items()},
        "tokens": tokens.tolist(),
        "padding": padding.tolist(),
        "positions": positions.tolist(),
        "logits": plain(logits, DIGITS),
        "weights": plain(torch.stack(result.attentions)[:, 0], DIGITS),  # of the first sequence
        "states": plain(torch.stack(result.hidden_states[:-1])[:, 0], DIGITS),
        "greedy": greedy[0].tolist(),
    }


def decoder_golden():
    import onnx
    import torch
    import transformers

    rng = np.random.default_rng(6)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    content = {
        "made_with": versions | {"onnx": f"{onnx.__version__} (reference evaluator)"},
        "rotary": rotary_cases(rng),
        "parts": part_cases(rng),
        "decoder": whole_decoder(rng),
    }
    save(DECODER, content)


# --- backward.json --------------------------------------------------------------


def swish_gated(x, w_gate, w_up, w_down):
    from torch.nn.functional import silu

    return (silu(x @ w_gate) * (x @ w_up)) @ w_down


def turned_halves(x, positions, base):
    """Rotate as `rotate_half` of LLaMA does."""
    import torch

    frequencies = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = positions[..., None] * frequencies
    cos, sin = (torch.cat([f(angles)] * 2, dim=-1).to(x.dtype) for f in (torch.cos, torch.sin))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def turned_pairs(x, positions, base):
    import torch

    frequencies = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = (positions[..., None] * frequencies).to(x.dtype)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def many_heads(heads, kv_heads, mask):
    """Return attention with grouped heads by `enable_gqa`, of inputs and eight parameters."""
    from torch.nn.functional import linear, scaled_dot_product_attention

    def attend(query, key, value, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o):
        q, k, v = (
            linear(x, w.T, b).unflatten(-1, (n, -1)).transpose(-2, -3)
            for x, w, b, n in (
                (query, w_q, b_q, heads),
                (key, w_k, b_k, kv_heads),
                (value, w_v, b_v, kv_heads),
            )
        )
        mixed = scaled_dot_product_attention(q, k, v, mask, enable_gqa=heads != kv_heads)
        return linear(mixed.transpose(-2, -3).flatten(-2), w_o.T, b_o)

    return attend


def backward_parts(rng):
    """Return (name, function of tensors, its arrays by name, what else it takes)."""
    import torch
    from torch.nn import functional

    shapes = {"x": (2, 5, 11), "gain": (11,), "bias": (11,), "w_in": (11, 13), "b_in": (13,)}
    shapes |= {"w_out": (13, 7), "b_out": (7,), "w_gate": (11, 13), "w_up": (11, 13)}
    shapes |= {"w_down": (13, 7), "scores": (3, 11), "table": (7, 3), "logits": (2, 5, 11)}
    shapes |= {"turned": (2, 3, 14)}
    arrays = {name: rounded_normal(rng, *shape) for name, shape in shapes.items()}

    def some(*names):
        return {name: arrays[name] for name in names}

    tokens = rng.integers(0, 5, size=(2, 5))  # of 7: two stand nowhere
    targets = rng.integers(0, 11, size=(2, 5))
    counts = rng.random((2, 5)) < 0.7
    places, between = rng.integers(0, 97, size=(2, 3)), rounded_normal(rng, 3) * 10
    ignored = torch.from_numpy(np.where(counts, targets, -100)).flatten()
    yield "linear", lambda x, w, b: x @ w + b, some("x", "w_in", "b_in"), {}
    yield "embedding", lambda table: table[tokens], some("table"), {"tokens": tokens}
    yield (
        "rms_norm",
        lambda x, gain: functional.rms_norm(x, (11,), gain, eps=0.03),
        some("x", "gain"),
        {"eps": 0.03},
    )
    yield (
        "layer_norm",
        lambda x, *of: functional.layer_norm(x, (11,), *of, eps=0.03),
        some("x", "gain", "bias"),
        {"eps": 0.03},
    )
    yield "relu", functional.relu, some("x"), {}
    yield (
        "feed_forward",
        lambda x, w_in, b_in, w_out, b_out: functional.relu(x @ w_in + b_in) @ w_out + b_out,
        some("x", "w_in", "b_in", "w_out", "b_out"),
        {},
    )
    yield "swiglu", swish_gated, some("x", "w_gate", "w_up", "w_down"), {}
    yield "softmax", lambda scores: functional.softmax(scores, dim=-1), some("scores"), {}
    for name, of in (("cross_entropy", torch.from_numpy(targets).flatten()), ("masked", ignored)):
        yield (
            name,
            lambda logits, of=of: functional.cross_entropy(logits.flatten(0, 1), of),
            some("logits"),
            {"targets": targets} | ({"mask": counts} if name == "masked" else {}),
        )
    for name, turn, positions, base in (
        ("interleaved", turned_pairs, places, 500.0),
        ("halves", turned_halves, between, 10000.0),
    ):
        yield (
            name,
            lambda x, turn=turn, at=positions, base=base: turn(x, torch.from_numpy(at), base),
            some("turned"),
            {"positions": positions, "base": base},
        )
    for name, kv_heads in (("heads", 6), ("grouped", 3), ("one_kv_head", 1)):
        columns = {"w_q": (11, 12), "w_k": (7, 2 * kv_heads), "w_v": (13, 5 * kv_heads)}
        columns |= {"w_o": (30, 3)}
        sizes = {"query": (2, 3, 11), "key": (2, 5, 7), "value": (2, 5, 13)}
        for weight, shape in columns.items():
            sizes |= {weight: shape, weight.replace("w", "b"): shape[1:]}
        mask = rng.random((2, 3, 5)) < 0.6
        mask[..., 0] |= ~mask.any(axis=-1)
        given = {each: rounded_normal(rng, *shape) / 2 for each, shape in sizes.items()}
        function = many_heads(6, kv_heads, torch.from_numpy(mask[:, None]))
        yield name, function, given, {"mask": mask, "num_heads": 6, "num_kv_heads": kv_heads}


def adam_steps(rng):
    """Return three steps of two parameters, with settings that are not the usual ones."""
    import torch

    start = {"w": rounded_normal(rng, 5, 3), "b": rounded_normal(rng, 3)}
    gradients = [{name: rounded_normal(rng, *x.shape) for name, x in start.items()} for _ in "123"]
    gradients[1]["b"][0] = gradients[0]["b"][0] = gradients[2]["b"][0] = 0
    rates, settings = [0.1, 0.3, 0.2], {"beta1": 0.7, "beta2": 0.95, "eps": 0.001}
    case = {"rates": rates} | settings
    case |= {name: plain(array, DIGITS) for name, array in start.items()}
    case["gradients"] = [
        {name: plain(array, DIGITS) for name, array in each.items()} for each in gradients
    ]
    for dtype, digits in ((np.float64, DIGITS), (np.float32, 7)):
        leaves = {name: torch.from_numpy(array.astype(dtype)) for name, array in start.items()}
        adam = torch.optim.Adam(leaves.values(), betas=(0.7, 0.95), eps=0.001)
        after = []
        for rate, gradient in zip(rates, gradients, strict=True):
            adam.param_groups[0]["lr"] = rate
            for name, leaf in leaves.items():
                leaf.grad = torch.from_numpy(gradient[name].astype(dtype))
            adam.step()
            after.append({name: plain(leaf.numpy(), digits) for name, leaf in leaves.items()})
        case[f"after_{np.dtype(dtype)}"] = after
    return case


def backward_golden():
    import torch

    rng = np.random.default_rng(8)
    cases = {}
    for name, function, arrays, others in backward_parts(rng):
        case = {field: plain(array, DIGITS) for field, array in arrays.items()}
        case |= {
            field: thing.tolist() if isinstance(thing, np.ndarray) else thing
            for field, thing in others.items()
        }
        leaves = [torch.from_numpy(array + 0.003).requires_grad_() for array in arrays.values()]
        torch.autograd.gradcheck(function, leaves)  # not at a 0, where ReLU has a bend
        d_output = rounded_normal(rng, *function(*leaves).shape)
        case["d_output"] = plain(d_output, DIGITS)
        for dtype, digits in ((np.float64, DIGITS), (np.float32, 7)):
            leaves = [torch.from_numpy(x.astype(dtype)).requires_grad_() for x in arrays.values()]
            output = function(*leaves)
            output.backward(torch.from_numpy(np.asarray(d_output, dtype)))
            case[f"output_{np.dtype(dtype)}"] = plain(output.detach().numpy(), digits)
            for field, leaf in zip(arrays, leaves, strict=True):
                case[f"d_{field}_{np.dtype(dtype)}"] = plain(leaf.grad.numpy(), digits)
        cases[name] = case
    made_with = {"torch": torch.__version__}
    save(BACKWARD, {"made_with": made_with, "parts": cases, "adam": adam_steps(rng)})


# --- translator.json ------------------------------------------------------------

D_MODEL, HEADS, HIDDEN, VOCAB, START, PAD = 6, 3, 5, 39, 37, 38


def translator_parameters(rng):
    """Draw parameters by the names that the book's translator gives them."""
    shapes = {"embedding": (VOCAB, D_MODEL), "memory_norm": (D_MODEL,)}
    shapes |= {"final_norm": (D_MODEL,), "output": (D_MODEL, VOCAB)}
    parts = {"encoder": ["attention"], "decoder": ["attention", "cross_attention"]}
    for side, attentions in parts.items():
        for name in attentions:
            shapes |= {f"{side}.{name}.w_{letter}": (D_MODEL, D_MODEL) for letter in "qkvo"}
            shapes |= {f"{side}.{name}.b_{letter}": (D_MODEL,) for letter in "qkvo"}
        norms = [name.removesuffix("_attention") + "_norm" for name in attentions]
        shapes |= {f"{side}.{name}": (D_MODEL,) for name in [*norms, "feed_forward_norm"]}
        shapes |= {f"{side}.w_in": (D_MODEL, HIDDEN), f"{side}.b_in": (HIDDEN,)}
        shapes |= {f"{side}.w_out": (HIDDEN, D_MODEL), f"{side}.b_out": (D_MODEL,)}
    return {name: rounded_normal(rng, *shape) for name, shape in shapes.items()}


def torch_translator(p, source, target):
    """Return by PyTorch's own functions what a translator computes, and the loss."""
    import torch
    from torch.nn import functional

    def embedded(tokens):
        pairs = torch.arange(0, D_MODEL, 2, dtype=torch.float64) / D_MODEL
        angles = torch.arange(tokens.shape[1])[:, None] / 10000.0**pairs
        waves = torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)
        return functional.embedding(tokens, p["embedding"]) + waves

    def norm(x, gain):
        return functional.rms_norm(x, (D_MODEL,), p[gain], eps=1e-5)

    def attend(name, x, memory, **hidden):
        w, b = ({letter: p[f"{name}.{kind}_{letter}"] for letter in "qkvo"} for kind in "wb")
        x, memory = x.swapaxes(0, 1), memory.swapaxes(0, 1)  # the batch second
        output, weights = functional.multi_head_attention_forward(
            *(x, memory, memory, D_MODEL, HEADS),
            torch.cat([w[letter].T for letter in "qkv"]),
            torch.cat([b[letter] for letter in "qkv"]),
            **{"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0},
            **{"out_proj_weight": w["o"].T, "out_proj_bias": b["o"]},
            **hidden,
            average_attn_weights=False,
        )
        return output.swapaxes(0, 1), weights

    def feed_forward(side, x):
        hidden = functional.relu(functional.linear(x, p[f"{side}.w_in"].T, p[f"{side}.b_in"]))
        return functional.linear(hidden, p[f"{side}.w_out"].T, p[f"{side}.b_out"])

    padding = {"key_padding_mask": source == PAD}
    future = {"attn_mask": torch.ones(target.shape[1], target.shape[1], dtype=bool).triu(1)}
    target_in = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)
    computed = {}
    x = embedded(source)
    normed = norm(x, "encoder.attention_norm")
    added, computed["encoder_weights"] = attend("encoder.attention", normed, normed, **padding)
    x = x + added
    x = x + feed_forward("encoder", norm(x, "encoder.feed_forward_norm"))
    memory = norm(x, "memory_norm")
    y = embedded(target_in)
    normed = norm(y, "decoder.attention_norm")
    added, computed["decoder_weights"] = attend("decoder.attention", normed, normed, **future)
    y = y + added
    normed = norm(y, "decoder.cross_norm")
    added, computed["cross_weights"] = attend("decoder.cross_attention", normed, memory, **padding)
    y = y + added
    y = y + feed_forward("decoder", norm(y, "decoder.feed_forward_norm"))
    logits = norm(y, "final_norm") @ p["output"]
    loss = functional.cross_entropy(logits.flatten(0, 1), target.flatten())
    return computed | {"memory": memory, "logits": logits}, loss


def translator_golden():
    import torch

    rng = np.random.default_rng(88)
    parameters = translator_parameters(rng)
    source, target = rng.integers(0, START, size=(3, 11)), rng.integers(0, START, size=(3, 7))
    source[1, 7:] = source[2, 10:] = PAD
    target[0, 1:5] = 23  # one that repeats
    leaves = {name: torch.from_numpy(each).requires_grad_() for name, each in parameters.items()}
    computed, loss = torch_translator(leaves, torch.from_numpy(source), torch.from_numpy(target))
    loss.backward()
    content = {
        "made_with": {"torch": torch.__version__},
        "num_heads": HEADS,
        "parameters": {name: plain(each, DIGITS) for name, each in parameters.items()},
        "source": source.tolist(),
        "target": target.tolist(),
        "loss": float(loss.detach()),
        "computed": {n: plain(each.detach().numpy(), DIGITS) for n, each in computed.items()},
        "gradients": {n: plain(each.grad.numpy(), DIGITS) for n, each in leaves.items()},
    }
    save(TRANSLATOR, content)


if __name__ == "__main__":
    entry_points = {"torch": torch_golden, "jax": jax_conventions, "decoder": decoder_golden}
    entry_points |= {"backward": backward_golden, "translator": translator_golden}
    if len(sys.argv) != 2 or sys.argv[1] not in entry_points:
        sys.exit(f"usage: python make_golden.py {'|'.join(entry_points)}")
    entry_points[sys.argv[1]]()
