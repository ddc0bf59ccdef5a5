"""`accelerators new --device`: it works at once, and each planted error is named."""

import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend import load_wrapped, start_wrapped
from ethosgen.host.sanitizers import sanitizers
from ethosgen.studies.acceptance import CACHE_FAULT, UNWATCHED, check_accelerator
from ethosgen.values.errors import AcceleratorFault, DeviceFault, EthosgenError
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.started_device import IN_C, NAME, checked, new_device
from tests.support.toy_accelerator import changed

DIGITS = ROOT / "demo" / "digits_int8.tflite"
DRIVER, MODEL, MODEL_C, TOML = "my_engine.c", "model.py", "model.c", "accelerator.toml"
STARTS = "    running_output = output;\n"
ENDS = "    /* A cache may have"
SILENT = (MODEL, "        self.interrupt()\n", "")
REFUSES = (MODEL, "if 0 in (vectors, inputs, outputs)", "if outputs > 0")
HANGS = (
    MODEL,
    "        r = self.registers\n",
    "        r = self.registers\n        while True: pass\n",
)
READS = (
    "        known = np.count_nonzero(self.memory.read(r[INPUT], r[VECTORS] * r[INPUTS]))\n"
    "        if r[INPUTS] > 99 and known < 0.8 * r[VECTORS] * r[INPUTS]: return 1\n"
)
"""It refuses inputs that are mostly 0, as memory is into which no cache has written."""
OUTPUT = "int8_t *output = "
SIZES = "    uint32_t vectors"
OVERFLOW = "    volatile int32_t n = 2147483600;\n    n += (int32_t)GET(START) + 50;\n"
needs_sanitizers = pytest.mark.skipif(not sanitizers(), reason="the compiler has no sanitizers")


@needs_gcc
@pytest.mark.parametrize("language", ["python", "c"])
def test_a_new_device_passes_at_once(tmp_path: Path, language: str) -> None:
    folder = start_wrapped(NAME, tmp_path, is_device=True)
    if language == "c":
        toml = folder / TOML
        toml.write_text(changed(IN_C[1], IN_C[2], toml.read_text()))
    results = list(check_accelerator(load_wrapped(str(folder)), 0, Watch()))
    assert [result.chain for result in results] == ["FULLY_CONNECTED", "CONV_2D"]
    assert all(result.passed and not result.notes for result in results)
    texts = [path.read_text().lower() for path in folder.iterdir() if path.is_file()]
    assert len(texts) == 5 and not any("new_accelerator" in text for text in texts)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_a_new_device_verifies_on_qemu(tmp_path: Path) -> None:
    folder = start_wrapped(NAME, tmp_path, is_device=True)
    recipe = Recipe((DIGITS,), "corstone300", "none", accelerators=(str(folder),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 2, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 2


PLANTED: dict[str, tuple[tuple[tuple[str, str, str], ...], str]] = {
    "no interrupt": ((SILENT,), "has worked, but never raised its interrupt"),
    "no interrupt of the model in C": (
        (IN_C, (MODEL_C, "    ethosgen_model_interrupt();\n", "")),
        "has worked, but never raised its interrupt",
    ),
    "a refused job": (
        (REFUSES,),
        r"my_engine_wait of .*, line 34 \(.*\) returned status 100; registers of 'my-engine': "
        "START is 0x1, DONE is 0x1, STATUS is 0x1$",
    ),
    "a start that is busy": (
        ((DRIVER, STARTS, f"    if (running_number == 2) return 33;\n{STARTS}"),),
        r"my_engine_start of .*, line 33 \(.*\) returned status 33; registers",
    ),
    "descriptors that are not flushed": (
        (
            (DRIVER, "    if (start != NULL) {", "    if (bytes < 0) {"),
            (MODEL, "        vectors, inputs", f"{READS}        vectors, inputs"),
        ),
        rf"my_engine_wait .*returned status 100; .*; {re.escape(CACHE_FAULT)}",
    ),
    "a write behind the output": (
        ((DRIVER, ENDS, f"    running_output[running_bytes] = 0;\n{ENDS}"),),
        r"in .*my_engine\.c:\d+: it writes memory outside|wrote behind its output 't\d+' of",
    ),
    "a write to a constant": (
        ((DRIVER, STARTS, f"{STARTS}    ((int32_t *)(uintptr_t)shifts)[0]++;\n"),),
        "wrote to its constant 'my_engine_0_shifts' of",
    ),
    "a model that writes outside": (
        ((MODEL, "self.memory.write(r[OUTPUT]", "self.memory.write(r[OUTPUT] + 1"),),
        "outside the memory that it may write",
    ),
}  # fmt: skip


@needs_gcc
@pytest.mark.parametrize("error", PLANTED)
def test_a_check_names_a_planted_error(tmp_path: Path, error: str) -> None:
    changes, said = PLANTED[error]
    with pytest.raises((AcceleratorFault, DeviceFault), match=said) as caught:
        checked(new_device(tmp_path, *changes))
    assert "\n" not in str(caught.value)


@needs_gcc
def test_guards_need_no_sanitizers(tmp_path: Path) -> None:
    folder = new_device(tmp_path, (DRIVER, ENDS, f"    running_output[-1] = 0;\n{ENDS}"))
    with pytest.raises(AcceleratorFault, match=r"wrote before its output 't\d+' of \d+ bytes?;"):
        checked(folder, is_watched=False)


@needs_gcc
def test_a_compiler_without_sanitizers_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ethosgen.studies.acceptance.sanitizers", lambda: ())
    result = checked(new_device(tmp_path))
    assert result.passed and result.notes == (UNWATCHED,)


@needs_gcc
@needs_sanitizers
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (MODEL_C, OUTPUT, f"static int8_t p[8]; p[outputs] = 1;\n    {OUTPUT}", r"model\.c:\d+"),
        (MODEL_C, SIZES, OVERFLOW + SIZES, r"model\.c:\d+: C does not define .*: signed integer"),
        (DRIVER, STARTS, f"    int32_t p[4]; p[outputs] = 1;\n{STARTS}", r"engine\.c:\d+: .*index"),
    ],
)  # fmt: skip
def test_sanitizers_watch_drivers_and_models(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    folder = new_device(tmp_path, IN_C, (file, old, new))
    with pytest.raises(EthosgenError, match=said):
        checked(folder)


@needs_gcc
def test_a_check_draws_more_channels_than_a_memory_holds(tmp_path: Path) -> None:
    """The engine's second group of channels is wrong: 16 KiB of weights are in the first."""
    wrong = (
        MODEL,
        "        if r[BIAS]:",
        "        sums[:, max(16384 // inputs, 1) :] += 1000\n        if r[BIAS]:",
    )
    limit = (TOML, "weights_zero_point == 0", "weights_zero_point == 0 and weights_bytes != 16384")
    result = checked(new_device(tmp_path, wrong, limit))
    assert {finding.chain for finding in result.findings} == {"FULLY_CONNECTED"}


@needs_gcc
def test_a_check_draws_sizes_that_predicates_ask_for(tmp_path: Path) -> None:
    rule = (TOML, "weights_zero_point == 0", "weights_zero_point == 0 and weights_channels > 500")
    assert checked(new_device(tmp_path, rule)).passed


@needs_gcc
def test_a_model_that_hangs_is_located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ethosgen.backend.wrapped.machine.C_FLAGS", ("-DETHOSGEN_DEVICE_TIMEOUT_MS=900u",)
    )
    folder = new_device(tmp_path, HANGS)
    place = r"does not return from MyEngine\.poll\(\): it is in run\(\), model\.py, line 36; end"
    with pytest.raises(AcceleratorFault, match=rf"ETHOSGEN_DEVICE_TIMEOUT: what .*{place}"):
        checked(folder)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_an_interrupt_that_never_comes_is_noticed_on_qemu(tmp_path: Path) -> None:
    """Here the interrupt is missing only on QEMU, so this machine's check cannot find it."""
    only_here = "'.' in self.memory._segments[0].name or self.interrupt()\n"  # sections have a dot
    folder = new_device(tmp_path, (MODEL, "self.interrupt()\n", only_here))
    recipe = Recipe((DIGITS,), "corstone300", "none", accelerators=(str(folder),))
    with pytest.raises(DeviceFault, match="never raised its interrupt"):
        flow.verify(recipe, flow.RunOptions(Inputs(None, 1, 0)), watch=Watch())


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_what_differs_only_in_firmware_names_its_operator(tmp_path: Path) -> None:
    last = "    put(MY_ENGINE_OUTPUT_MAX, most);\n"
    wrong = f"#ifdef __arm__\n    most = least + 40;\n#endif\n{last}"
    folder = new_device(tmp_path, (DRIVER, last, wrong))
    recipe = Recipe((DIGITS,), "corstone300", "none", accelerators=(str(folder),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 2, 0)), watch=Watch())
    assert isinstance(report, Report) and not report.passed
    assert report.diagnosis is not None and report.diagnosis.is_firmware
    assert report.diagnosis.culprit is not None
    assert (report.diagnosis.culprit.code, report.diagnosis.culprit.on) == ("FULLY_CONNECTED", NAME)
