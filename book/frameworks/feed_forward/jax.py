import jax

added = jax.nn.relu(x @ w_gate + b_in) @ w_down + b_q
