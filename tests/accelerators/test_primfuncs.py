"""Kernels that an accelerator's class gives as TIR: the page's example, and what does not fit."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend import load_wrapped
from ethosgen.studies.acceptance import check_accelerator
from ethosgen.values.errors import EthosgenError, InputError
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.tir_accelerator import NAME, tir_folder

DIGITS, KWS = (ROOT / "demo" / f"{name}_int8.tflite" for name in ("digits", "kws"))
LAST = '        return scheduled(tvm.IRModule({"main": te.create_prim_func(parameters)}))["main"]\n'


@needs_gcc
def test_the_pages_class_passes_its_check(tmp_path: Path) -> None:
    folder = load_wrapped(str(tir_folder(tmp_path)))
    (result,) = check_accelerator(folder, 0, Watch())
    assert result.passed and not result.notes and result.call == "python:dense"


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_the_pages_class_is_exact_in_firmware(tmp_path: Path) -> None:
    """Two networks share the file with the functions, one for each size of a layer."""
    recipe = Recipe((DIGITS, KWS), "corstone300", "none", accelerators=(str(tir_folder(tmp_path)),))
    written = flow.create_project(recipe, directory=tmp_path / "p", watch=Watch())
    source = (written.directory / "model" / NAME / "ethosgen_primfuncs.c").read_text()
    assert source.count("int32_t tir_engine_dense_") == 2 and "engine_product(" in source
    assert "if (" not in source, "constant conditions go"
    report = flow.verify(
        Recipe((DIGITS,), "corstone300", "none", accelerators=recipe.accelerators),
        flow.RunOptions(Inputs(None, 2, 0)),
        watch=Watch(),
    )
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 1


@needs_gcc
def test_a_wrong_kernel_differs(tmp_path: Path) -> None:
    folder = tir_folder(tmp_path, ("scaled += site", "scaled += 1 + site"))
    (result,) = check_accelerator(load_wrapped(str(folder)), 0, Watch())
    assert result.findings and not result.passed


WRONG = {
    "no PrimFunc": (
        LAST,
        "        return 3\n",
        r"line 10: dense\(\) .*: it is no PrimFunc, but int",
    ),
    "no method": ("    def dense(", "    def layer(", r"has no method dense, which call names"),
    "an exception": (LAST, "        return {}['main']\n", r"dense\(\) failed, line 32: KeyError"),
    "another order": (
        "output, least]",
        "least, output]",
        r"its parameters are \(int8_t \*, .*, but `arguments` gives \(const int8_t \*.*int32_t\)",
    ),
    "another type": (
        '(rows, inputs), "int8"',
        '(rows, inputs), "uint8"',
        r"its parameters are \(uint8_t \*,",
    ),
    "a thread": (
        "schedule.unroll(lanes)",
        'schedule.bind(lanes, "threadIdx.x")',
        "TVM cannot make C of it: ",
    ),
    "a function that no header declares": (
        '"engine_product"',
        '"engine_dot"',
        r"has no C for engine_dot\(\), which its functions call",
    ),
}


@needs_gcc
@pytest.mark.parametrize("error", WRONG)
def test_a_primfunc_that_does_not_fit_is_one_sentence(tmp_path: Path, error: str) -> None:
    old, new, said = WRONG[error]
    folder = load_wrapped(str(tir_folder(tmp_path, (old, new))))
    with pytest.raises(EthosgenError, match=said) as caught:
        list(check_accelerator(folder, 0, Watch()))
    assert "\n" not in str(caught.value)


def test_a_method_needs_a_class(tmp_path: Path) -> None:
    toml = tir_folder(tmp_path) / "accelerator.toml"
    toml.write_text(toml.read_text().replace('python = "engine.py:Engine"\n', ""))
    with pytest.raises(InputError, match=r"line 9: operator\[0\]\.call: it names a method, but"):
        load_wrapped(str(toml.parent))
