def sigmoid(tensor):
    return tensor


logsigmoid = sigmoid


def scaled_dot_product_attention(*_, **__):
    raise NotImplementedError("kernels are not run")
