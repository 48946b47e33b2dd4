import torch
from attnbook.pretrained import smollm2

model = smollm2.load()
ids = model.tokenizer.encode("The capital of France is")
predicted = logits_of(model, torch.tensor(ids)[None])[0]
