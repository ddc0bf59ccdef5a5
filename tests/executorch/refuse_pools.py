"""Lowers an example as if the NPU computed pools wrongly; run with a Python that has both.

It prints a line for each operator: its result, and why it stays on the CPU.
"""

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import lower_examples  # type: ignore[import-not-found]
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

from ethosgen.executorch import EthosgenCompileSpec, EthosgenPartitioner, support_report
from ethosgen.executorch import npu as npu_parts

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
plan = npu_parts.make_plan


def refusing(network: Any, *others: Any) -> Any:
    """Fail for a partition with a pool."""
    if any(op.code == "TOSA_MAX_POOL2D" for op in network.graph.operators):
        raise npu_parts.EthosgenError("it pools wrongly")
    return plan(network, *others)


npu_parts.make_plan = refusing
spec = EthosgenCompileSpec("ethos-u55-128")
module, first = lower_examples.example("layers")
edge = to_edge_transform_and_lower(
    lower_examples.quantized(module, [first], spec),
    partitioner=[EthosgenPartitioner(spec)],
    compile_config=EdgeCompileConfig(_check_ir_validity=False),
)
for support in support_report(edge):
    print("node", support.operator, support.partition, support.reason, sep="|")
