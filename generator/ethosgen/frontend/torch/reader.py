"""Reads a .pt2 file by a child process in the environment "torch"."""

from pathlib import Path

from ethosgen.frontend.shapes import fixed_shapes
from ethosgen.frontend.torch.archive import PROGRAM, checked
from ethosgen.frontend.transfer import unpack
from ethosgen.host.child import ChildError
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.source import CHANNELS_LAST, Source

_SCRIPT = Path(__file__).with_name("importer.py")


def read_network(source: Source) -> Network:
    """Read a file; InputError if it is damaged or pickled, UnsupportedError for operators without a
    form.

    ToolError if the environment is missing.
    """
    program = checked(source)
    shapes = fixed_shapes(program.inputs, source, program.hints)
    name = source.name.rsplit(".", 1)[0]
    request = {
        "name": name,
        "shapes": shapes if program.is_dynamic else {},
        "outputs": list(program.outputs),
        "channels_last": source.options.input_layout == CHANNELS_LAST,
    }
    files = {PROGRAM: program.archive()}
    try:
        reply = run_script(ENVIRONMENTS["torch"], _SCRIPT, "convert", request, files=files)
    except ChildError as error:
        raise _explained(source, error) from None
    graph = unpack(reply.values["graph"], reply.arrays)
    return Network(name, (graph,), source=source)


def _explained(source: Source, error: ChildError) -> InputError:
    """Return the error for a file that torch or TVM could not read."""
    if error.how == "refused":
        return UnsupportedError(f"'{source.name}' cannot be imported: {error}")
    words = " ".join(str(error).split())[:300]
    return InputError(f"torch cannot read '{source.name}': {words}; export the program again")
