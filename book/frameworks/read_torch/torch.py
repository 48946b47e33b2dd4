from torch import nn

layer = nn.MultiheadAttention(d_model, num_heads, batch_first=True, dtype=x.dtype)
state = layer.state_dict()
output, weights = layer(x, x, x, average_attn_weights=False)
