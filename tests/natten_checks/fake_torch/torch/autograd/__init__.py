class Function:
    """Where a kernel would run: `ran` keeps the arguments, the result has the right shapes."""

    ran = []

    @classmethod
    def apply(cls, *args):
        import torch

        Function.ran.append((cls.__qualname__, args))
        if cls.__name__ == "MergeAttentionsAutogradFn":
            return args[0], args[len(args) // 2]
        query, value = args[0], args[2]
        return (
            torch.Tensor([*query.shape[:-1], value.shape[-1]], query.dtype),
            torch.Tensor(query.shape[:-1], torch.float32),
        )
