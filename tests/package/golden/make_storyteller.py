"""Make storyteller_gradients.json: two steps of the storyteller's training by PyTorch.

Run by hand, from the root of the repository (these are the versions it was last run with, on CPU,
under Python 3.11):

    pip install numpy==2.4.6 torch==2.13.0
    python -m tests.package.golden.make_storyteller

Model, loss and optimiser are `tools/train_storyteller.py`'s own, but in float64, from the shipped
parameters on. The first batch is of stories; the second of lists, which it finds so hard that the
gradient is clipped. Of each array there is its norm, its product with cosines, which every entry
enters with another weight, and five entries, evenly spread.
"""

import numpy as np
import torch

from tests.package.golden.make_golden import DIGITS, HERE, plain, save
from tools import train_storyteller as script

STORYTELLER = HERE / "storyteller_gradients.json"
SEED = 7


def batches():
    """Return five stories and seven lists: tokens, -1 for padding, and what each counts for."""
    examples = script.Examples(SEED)
    stories = [examples.told(length=script.LENGTH, ask=0.3) for _ in range(5)]
    lists = [examples.list_of_facts(3) for _ in range(7)]
    return script.as_arrays(stories, script.LENGTH), script.as_arrays(lists, 72)


def described(arrays):
    found = {}
    for name, tensor in arrays.items():
        array = tensor.numpy().ravel()
        mixed = array @ np.cos(np.arange(array.size))
        numbers = np.linalg.norm(array), mixed, *array[:: -(-array.size // 5)]
        found[name] = plain(numbers, DIGITS)
    return found


def two_steps(scheme):
    """Train for two steps; return losses, norms, the first gradient, and how parameters moved."""
    name = "storyteller" if scheme == "rotary" else f"storyteller_{scheme}"
    stored = script.parameters(name)
    before = {key: torch.from_numpy(array).double() for key, array in stored.items()}
    weights = {key: array.clone().requires_grad_() for key, array in before.items()}
    adam, schedule = script.optimiser(weights)
    found = {"losses": [], "norms": []}
    for tokens, counts in batches():
        loss, norm = script.descend(weights, scheme, adam, schedule, tokens, counts)
        found["losses"].append(plain(loss, DIGITS))
        found["norms"].append(plain(norm, DIGITS))
        if "gradient" not in found:  # the second is clipped
            found["gradient"] = described({key: each.grad for key, each in weights.items()})
    moved = {key: each.detach() - before[key] for key, each in weights.items()}
    return found | {"moved": described(moved)}


def main():
    torch.set_default_dtype(torch.float64)
    content = {
        "made_with": {"torch": torch.__version__},
        "batches": [[array.int().tolist() for array in batch] for batch in batches()],
        "steps": {scheme: two_steps(scheme) for scheme in script.SCHEMES},
    }
    save(STORYTELLER, content)


if __name__ == "__main__":
    main()
