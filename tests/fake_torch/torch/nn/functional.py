import torch

scaled_dot_product_attention = torch.attention
