"""Small trained models and slices of larger ones, so that a figure shows what was learned.

*all-MiniLM-L6-v2* :cite:p:`reimers2019` is a small BERT: 6 layers of 12 heads, d_model 384,
head_dim 32. Here are layer 3 whole, two single heads, and what the model recorded on six
sentences. Layers and heads are counted from 0.

Numbers are returned in float64. Beside the files in ``attnbook/data`` a README for each model
says what they are, where they come from, and under which licence.
"""

from attnbook.pretrained.minilm import (
    HeadProjections,
    head_projections,
    hidden_states,
    multi_head_attention,
    position_table,
    recorded_weights,
    sentences,
    tokens,
)

__all__ = [
    "HeadProjections",
    "head_projections",
    "hidden_states",
    "multi_head_attention",
    "position_table",
    "recorded_weights",
    "sentences",
    "tokens",
]
