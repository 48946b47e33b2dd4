"""A training step of the translator of dates, against the leanest NumPy and PyTorch's eager one."""

import numpy as np

from attnbook.toys.dates import PAD, START, encode, examples
from attnbook.toys.translator import Training, loss_and_gradient
from attnbook.training import Adam
from tools.bench.lean import lean_adam, lean_translator
from tools.bench.table import best_times, threads
from tools.train_translator import flat

ROUNDS = 40


def measure(table):
    run = Training()
    batch = examples(np.random.default_rng(0), run.batch_size)
    source, target = (
        encode(*[each.written for each in batch]),
        encode(*[each.iso for each in batch]),
    )
    model, num_heads = run.model, run.model.encoder.attention.num_heads
    adam = Adam.start(model)
    parameters = {name: array.copy() for name, array in flat(model).items()}
    mean, square = ({name: 0 * each for name, each in parameters.items()} for _ in range(2))

    loss, gradient = loss_and_gradient(model, source, target)
    lean_loss, lean_gradient = lean_translator(parameters, source, target, num_heads)
    np.testing.assert_allclose(lean_loss, loss, rtol=1e-12)
    for name, array in flat(gradient).items():
        np.testing.assert_allclose(lean_gradient[name], array, atol=1e-12, err_msg=name)

    def ours():
        _, gradient = loss_and_gradient(model, source, target)
        adam.step(model, gradient, 1e-3)

    def leanest():
        _, gradient = lean_translator(parameters, source, target, num_heads)
        lean_adam(parameters, gradient, mean, square, 1, 0.0)

    others = {"leanest NumPy": leanest} | torch_step(flat(model), source, target, num_heads)
    ours_takes, *times = 1e3 * best_times([ours, *others.values()], (), ROUNDS)
    for name, takes in zip(others, times, strict=True):
        table.add("a training step", ours_takes, name, takes, "ms", run.batch_size)


def torch_step(parameters, source, target, num_heads):
    """Return PyTorch's step at the same sizes in float64, where it is installed."""
    try:
        import torch
        from torch import nn
        from torch.nn import functional
    except ImportError:
        print("PyTorch is not installed: no rows for it.")
        return {}
    torch.set_num_threads(threads())
    vocab, d_model = parameters["embedding"].shape
    hidden = parameters["encoder.b_in"].size
    sizes = {"d_model": d_model, "nhead": num_heads, "dim_feedforward": hidden, "dropout": 0.0}
    options = {"batch_first": True, "norm_first": True, "dtype": torch.float64}
    parts = nn.ModuleDict(
        {
            "embedding": nn.Embedding(vocab, d_model, dtype=torch.float64),
            "encoder": nn.TransformerEncoderLayer(**sizes, **options),
            "memory_norm": nn.LayerNorm(d_model, dtype=torch.float64),
            "decoder": nn.TransformerDecoderLayer(**sizes, **options),
            "final_norm": nn.LayerNorm(d_model, dtype=torch.float64),
            "output": nn.Linear(d_model, vocab, bias=False, dtype=torch.float64),
        }
    )
    adam = torch.optim.Adam(parts.parameters(), lr=1e-3)
    source, target = torch.from_numpy(source), torch.from_numpy(target)
    target_in = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)
    padding = source == PAD
    future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    positions = torch.randn(source.shape[1], d_model, dtype=torch.float64)

    def step():
        adam.zero_grad()
        x = parts["embedding"](source) + positions
        memory = parts["memory_norm"](parts["encoder"](x, src_key_padding_mask=padding))
        y = parts["embedding"](target_in) + positions[: target.shape[1]]
        y = parts["decoder"](y, memory, tgt_mask=future, memory_key_padding_mask=padding)
        logits = parts["output"](parts["final_norm"](y))
        functional.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
        adam.step()

    return {f"torch {torch.__version__.partition('+')[0]}, eager": step}
