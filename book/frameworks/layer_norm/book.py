from attnbook import layer_norm

normed = layer_norm(x, gain, shift)
