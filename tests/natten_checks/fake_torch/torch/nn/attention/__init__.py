
SDPBackend = sdpa_kernel = None  # of the profiler for PyTorch's own kernels
