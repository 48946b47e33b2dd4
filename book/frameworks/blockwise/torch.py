from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # this kernel, or an error
    output = scaled_dot_product_attention(query, key, value)
