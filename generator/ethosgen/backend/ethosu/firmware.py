"""Ethos-U's additions to a project: driver files, C sources, values for templates."""

from collections.abc import Mapping, Sequence
from typing import Any

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.memory_system import max_beats
from ethosgen.backend.protocol import BoardMemories, OutsideCode, ProjectFiles
from ethosgen.platforms import find_platform
from ethosgen.values.errors import UnsupportedError

_API = "ethosgen_npu.h"
_SHARED = ("ethosgen_npu_hooks.c", "ethosgen_npu_pmu.c", "ethosgen_npu_identity.c")
"""Sources that every driver needs."""
_CSOLUTION = {
    file: f"model/{file}"
    for file in (
        _API,
        "ethosgen_npu_run.h",
        "ethosgen_npu_arm.h",
        *_SHARED,
        "ethosgen_npu_direct.c",
        "ethosgen_npu_core.c",
    )
}
_CMSIS = "cmsis/cmsis_compiler.h"
_ZEPHYR_MODULE = (
    "ethosgen_npu_pmu.c",
    "ethosgen_npu_identity.c",
    "ethosgen_npu_run.h",
    "ethosgen_npu_arm.h",
)
_ZEPHYR = {_API: f"model/{_API}"} | {
    f"ethosgen/lib/npu/{file}": f"model/{file}" for file in _ZEPHYR_MODULE
}

_ARM = "Apache-2.0"
_VELA = OutsideCode(
    "ethos-u-vela",
    "Arm's compiler Vela, which made the NPU's commands",
    _ARM,
    "https://pypi.org/project/ethos-u-vela/",
)
_OUTSIDE = (
    OutsideCode(
        "hal_ethos_u",
        "Arm's core driver for Ethos-U, as a module of Zephyr",
        _ARM,
        "https://github.com/zephyrproject-rtos/hal_ethos_u",
        ("zephyr",),
    ),
    OutsideCode(
        "ethos-u-core-driver",
        "Arm's core driver for Ethos-U, in place of ethosgen's",
        _ARM,
        "https://gitlab.arm.com/artificial-intelligence/ethos-u/ethos-u-core-driver",
        ("", "csolution"),
        is_optional=True,
    ),
)

FILES = ProjectFiles(
    "ethosu",
    {**_CSOLUTION, _CMSIS: f"model/{_CMSIS}"},
    sources=tuple(sorted(_SHARED)),
    instead={"csolution": _CSOLUTION, "zephyr": _ZEPHYR},
    outside=_OUTSIDE,
    compilers=(_VELA,),
)
"""The driver."""

_WITHOUT_SYMBOL = ("ethos-u55-32",)
"""Configurations missing in Zephyr's Kconfig (drivers of 3.7 and 4.2)."""

_MUTEX_BYTES = 20
_SEMAPHORE_BYTES = 16
_DEVICE_BYTES = 16
"""Sizes of Zephyr's struct k_mutex and struct k_sem, and of Arm's struct ethosu_device, on 32
bits. The firmware checks them at compile time: options such as CONFIG_POLL enlarge them."""


def firmware_facts(
    npu: EthosU, memories: BoardMemories, platform: str, streams: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the values for the templates."""
    facts: dict[str, Any] = {
        "npu_config": npu.config_word,
        "npu_id": npu.id_word,
        "axi_beats": max_beats(npu.product, memories.mode),
        "npu_ports": npu_ports(streams),
    }
    if find_platform(platform).has_kernel_heap:
        facts |= {
            "npu_symbol": _zephyr_symbol(npu),
            "kernel_objects": (_MUTEX_BYTES, _SEMAPHORE_BYTES, _SEMAPHORE_BYTES),
            "allocations": (_DEVICE_BYTES,),
        }
    return facts


def npu_ports(streams: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    """Return the definitions for Arm's driver until April 2025, for each region's port.

    They have the names of its macros: NPU_QCONFIG, and NPU_REGIONCFG_0 to 7 for the regions in use.
    None if the streams disagree; later drivers set the ports for each run.
    """
    ports: dict[str, int] = {}
    for stream in streams:
        wanted = {"NPU_QCONFIG": stream["qconfig"]}
        for region, bytes_ in enumerate(stream["base_bytes"]):
            if bytes_:
                wanted[f"NPU_REGIONCFG_{region}"] = stream["regioncfg"] >> (2 * region) & 3
        if any(ports.get(name, value) != value for name, value in wanted.items()):
            return None
        ports |= wanted
    return dict(sorted(ports.items()))


def _zephyr_symbol(npu: EthosU) -> str:
    """Return the end of the Kconfig symbol, U55_128; ARM_ETHOS_ or ETHOS_ goes before it."""
    if npu.name in _WITHOUT_SYMBOL:
        raise UnsupportedError(
            f"Zephyr has no configuration for {npu.name}; choose another NPU with --npu"
        )
    return npu.name.removeprefix("ethos-").replace("-", "_").upper()
