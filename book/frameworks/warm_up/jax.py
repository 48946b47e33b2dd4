import optax

def schedule(steps, warmup, peak):
    rise = optax.linear_schedule(peak / warmup, peak, warmup - 1)
    fall = optax.cosine_decay_schedule(peak, steps - warmup)
    return optax.join_schedules([rise, fall], [warmup])

rates = [schedule(20, 5, 0.01)(step) for step in range(20)]
