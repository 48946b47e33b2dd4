from attnbook.pretrained import storyteller

vectors = storyteller.load().embedding
