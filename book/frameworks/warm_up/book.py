from attnbook import warmup_cosine

rates = [warmup_cosine(step, steps=20, warmup=5, peak=0.01) for step in range(20)]
