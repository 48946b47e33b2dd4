from torch.nn.functional import layer_norm

normed = layer_norm(x, (d_model,), gain, shift)
