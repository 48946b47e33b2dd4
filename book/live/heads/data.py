"""The weights of all 72 heads on six sentences, in percent: a character each."""

import numpy as np

from attnbook.pretrained import minilm

# The heads whose values are known.
SHIPPED = [(0, 2), (1, 8), *((3, head) for head in range(12))]


def data():
    """Return tokens, and the first sentence's weights: others come when chosen."""
    told = [
        {
            "tokens": minilm.tokens(sentence),
            "asks": next(map(minilm.tokens(sentence).index, pronouns(sentence))),
        }
        for sentence in minilm.sentences()
    ]
    told[0] |= weights(minilm.sentences()[0])
    return told


def parts():
    """Return what is asked for by itself: the weights of each other sentence."""
    return {
        number: weights(sentence)
        for number, sentence in enumerate(minilm.sentences())
        if number
    }


def weights(sentence):
    """Return the weights of all heads, and weights times norms of values."""
    return {
        "weights": packed(minilm.recorded_weights(sentence)),
        "by_norm": {
            f"{layer}.{head}": packed(by_norm(sentence, layer, head))
            for layer, head in SHIPPED
        },
    }


def pronouns(sentence):
    """Return the words to start from that a sentence has, the best first."""
    return [word for word in ("it", "their") if word in minilm.tokens(sentence)]


def by_norm(sentence, layer, head):
    """Return each weight times the norm of its value, as a share of the row."""
    about = minilm.head_projections(layer, head)
    values = minilm.hidden_states(sentence, layer) @ about.w_v + about.b_v
    pulls = minilm.recorded_weights(sentence)[layer, head] * np.linalg.norm(
        values, axis=-1
    )
    return pulls / pulls.sum(axis=-1, keepdims=True)


def packed(shares):
    """Write 0 to 93 percent as the characters from ! on, the rest as À to Æ."""
    percents = np.rint(100 * shares).astype(int).ravel()
    return "".join(chr(33 + p if p < 94 else 0xC0 + p - 94) for p in percents)
