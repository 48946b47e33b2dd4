projected = x @ w_q + b_q
