"""Tasks small enough to train on, and a model for one of them; their answers are known.

``dates`` writes days in twelve forms, and ``translator`` is an encoder and decoder that learn to
read them; ``small_world`` tells stories and asks about them. ``attnbook.pretrained`` has what was
trained on both.
"""

from attnbook.toys import dates, small_world, translator

__all__ = ["dates", "small_world", "translator"]
