import torch

a, b = w_q.clone().requires_grad_(), w_k.clone().requires_grad_()
a.grad, b.grad = w_q.clone(), w_k.clone()
norm = torch.nn.utils.clip_grad_norm_([a, b], max_norm=1.0)  # the norm before
clipped = a.grad
