"""Small trained models and slices of larger ones, so that a figure shows what was learned.

*all-MiniLM-L6-v2* :cite:p:`reimers2019` is a small BERT: 6 layers of 12 heads, d_model 384,
head_dim 32. Here are layer 3 whole, two single heads, and what the model recorded on six
sentences. *SmolLM2-135M-Instruct* :cite:p:`allal2025` is a chat model of Llama's kind: 30 causal
layers of 9 query heads on 3 heads of keys and values, d_model 576, head_dim 64. Here are layer 18
whole, which has an induction head (6) and a sink (8), a previous-token head (0 of layer 16), and
what the model recorded on four sentences. Layers and heads are counted from 0.

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
from attnbook.pretrained.smollm2 import (
    SMOLLM2_ROPE_BASE,
    smollm2_attention,
    smollm2_head,
    smollm2_head_table,
    smollm2_hidden_states,
    smollm2_norm,
    smollm2_recorded_weights,
    smollm2_sentences,
    smollm2_tokens,
)

__all__ = [
    "SMOLLM2_ROPE_BASE",
    "HeadProjections",
    "head_projections",
    "hidden_states",
    "multi_head_attention",
    "position_table",
    "recorded_weights",
    "sentences",
    "smollm2_attention",
    "smollm2_head",
    "smollm2_head_table",
    "smollm2_hidden_states",
    "smollm2_norm",
    "smollm2_recorded_weights",
    "smollm2_sentences",
    "smollm2_tokens",
    "tokens",
]
