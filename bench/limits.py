"""The limits on ethosgen's figures, and the figures of TensorFlow Lite Micro with Vela.

TFLite Micro's figures: its source at 90b983c2, arm-none-eabi-gcc 12.2, tuned resolver, Arm's core
driver, on mps3-an547; flash without start-up code and test harness.
"""

from dataclasses import dataclass

FIRMWARE_NPU = "ethos-u55-128"
NPUS = (
    "ethos-u55-32",
    "ethos-u55-64",
    "ethos-u55-128",
    "ethos-u55-256",
    "ethos-u65-256",
    "ethos-u65-512",
)
U85_NPUS = (
    "ethos-u85-128",
    "ethos-u85-256",
    "ethos-u85-512",
    "ethos-u85-1024",
    "ethos-u85-2048",
)
SAMPLES = 10


@dataclass(frozen=True)
class Limit:
    """The upper limit of a figure; `tflm` is TFLite Micro's, "" if it was not measured."""

    title: str
    most: float
    tflm: str = ""


SIZES = {
    "library_flash_bytes": Limit("library flash", 2048, "15,466 + 1.1 to 1.3 K per network"),
    "application_flash_bytes": Limit("application flash", 6144),
    "arena_over_vela_bytes": Limit("arena over Vela's", 31, "452"),  # whole cache lines
    "library_static_bytes": Limit("library static RAM", 256, "492"),
    "stack_bytes": Limit("stack", 512),
    "init_instructions": Limit("instructions at start", 300, "9,693"),
    "cpu_instructions": Limit("instructions per inference", 400, "1,117"),
}
OFFLOADED_ONLY = ("cpu_instructions",)
"""Limits that apply only if every operator runs on the NPU."""

TIMES = {
    "project_s": Limit("`ethosgen project`, the largest network", 3.0),
    "simulate_s": Limit("`ethosgen simulate`, vww, one sample, without start-up", 1.0),
    "verify_s": Limit("`ethosgen verify --samples 1`, kws", 6.0),
}
