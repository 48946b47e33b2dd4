"""Make the golden arrays that the tests and a chapter of the book read.

Run by hand, once per environment, from any directory; no framework is a
dependency of this project:

    pip install numpy==2.4.6 torch==2.13.0
    python make_golden.py torch

    pip install numpy==2.4.6 jax==0.10.2 flax==0.12.8 keras==3.15.1 onnx==1.23.2
    python make_golden.py jax

(These are the versions it was last run with, on CPU, under Python 3.11.)
Each run replaces its own libraries' entries and keeps the others':

- ``attnbook/data/mask_conventions.json``: one mask in this book's convention
  (bool, True = may attend), what each library must be handed instead, and what
  it returns; `torch` and `jax` both write to it.
- ``attnbook/data/packed_mha.json``: the weights of one PyTorch layer, packed as
  its state_dict has them, with what it returns; only `torch` writes it.
- ``attention.json`` beside this file: attention, multi-head attention and softmax
  by PyTorch in float64; only `torch` writes it.

The JSON is strict: non-finite numbers are the strings "nan", "inf" and "-inf",
which ``np.array(x, dtype=float)`` reads back. Every array is compared with plain
loops before it is written, so a wrong convention stops the script.
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
    save(CONVENTIONS, merged)


def torch_conventions():
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def sdpa(query, key, value, mask):
        query, key, value, mask = map(torch.from_numpy, (query, key, value, mask))
        return scaled_dot_product_attention(query, key, value, attn_mask=mask).numpy()

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

    text = "torch.nn.functional.scaled_dot_product_attention(attn_mask={})".format
    calls = [
        Call("torch", text("bool"), sdpa, "mask", BATCHED),
        Call("torch", text("float"), sdpa, "additive", BATCHED),
    ]
    for text, argument, recipe, axes, of in (
        ("attn_mask=bool", "attn_mask", "~mask", FLAT, "mask"),
        ("attn_mask=float", "attn_mask", "additive", FLAT, "mask"),
        ("key_padding_mask=bool", "key_padding_mask", "~mask", KEYS, "padding"),
    ):
        text = f"torch.nn.MultiheadAttention({text})"
        lean = f"{text}, need_weights=False"
        # Without weights the layer calls the function above, so an empty row gives zeros
        # (but NaN in self-attention under `eval` and `no_grad`, where a fused kernel runs).
        calls += [
            Call("torch", text, layer(argument, True), recipe, axes, of),
            Call("torch", lean, layer(argument, False), recipe, axes, of, in_table=False),
        ]
    record(calls, {"torch": torch.__version__})


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

    def keras_layer(return_attention_scores):
        layer = keras.layers.MultiHeadAttention(num_heads=1, key_dim=4, use_bias=False)
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
    in_onnx = f"ONNX Attention, opset {opset} (attn_mask={{}})".format
    calls = [
        Call("jax", "jax.nn.dot_product_attention(mask=bool)", masked, "mask", HEADED),
        Call("jax", "jax.nn.dot_product_attention(bias=float)", biased, "additive", HEADED),
        Call("flax", "flax.linen.dot_product_attention(mask=bool)", in_linen, "mask", HEADED),
        Call("flax", "flax.nnx.dot_product_attention(mask=bool)", in_nnx, "mask", HEADED),
        Call("keras", in_ops("mask=bool"), keras_masked, "mask", HEADED),
        Call("keras", in_ops("bias=float"), keras_biased, "additive", HEADED),
        Call("keras", in_keras, keras_layer(False), "mask", BATCHED),
        # With scores Keras takes another path, which treats an empty row otherwise.
        Call("keras", with_scores, keras_layer(True), "mask", BATCHED, in_table=False),
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
    }
    save(ATTENTION, content)


if __name__ == "__main__":
    entry_points = {"torch": torch_golden, "jax": jax_conventions}
    if len(sys.argv) != 2 or sys.argv[1] not in entry_points:
        sys.exit("usage: python make_golden.py torch|jax")
    entry_points[sys.argv[1]]()
