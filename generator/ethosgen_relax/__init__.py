"""Partition Relax modules for Ethos-U and other accelerators, in a program that uses TVM.

    from ethosgen.relax import partition_for_ethosu, simulate_ethosu, support_report

    module = partition_for_ethosu(module, npu="ethos-u55-128")
    for one in support_report(module):
        print(one)
    executable = tvm.compile(simulate_ethosu(module), target="llvm")

The module must be quantized: dequantize → operator → quantize, as ONNX's and PyTorch's quantizers
write it. `PATTERNS` lists what becomes a composite; pass a longer table to extend it, and declare
with `translates` how a new operator becomes one of ours.

`partition_for_accelerators` does the same for one's own accelerators and libraries of kernels.
`save_tflite` writes a module as a file for ethosgen's commands, `to_project` its firmware.
`from_exported_program` reads the quantized programs of PyTorch that TVM's importer refuses.
`RemoteDevice` runs single PrimFuncs on a board or QEMU, and `tune` finds a schedule by their times.

importing   PyTorch's programs as modules
preparation checks modules
executor    what runs partitions: an NPU, an accelerator or a library
partition   composites, the answers about them, partitions
question    asks about many composites at once
island      composites and partitions as networks
simulation  the partitions as functions that TVM calls
report      what a partitioned module says
saving      modules as .tflite files, and as firmware
functions   PrimFuncs as C, and a network that calls them
device      a board that runs PrimFuncs
tuning      schedules by what a device takes for them

Users import it as ethosgen.relax.
"""

from ethosgen.frontend.relax.patterns import PATTERNS, Composite
from ethosgen.frontend.relax.site import Site, translates
from ethosgen_relax.device import DeviceRun, RemoteDevice
from ethosgen_relax.importing import from_exported_program
from ethosgen_relax.partition import (
    partition_for_accelerators,
    partition_for_arm_compute_lib,
    partition_for_cmsisnn,
    partition_for_ethosu,
)
from ethosgen_relax.report import Support, support_report
from ethosgen_relax.saving import save_tflite, to_project
from ethosgen_relax.simulation import simulate_accelerators, simulate_ethosu
from ethosgen_relax.tuning import TriedSchedule, Tuned, tiles, tune

__all__ = [
    "PATTERNS",
    "Composite",
    "DeviceRun",
    "RemoteDevice",
    "Site",
    "Support",
    "TriedSchedule",
    "Tuned",
    "from_exported_program",
    "partition_for_accelerators",
    "partition_for_arm_compute_lib",
    "partition_for_cmsisnn",
    "partition_for_ethosu",
    "save_tflite",
    "simulate_accelerators",
    "simulate_ethosu",
    "support_report",
    "tiles",
    "to_project",
    "translates",
    "tune",
]
