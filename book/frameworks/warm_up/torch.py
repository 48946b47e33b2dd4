import math
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR

def share(step, steps=20, warmup=5):  # of the highest rate
    if step < warmup:
        return (step + 1) / warmup
    return (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2

schedule = LambdaLR(Adam([w_q], lr=0.01), share)  # its step() after Adam's
rates = [rate * share(step) for rate in schedule.base_lrs for step in range(20)]
