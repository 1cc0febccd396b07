class BlockMask:
    pass


def create_block_mask(mask_mod, *_, **__):
    return mask_mod


def flex_attention(*_, **__):
    raise NotImplementedError("kernels are not run")
