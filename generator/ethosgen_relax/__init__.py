"""Partition Relax modules for Ethos-U, in a program that uses TVM.

    from ethosgen.relax import partition_for_ethosu, simulate_ethosu, support_report

    module = partition_for_ethosu(module, npu="ethos-u55-128")
    for one in support_report(module):
        print(one)
    executable = tvm.compile(simulate_ethosu(module), target="llvm")

The module must be quantized: dequantize → operator → quantize, as ONNX's and PyTorch's quantizers
write it. `PATTERNS` lists what becomes a composite; pass a longer table to extend it, and declare
with `translates` how a new operator becomes one of ours.

`save_tflite` writes a module as a file for ethosgen's commands.

preparation checks modules
partition   composites, Vela's answers, partitions
question    asks Vela about many composites at once
island      composites and partitions as networks
simulation  the partitions as functions that TVM calls
report      what a partitioned module says
saving      modules as .tflite files

Users import it as ethosgen.relax.
"""

from ethosgen.frontend.relax.patterns import PATTERNS, Composite
from ethosgen.frontend.relax.site import Site, translates
from ethosgen_relax.partition import partition_for_ethosu
from ethosgen_relax.report import Support, support_report
from ethosgen_relax.saving import save_tflite
from ethosgen_relax.simulation import simulate_ethosu

__all__ = [
    "PATTERNS",
    "Composite",
    "Site",
    "Support",
    "partition_for_ethosu",
    "save_tflite",
    "simulate_ethosu",
    "support_report",
    "translates",
]
