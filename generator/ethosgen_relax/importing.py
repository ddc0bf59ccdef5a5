"""PyTorch's programs as Relax modules."""

from typing import Any

import tvm

from ethosgen.values.errors import InputError, ToolError


def from_exported_program(program: Any) -> tvm.IRModule:
    """Return the Relax module of a program of torch.export, float or quantized by PT2E.

    TVM's importer of this name refuses quantized programs. Parameters become constants; the results
    of main are a tuple. ToolError if this Python has no PyTorch, InputError for anything but an
    ExportedProgram, UnsupportedError for an operator that cannot be imported.
    """
    try:
        from ethosgen.frontend.torch.importer import is_program, to_relax
    except ImportError as error:
        raise ToolError(
            f"from_exported_program imports PyTorch, which this Python cannot ({error}); install "
            "the extra 'torch' beside ethosgen: pip install 'ethosgen[torch]'"
        ) from None
    if not is_program(program):
        raise InputError(
            f"a program is what torch.export.export returns, not {type(program).__name__}"
        )
    return to_relax(program)
