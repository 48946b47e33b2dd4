import jax

def part(keys):
    scores = query @ key[..., keys, :].mT / head_dim**0.5
    mixed = jax.nn.softmax(scores) @ value[..., keys, :]
    return mixed, jax.nn.logsumexp(scores, axis=-1, keepdims=True)

(first, of_first), (rest, of_rest) = part(slice(0, 4)), part(slice(4, None))
share = jax.nn.sigmoid(of_first - of_rest)
output = share * first + (1 - share) * rest
