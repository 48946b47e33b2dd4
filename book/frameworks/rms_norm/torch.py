from torch.nn.functional import rms_norm

normed = rms_norm(x, (d_model,), gain, eps=1e-5)
