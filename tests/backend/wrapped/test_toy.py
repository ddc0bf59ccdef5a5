"""A user's accelerator through everything: read, asked, folded, simulated, rendered, run."""

import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.commands.junit_suites import make_suites
from ethosgen.commands.wording import plan_lines, report_text
from ethosgen.project import open_project
from ethosgen.values.errors import AcceleratorFault, InputError, UnsupportedError
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.plugins.toy.toy_plugin.adder import DRIVER
from tests.support.lazy_accelerator import write_lazy_folder
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.toy_accelerator import changed, sums_file, write_folder

SUM = "-128 : total"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "toy")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return sums_file(tmp_path / "sums.tflite")


def simulate(model: Path, *folders: Path, npu: str = "none", **options: object) -> Report:
    wanted = OffloadOptions(**options)  # type: ignore[arg-type]
    names = tuple(map(str, folders))
    inputs = Inputs(None, 5, 0)
    return flow.simulate(
        model, npu=npu, accelerators=names, inputs=inputs, options=wanted, watch=Watch()
    )


@needs_gcc
def test_its_outputs_equal_the_oracles(toy: Path, model: Path) -> None:
    report = simulate(model, toy)
    assert report.passed
    (share,) = report.plan.shares
    assert (share.name, share.partitions, share.operators, share.cycles) == ("toy", 2, 2, 32)
    assert [cpu.code for cpu in report.plan.cpu_operators] == ["RELU", "ADD"]
    assert report.plan.check is not None and report.plan.check.elements > 0


@needs_gcc
def test_an_operator_may_stay_on_the_cpu(toy: Path, model: Path) -> None:
    report = simulate(model, toy, cpu_ops=("ADD",))
    assert report.passed and report.plan.shares[0].operators == 0


@needs_gcc
@pytest.mark.parametrize("wrong", ["-128 : -total", "-128 : 0"], ids=["other sums", "no sums"])
def test_what_it_computes_wrongly_is_an_error_or_stays_on_the_cpu(
    tmp_path: Path, model: Path, wrong: str
) -> None:
    folder = write_folder(tmp_path / "wrong", source=DRIVER.replace(SUM, wrong))
    with pytest.raises(UnsupportedError) as refused:
        simulate(model, folder)
    said = str(refused.value)
    assert "the accelerator 'wrong' computes operator" in said and "ADD with output" in said
    assert re.search(r"incorrectly: \d+ of \d+ outputs", said) and "--allow-fallback" in said
    report = simulate(model, folder, allow_fallback=True)
    assert report.passed and report.plan.shares[0].operators == 0
    assert {cpu.erratum for cpu in report.plan.cpu_operators} == {"", "found-by-check"}
    assert "computes it differently" in "\n".join(plan_lines(report.plan))
    trusted = simulate(model, folder, trust_compiler=True)
    assert not trusted.passed


@needs_gcc
def test_a_declared_difference_is_used_only_if_the_user_allows_it(
    tmp_path: Path, model: Path
) -> None:
    near = write_folder(
        tmp_path / "near",
        changed('call = "toy_add"\n', 'call = "toy_add"\ndifference = 1\n'),
        source=DRIVER.replace("total > 127", "++total > 127"),
    )
    exact = simulate(model, near)
    assert exact.verdict == "PASS" and exact.plan.shares[0].operators == 0
    assert "allowed by --allow-difference 1" in report_text(exact)
    report = simulate(model, near, steps=3)
    assert report.verdict == "PASS within 3 steps" and report.plan.shares[0].operators == 2
    assert report.golden is not None and report.golden.close > 0
    text = report_text(report, verbose=True)
    assert "as allowed" in text and "are within 3 steps of" in text
    assert b"within 3 steps of" in make_suites("sums", report, None).tostring()
    strict = simulate(model, near, steps=1)  # the sum of sums has twice the difference
    assert strict.passed and strict.plan.shares[0].operators < 2


@needs_gcc
def test_an_allowed_difference_that_nothing_needs_changes_no_verdict(
    toy: Path, model: Path
) -> None:
    report = simulate(model, toy, steps=1)
    assert report.verdict == "PASS" and report.plan.steps == 0


@needs_gcc
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("*(volatile int *)0 = 0;", "toy_add of .* failed on this machine: it was ended by SIG"),
        ("return 7;", r"toy_add of .*, line 16 \('add_2'\) returned status 7"),
    ],
)
def test_what_crashes_or_refuses_is_one_sentence(
    tmp_path: Path, model: Path, statement: str, said: str
) -> None:
    bad = write_folder(tmp_path / "bad", source=DRIVER.replace("    return 0;", f"    {statement}"))
    with pytest.raises(AcceleratorFault, match=said):
        simulate(model, bad)


@needs_gcc
def test_what_never_returns_meets_a_deadline(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ethosgen.backend.wrapped.host_program.CALL_S", 0.5)
    forever = DRIVER.replace("    return 0;", "    for (volatile int i = 0;; i = 1) { }")
    with pytest.raises(AcceleratorFault, match=r"did not return in 0\.5 s"):
        simulate(model, write_folder(tmp_path / "bad", source=forever))


@needs_gcc
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (DRIVER.replace("total =", "totl ="), r"toy_add\.c:\d+: .*'total' undeclared"),
        (DRIVER.replace("toy_add(", "toy_sub("), r"has no C for toy_add\(\), which its functions"),
        (DRIVER.replace("return 0;\n}", "return 0;\n"), r"toy_add\.c:\d+: expected"),
    ],
)
def test_c_that_does_not_compile_is_one_sentence(
    tmp_path: Path, model: Path, source: str, said: str
) -> None:
    folder = write_folder(tmp_path / "bad", source=source)
    with pytest.raises(InputError, match=said) as error:
        simulate(model, folder)
    assert "\n" not in str(error.value)


def test_our_kernels_stand_in_for_what_cannot_run_here(tmp_path: Path, model: Path) -> None:
    toml = changed("start = 10", "start = 10\nhost = false")
    report = simulate(model, write_folder(tmp_path / "toy", toml, source="#error no"))
    assert report.passed
    (share,) = report.plan.shares
    assert share.operators == 2 and not share.is_simulated
    assert "NOT simulated: our kernels stand in" in report_text(report)


@needs_gcc
@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("int32_t toy_wait(int32_t more);", "toy_wait is not declared as line 19 of bad/acc"),
        ("", r"toml', line 19: no header declares toy_wait\(\)"),
    ],
)
def test_another_wait_is_refused(tmp_path: Path, model: Path, header: str, said: str) -> None:
    bad = write_lazy_folder(tmp_path / "bad", "")
    text = (bad / "toy_add.h").read_text()
    (bad / "toy_add.h").write_text(changed("int32_t toy_wait(void);", header, text))
    with pytest.raises(InputError, match=said):
        simulate(model, bad)


@needs_gcc
def test_another_signature_is_refused(tmp_path: Path, model: Path) -> None:
    other = write_folder(
        tmp_path / "other",
        toml=changed('"output", "output_elements"', '"output_elements", "output"'),
    )
    with pytest.raises(InputError, match="toy_add is not declared as line 17 of other/acc"):
        simulate(model, other)


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_a_project_carries_its_folder(toy: Path, model: Path, io: IoStyle, tmp_path: Path) -> None:
    recipe = Recipe((model,), "corstone300", "none", io=io, accelerators=(str(toy),))
    written = flow.create_project(recipe, directory=tmp_path / "made", watch=Watch())
    info = open_project(written.directory)
    assert [folder.name for folder in info.accelerators] == ["toy"]
    for file in toy.iterdir():
        assert (info.accelerators[0] / file.name).read_bytes() == file.read_bytes()
    again = Recipe(
        (model,), "corstone300", "none", io=io, accelerators=(str(info.accelerators[0]),)
    )
    assert not flow.create_project(again, directory=written.directory, watch=Watch()).files


@pytest.mark.slow
@needs_gcc
@needs_qemu
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
def test_it_runs_on_qemu(toy: Path, model: Path, npu: str) -> None:
    options = OffloadOptions(cpu_ops=() if npu == "none" else ("RELU",))
    recipe = Recipe((model,), "corstone300", npu, options=options, accelerators=(str(toy),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 5, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
