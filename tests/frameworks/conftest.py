"""What every test of the libraries needs."""

import functools

import pytest

from attnbook.pretrained import smollm2


@pytest.fixture(autouse=True, scope="session")
def read_once():
    """Let SmolLM2 be read once: it takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smollm2, "load", functools.cache(smollm2.load))
        yield
