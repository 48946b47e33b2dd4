import jax
import jax.numpy as jnp

prompt, new = (heads[..., :4, :].swapaxes(1, 2) for heads in (key, value))
room = jnp.zeros((2, batch, len_k, num_heads, head_dim), key.dtype)  # for all
cache = room.at[:, :, :4].set(jnp.stack([prompt, new]))
output = jax.nn.dot_product_attention(prompt, *cache[:, :, :4], is_causal=True)
output = output.swapaxes(1, 2)
