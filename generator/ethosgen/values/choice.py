"""The NPU and accelerators that a file asks to be compiled for."""

import json
from dataclasses import dataclass

from ethosgen.values.errors import InputError

CHOICE = "ethosgen"
"""The key of a choice in a network's metadata, and in a delegate's compile specs."""


@dataclass(frozen=True)
class LoweringChoice:
    """An NPU's name or NO_NPU, and users' accelerators, by name or folder."""

    npu: str
    accelerators: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return the choice as JSON."""
        return json.dumps({"npu": self.npu, "accelerators": list(self.accelerators)})

    @staticmethod
    def of_text(text: str) -> "LoweringChoice":
        """Read what `as_text` wrote; InputError for anything else."""
        try:
            fields = json.loads(text)
            npu, accelerators = fields["npu"], fields["accelerators"]
        except (ValueError, TypeError, KeyError):
            raise InputError("it does not say what it was lowered for; export it again") from None
        if not isinstance(accelerators, list) or not all(
            isinstance(name, str) for name in (npu, *accelerators)
        ):
            raise InputError("it does not say what it was lowered for; export it again")
        return LoweringChoice(npu, tuple(accelerators))
