from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import profile

with profile() as ran:
    output = scaled_dot_product_attention(query, key, value)
kernels = [event.key for event in ran.key_averages() if "_product_" in event.key]
assert "aten::_scaled_dot_product_flash_attention_for_cpu" in kernels
