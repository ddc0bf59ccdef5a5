"""The partitioner that a user passes to to_edge_transform_and_lower."""

from collections.abc import Callable
from typing import Any

import executorch.kernels.quantized  # noqa: F401 - registers what to_executorch calls
from executorch.exir.backend.partitioner import Partitioner, PartitionResult

from ethosgen.executorch.accelerated import AcceleratedParts
from ethosgen.executorch.npu import NpuParts
from ethosgen.executorch.spec import EthosgenCompileSpec
from ethosgen.values.errors import InputError


class EthosgenPartitioner(Partitioner):  # type: ignore[misc] # torch is not installed here
    """Gives a delegate what an NPU, or own accelerators with it, compute exactly.

    Without accelerators, Arm's partitioner proposes partitions, which become TOSA; Vela and
    ethosgen's check decide about each. With them, ethosgen asks the NPU and each accelerator about
    each operator. `support_report` has the reasons for what stays on the CPU.
    """

    def __init__(self, spec: EthosgenCompileSpec) -> None:
        if not isinstance(spec, EthosgenCompileSpec):
            raise InputError(
                f"the partitioner takes an EthosgenCompileSpec, not {type(spec).__name__}"
            )
        super().__init__()
        self.compile_spec = spec
        self._parts = AcceleratedParts(spec) if spec.accelerators else NpuParts(spec)

    def partition(self, exported_program: Any) -> Any:
        """Tag the nodes of each partition, and note why others stay."""
        tags = self._parts.tag(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def ops_to_not_decompose(self, ep: Any) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """Return the operators to keep whole, and which of them."""
        return self._parts.whole(ep)
