"""Small trained models and slices of larger ones, so that a figure shows what was learned.

*all-MiniLM-L6-v2* :cite:p:`reimers2019` is a small BERT: 6 layers of 12 heads, d_model 384,
head_dim 32. Here are layer 3 whole, two single heads, and what the model recorded on six
sentences. Layers and heads are counted from 0.

*arabic-name-romanizer* writes Arabic names in Latin letters, by cross-attention; here is what it
computed on ten. *g2p-en* reads English words aloud through one state, without attention; here it
is whole, with words to try it on.

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
from attnbook.pretrained.romanizer import Alignment, romanizer_alignment, romanizer_names
from attnbook.pretrained.word_reader import (
    GRU,
    ByLength,
    WordReader,
    g2p,
    g2p_by_length,
    g2p_joined,
    g2p_pronunciations,
    g2p_sample,
)

__all__ = [
    "GRU",
    "Alignment",
    "ByLength",
    "HeadProjections",
    "WordReader",
    "g2p",
    "g2p_by_length",
    "g2p_joined",
    "g2p_pronunciations",
    "g2p_sample",
    "head_projections",
    "hidden_states",
    "multi_head_attention",
    "position_table",
    "recorded_weights",
    "romanizer_alignment",
    "romanizer_names",
    "sentences",
    "tokens",
]
