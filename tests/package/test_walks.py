"""How often control goes over from one module to another on three ways through the package.

What is public checks once and hands on to a core that trusts: a way is then a line, and no
to-and-fro between parts and checks. Counted are stays: functions that follow one another in a
module are one stay, and a function that calls another again is not counted again.
"""

import sys

import numpy as np
import pytest

from attnbook import Decoder, DecoderLayer, MultiHeadAttention
from attnbook.toys import translator


def stays(call):
    """Return the modules of the package in the order in which a call comes to them."""
    walked, seen = [], set()

    def look(frame, event, _):
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        written = not code.co_filename.startswith("<") and not code.co_name.startswith("<")
        if event != "call" or not module.startswith("attnbook") or not written:
            return
        caller = frame.f_back
        while caller and not caller.f_globals.get("__name__", "").startswith("attnbook"):
            caller = caller.f_back
        step = caller and caller.f_code, code
        if step not in seen and [module] != walked[-1:]:
            walked.append(module)
        seen.add(step)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return walked


def decoder():
    rng = np.random.default_rng(0)
    layer = DecoderLayer(
        attention_norm=np.ones(8),
        attention=MultiHeadAttention.init(rng, 8, 4, 2),
        feed_forward_norm=np.ones(8),
        w_gate=rng.standard_normal((8, 12)),
        w_up=rng.standard_normal((8, 12)),
        w_down=rng.standard_normal((12, 8)),
    )
    embedding = rng.standard_normal((11, 8))
    return Decoder(embedding=embedding, layers=(layer, layer), final_norm=np.ones(8))


def a_query_through_the_layer():
    layer, x = MultiHeadAttention.init(np.random.default_rng(0), 8, 4, 2), np.ones((5, 8))
    return lambda: layer(x, mask=np.tri(5, dtype=bool))


def a_token_through_the_decoder():
    model = decoder()
    return lambda: model.logits([1, 2, 3])


def a_date_through_training():
    run = translator.Training(steps=2, warmup=1, batch_size=2)
    return lambda: translator.train_step(run)


@pytest.mark.parametrize(
    ("way", "most"),
    [
        (a_query_through_the_layer, 8),
        (a_token_through_the_decoder, 10),
        (a_date_through_training, 35),
    ],
)
def test_a_way_does_not_go_to_and_fro(way, most):
    walked = stays(way())
    assert len(walked) <= most, walked
    assert len(set(walked)) > 2


def test_one_more_token_with_a_cache_is_checked_no_more():
    model = decoder()
    few, more = (stays(lambda n=n: model.generate([1, 2, 3], n)) for n in (1, 4))
    assert len(few) <= 13, few
    assert len(more) == len(few), more
