"""The error of a stack that has no bound."""


class UnboundedError(Exception):
    """A stack without a bound; the text is a reason that follows "because".

    `is_fault` means that the code breaks a library's rule: a recursion, or an array of variable
    length. Otherwise the code may still be bounded, but the machine code does not show it.
    """

    def __init__(self, text: str, is_fault: bool = False) -> None:
        """Keep the reason."""
        super().__init__(text)
        self.is_fault = is_fault
