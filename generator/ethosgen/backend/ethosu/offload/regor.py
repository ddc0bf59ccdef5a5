"""Call Regor, Vela's compiler core; runs in a child process and imports no other ethosgen module.

`compile_network` passes the same options as Vela 5.2's command line (ethosu/vela/vela.py, main and
get_compiler_config), so that its figures equal Vela's.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

CPU_TENSOR_ALIGNMENT = 16

_SYSTEM = """[architecture]
macs={macs}
cores={cores}
[vela]
system_config_name={system_config}
memory_mode_name={memory_mode}
{configuration}"""

_OPTIONS = """
[compiler]
enable_db=true
output_format=TFLite
cop_format={cop_format}

[scheduler]
optimize={optimise}
arena_size_limit={arena_bytes}
disable_feature={without}
{separate}
cpu_tensor_alignment={alignment}
tensor_allocator=HillClimb

[graph]
softmax_int16_neg_exp_range=10.0
{ignore}
"""

_SEPARATE = """separate_io_regions=true
verbose_allocation=true"""
"""verbose_allocation prints the addresses of each partition's tensors; see regions.py."""

TABLES = ("source", "optimised", "queue", "perf")
"""The tables of Regor's database that map operators to command streams."""


def compile_network(
    network: bytes,
    file_format: str,
    architecture: dict[str, Any],
    separate_io: bool,
    ignore: tuple[str, ...],
) -> dict[str, Any]:
    """Compile a file, TFLITE or TOSA; return the resulting .tflite, figures and tables as plain
    values.

    `architecture` has name, macs, cores, system_config, memory_mode, optimise ("Performance" or
    "Size"), arena_bytes, and without: features that the scheduler must not use. Regor raises
    RuntimeError on a refusal, and can crash the process.
    """
    from ethosu import regor

    fields = {key: architecture[key] for key in ("macs", "cores", "system_config", "memory_mode")}
    system = _SYSTEM.format(**fields, configuration=_configuration_file().read_text())
    options = _OPTIONS.format(
        cop_format="COP2" if separate_io else "COP1",  # separate regions exist in COP2 only
        optimise=architecture["optimise"],
        arena_bytes=architecture["arena_bytes"],
        without="|".join(architecture["without"]),
        separate=_SEPARATE if separate_io else "",
        alignment=CPU_TENSOR_ALIGNMENT,
        ignore=f"ignore_ops={','.join(ignore)}" if ignore else "",
    )
    compiled = regor.compile(
        architecture["name"], network, file_format, system, options=options, verbose=True
    )
    report, tables = compiled.perf_report, compiled.opt_database.tables
    return {
        "network": bytes(compiled.model),
        "npu_cycles": report.npuCycles,
        "peak_bytes": {name: memory.peakUsage for name, memory in report.memories.items()},
        "tables": {
            name: [dict(zip(tables[name].header, row, strict=False)) for row in tables[name].data]
            for name in TABLES
            if name in tables
        },
    }


def _configuration_file() -> Path:
    """Find Vela's own vela.ini: the memories that Arm assumes for each system."""
    package = find_spec("ethosu")
    for folder in package.submodule_search_locations or () if package else ():
        path = Path(folder) / "config_files" / "Arm" / "vela.ini"
        if path.is_file():
            return path
    raise RuntimeError("the configuration file vela.ini of ethos-u-vela is not installed")
