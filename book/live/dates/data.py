"""The parameters of the translator of dates, 16 bits each, as they are shipped."""

import base64
from importlib.resources import files

import numpy as np

from attnbook.toys.dates import ALPHABET


def data():
    """Return the characters, the names and shapes of parameters, the numbers."""
    parameters = np.load(files("attnbook") / "data/translator.npz")
    numbers = b"".join(
        parameters[name].astype("<f2").tobytes() for name in parameters
    )
    return {
        "characters": ALPHABET,
        "shapes": {name: parameters[name].shape for name in parameters},
        "numbers": base64.b64encode(numbers).decode(),
    }
