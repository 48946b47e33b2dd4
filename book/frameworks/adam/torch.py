import torch

stepped = w_q.clone().requires_grad_()
adam = torch.optim.Adam([stepped], lr=0.01)
for gradient in (w_k, w_v, w_o):
    stepped.grad = gradient.clone()
    adam.step()
