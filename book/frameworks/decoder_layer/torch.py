import torch
from attnbook.pretrained import storyteller

def llama_layer(x, p, head_dim, base=10000.0):
    normed = torch.rms_norm(x, x.shape[-1:], p["attention_norm"], 1e-5)
    x = x + rotary_attention(normed, p, head_dim, base)
    normed = torch.rms_norm(x, x.shape[-1:], p["feed_forward_norm"], 1e-5)
    return x + swiglu(normed, p["w_gate"], p["w_up"], p["w_down"])

model = storyteller.load()
p = tensors(model) | tensors(model.layers[0]) | tensors(model.layers[0].attention)
after = llama_layer(p["embedding"][tokens % 60], p, head_dim=16)
