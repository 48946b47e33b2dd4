import jax

def attention(*heads):
    q, k, v = (each.swapaxes(1, 2) for each in heads)
    return jax.nn.dot_product_attention(q, k, v, mask=mask).swapaxes(1, 2)

_, backward = jax.vjp(attention, query, key, value)
d_query, d_key, d_value = backward(d_output)
