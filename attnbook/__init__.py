"""Attention mechanisms in NumPy, small enough to read and tested enough to trust.

Importing this package loads NumPy and nothing else. The figures of the book are drawn by
``attnbook.plotting``, the only module that imports Matplotlib. It is imported by its name, as are
``attnbook.pretrained`` (trained models) and ``attnbook.toys``.
"""

from attnbook import exercises as exercises
from attnbook.decoder import Decoder as Decoder
from attnbook.decoder import DecoderLayer as DecoderLayer
from attnbook.decoder import DecoderTrace as DecoderTrace
from attnbook.decoder import Parts as Parts
from attnbook.decoder import feed_forward as feed_forward
from attnbook.decoder import layer_norm as layer_norm
from attnbook.decoder import rms_norm as rms_norm
from attnbook.decoder import swiglu as swiglu
from attnbook.diagnostics import ScoreStatistics as ScoreStatistics
from attnbook.diagnostics import Spread as Spread
from attnbook.diagnostics import effective_keys as effective_keys
from attnbook.diagnostics import entropy as entropy
from attnbook.diagnostics import influence as influence
from attnbook.diagnostics import rank_correlation as rank_correlation
from attnbook.diagnostics import score_statistics as score_statistics
from attnbook.functional import AttentionOutput as AttentionOutput
from attnbook.functional import additive_attention as additive_attention
from attnbook.functional import attend as attend
from attnbook.functional import scaled_dot_product_attention as scaled_dot_product_attention
from attnbook.functional import softmax as softmax
from attnbook.gradients import attention_backward as attention_backward
from attnbook.gradients import blockwise_attention_backward as blockwise_attention_backward
from attnbook.gradients import check_gradient as check_gradient
from attnbook.gradients import cross_entropy as cross_entropy
from attnbook.gradients import embedding_backward as embedding_backward
from attnbook.gradients import feed_forward_backward as feed_forward_backward
from attnbook.gradients import layer_norm_backward as layer_norm_backward
from attnbook.gradients import linear_backward as linear_backward
from attnbook.gradients import multi_head_backward as multi_head_backward
from attnbook.gradients import relu_backward as relu_backward
from attnbook.gradients import rms_norm_backward as rms_norm_backward
from attnbook.gradients import rotary_backward as rotary_backward
from attnbook.gradients import softmax_backward as softmax_backward
from attnbook.gradients import swiglu_backward as swiglu_backward
from attnbook.layers import MultiHeadAttention as MultiHeadAttention
from attnbook.layers import cross_attention as cross_attention
from attnbook.layers import merge_heads as merge_heads
from attnbook.layers import self_attention as self_attention
from attnbook.layers import split_heads as split_heads
from attnbook.long import BlockwiseOutput as BlockwiseOutput
from attnbook.long import KVCache as KVCache
from attnbook.long import blockwise_attention as blockwise_attention
from attnbook.long import online_softmax as online_softmax
from attnbook.masks import causal_mask as causal_mask
from attnbook.masks import padding_mask as padding_mask
from attnbook.positional import Alibi as Alibi
from attnbook.positional import Placed as Placed
from attnbook.positional import Positions as Positions
from attnbook.positional import Rotary as Rotary
from attnbook.positional import Sinusoidal as Sinusoidal
from attnbook.positional import Sizes as Sizes
from attnbook.positional import alibi_bias as alibi_bias
from attnbook.positional import apply_rotary as apply_rotary
from attnbook.positional import relative_rotation as relative_rotation
from attnbook.positional import sinusoidal_encoding as sinusoidal_encoding
from attnbook.training import Adam as Adam
from attnbook.training import loss_and_gradient as loss_and_gradient
from attnbook.training import map_arrays as map_arrays
from attnbook.training import warmup_cosine as warmup_cosine

__version__ = "0.2.0.dev0"

# All names from above, and what is imported by its name.
_HERE = {name for name, thing in vars().items() if hasattr(thing, "__module__") and name[0] != "_"}
__all__ = sorted({*_HERE, "exercises", "plotting", "pretrained", "toys"})
