"""The toy front end: a format of two lines."""

from ethosgen.frontend import FrontEnd
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.source import Source

TEXT = b"toy network\nRELU 5\n"


def read_toy(source: Source) -> Network:
    """Read a format of two lines: its name, then an operator of float32 with a size."""
    try:
        _, line = source.data.decode().splitlines()
        code, size = line.split()
        shape = (1, int(size))
    except ValueError:
        raise InputError(f"'{source.name}' is damaged: it is no operator with a size") from None
    tensors = (Tensor(0, "x", shape, "float32"), Tensor(1, "y", shape, "float32"))
    graph = Graph("toy", tensors, (Operator(0, code, (0,), (1,)),), (0,), (1,))
    return Network(source.name, (graph,), source=source)


TOY = FrontEnd("toy", "Toy", (".toy",), lambda data: data.startswith(b"toy network"), read_toy)
