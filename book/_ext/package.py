"""What *The package* says beside docstrings: import, section, source."""

import inspect
import sys
from operator import attrgetter

import attnbook
from course.chapters import ROOT
from course.pages import public_address
from course.words import say

TAUGHT = {  # the section that teaches each name
    "AttentionOutput": "sec-what",
    "softmax": "sec-softmax",
    "scaled_dot_product_attention": "sec-what",
    "additive_attention": "sec-scores",
    "causal_mask": "sec-masks",
    "padding_mask": "sec-masks",
    "self_attention": "sec-self",
    "cross_attention": "sec-cross",
    "split_heads": "sec-reshape",
    "merge_heads": "sec-reshape",
    "MultiHeadAttention": "sec-by-loop",
    "sinusoidal_encoding": "sec-formula",
    "relative_rotation": "sec-rotation",
    "apply_rotary": "sec-rotary",
    "alibi_bias": "sec-alibi",
    "KVCache": "sec-kv-cache",
    "attention_backward": "sec-backward-of-attention",
    "blockwise_attention_backward": "sec-backward-without-weights",
    "softmax_backward": "sec-backward-of-attention",
    "cross_entropy": "sec-back-to-w-q",
    "check_gradient": "sec-back-to-w-q",
    "multi_head_backward": "sec-other-parts",
    "linear_backward": "sec-other-parts",
    "embedding_backward": "sec-other-parts",
    "rms_norm_backward": "sec-other-parts",
    "layer_norm_backward": "sec-other-parts",
    "relu_backward": "sec-other-parts",
    "feed_forward_backward": "sec-other-parts",
    "swiglu_backward": "sec-other-parts",
    "rotary_backward": "sec-other-parts",
    "loss_and_gradient": "sec-other-parts",
    "Adam": "sec-adam",
    "warmup_cosine": "sec-train-live",
    "map_arrays": "sec-train-live",
    "Translator": "sec-first-loss",
    "EncoderLayer": "sec-first-loss",
    "TranslatorLayer": "sec-first-loss",
    "TranslatorTrace": "sec-what-it-learned",
    "after_start": "sec-train-live",
    "Training": "sec-train-live",
    "train_step": "sec-train-live",
    "Example": "sec-first-loss",
    "write": "sec-first-loss",
    "examples": "sec-first-loss",
    "encode": "sec-first-loss",
    "decode": "sec-what-it-learned",
    "fields": "sec-what-it-learned",
    "unseen_examples": "sec-train-live",
    "online_softmax": "sec-online-softmax",
    "blockwise_attention": "sec-blockwise",
    "BlockwiseOutput": "sec-blockwise",
    "rms_norm": "sec-assemble",
    "layer_norm": "sec-train-short",
    "feed_forward": "sec-train-short",
    "swiglu": "sec-assemble",
    "Decoder": "sec-assemble",
    "DecoderLayer": "sec-train-short",
    "DecoderTrace": "sec-residual-stream",
    "Spread": "sec-scale",
    "ScoreStatistics": "sec-scale",
    "score_statistics": "sec-scale",
    "entropy": "sec-temperature",
    "effective_keys": "sec-temperature",
    "influence": "sec-influence",
    "rank_correlation": "sec-explanation",
    "sentences": "sec-real-heads",
    "tokens": "sec-tired-wide",
    "hidden_states": "sec-real-heads",
    "recorded_weights": "sec-real-heads",
    "HeadProjections": "sec-real-heads",
    "head_projections": "sec-real-heads",
    "multi_head_attention": "sec-w-o",
    "position_table": "sec-bag-of-words",
    "romanizer_names": "sec-cross",
    "romanizer_alignment": "sec-cross",
    "Alignment": "sec-cross",
    "g2p": "sec-trained-state",
    "g2p_sample": "sec-trained-state",
    "g2p_joined": "sec-trained-state",
    "g2p_by_length": "sec-trained-state",
    "g2p_pronunciations": "sec-trained-state",
    "WordReader": "sec-trained-state",
    "GRU": "sec-trained-state",
    "ByLength": "sec-trained-state",
    "smollm2_sentences": "sec-rotary-conventions",
    "smollm2_hidden_states": "sec-rotary-conventions",
    "smollm2_recorded_weights": "sec-rotary-conventions",
    "smollm2_norm": "sec-rotary-conventions",
    "smollm2_attention": "sec-rotary-conventions",
    "smollm2_head_table": "sec-rotary-conventions",
    "smollm2_head": "sec-offset-only",
    "smollm2_tokens": "sec-offset-only",
    "smollm2_window_loss": "sec-windows-and-sinks",
    "smollm2_sink_weights": "sec-windows-and-sinks",
    "smollm2": "sec-real-one",
    "smollm2_letter": "sec-break-it",
    "smollm2_mistakes": "sec-break-it",
    "attend": "sec-masks",
    "Parts": "sec-break-it",
    "Rotary": "sec-stretch",
    "Positions": "sec-break-it",
    "Placed": "sec-break-it",
    "Sizes": "sec-break-it",
    "Sinusoidal": "sec-train-short",
    "Alibi": "sec-train-short",
    "BytePairTokenizer": "sec-byte-pairs",
    "translator": "sec-what-it-learned",
    "translator_record": "sec-what-it-learned",
    "TranslatorRecord": "sec-what-it-learned",
    "translator_runs": "sec-what-each-part-is-worth",
    "TranslatorRun": "sec-what-each-part-is-worth",
    "storyteller": "sec-train-short",
    "storyteller_twin": "sec-train-short",
    "storyteller_record": "sec-train-short",
    "StorytellerRecord": "sec-train-short",
    "WordTokenizer": "sec-train-short",
    "story": "sec-train-short",
    "Story": "sec-train-short",
    "Question": "sec-train-short",
}


def introduce(app, what, fullname, thing, options, lines):
    """Begin a docstring with the import of the thing, and a link to its section."""
    module, _, name = fullname.rpartition(".")
    if module not in sys.modules or what == "module":  # a method, or a module itself
        return
    if getattr(attnbook, name, None) is getattr(sys.modules[module], name):
        module = "attnbook"  # two modules have a loss_and_gradient, and one is handed on
    text = f"``from {module} import {name}``"
    if name in TAUGHT:
        text += f" · {say('taught', section=f':ref:`{TAUGHT[name]}`')}"
    lines[:0] = [text, ""]


def source_address(domain, about):
    """Return where a definition is shown to all, or None: a field has none."""
    module = sys.modules[about["module"]]
    thing = inspect.unwrap(attrgetter(about["fullname"])(module))
    try:
        lines, first = inspect.getsourcelines(thing)
        path = ROOT.joinpath(inspect.getsourcefile(thing)).relative_to(ROOT)
    except TypeError:
        return None
    return f"{public_address(ROOT / path)}#L{first}-L{first + len(lines) - 1}"


def resolve(app, config):
    config.linkcode_resolve = source_address
    config.release = attnbook.__version__  # which stands at the foot of every page


def setup(app):
    app.setup_extension("sphinx.ext.linkcode")
    app.connect("config-inited", resolve)
    # After Napoleon, which has the default priority and reads docstrings alone.
    app.connect("autodoc-process-docstring", introduce, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
