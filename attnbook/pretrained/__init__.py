"""Small trained models and slices of larger ones, so that a figure shows what was learned.

Each is a module: ``from attnbook.pretrained import storyteller``, then ``storyteller.load()``.

``minilm`` is *all-MiniLM-L6-v2* :cite:p:`reimers2019`, a small BERT: 6 layers of 12 heads, d_model
384, head_dim 32. Here are layer 3 whole, two single heads, and what the model recorded on six
sentences. ``smollm2`` is *SmolLM2-135M-Instruct* :cite:p:`allal2025`, a chat model of Llama's kind:
30 causal layers of 9 query heads on 3 heads of keys and values, d_model 576, head_dim 64. Here are
layer 18 whole, which has an induction head (6) and a sink (8), a previous-token head (0 of layer
16), and what the model recorded on four sentences; ``smollm2.load`` reads the whole model, where
its package is installed. Layers and heads are counted from 0.

``romanizer``, *arabic-name-romanizer*, writes Arabic names in Latin letters, by cross-attention;
here is what it computed on ten. ``word_reader``, *g2p-en*, reads English words aloud through one
state, without attention; here it is whole, with words to try it on.

``storyteller`` is this project's own: a decoder that tells stories of a small world and answers
questions about them, with three twins that know positions in other ways.

``date_translator`` reads dates in twelve forms, and is this project's own, too; beside it is
recorded what became of it without one of its parts, and with mistakes in its gradients.

``state_dicts`` reads the weights of other libraries' layers.

Numbers are returned in float64, the storyteller's in float32. Beside the files in
``attnbook/data`` a README for each model says what they are, where they come from, and under
which licence.
"""

from attnbook.pretrained import byte_pairs as byte_pairs
from attnbook.pretrained import date_translator as date_translator
from attnbook.pretrained import minilm as minilm
from attnbook.pretrained import romanizer as romanizer
from attnbook.pretrained import smollm2 as smollm2
from attnbook.pretrained import state_dicts as state_dicts
from attnbook.pretrained import storyteller as storyteller
from attnbook.pretrained import word_reader as word_reader
