from attnbook.pretrained import smollm2

model = smollm2.load()
ids = model.tokenizer.encode("The capital of France is")
predicted = model.logits(ids)
