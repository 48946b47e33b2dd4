import torch
from transformers import LlamaConfig
from transformers.models.llama import modeling_llama as llama

sizes = {"hidden_size": d_model, "intermediate_size": hidden}
heads = {"num_attention_heads": num_heads, "num_key_value_heads": num_kv_heads}
config = LlamaConfig(**sizes, **heads, attn_implementation="sdpa")
layer = llama.LlamaDecoderLayer(config, layer_idx=0).to(x.dtype)
state = layer.state_dict()
angles = llama.LlamaRotaryEmbedding(config)(x, torch.arange(len_k)[None])
output = layer(x, position_embeddings=angles)
