"""The errors of files that TOSA does not allow."""


class MisfitError(ValueError):
    """An operator that TOSA does not allow; the message follows "OPERATOR that makes 'x'"."""


def require(holds: bool, otherwise: str) -> None:
    """Raise MisfitError unless something holds."""
    if not holds:
        raise MisfitError(otherwise)
