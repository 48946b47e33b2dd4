output, weights = layer(x)
