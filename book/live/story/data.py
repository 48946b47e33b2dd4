"""The storyteller, 16 bits a number as it is shipped, and its script."""

import base64
from importlib.resources import files

import numpy as np

from course.chapters import ROOT

LIVE = ROOT / "book/live"


def data():
    """Return the script, and the names, shapes and numbers of the parameters."""
    parameters = np.load(files("attnbook") / "data/storyteller.npz")
    numbers = b"".join(
        parameters[name].astype("<f2").tobytes() for name in parameters
    )
    scripts = [LIVE / "core.js", LIVE / "story/model.js"]
    return {
        "script": "".join(path.read_text(encoding="utf-8") for path in scripts),
        "parameters": {
            "shapes": {name: parameters[name].shape for name in parameters},
            "numbers": base64.b64encode(numbers).decode(),
        },
    }
