from torch.nn.functional import silu

def swiglu(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) * (x @ w_up)) @ w_down

added = swiglu(x, w_gate, w_up, w_down)
