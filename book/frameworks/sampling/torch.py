import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

warpers = TemperatureLogitsWarper(0.7), TopKLogitsWarper(9), TopPLogitsWarper(0.8)
kept = logits.flatten(0, 1)
for warp in warpers:  # in the order of generate
    kept = warp(None, kept)
probabilities = torch.softmax(kept, dim=-1).view_as(logits)
