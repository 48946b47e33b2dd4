import torch

w, losses = embedding.T.clone().requires_grad_(), []
adam = torch.optim.Adam([w], lr=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(adam, share)
for _ in range(4):
    loss = torch.nn.functional.cross_entropy((x @ w).mT, tokens)
    adam.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([w], 0.5)
    adam.step(), schedule.step()
    losses.append(loss.item())
