from attnbook import softmax

weights = softmax(scores)
