"""The error of a stack that has no bound."""


class UnboundedError(Exception):
    """A stack without a bound; the text is a reason that follows "because".

    `is_fault` says that the code breaks a rule of a library's: a recursion, or an array of variable
    length. Otherwise the code may be bounded all the same, but its machine code does not tell.
    """

    def __init__(self, text: str, is_fault: bool = False) -> None:
        """Keep the reason."""
        super().__init__(text)
        self.is_fault = is_fault
