from attnbook import apply_rotary

rotated = apply_rotary(query, pairing="halves")
