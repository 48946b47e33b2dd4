import jax

q, k, v = (heads.swapaxes(1, 2) for heads in (query, key, value))
compiled = jax.jit(jax.nn.dot_product_attention).lower(q, k, v).compile()
output = compiled(q, k, v).swapaxes(1, 2)
assert "fmha" not in compiled.as_text()  # on a GPU: implementation="cudnn"
