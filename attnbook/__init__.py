"""Attention mechanisms in NumPy, small enough to read and tested enough to trust.

Importing this package loads NumPy and nothing else. The figures of the book are drawn by
``attnbook.plotting``, the only module that imports Matplotlib.
"""

from attnbook import exercises
from attnbook.decoder import (
    Decoder,
    DecoderLayer,
    DecoderTrace,
    feed_forward,
    layer_norm,
    rms_norm,
    swiglu,
)
from attnbook.diagnostics import (
    ScoreStatistics,
    Spread,
    effective_keys,
    entropy,
    influence,
    rank_correlation,
    score_statistics,
)
from attnbook.functional import (
    AttentionOutput,
    additive_attention,
    scaled_dot_product_attention,
    softmax,
)
from attnbook.layers import (
    MultiHeadAttention,
    cross_attention,
    merge_heads,
    self_attention,
    split_heads,
)
from attnbook.long import (
    BlockwiseOutput,
    KVCache,
    blockwise_attention,
    online_softmax,
)
from attnbook.masks import causal_mask, padding_mask
from attnbook.positional import (
    alibi_bias,
    apply_rotary,
    relative_rotation,
    sinusoidal_encoding,
)

__version__ = "0.1.0"

__all__ = [
    "AttentionOutput",
    "BlockwiseOutput",
    "Decoder",
    "DecoderLayer",
    "DecoderTrace",
    "KVCache",
    "MultiHeadAttention",
    "ScoreStatistics",
    "Spread",
    "additive_attention",
    "alibi_bias",
    "apply_rotary",
    "blockwise_attention",
    "causal_mask",
    "cross_attention",
    "effective_keys",
    "entropy",
    "exercises",
    "feed_forward",
    "influence",
    "layer_norm",
    "merge_heads",
    "online_softmax",
    "padding_mask",
    "rank_correlation",
    "relative_rotation",
    "rms_norm",
    "scaled_dot_product_attention",
    "score_statistics",
    "self_attention",
    "sinusoidal_encoding",
    "softmax",
    "split_heads",
    "swiglu",
]
