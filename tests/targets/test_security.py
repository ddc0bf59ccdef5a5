"""Non-secure firmware on QEMU, and what its secure image does about every trespass."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow, targets
from ethosgen.board import Board, load_board
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets import qemu
from ethosgen.targets.security import Evidence, check_security, expected_evidence, images
from ethosgen.toolchain import build
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.report import Report
from ethosgen.values.security import Security
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import ELEMENTS, make_program
from tests.support.recipes import recipe
from tests.support.small_models import image_net

INPUT, OUTPUT = "serving/input:0", "serving/output:0"
ALLOWED = 0
"""The probes, chosen by the input's first element: this one, GUARDED and LAST_FAULT are legal."""
(SECURE_CODE, SECURE_ALIAS, SECURE_DATA, NO_VENEER, GUARDED, SECURE_PERIPHERAL, NOTHING,
 UNDEFINED, LAST_FAULT) = range(1, 10)  # fmt: skip
PROBE = """
#include "partition.h"

static uint32_t probe(int which)
{{
    struct secure_fault fault = {{0}};
    static uint8_t space[sizeof fault + 4];

    switch (which) {{
    case {code}:
        return *(volatile uint32_t *)SECURE_CODE_START;
    case {alias}:
        return *(volatile uint32_t *)ALIAS(SECURE_CODE_START);
    case {data}:
        *(volatile uint32_t *)SECURE_DATA_START = 1;
        return 0;
    case {no_veneer}:
        ((void (*)(void))(SECURE_CODE_START + 0x101u))();
        return 0;
    case {guarded}:
        /* A UART that is not handed over reads as zero: here its ID, which the console has. */
        return *(volatile uint32_t *)({unlisted}u + 0xFE0u) != 0 ||
               *(volatile uint32_t *)({console}u + 0xFE0u) == 0;
    case {peripheral}:
        return *(volatile uint32_t *)({unlisted}u | SECURE_BIT);
    case {nothing}:
        return *(volatile uint32_t *){nowhere}u;
    case {undefined}:
        __asm volatile("udf #0");
        return 0;
    case {last_fault}:
        /* The veneer refuses to write where its caller may not. */
        if (secure_last_fault((struct secure_fault *)SECURE_DATA_START) ||
            secure_last_fault((struct secure_fault *)(NS_DTCM_LAST + 1u - sizeof fault / 2u))) {{
            return 1;
        }}
        if (secure_last_fault((struct secure_fault *)((uintptr_t)&space[1]))) {{
            return 3;
        }}
        if (!secure_last_fault(&fault) || fault.pc != 42 || secure_version() != SECURE_VERSION) {{
            return 2;
        }}
        return 0;
    default:
        return 0;
    }}
}}

static void run(const struct ethosgen_network *network, struct server_run *result)
{{
    if (probe(*(const int8_t *)network->inputs[0].buffer) != 0) {{
        result->status = 99;
        return;
    }}
"""
SEALED = """
    extern const volatile uint32_t __stack_top[];
    uint32_t top = (uint32_t)(uintptr_t)__stack_top, stack, limit;

    __asm volatile("mrs %0, psp\\n\\tmrs %1, psplim" : "=r"(stack), "=r"(limit));
    if (stack != top || limit != top || __stack_top[0] != 0xFEF5EDA5u ||
        __stack_top[1] != 0xFEF5EDA5u || (*(volatile uint32_t *)0xE000EF34u >> 26 & 7u) != 7u) {
        return 0;
    }
    return SECURE_VERSION;
"""
"""The secure side's own look at its stacks' seals, and at who sees its floating-point registers."""
UNLISTED = 0x49307000
"""UART4, which the board file does not hand over."""
NOWHERE = 0x4F000000
"""An address of peripherals where there is none."""


def console_addr(board: Board) -> int:
    assert board.console and board.console.base_addr
    return board.console.base_addr


@pytest.fixture(scope="module")
def board() -> Board:
    return load_board("corstone300").in_state(Security.NON_SECURE)


@pytest.fixture(scope="module")
def probing(board: Board, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ProjectInfo]:
    """Build a firmware that trespasses on request; its secure image believes in a last fault."""
    directory = tmp_path_factory.mktemp("probing") / "firmware"
    write(render(make_program(), board), directory)
    main, startup = directory / "app" / "main.c", directory / "secure" / "startup.c"
    text = main.read_text()
    head = re.search(r"static void run\(.*\n\{\n", text)
    assert head
    probe = PROBE.format(
        code=SECURE_CODE, alias=SECURE_ALIAS, data=SECURE_DATA, no_veneer=NO_VENEER,
        guarded=GUARDED, peripheral=SECURE_PERIPHERAL, nothing=NOTHING, undefined=UNDEFINED,
        last_fault=LAST_FAULT,
        unlisted=hex(UNLISTED), console=hex(console_addr(board)), nowhere=hex(NOWHERE),
    )  # fmt: skip
    main.write_text(text.replace(head[0], probe, 1))
    text, mark = startup.read_text(), "    if (kept.mark == FAULT_KEPT) {"
    assert mark in text
    seeded = f"    kept.mark = FAULT_KEPT;\n    kept.fault.pc = 42;\n{mark}"
    startup.write_text(text.replace(mark, seeded, 1))
    veneers = directory / "secure" / "veneers.c"
    text, mark = veneers.read_text(), "    return SECURE_VERSION;"
    assert mark in text
    veneers.write_text(text.replace(mark, SEALED, 1))
    return build(directory).elf, open_project(directory)


def run(built: tuple[Path, ProjectInfo], *probes: int) -> list[np.ndarray]:
    elf, info = built
    samples = [{INPUT: np.full((1, ELEMENTS), probe, np.int8)} for probe in probes]
    outcome = targets.run(elf, info, samples, attach=PlusOneNpu)
    assert outcome.ended and len(outcome.samples) == len(probes)
    return [sample.outputs[OUTPUT] for sample in outcome.samples]


@needs_qemu
def test_the_npu_serves_non_secure_firmware(probing: tuple[Path, ProjectInfo]) -> None:
    probes = (ALLOWED, LAST_FAULT, GUARDED, ALLOWED)
    for probe, got in zip(probes, run(probing, *probes), strict=True):
        assert np.array_equal(got, np.full((1, ELEMENTS), probe + 1, np.int8))


@needs_qemu
@pytest.mark.parametrize("probe", [SECURE_CODE, SECURE_ALIAS, SECURE_DATA, SECURE_PERIPHERAL])
def test_an_access_to_the_secure_side_faults(
    probing: tuple[Path, ProjectInfo], board: Board, probe: int
) -> None:
    assert board.trustzone
    bit, kept = 1 << board.trustzone.secure_bit, board.trustzone
    code = board.memories[kept.code.memory].start_addr - kept.code.size_bytes
    data = board.memories[kept.data.memory].start_addr - kept.data.size_bytes
    addr = {
        SECURE_CODE: code | bit,
        SECURE_ALIAS: code,
        SECURE_DATA: data | bit,
        SECURE_PERIPHERAL: UNLISTED | bit,
    }[probe]
    with pytest.raises(TargetError) as error:
        run(probing, ALLOWED, probe)
    fault = r"SecureFault: non-secure code at 0x(\w+) accessed a secure address(?:, 0x(\w+))? \("
    told = re.search(fault + r"SFSR 0x\w+: AUVIOL", str(error.value))
    assert told, error.value
    memory = board.memories[kept.code.memory]
    assert memory.start_addr <= int(told[1], 16) < memory.end_addr
    assert told[2] is None or int(told[2], 16) == addr  # QEMU up to 7.2 does not write SFAR


@needs_qemu
def test_a_call_past_the_veneers_faults(probing: tuple[Path, ProjectInfo]) -> None:
    with pytest.raises(TargetError, match=r"elsewhere than at a veneer's SG .*INVEP"):
        run(probing, NO_VENEER)


@needs_qemu
def test_a_bus_fault_is_the_secure_images_to_report(probing: tuple[Path, ProjectInfo]) -> None:
    told = rf"BusFault: non-secure code .*refused, 0x{NOWHERE:08x} .*PRECIS"
    with pytest.raises(TargetError, match=told):
        run(probing, NOTHING)


@needs_qemu
def test_so_is_every_other_fault(probing: tuple[Path, ProjectInfo]) -> None:
    undefinstr = 1 << 16
    told = rf"processor fault of non-secure code at 0x\w+ \(CFSR 0x{undefinstr:08x}\)"
    with pytest.raises(TargetError, match=told):
        run(probing, UNDEFINED)


@needs_qemu
def test_without_the_firmware_the_secure_image_says_so(
    probing: tuple[Path, ProjectInfo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf, _ = probing
    monkeypatch.setattr(qemu, "images", lambda elf, _board: (elf.with_name("secure.elf"),))
    with pytest.raises(TargetError, match="secure image stopped: there is no non-secure firmware"):
        run(probing, ALLOWED)
    assert elf.is_file()


@needs_qemu
def test_a_report_of_a_cortex_m33_says_what_was_confirmed(tmp_path: Path) -> None:
    network = image_net(tmp_path / "image_net.tflite")
    asked = recipe(network, board="mps2-an505", security=Security.NON_SECURE, check=False)
    report = flow.verify(asked, flow.RunOptions(Inputs(None, 2, 1)), watch=Watch())
    assert isinstance(report, Report) and report.passed and report.secure_side
    told = report.as_json()["security"]
    assert told["state"] == "non-secure"
    assert len(told["confirmed"]) == len(Evidence) - 2  # without an NPU
    assert 0 < told["secure_flash_bytes"] < 4096
    assert report.findings["security"].startswith("non-secure; the secure image confirms a non-")
    assert str(told["secure_ram_bytes"]) in report.findings["secure"]


def test_a_build_without_the_secure_image_is_refused(board: Board, tmp_path: Path) -> None:
    elf = tmp_path / "firmware.elf"
    with pytest.raises(InputError, match=r"no '.*secure\.elf', which starts .* ethosgen build"):
        images(elf, board)
    elf.with_name("secure.elf").touch()
    assert images(elf, board) == (elf.with_name("secure.elf"), elf)
    assert images(elf, load_board("corstone300")) == (elf,)


def info_of(board: Board, tmp_path: Path) -> ProjectInfo:
    directory = tmp_path / "project"
    write(render(make_program(), board), directory)
    return open_project(directory)


def test_all_evidence_is_needed(board: Board, tmp_path: Path) -> None:
    info = info_of(board, tmp_path)
    everything = sum(Evidence)
    check_security(everything, info)
    for proof in Evidence:
        with pytest.raises(TargetError, match=r"does not confirm [^,]+; see secure/trustzone\.c"):
            check_security(everything & ~proof, info)
    without = dataclasses.replace(info, npu=NO_NPU)
    assert len(expected_evidence(without)) == len(Evidence) - 2
    check_security(everything & ~Evidence.NPU & ~Evidence.NPU_IRQ, without)
    with pytest.raises(TargetError, match="does not confirm a non-secure caller"):
        check_security(0, without)


def test_secure_firmware_needs_none(tmp_path: Path) -> None:
    check_security(0, info_of(load_board("corstone300"), tmp_path))
