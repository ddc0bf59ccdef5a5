"""The errata of TOSA's operators: what Vela compiles to something else than TOSA means.

Each was found on generated networks (tests/frontend/tosa); sources are below Regor's folder, as in
errata_table.py.
"""

from ethosgen.backend.ethosu.offload.errata import VELA, Erratum
from ethosgen.backend.ethosu.offload.site import Site
from ethosgen.oracle import TOSA
from ethosgen.values.network import Operator

_WIDTHS = {"bool": 1, "int8": 8, "int16": 16, "int32": 32}

_ROUNDED_TWICE = 31
"""The NPU's double rounding adds half a unit of the upper word for shifts above this."""


def _shifts_without_rounding(site: Site) -> bool:
    is_shift = site.code == "TOSA_ARITHMETIC_RIGHT_SHIFT"
    return is_shift and not site.operator.options["round"] and "u85" not in site.setting.npu


def _narrows(site: Site) -> bool:
    widths = _WIDTHS[site.inputs[0].dtype], _WIDTHS[site.dtype]
    return site.code == "TOSA_CAST" and widths[1] < widths[0]


def _scales_channels(site: Site) -> bool:
    if site.code != "TOSA_RESCALE" or not site.operator.options["per_channel"]:
        return False
    widths = _WIDTHS.get(site.inputs[0].dtype, 64), _WIDTHS[site.dtype]
    return site.inputs[1].elements > 1 and max(widths) < 32


def _shifts_far(site: Site) -> bool:
    return site.code == "TOSA_MUL" and site.constant(2)[0] > _ROUNDED_TWICE


def _negates_before_double_rounding(site: Site) -> bool:
    return site.code == "TOSA_NEGATE" and any(
        reader.options["rounding_mode"] == "DOUBLE_ROUND"
        and max(_shifts(site, reader)) > _ROUNDED_TWICE
        for reader in site.graph.operators
        if reader.code == "TOSA_RESCALE" and reader.inputs[0] == site.output.index
    )


def _shifts(site: Site, rescale: Operator) -> list[int]:
    return Site(site.graph, rescale, site.setting).constant(2)


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
)
