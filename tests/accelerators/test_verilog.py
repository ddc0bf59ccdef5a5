"""`accelerators new --verilog`: a device simulated from its RTL, and what is wrong in RTL."""

import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend import load_wrapped, start_wrapped
from ethosgen.device import verilog
from ethosgen.host import kept_files
from ethosgen.host.tools import VERILATOR
from ethosgen.studies.acceptance import check_accelerator
from ethosgen.studies.cost_tables import CostRequest, measure_costs
from ethosgen.values.errors import BuildError, DeviceFault, ToolError
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_gcc, needs_qemu, needs_verilator
from tests.support.started_device import NAME, checked, new_device

DIGITS = ROOT / "demo" / "digits_int8.tflite"
RECTIFIER = ROOT / "tests" / "accelerators" / "rectifier"
RTL, TOML = "model.sv", "accelerator.toml"
RUN = flow.RunOptions(Inputs(None, 2, 0))
Changes = tuple[tuple[str, str, str], ...]


@needs_verilator
def test_a_new_device_in_verilog_passes_at_once(tmp_path: Path) -> None:
    folder = start_wrapped(NAME, tmp_path, is_verilog=True)
    assert {path.name for path in folder.iterdir()} == {TOML, RTL, "my_engine.c", "my_engine.h"}
    results = list(check_accelerator(load_wrapped(str(folder)), 0, Watch()))
    assert [result.chain for result in results] == ["FULLY_CONNECTED", "CONV_2D"]
    assert all(result.passed and not result.notes for result in results)


@pytest.mark.slow
@needs_verilator
@needs_qemu
def test_rtl_verifies_on_qemu_and_its_cycles_are_measured(tmp_path: Path) -> None:
    folder = str(start_wrapped(NAME, tmp_path, is_verilog=True))
    report = flow.verify(
        Recipe((DIGITS,), "corstone300", "none", accelerators=(folder,)), RUN, watch=Watch()
    )
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 2
    asked = CostRequest((DIGITS,), "corstone300", "qemu", RUN)
    for table in measure_costs(folder, asked, Watch()):
        (call,) = table.calls
        assert call.estimate is not None and abs(call.device / call.estimate - 1) < 0.05


UNCONNECTED: dict[str, tuple[Changes, str]] = {
    "no interrupt": (((RTL, "irq", "alarm"),), "has no interrupt: name an output 'irq'"),
    "no clock": (((RTL, "clk", "ticks"),), "has no clock: name an input 'clk'"),
    "no reset": (((RTL, "rst_n", "zero"),), "has no reset: name an input 'rst_n'"),
    "a misspelt port": (((RTL, "paddr", "padr"),), "no input 'paddr', which APB needs"),
    "narrow data": (((RTL, "[31:0] pwdata", "[15:0] pwdata"),), "has 16 bits in 'pwdata'"),
    "a narrow address": (
        ((RTL, "[6:0]  paddr", "[4:0]  paddr"), (RTL, "paddr[6:2]", "{2'd0, paddr[4:2]}")),
        r"5 bits in 'paddr', but registers = 0x44 needs 7",
    ),
    "an odd memory": (
        ((RTL, "[31:0] m_axi_rdata", "[23:0] m_axi_rdata"),),
        "24 bits in 'm_axi_rdata'",
    ),
    "a wrong direction": (
        (
            (RTL, "output wire         pready", "input  wire         pready"),
            (RTL, "assign pready = 1'b1;", ""),
        ),
        "'pready' in the wrong direction: it is an output",
    ),
    "two memories": (
        ((RTL, "output logic        irq,", "output logic irq, n_axi_awvalid,"),),
        "several ports for memory, 'm_axi_…', 'n_axi_…'",
    ),
    "no registers": (((RTL, "psel", "select"),), "has no port for its registers"),
    "a syntax error": (((RTL, "endmodule", "endmodul"),), r"model\.sv:\d+:\d+: syntax error"),
    "an undeclared name": (
        ((RTL, "assign pready = 1'b1", "assign pready = ready"),),
        r"model\.sv:\d+:\d+: .*ready",
    ),
    "two drivers": (
        ((RTL, "    assign pready", "    always_ff @(negedge clk) irq <= 0;\n    assign pready"),),
        r"model\.sv:\d+:\d+: .*'irq' \(MULTIDRIVEN\)",
    ),
    "another top module": (
        ((TOML, "model.sv:my_engine", "model.sv:engine"),),
        "'engine' was not found",
    ),
    "a file that is not named": (
        ((RTL, "`default_nettype none", '`include "more.svh"'),),
        "include file.*more.svh",
    ),
}


def edited(place: Path, changes: Changes) -> Path:
    """Return a device in Verilog with all occurrences of texts replaced."""
    folder = new_device(place, is_verilog=True)
    for file, old, new in changes:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
    return folder


@needs_verilator
@pytest.mark.parametrize("error", UNCONNECTED)
def test_rtl_that_cannot_be_connected_is_one_sentence(tmp_path: Path, error: str) -> None:
    changes, said = UNCONNECTED[error]
    with pytest.raises(BuildError, match=said) as caught:
        checked(edited(tmp_path, changes))
    assert "\n" not in str(caught.value)


WRONG: dict[str, tuple[Changes, str]] = {
    "a bus that never answers": (
        ((RTL, "assign pready = 1'b1", "assign pready = 1'b0"),),
        "did not answer the read of register 0x0 within 1000 clock cycles: pready stays low",
    ),
    "a job that never ends": (
        ((RTL, "irq <= 1;", "irq <= 0;"), (TOML, "# sources", "limit = 20_000\n# sources")),
        "did not end within 20000 clock cycles of the write to register 0x4: irq does not rise",
    ),
    "an end before the last write": (
        ((RTL, "if (m_axi_bvalid) begin", "if (!m_axi_awvalid) begin"),),
        "announced its end while the memory had not yet answered a write to 0x",
    ),
    "a write outside": (
        ((RTL, "m_axi_awaddr = output_address", "m_axi_awaddr = output_address - 4096"),),
        "it wrote 0x.* outside the memory that it may write",
    ),
    "a read outside": (
        ((RTL, "fetch_address = row_address;", "fetch_address = 32'h10;"),),
        "it read 0x00000010 to 0x00000013, outside the memory that it may read",
    ),
    "a burst over a boundary": (
        (
            (RTL, "araddr = {next_word", "araddr = {next_word[29:10], 10'h3FF"),
            (RTL, "arlen = {3'd0, beats} - 8'd1", "arlen = 8'd1"),
        ),
        "in a burst of 2 beats that crosses a boundary of 4 KiB",
    ),
    "a failed assertion": (
        (
            (
                RTL,
                "    assign pready",
                "    always @(posedge clk) assert (started < 2) else "
                '$error("job %0d", started);\n    assign pready',
            ),
        ),
        r"model\.sv:\d+: Assertion failed in my_engine: job 2, in clock cycle \d+",
    ),
    "an end of the simulation": (
        ((RTL, "is_refused <= 0;", "is_refused <= 0; $finish;"),),
        r"\$finish in .*model\.sv, line \d+, in clock cycle",
    ),
    "a loop without a register": (
        (
            (
                RTL,
                "    assign pready",
                "    wire a, b;\n    assign a = ~b & psel;\n    assign b = a;\n    assign pready",
            ),
            (RTL, "assign pready = 1'b1", "assign pready = a"),
        ),
        "region did not converge",
    ),
}


@needs_verilator
def test_axi_of_64_bits_with_names_of_high_level_synthesis() -> None:
    """It has AXI4-Lite, bursts that are written, parts of a beat, and no interrupt."""
    (result,) = check_accelerator(load_wrapped(str(RECTIFIER)), 0, Watch())
    assert result.passed and not result.notes


@needs_verilator
def test_a_waveform_of_each_device_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = edited(tmp_path, ((TOML, "# trace =", "trace ="),))
    monkeypatch.chdir(tmp_path)
    assert checked(folder).passed
    text = (tmp_path / "my_engine.vcd").read_text()
    assert re.search(r"\$var wire +1 \S+ irq \$end", text)
    assert len(re.findall(r"^#\d+$", text, re.M)) > 1000


@needs_verilator
def test_a_model_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_files, "cache_folder", lambda: tmp_path / "cache")
    folder = new_device(tmp_path, is_verilog=True)
    (device,) = load_wrapped(str(folder)).devices
    library = verilog.stored_model(device)
    written = library.stat().st_ino
    assert verilog.stored_model(device) == library and library.stat().st_ino == written
    rtl = folder / RTL
    rtl.write_text(rtl.read_text().replace("4E45", "4E46"))
    assert verilog.stored_model(device) != library
    assert len(list((tmp_path / "cache" / "verilog").glob("model-*.so"))) == 2
    monkeypatch.setattr(kept_files, "cache_folder", lambda: Path("/dev/null"))
    assert verilog.stored_model(device).is_file()  # nothing can be kept


@needs_gcc
def test_without_verilator_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    monkeypatch.delenv(VERILATOR.variable, raising=False)
    device = load_wrapped(str(new_device(tmp_path, is_verilog=True))).devices[0]
    with pytest.raises(ToolError, match=r"^verilator \(compiles models in Verilog\) was not found"):
        verilog.stored_model(device)


@needs_verilator
def test_an_old_verilator_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "verilator"
    old.write_text("#!/bin/sh\necho Verilator 4.038 2020-07-11 rev v4.036\n")
    old.chmod(0o755)
    monkeypatch.setenv(VERILATOR.variable, str(old))
    device = load_wrapped(str(new_device(tmp_path, is_verilog=True))).devices[0]
    with pytest.raises(ToolError, match=r"is Verilator 4\.038, but a model in Verilog needs"):
        verilog.stored_model(device)


@needs_verilator
@pytest.mark.parametrize("error", WRONG)
def test_rtl_that_works_wrongly_is_one_sentence(tmp_path: Path, error: str) -> None:
    changes, said = WRONG[error]
    with pytest.raises(
        DeviceFault, match=rf"^the model of device 'my-engine' failed: .*{said}"
    ) as caught:
        checked(edited(tmp_path, changes))
    assert "\n" not in str(caught.value) and caught.value.exit_status == 6
