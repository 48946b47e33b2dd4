import jax

def swiglu(x, w_gate, w_up, w_down):
    return (jax.nn.silu(x @ w_gate) * (x @ w_up)) @ w_down

added = swiglu(x, w_gate, w_up, w_down)
