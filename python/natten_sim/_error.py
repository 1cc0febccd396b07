"""The error that every function of the package raises on a bad value."""


class Error(ValueError):
    """A value is out of its range, is a name that nothing has, or contradicts another one.

    Attributes:
        parameter: The keyword at fault.
        value: What was given, as text.
        accepted: What would have been accepted.
        hint: The nearest valid value or the closest name; empty when there is none.

    >>> import natten_sim
    >>> try:
    ...     natten_sim.count(preset="hunyuan-vide")
    ... except natten_sim.Error as error:
    ...     error.parameter, error.hint
    ('preset', 'hunyuan-video')
    """

    parameter: str
    value: str
    accepted: str
    hint: str

    def __init__(
        self, message: str, parameter: str = "", value: str = "", accepted: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, parameter, value, accepted, hint)
        self.parameter = parameter
        self.value = value
        self.accepted = accepted
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])


def require_torch(what: str) -> None:
    """Raises ModuleNotFoundError with what to install, where PyTorch is missing."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise ModuleNotFoundError(f"{what} needs torch: pip install natten-sim[ops]", name="torch") from None
