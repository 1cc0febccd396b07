def custom_fwd(function=None, device_type=None):
    return function


def custom_bwd(function=None, device_type=None):
    return function
