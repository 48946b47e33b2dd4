from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

sizes = {"n_embd": d_model, "n_head": num_heads, "bos_token_id": None}
config = GPT2Config(**sizes, eos_token_id=None, attn_implementation="sdpa")
layer = GPT2Attention(config, layer_idx=0).to(x.dtype).eval()
state = layer.state_dict()
output, _ = layer(x)
