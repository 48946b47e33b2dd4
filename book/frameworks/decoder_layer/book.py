from attnbook.pretrained import storyteller

states = storyteller.load().trace(tokens % 60).states
after = states[1]
