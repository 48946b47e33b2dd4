import torch

def interleaved(w):  # a head's columns: from two halves to pairs of neighbours
    return w.unflatten(-1, (num_heads, 2, -1)).mT.flatten(-3)

heads = ((x @ interleaved(w)).unflatten(-1, (num_heads, -1)) for w in (w_q, w_k))
turned = [rotary(each.transpose(1, 2), torch.arange(len_k)) for each in heads]
scores = turned[0] @ turned[1].mT
