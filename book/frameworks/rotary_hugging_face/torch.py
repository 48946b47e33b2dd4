import torch
from transformers import LlamaConfig
from transformers.models.llama import modeling_llama as llama

config = LlamaConfig(head_dim=head_dim)
config.rope_parameters = {"rope_type": "default", "rope_theta": 500_000.0}
angles = llama.LlamaRotaryEmbedding(config)
cosine, sine = angles(query, torch.arange(len_q)[None])
rotated, _ = llama.apply_rotary_pos_emb(query, query, cosine, sine)
