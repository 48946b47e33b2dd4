import jax.numpy as jnp
from attnbook.pretrained import smollm2

model = smollm2.load()
ids = model.tokenizer.encode("The capital of France is")
predicted = logits_of(model, jnp.array(ids)[None])[0]
