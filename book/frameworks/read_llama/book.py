from attnbook import DecoderLayer, MultiHeadAttention
from attnbook.pretrained.state_dicts import take

def linear(name):  # W x there, x @ w here
    return take(state, f"{name}.weight", (None, None)).T
read = {f"w_{of}": linear(f"self_attn.{of}_proj") for of in "qkvo"}
layer = MultiHeadAttention(**read, num_heads=num_heads, num_kv_heads=num_kv_heads)
rest = {f"w_{of}": linear(f"mlp.{of}_proj") for of in ("gate", "up", "down")}
norms = "input_layernorm.weight", "post_attention_layernorm.weight"
before, between = (take(state, key, (d_model,)) for key in norms)
rest |= {"attention_norm": before, "feed_forward_norm": between}
layer = DecoderLayer(attention=layer, **rest)
