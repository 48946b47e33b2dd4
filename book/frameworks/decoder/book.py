from attnbook.pretrained import storyteller

predicted = storyteller.load().logits(tokens % 60)
