added = (x @ w_gate + b_in).relu() @ w_down + b_q
