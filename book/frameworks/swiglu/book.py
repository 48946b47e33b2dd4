from attnbook import swiglu

added = swiglu(x, w_gate, w_up, w_down)
