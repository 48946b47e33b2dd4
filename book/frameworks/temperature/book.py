from attnbook import softmax

probabilities = softmax(logits / 0.7)
