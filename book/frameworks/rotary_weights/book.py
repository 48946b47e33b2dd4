from attnbook import apply_rotary, split_heads

# w_q and w_k: Hugging Face's, transposed
q, k = (split_heads(x @ w, num_heads) for w in (w_q, w_k))
scores = apply_rotary(q, pairing="halves") @ apply_rotary(k, pairing="halves").mT
