"""Attention mechanisms in NumPy, small enough to read and tested enough to trust.

Importing this package loads NumPy and nothing else. The figures of the book are drawn by
``attnbook.plotting``, the only module that imports Matplotlib. It is imported by its name, as are
``attnbook.pretrained`` (trained models) and ``attnbook.toys``.
"""

from attnbook import exercises
from attnbook.decoder import (
    Decoder,
    DecoderLayer,
    DecoderTrace,
    Parts,
    feed_forward,
    layer_norm,
    rms_norm,
    swiglu,
)
from attnbook.diagnostics import (
    ScoreStatistics,
    Spread,
    because,
    effective_keys,
    entropy,
    influence,
    rank_correlation,
    score_statistics,
)
from attnbook.functional import (
    AttentionOutput,
    additive_attention,
    attend,
    scaled_dot_product_attention,
    softmax,
)
from attnbook.gradients import (
    attention_backward,
    blockwise_attention_backward,
    check_gradient,
    cross_entropy,
    embedding_backward,
    feed_forward_backward,
    layer_norm_backward,
    linear_backward,
    multi_head_backward,
    relu_backward,
    rms_norm_backward,
    rotary_backward,
    softmax_backward,
    swiglu_backward,
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
    Alibi,
    Placed,
    Positions,
    Rotary,
    Sinusoidal,
    Sizes,
    alibi_bias,
    apply_rotary,
    relative_rotation,
    sinusoidal_encoding,
)
from attnbook.training import Adam, loss_and_gradient, map_arrays, warmup_cosine

__version__ = "0.2.0.dev0"

__all__ = [
    "Adam",
    "Alibi",
    "AttentionOutput",
    "BlockwiseOutput",
    "Decoder",
    "DecoderLayer",
    "DecoderTrace",
    "KVCache",
    "MultiHeadAttention",
    "Parts",
    "Placed",
    "Positions",
    "Rotary",
    "ScoreStatistics",
    "Sinusoidal",
    "Sizes",
    "Spread",
    "additive_attention",
    "alibi_bias",
    "apply_rotary",
    "attend",
    "attention_backward",
    "because",
    "blockwise_attention",
    "blockwise_attention_backward",
    "causal_mask",
    "check_gradient",
    "cross_attention",
    "cross_entropy",
    "effective_keys",
    "embedding_backward",
    "entropy",
    "exercises",
    "feed_forward",
    "feed_forward_backward",
    "influence",
    "layer_norm",
    "layer_norm_backward",
    "linear_backward",
    "loss_and_gradient",
    "map_arrays",
    "merge_heads",
    "multi_head_backward",
    "online_softmax",
    "padding_mask",
    "plotting",
    "pretrained",
    "rank_correlation",
    "relative_rotation",
    "relu_backward",
    "rms_norm",
    "rms_norm_backward",
    "rotary_backward",
    "scaled_dot_product_attention",
    "score_statistics",
    "self_attention",
    "sinusoidal_encoding",
    "softmax",
    "softmax_backward",
    "split_heads",
    "swiglu",
    "swiglu_backward",
    "toys",
    "warmup_cosine",
]
