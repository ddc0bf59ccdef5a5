"""A part of CMSIS-NN's unit tests, drawn afresh for each commit; how their headers are read."""

import math
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.suites.cmsis_nn import SUITE, names, run_named
from tests.suites.cmsis_nn_data import TestData, scales_for
from tests.suites.golden_tests import SETTINGS
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_cmsis_nn

COUNT = 12


@needs_cmsis_nn
@pytest.mark.parametrize("on", SETTINGS)
def test_a_part_of_the_suite_passes(
    on: str, record_property: Callable[[str, object], None]
) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    results = [run_named(name, on) for name in random.Random(seed).sample(names(), COUNT)]
    ended = [result for result in results if result.end not in ("passed", "refused")]
    assert [result for result in ended if not SUITE.cause(result)] == []
    assert Counter(result.end for result in results)["passed"] > COUNT // 2


def test_headers_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "layer"
    folder.mkdir()
    (folder / "test_data.h").write_text('#include "config_data.h"\n#include "output.h"\n')
    (folder / "config_data.h").write_text(
        "#define LAYER_PAD_X 3\n#define LAYER_DIM \\\n    { \\\n  4, -9, \\\n }\n"
    )
    (folder / "output.h").write_text("const int8_t layer_output[3] = {1, 200, -3};\n")
    data = TestData(folder, "kind")
    assert data.number("PAD_W", "PAD_X") == 3
    assert data.number("PAD_Y", default=5) == 5
    assert data.numbers("DIM") == [4, -9]
    assert data.array("output").tolist() == [1, -56, -3]
    with pytest.raises(KeyError, match="layer has none of"):
        data.array("input")


def multiplier(factor: float) -> tuple[int, int]:
    """Return a factor as TFLite does: 31 bits and a power of two."""
    mantissa, power = math.frexp(factor)
    return round(mantissa * 2**31), power


@pytest.mark.parametrize("channels", [1, 2, 9, 20])
def test_scales_are_found_for_multipliers_that_were_made_of_scales(channels: int) -> None:
    drawn = np.random.default_rng(channels).uniform(1e-4, 0.05, channels + 2).astype(np.float32)
    first, *others, last = drawn.astype(float).tolist()
    wanted = [multiplier(first * other / last) for other in others]
    in_scale, weights, out_scale, wrong = scales_for([math.ldexp(m, p - 31) for m, p in wanted])
    assert wrong == 0
    assert [float(np.float32(scale)) for scale in (in_scale, *weights, out_scale)] == [
        in_scale, *weights, out_scale,
    ]  # fmt: skip
    assert [multiplier(in_scale * weight / out_scale) for weight in weights] == wanted


def test_what_no_scales_have_is_counted() -> None:
    drawn = np.random.default_rng(1).integers(1 << 30, 1 << 31, 40)
    assert scales_for([math.ldexp(int(m), -40) for m in drawn])[3] > 20
