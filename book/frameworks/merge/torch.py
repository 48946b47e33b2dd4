import torch

def part(keys):
    scores = query @ key[..., keys, :].mT / head_dim**0.5
    mixed = torch.softmax(scores, dim=-1) @ value[..., keys, :]
    return mixed, scores.logsumexp(dim=-1, keepdim=True)

(first, of_first), (rest, of_rest) = part(slice(0, 4)), part(slice(4, None))
share = torch.sigmoid(of_first - of_rest)
output = share * first + (1 - share) * rest
