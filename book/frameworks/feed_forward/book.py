from attnbook import feed_forward

added = feed_forward(x, w_gate, b_in, w_down, b_q)
