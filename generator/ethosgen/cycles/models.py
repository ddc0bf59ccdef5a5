"""The models of processors with which llvm-mca times code, and their limits.

The assumptions, summarized in evidence/kernels.md:

- Memory answers at once, as tightly coupled memory and a cache that hits do.
- A taken branch costs TAKEN cycles more than its issue. LE and LETP cost nothing: the loop's
  instructions are in the processor's loop buffer.
- A gather or scatter takes a cycle for each of its elements.
- Instructions that no model has, such as those that start such a loop, take a cycle; others that a
  model lacks, none.
- A block starts while results of the block before it are under way, so its time depends on that
block. Earlier blocks do not matter, unless a block repeats.
"""

from dataclasses import dataclass

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import unknown

TAKEN = 2
"""Cycles of a taken branch, besides its issue."""
LOOP_ENDS = frozenset({"le", "letp"})
"""The mnemonics of branches that cost nothing."""
WITHOUT_MODEL = frozenset({"dls", "wls", "dlstp", "wlstp", "lctp", "vmrs", "vmsr"})
"""Those that llvm-mca refuses, without the suffix for a type; they take a cycle."""
PLAIN = "nop"
"""What takes a cycle and needs nothing."""


@dataclass(frozen=True)
class CoreModel:
    """A model: LLVM's names of processor and instruction set; `title` names the vendor's core."""

    cpu: str
    triple: str
    title: str


_M4 = CoreModel("cortex-m4", "thumbv7em-none-eabi", "LLVM's model of the Cortex-M4")
_M55 = CoreModel("cortex-m55", "thumbv8.1m.main-none-eabi", "LLVM's model of the Cortex-M55")
MODELS = {
    "cortex-m0": _M4,
    "cortex-m0plus": _M4,
    "cortex-m3": _M4,
    "cortex-m4": _M4,
    "cortex-m7": CoreModel("cortex-m7", "thumbv7em-none-eabi", "LLVM's model of the Cortex-M7"),
    "cortex-m33": CoreModel(
        "cortex-m33",
        "thumbv8m.main-none-eabi",
        "LLVM's model of the Cortex-M33, which is its Cortex-M4",
    ),
    "cortex-m52": _M55,
    "cortex-m55": _M55,
    "cortex-m85": CoreModel(
        "cortex-m85", "thumbv8.1m.main-none-eabi", "LLVM's model of the Cortex-M85"
    ),
}
"""By core; LLVM has none of the Cortex-M0, M0+, M3 and M52, so the nearest stands for them."""


def model_of(core: str) -> CoreModel:
    """Return the model of a core; UnsupportedError lists the existing ones."""
    if core not in MODELS:
        raise UnsupportedError(unknown("model of a core", core, MODELS))
    return MODELS[core]


def source_of(core: str) -> str:
    """Describe a core's model; name the core, too, if the model is that of another core."""
    model = model_of(core)
    if core in (model.cpu, "cortex-m33"):  # whose title names it
        return model.title
    name = core.replace("cortex-m", "Cortex-M").replace("plus", "+")
    return f"{model.title}, the nearest to the {name}"
