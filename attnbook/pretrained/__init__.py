"""Small trained models and slices of larger ones, so that a figure shows what was learned.

*all-MiniLM-L6-v2* :cite:p:`reimers2019` is a small BERT: 6 layers of 12 heads, d_model 384,
head_dim 32. Here are layer 3 whole, two single heads, and what the model recorded on six
sentences. *SmolLM2-135M-Instruct* :cite:p:`allal2025` is a chat model of Llama's kind: 30 causal
layers of 9 query heads on 3 heads of keys and values, d_model 576, head_dim 64. Here are layer 18
whole, which has an induction head (6) and a sink (8), a previous-token head (0 of layer 16), and
what the model recorded on four sentences; ``smollm2()`` reads the whole model, where its package
is installed. Layers and heads are counted from 0.

*arabic-name-romanizer* writes Arabic names in Latin letters, by cross-attention; here is what it
computed on ten. *g2p-en* reads English words aloud through one state, without attention; here it
is whole, with words to try it on.

The *storyteller* is this project's own: a decoder that tells stories of a small world and answers
questions about them, with three twins that know positions in other ways.

The *translator* reads dates in twelve forms, and is this project's own, too; beside it is recorded
what became of it without one of its parts, and with mistakes in its gradients.

Numbers are returned in float64, the storyteller's in float32. Beside the files in
``attnbook/data`` a README for each model says what they are, where they come from, and under
which licence.
"""

from attnbook.pretrained.byte_pairs import BytePairTokenizer
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
from attnbook.pretrained.smollm2 import (
    SMOLLM2_ROPE_BASE,
    smollm2,
    smollm2_attention,
    smollm2_head,
    smollm2_head_table,
    smollm2_hidden_states,
    smollm2_letter,
    smollm2_mistakes,
    smollm2_norm,
    smollm2_recorded_weights,
    smollm2_sentences,
    smollm2_sink_weights,
    smollm2_tokens,
    smollm2_window_loss,
)
from attnbook.pretrained.storyteller import (
    Scheme,
    StorytellerRecord,
    WordTokenizer,
    storyteller,
    storyteller_record,
    storyteller_twin,
)
from attnbook.pretrained.translator import (
    TranslatorRecord,
    TranslatorRun,
    translator,
    translator_record,
    translator_runs,
)
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
    "SMOLLM2_ROPE_BASE",
    "Alignment",
    "ByLength",
    "BytePairTokenizer",
    "HeadProjections",
    "Scheme",
    "StorytellerRecord",
    "TranslatorRecord",
    "TranslatorRun",
    "WordReader",
    "WordTokenizer",
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
    "smollm2",
    "smollm2_attention",
    "smollm2_head",
    "smollm2_head_table",
    "smollm2_hidden_states",
    "smollm2_letter",
    "smollm2_mistakes",
    "smollm2_norm",
    "smollm2_recorded_weights",
    "smollm2_sentences",
    "smollm2_sink_weights",
    "smollm2_tokens",
    "smollm2_window_loss",
    "storyteller",
    "storyteller_record",
    "storyteller_twin",
    "tokens",
    "translator",
    "translator_record",
    "translator_runs",
]
