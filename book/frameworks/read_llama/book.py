from attnbook import DecoderLayer, MultiHeadAttention
from attnbook.pretrained.state_dicts import take

d_kv, wide, attn, rest = num_kv_heads * head_dim, (hidden, d_model), {}, {}
for of, size in {"q": d_model, "k": d_kv, "v": d_kv, "o": d_model}.items():
    attn[f"w_{of}"] = take(state, f"self_attn.{of}_proj.weight", (size, d_model)).T
for of, shape in {"gate": wide, "up": wide, "down": wide[::-1]}.items():
    rest[f"w_{of}"] = take(state, f"mlp.{of}_proj.weight", shape).T
for of, key in {"attention": "input", "feed_forward": "post_attention"}.items():
    rest[f"{of}_norm"] = take(state, f"{key}_layernorm.weight", (d_model,))
attn = MultiHeadAttention(**attn, num_heads=num_heads, num_kv_heads=num_kv_heads)
layer = DecoderLayer(attention=attn, **rest)
