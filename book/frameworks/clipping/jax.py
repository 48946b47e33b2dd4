import optax

clip = optax.clip_by_global_norm(1.0)
(clipped, _), _ = clip.update((w_q, w_k), clip.init((w_q, w_k)))
norm = optax.tree.norm((w_q, w_k))
