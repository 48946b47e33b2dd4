from attnbook import rms_norm

normed = rms_norm(x, gain)
