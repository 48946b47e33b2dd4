import jax

def rms_norm(x, gain, eps=1e-5):
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + eps) * gain

normed = rms_norm(x, gain)
