"""Positions of a reader's own: what a decoder takes beside rotary, sinusoids and ALiBi."""

import dataclasses

import numpy as np

from attnbook import Placed, apply_rotary


@dataclasses.dataclass(frozen=True)
class PartialRotary:
    """Turn the first numbers of each head only, as GPT-NeoX does."""

    rotated: int
    base: float = 30.0

    def place(self, positions, key_positions, sizes):
        def turn(heads):
            first = apply_rotary(heads[..., : self.rotated], positions, base=self.base)
            return np.concatenate([first, heads[..., self.rotated :]], axis=-1)

        return Placed(turn=turn)


@dataclasses.dataclass(frozen=True)
class ScaledRotary:
    """Turn slow pairs slower, as Llama 3.1 does for texts that are longer than trained on."""

    factor: float
    base: float = 30.0

    def place(self, positions, key_positions, sizes):
        frequencies = self.base ** (-np.arange(0, sizes.head_dim, 2) / sizes.head_dim)
        frequencies = np.where(frequencies < 0.5, frequencies / self.factor, frequencies)
        angles = positions[..., None] * frequencies

        def turn(heads):
            x, y = heads[..., 0::2], heads[..., 1::2]
            turned = np.empty(heads.shape, heads.dtype)
            turned[..., 0::2] = x * np.cos(angles) - y * np.sin(angles)
            turned[..., 1::2] = x * np.sin(angles) + y * np.cos(angles)
            return turned

        return Placed(turn=turn)
