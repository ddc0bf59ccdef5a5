"""List TFLite's operators by type: where they run (CPU, each NPU), and how exactly.

Nothing is listed by hand: the CPU's part comes from the registry of kernels, the NPU's from its
compiler.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ethosgen.aot import cpu_operators, measured_by_litert
from ethosgen.backend import backends
from ethosgen.frontend.tflite.compression import DECODE, DECODED_DTYPES
from ethosgen.oracle import TOSA
from ethosgen.values.tosa import PREFIX

_SHORT = {"float32": "f32", "bool": "bool"}


@dataclass(frozen=True)
class Coverage:
    """One operator: its types by NPU product, and its CPU types with tolerances in ulp."""

    operator: str
    npu: dict[str, tuple[str, ...]]
    cpu: dict[str, int]

    @property
    def exactness(self) -> str:
        """The exactness of the CPU's results, against LiteRT where TFLite Micro lacks the type."""
        loose = {dtype: ulp for dtype, ulp in self.cpu.items() if ulp}
        within = [f"{dtype} within {ulp} ulp" for dtype, ulp in sorted(loose.items())]
        exact = ["exact"] if len(loose) < len(self.cpu) else []
        matches = "; ".join([*exact, ", ".join(within)] if within else exact)
        if self.operator.startswith(PREFIX):
            return f"{matches} ({TOSA.title})"
        theirs = [dtype for dtype in self.cpu if (self.operator, dtype) in measured_by_litert()]
        if not theirs:
            return matches
        which = "" if len(theirs) == len(self.cpu) else f": {_types(theirs)}"
        return f"{matches} (LiteRT{which})"

    def as_json(self) -> dict[str, object]:
        """Return the row as an object of JSON types."""
        return {
            "operator": self.operator,
            "npu": {product: list(dtypes) for product, dtypes in self.npu.items()},
            "cpu": dict(self.cpu),
        }


def survey() -> list[Coverage]:
    """Return every operator that the CPU or an NPU runs, sorted by name."""
    cpu = cpu_operators()
    npu = {
        product: known for backend in backends() for product, known in backend.operators().items()
    }
    cpu = {**cpu, DECODE: dict.fromkeys(DECODED_DTYPES, 0)}  # decoded when the network is read
    names = {*cpu, *(code for known in npu.values() for code in known)}
    return [
        Coverage(
            name,
            {product: known[name] for product, known in npu.items() if name in known},
            cpu.get(name, {}),
        )
        for name in sorted(names)
    ]


def table(rows: Iterable[Coverage]) -> list[str]:
    """Return the survey as lines of text, with a header."""
    cells = [("operator", "NPU", "CPU", "CPU against TFLite Micro")]
    cells += [(row.operator, _npu(row), _types(row.cpu) or "-", row.exactness) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


def _npu(row: Coverage) -> str:
    """Return the products, grouped if they support the same types."""
    if row.operator.startswith(PREFIX):
        return "as Vela decides"
    groups: dict[str, list[str]] = {}
    for product, dtypes in row.npu.items():
        groups.setdefault(_types(dtypes), []).append(product)
    named = ((types, "/".join(products)) for types, products in groups.items())
    return "; ".join(f"{names}: {types}" for types, names in named) or "-"


def _types(dtypes: Iterable[str]) -> str:
    order = ("int8 uint8 int16 int32 uint32 int64 uint64 float32 bool").split()
    chosen = sorted(dtypes, key=lambda dtype: order.index(dtype) if dtype in order else len(order))
    return " ".join(
        _SHORT.get(dtype, dtype.replace("uint", "u").replace("int", "i")) for dtype in chosen
    )
