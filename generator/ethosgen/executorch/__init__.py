"""Lower PyTorch programs for Ethos-U and own accelerators, in a program that uses ExecuTorch.

    from executorch.exir import to_edge_transform_and_lower

    from ethosgen.executorch import EthosgenCompileSpec, EthosgenPartitioner, support_report

    spec = EthosgenCompileSpec("ethos-u55-128")
    edge = to_edge_transform_and_lower(program, partitioner=[EthosgenPartitioner(spec)])
    for one in support_report(edge):
        print(one)

Without accelerators the delegates are Arm's, which ExecuTorch's own runtime runs. With them a
delegate holds its network, which ethosgen's commands compile for the NPU and the accelerators.

spec         the compile spec
aten         programs in ExecuTorch's edge dialect as programs of torch.export
partitioner  the partitioner
npu          tries the partitions of Arm's partitioner
accelerated  finds what an NPU or accelerators compute
backend      the delegate of networks with accelerators
support      what became of each operator
saving       lowered programs as projects

The names are imported on first use, because they import PyTorch; type checkers read __init__.pyi.
"""

from importlib import import_module

_PLACES = {
    "EthosgenBackend": "backend",
    "EthosgenCompileSpec": "spec",
    "EthosgenPartitioner": "partitioner",
    "OperatorSupport": "support",
    "support_report": "support",
    "to_project": "saving",
}

__all__ = [  # noqa: PLE0604 - the names are keys
    *_PLACES
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'ethosgen.executorch' has no attribute '{name}'")
    try:
        module = import_module(f"ethosgen.executorch.{_PLACES[name]}")
    except ModuleNotFoundError as error:
        from ethosgen.values.errors import ToolError

        if (error.name or "").partition(".")[0] == "ethosgen":
            raise
        raise ToolError(
            f"ethosgen.executorch needs PyTorch and ExecuTorch, which this Python cannot import "
            f"({error}); install the extra 'torch' beside ethosgen: pip install 'ethosgen[torch]'"
        ) from None
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
