"""The errata of TOSA's operators: cases that Vela compiles to other results than TOSA's.

Each was found on generated networks (tests/frontend/tosa); sources are below Regor's folder, as in
errata_table.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ethosgen.backend.ethosu.offload.errata_table import PADDED_POOL
from ethosgen.backend.ethosu.offload.erratum import VELA, Erratum
from ethosgen.backend.ethosu.offload.site import OperatorSite
from ethosgen.oracle import TOSA
from ethosgen.values.network import Operator

_WIDTHS = {"bool": 1, "int8": 8, "int16": 16, "int32": 32}

_ROUNDED_TWICE = 31
"""The NPU's double rounding adds half a unit of the upper word for shifts above this."""


def _shifts_without_rounding(site: OperatorSite) -> bool:
    is_shift = site.code == "TOSA_ARITHMETIC_RIGHT_SHIFT"
    return is_shift and not site.operator.options["round"] and "u85" not in site.setting.npu


def _narrows(site: OperatorSite) -> bool:
    widths = _WIDTHS[site.inputs[0].dtype], _WIDTHS[site.dtype]
    return site.code == "TOSA_CAST" and widths[1] < widths[0]


def _scales_channels(site: OperatorSite) -> bool:
    if site.code != "TOSA_RESCALE" or not site.operator.options["per_channel"]:
        return False
    widths = _WIDTHS.get(site.inputs[0].dtype, 64), _WIDTHS[site.dtype]
    return site.inputs[1].elements > 1 and max(widths) < 32


def _shifts_far(site: OperatorSite) -> bool:
    return site.code == "TOSA_MUL" and site.constant(2)[0] > _ROUNDED_TWICE


def _negates_before_double_rounding(site: OperatorSite) -> bool:
    return site.code == "TOSA_NEGATE" and any(
        reader.options["rounding_mode"] == "DOUBLE_ROUND"
        and max(_shifts(site, reader)) > _ROUNDED_TWICE
        for reader in site.graph.operators
        if reader.code == "TOSA_RESCALE" and reader.inputs[0] == site.output.index
    )


def _shifts(site: OperatorSite, rescale: Operator) -> list[int]:
    return OperatorSite(site.graph, rescale, site.setting).constant(2)


@dataclass(frozen=True)
class _Axis:
    """A TRANSPOSE_CONV2D along height or width: the sizes, and `before`, its first out_pad."""

    read: int
    output_size: int
    kernel: int
    stride: int
    before: int

    def products(self, outputs: Iterable[int]) -> set[tuple[int, int]]:
        """Return (weight, input) of all products for some outputs."""
        pairs = set()
        for tap in range(self.kernel):
            for output in outputs:
                place, rest = divmod(output - self.before - tap, self.stride)
                if not rest and 0 <= place < self.read:
                    pairs.add((tap, place))
        return pairs

    @property
    def as_compiled(self) -> "_Axis":
        """The axis as Vela compiles it: a single output has no stride."""
        return replace(self, stride=1) if self.output_size == 1 else self


def _axes(site: OperatorSite) -> list[_Axis]:
    """Return the axes of a TRANSPOSE_CONV2D; none for another operator."""
    if site.code != "TOSA_TRANSPOSE_CONV2D":
        return []
    options = site.operator.options
    shapes = (site.inputs[0].shape, site.output.shape, site.inputs[1].shape)
    sizes = (shape[1:3] for shape in shapes)
    return [
        _Axis(*axis)
        for axis in zip(*sizes, options["stride"], options["out_pad"][::2], strict=True)
    ]


def _omits_stride(site: OperatorSite) -> bool:
    return any(
        axis.products(range(axis.output_size)) != axis.as_compiled.products(range(axis.output_size))
        for axis in _axes(site)
    )


def _reads_only_padding(site: OperatorSite) -> bool:
    if "u85" not in site.setting.npu:
        return False
    for axis in (axis.as_compiled for axis in _axes(site)):
        for phase in range(min(axis.kernel, axis.stride)):
            outputs = range((phase + axis.before) % axis.stride, axis.output_size, axis.stride)
            if outputs and not axis.products(outputs):
                return True
    return False


def _convolves_only_padding(site: OperatorSite) -> bool:
    if site.code != "TOSA_CONV3D" or "u85" in site.setting.npu:
        return False
    options = site.operator.options
    before, stride, dilation = (options[name][0] for name in ("pad", "stride", "dilation"))
    read, kernel = (tensor.shape[1] for tensor in site.inputs[:2])
    return not all(
        any(0 <= place * stride - before + tap * dilation < read for tap in range(kernel))
        for place in range(site.output.shape[1])
    )


def _shifts_narrow_signs(site: OperatorSite) -> bool:
    is_shift = site.code == "TOSA_LOGICAL_RIGHT_SHIFT" and "u85" in site.setting.npu
    return is_shift and _WIDTHS[site.dtype] < 32


TOSA_ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "tosa-shift-rounds",
        VELA,
        _shifts_without_rounding,
        "it rounds the result, which TOSA rounds down",
        "Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, "
        "MapHLCRoundModeToInterface, which has no case for TRUNCATE_TO_LOWER",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-cast-saturates",
        VELA,
        _narrows,
        "it saturates values that exceed a narrower type, which wrap around in TOSA",
        "Regor, compiler/graphir_optimiser.cpp, RewriteCast",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-rescale-channels",
        VELA,
        _scales_channels,
        "between int8 and int16 it ignores the factors of channels",
        "Regor, compiler/graphir_optimiser.cpp, RewriteRescale",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-product-rounds-twice",
        VELA,
        _shifts_far,
        "it rounds products twice that TOSA shifts by more than 31 places and rounds once",
        "Regor, architecture/ethosu55/ethos_u55_register_cs_generator.cpp, "
        "MapHLCRoundModeToInterface, where AUTO is DBL",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-negate-rounding",
        VELA,
        _negates_before_double_rounding,
        "it rounds the RESCALE after it once, which TOSA rounds twice",
        "Regor, compiler/graphir_optimiser.cpp, RewriteNegate, which sets the rounding of an "
        "output that FuseRescale has already given one",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-transpose-conv-stride",
        VELA,
        _omits_stride,
        "it takes the stride to be 1 along an axis with a single output",
        "Regor, compiler/graphir_optimiser.cpp, ResetKernelAttributes, which is right for other "
        "convolutions",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-transpose-conv-padding",
        VELA,
        _reads_only_padding,
        "of the convolutions that it makes of this one, one for each place within the stride, one "
        "reads only padding: its input has no elements, which the NPU cannot express",
        "Regor, compiler/scheduler_decompose.cpp, DecomposeTransposeConv2DLargeStride; "
        "compiler/high_level_command_stream_generator.cpp, CalculateStripePadding, only asserts "
        "newShape.Elements() > 0",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-conv3d-padding",
        VELA,
        _convolves_only_padding,
        "where the kernel lies before or behind the input, it makes an average pool of zeros, "
        "which has no bias on Ethos-U55 and U65, instead of the biases",
        "Regor, compiler/scheduler_decompose.cpp, DecomposeConv3D, for a kernel in padding only",
        (TOSA.name,),
    ),
    Erratum(
        "tosa-shift-signs",
        VELA,
        _shifts_narrow_signs,
        "it reads 8 and 16 bits as signed numbers, and no source says at which bit the zeros enter "
        "that the shift adds to a negative one",
        "Regor, architecture/ethosu85/ethos_u85_register_cs_generator.cpp, which maps SHR to LSR "
        "and emits the signed type; compiler/graphir_optimiser.cpp, where SHR has no bounds",
        (TOSA.name,),
    ),
    replace(PADDED_POOL, name="tosa-max-pool-padding", against=(TOSA.name,)),
)
