import torch

v = w_q[0, :head_dim]
w_query, w_key = w_k[:head_dim, :head_dim], w_o[:head_dim, :head_dim]
hidden = torch.tanh((query @ w_query).unsqueeze(-2) + (key @ w_key).unsqueeze(-3))
weights = torch.softmax((hidden @ v).masked_fill(~mask, -torch.inf), dim=-1)
output = weights @ value
