from attnbook import attend

output, weights = attend(scores, value, mask)
