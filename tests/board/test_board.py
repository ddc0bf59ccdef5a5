"""Boards: reading board files, and the messages about wrong ones."""

import json
from pathlib import Path

import pytest

from ethosgen.board import board_names, board_schema, load_board, start_board_file
from ethosgen.values.errors import InputError
from tests import ROOT

CORSTONE300 = (ROOT / "boards" / "corstone300.toml").read_text()
BOARDS = (
    "aarch64-linux alif-e7-he alif-e7-hp alif-e8-hp corstone300 corstone310 corstone315 "
    "corstone320 himax-we2 imx93-m33 microbit mps2-an385 mps2-an386 mps2-an500 mps2-an505 "
    "mps2-an521 nrf52840dk nrf5340dk nucleo-f446re nucleo-f746zg nucleo-h743zi nucleo-u575zi "
    "psoc-e84 qemu-cortex-m0 qemu-cortex-m0plus qemu-cortex-m3 ra8p1 rpi-pico rpi-pico2"
).split()


def write_board(path: Path, *changes: tuple[str, str]) -> str:
    text = CORSTONE300
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = path / "mine.toml"
    file.write_text(text)
    return str(file)


def test_every_board_that_comes_with_ethosgen_loads() -> None:
    assert board_names() == BOARDS
    for name in board_names():
        assert load_board(name).name == name


def test_corstone300_has_the_facts_of_its_manual() -> None:
    board = load_board("corstone300")
    assert board.cpu.core == "cortex-m55"
    assert (board.npu.base_addr, board.npu.irq) == (0x58102000, 56)
    assert board.accelerator(None).name == "ethos-u55-128"
    assert board.memories["isram"].size_bytes == 2 << 20


def test_a_file_of_the_users_is_a_board_of_its_name(tmp_path: Path) -> None:
    assert load_board(write_board(tmp_path)).name == "mine"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown board 'corstone999'.*; .*corstone300"):
        load_board("corstone999")


@pytest.mark.parametrize("name", ["../corstone300", "", ".", "corstone300.TOML"])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(InputError, match="unknown board"):
        load_board(name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.toml.*No such file"):
        load_board(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('core = "cortex-m55"', 'core = "cortex-m1"'), r"cpu\.core: .*cortex-m33"),
        (('core = "cortex-m55"', 'core = "cortex-m0"'), r"cpu\.dcache: a cortex-m0 has no data"),
        (('core = "cortex-m55"', 'core = "cortex-m55"\ndsp = false'), r"cpu\.dsp: a cortex-m55 al"),
        (('commands = "ddr"\n', ""), r"placements\.shared_sram\.commands: missing"),
        (('memory_backend = "ddr"\n', ""), r"run\.qemu\.memory_backend: missing; the memory of"),
        (('core = "cortex-m55"', 'core = "cortex-m33"'), r"cpu\.dcache: a cortex-m33 has no"),
        (("[cpu]", "[cpu]\nmve = 1"), r"cpu\.mve: .*true or false"),
        (("irq = 56", 'irq = "56"'), r"npu\.irq: .*whole number"),
        (("irq = 56", "irq = 481"), r"npu\.irq: .*less than 480"),
        (("irq = 56", ""), r"npu\.irq: missing, but platforms has \"baremetal\""),
        (("\nsecure = true", ""), r"npu\.secure: it is missing; add it"),
        (('(MPS3 AN547)"', '\\nAN547"'), "description: must be one line of plain text"),
        (('(MPS3 AN547)"', '*/"'), "description: must be one line of plain text"),
        (('(MPS3 AN547)"', '\\"\\"\\""'), "description: must be one line of plain text"),
        (("[memories.dtcm]", '[memories."d tcm"]'), r"memories\.d tcm: it must match"),
        (
            ("[memories.dtcm]", '[memories."dtc\u00e9"]'),
            r"memories\.dtc\u00e9: it must match",
        ),
        (("[memories.dtcm]", "[memories.ITCM]"), r"memories\.ITCM: differs from memories\.itcm"),
        (('device = "ARM::', 'device = "ARM::A\\n'), r"cmsis\.device: it must match"),
        (("[cpu]", "[cpu]\ncolour = 1"), r"cpu\.colour: there is no such field .*; remove it"),
        (("size_bytes = 0x00080000", "size_bytes = 0"), r"memories\.itcm\.size_bytes: .*greater"),
        (("base_addr = 0x58102000", "base_addr = 0x58102001"), r"npu\.base_addr: .*multiple of 4"),
        (
            ('"ethos-u55-32"', '"ethos-u55-31"'),
            r"npu\.configurations: 'ethos-u55-31' is not an NPU",
        ),
        (('default = "ethos-u55-128"', 'default = "ethos-u85-64"'), r"npu\.default: 'ethos-u85"),
        (('arena = "isram"', 'arena = "sram9"'), r"shared_sram\.arena: .*no memory 'sram9'"),
        (('arena = "isram"', 'arena = "dtcm"'), r"shared_sram\.arena: the NPU does not reach"),
        (('arena = "isram"', 'arena = "ddr"'), r"shared_sram\.arena: 'ddr' is dram, not SRAM"),
        (('weights = "ddr"', 'weights = "isram"'), r"shared_sram\.weights: .*port 1"),
        (('fast = "isram"', ""), r"dedicated_sram\.fast: missing"),
        (('data = "dtcm"', 'data = "itcm"'), r"shared_sram\.data: 'itcm' is not writable"),
        (('code = "itcm"', 'code = "dtcm"'), r"shared_sram\.code: 'dtcm' is not executable"),
        (("[placements.shared_sram]", "[placements.sram]"), r"placements\.sram: .*'sram_only'"),
        (
            ("start_addr = 0x30000000", "start_addr = 0x10040000"),
            r"memories\.dtcm: overlaps 'itcm'",
        ),
        (("start_addr = 0x70000000", "start_addr = 0xf8000000"), r"ddr\.size_bytes: ends beyond"),
        (('npu_memory = "ddr"', 'npu_memory = "isram"'), r"npu_memory: 'isram' is not wholly"),
        (('npu_memory = "ddr"', 'npu_memory = "flash"'), r"npu_memory: there is no memory 'flash'"),
        (("npu_base_addr = 0x7fffe000", "npu_base_addr = 0x7ffff000"), r"must be 0x7fffe000, so"),
        (("[run.qemu]", '[run]\nstand_in = "x"\n[run.qemu]'), r"run\.stand_in: delete the line"),
        (("instruction_ns = 64", "instruction_ns = 50"), r"run\.qemu\.instruction_ns"),
        (
            ("is_combined = true", "is_combined = true\ntx_irq = 7"),
            r"links\[0\]\.tx_irq: rx_irq is combined and reports sending",
        ),
        (("is_combined = true", "tx_irq = 45"), r"links\[0\]\.tx_irq: it is rx_irq"),
        (
            ('uart = "cmsdk"', 'uart = "scb"'),
            r"console\.uart: bare-metal projects support only cmsdk",
        ),
        (
            ('reset = "none"', 'reset = "dtr"\nreset_command = ["x"]'),
            r"serial\.reset_command: excl",
        ),
        (
            ('"flash.pyocd"', '"flash.west"'),
            r"unverified: 'flash\.west' is not a fact of this file",
        ),
        (
            ('"baremetal", "zephyr"', '"baremetal"'),
            r"run\.zephyr: set both \"zephyr\" in platforms",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_field(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    with pytest.raises(InputError, match=rf"mine\.toml', line \d+: .*{said}") as caught:
        load_board(write_board(tmp_path, change))
    assert "\n" not in str(caught.value)


U85S = """
    "ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048","""


def test_without_an_ethos_u85_the_registers_take_one_page(tmp_path: Path) -> None:
    """As in projects and board files that are older than the model of U85's registers."""
    changes = ((U85S, ""), ("npu_base_addr = 0x7fffe000", "npu_base_addr = 0x7ffff000"))
    board = load_board(write_board(tmp_path, *changes))
    assert board.run.qemu is not None and board.run.qemu.npu_base_addr == 0x7FFFF000


def test_a_board_stands_in_on_qemu() -> None:
    board = load_board("corstone320")
    assert board.on_qemu is not None and board.on_qemu.name == "corstone300"
    assert board.for_platform("zephyr").on_qemu is None
    assert board.for_platform("baremetal", is_element=True).on_qemu is None
    own = load_board("corstone300")
    assert own.on_qemu is own and load_board("ra8p1").on_qemu is None


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ('stand_in = "corstone310"', "QEMU runs no board 'corstone310' with an NPU; choose from: "),
        ('stand_in = "none"', "QEMU runs no board 'none' with an NPU; choose from: "),
        ('stand_in = "mps2-an386"', "QEMU runs no board 'mps2-an386' with an NPU; choose from: "),
    ],
)
def test_only_what_qemu_runs_stands_in(tmp_path: Path, run: str, said: str) -> None:
    text = (ROOT / "boards" / "corstone320.toml").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(text.replace('stand_in = "corstone300"', run))
    with pytest.raises(InputError, match=rf"board 'mine': run\.stand_in: {said}corstone300$"):
        load_board(str(file))


LINUX = (ROOT / "boards" / "aarch64-linux.toml").read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('platforms = ["linux"]', "platforms = []"), r'linux: set both "linux" in platforms and'),
        (('core = "aarch64"', 'core = "cortex-m55"'), r"cpu\.core: must be aarch64 for a board"),
        (('["linux"]', '["linux", "baremetal"]'), r'platforms: a board with "linux" has no other'),
        (("[linux]", "dcache = true\n[linux]"), r"cpu\.dcache: Linux manages the caches"),
        (('"aarch64-linux-gnu"', '"gcc; rm"'), r"linux\.compiler: it must match"),
        (
            ("[memories.ram]", '[console]\nuart = "dw"\nbaud = 9600\n[memories.ram]'),
            r"console: Linux has its own driver for it; delete the table",
        ),
    ],
)
def test_what_is_wrong_with_linux_is_named(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert LINUX.count(change[0]) == 1
    file = tmp_path / "mine.toml"
    file.write_text(LINUX.replace(*change))
    with pytest.raises(InputError, match=rf"mine\.toml', line \d+: .*{said}"):
        load_board(str(file))


def test_a_register_to_await_needs_a_mask_and_possible_bits(tmp_path: Path) -> None:
    write = '[[cpu.setup]]\naddr = 0x40000000\nwhy = "x"\n{}\n[npu]'
    for more, said in (
        ("await_addr = 0x40000000", "await_mask: set await_addr and await_mask together"),
        ("await_addr = 0\nawait_mask = 2\nawait_bits = 1", "await_bits: has bits that await_mask"),
    ):
        with pytest.raises(InputError, match=rf"cpu\.setup\[0\]\.{said}"):
            load_board(write_board(tmp_path, ("[npu]", write.format(more))))


def test_an_rp2040_needs_room_for_its_second_stage(tmp_path: Path) -> None:
    change = ('core = "cortex-m55"', 'core = "cortex-m55"\nboot = "rp2040"')
    with pytest.raises(InputError, match=r"cpu\.boot: an RP2040 needs memories\.boot2, of 256 b"):
        load_board(write_board(tmp_path, change))


def test_the_dwt_is_where_the_architecture_has_it(tmp_path: Path) -> None:
    dwt = ("[counter]\n", '[counter]\nkind = "dwt"\n')
    ctrl = ("control_addr = 0x58100000", "control_addr = 0xe0001000")
    cyccnt = ("value_addr = 0x58100008", "value_addr = 0xe0001004")
    load_board(write_board(tmp_path, dwt, ctrl, cyccnt))
    with pytest.raises(
        InputError, match=r"counter\.control_addr: the DWT of a cortex-m55 is at 0xe"
    ):
        load_board(write_board(tmp_path, dwt, ctrl))


def test_an_armv6_m_has_no_cycle_counter(tmp_path: Path) -> None:
    text = (ROOT / "boards" / "rpi-pico.toml").read_text()
    old = 'kind = "systick"'
    assert text.count(old) == 1
    (tmp_path / "mine.toml").write_text(text.replace(old, 'kind = "dwt"'))
    with pytest.raises(
        InputError,
        match=r"counter\.kind: a cortex-m0plus has no DWT with a cycle counter; use its S",
    ):
        load_board(str(tmp_path / "mine.toml"))


def test_a_board_may_have_no_npu(tmp_path: Path) -> None:
    start, end = CORSTONE300.index("[npu]"), CORSTONE300.index("[memories.")
    without = (CORSTONE300[start:end], ""), (', "npu.clock_hz"]', "]")
    with pytest.raises(InputError, match=r"dedicated_sram\.fast: only an NPU has one; delete"):
        load_board(write_board(tmp_path, *without))
    page = ("npu_base_addr = 0x7fffe000", "npu_base_addr = 0x7ffff000")
    board = load_board(write_board(tmp_path, *without, page, ('fast = "isram"\n', "")))
    with pytest.raises(InputError, match=r"'mine' has no NPU; omit --npu or pass --npu none"):
        board.accelerator(None)
    with pytest.raises(InputError, match="'aarch64-linux' has no NPU: an Ethos-U under Linux"):
        load_board("aarch64-linux").accelerator("ethos-u55-128")


def test_the_line_is_the_fields_own_or_its_tables(tmp_path: Path) -> None:
    lines = CORSTONE300.splitlines()
    with pytest.raises(InputError, match=f"line {lines.index('irq = 56') + 1}: npu.irq"):
        load_board(write_board(tmp_path, ("irq = 56", "irq = 999")))
    with pytest.raises(InputError, match=f"line {lines.index('[npu]') + 1}: npu.secure"):
        load_board(write_board(tmp_path, ("\nsecure = true", "")))
    with pytest.raises(InputError, match=r"at line 2"):
        (tmp_path / "syntax.toml").write_text("a = 1\nb = \n")
        load_board(str(tmp_path / "syntax.toml"))


def test_an_npu_that_the_board_does_not_have(tmp_path: Path) -> None:
    board = load_board(write_board(tmp_path, ('"ethos-u65-256", "ethos-u65-512",', "")))
    assert board.accelerator("ethos-u55-32").macs == 32
    with pytest.raises(InputError, match=r"'mine' has no ethos-u65-256; it has: ethos-u55"):
        board.accelerator("ethos-u65-256")
    with pytest.raises(InputError, match="unknown NPU"):
        board.accelerator("ethos-u99")


def test_an_unknown_memory_mode() -> None:
    with pytest.raises(InputError, match=r"no memory mode 'Fast'; it has: shared_sram"):
        load_board("corstone300").placement("Fast")


@pytest.mark.parametrize("name", BOARDS)
def test_each_mode_is_what_vela_can_do(name: str) -> None:
    """Every mode of a board is offered for some NPU of it, and no U55 gets a dedicated SRAM."""
    board = load_board(name)
    for npu in board.npu.configurations if board.npu else ():
        accelerator = board.accelerator(npu)
        modes = board.memory_modes(accelerator)
        assert modes[0] == board.default_memory_mode == board.choose_memory_mode(None, accelerator)
        assert ("dedicated_sram" in modes) <= (accelerator.product != "u55")
        for mode in modes:
            assert board.choose_memory_mode(mode, accelerator) == mode
            assert board.memories_in(mode).mode == mode
    assert board.memory_modes(None)[0] == board.default_memory_mode


def test_a_mode_that_the_npu_cannot_do() -> None:
    board = load_board("corstone300")
    said = r"ethos-u55-128 does not support memory mode 'dedicated_sram'.*shared_sram, sram_only"
    with pytest.raises(InputError, match=said):
        board.choose_memory_mode("dedicated_sram", board.accelerator(None))
    u65 = board.accelerator("ethos-u65-256")
    assert board.choose_memory_mode("dedicated_sram", u65) == "dedicated_sram"
    assert board.memories_in("dedicated_sram").near_bytes == 2 << 20


def test_an_npu_that_can_do_none_of_the_boards_modes(tmp_path: Path) -> None:
    placements = CORSTONE300[: CORSTONE300.index("[placements.shared_sram]")]
    dedicated = CORSTONE300[CORSTONE300.index("[placements.dedicated_sram]") :]
    file = tmp_path / "mine.toml"
    file.write_text('default_memory_mode = "dedicated_sram"\n' + placements + dedicated)
    board = load_board(str(file))
    with pytest.raises(
        InputError, match=r"ethos-u55-128 does not support memory mode 'dedicated_sram'.*nothing"
    ):
        board.choose_memory_mode(None, board.accelerator("ethos-u55-128"))


def test_doubtful_facts_are_told_with_their_values() -> None:
    doubts = dict(load_board("psoc-e84").doubts())
    assert doubts["npu.base_addr"] is None
    assert doubts["npu.default"] == "ethos-u55-128"


def test_a_new_board_starts_as_a_copy_of_another(tmp_path: Path) -> None:
    path = start_board_file("mine", "corstone300", tmp_path)
    board = load_board(str(path))
    assert (board.name, board.memories) == ("mine", load_board("corstone300").memories)
    assert board.description == "mine (started as a copy of corstone300)"
    with pytest.raises(InputError, match=r"mine\.toml' exists"):
        start_board_file("mine", "corstone300", tmp_path)
    assert load_board(str(start_board_file("next", str(path), tmp_path))).name == "next"


@pytest.mark.parametrize("name", ["", "../up", "Big", "a b"])
def test_a_new_board_needs_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not a valid board name"):
        start_board_file(name, "corstone300", tmp_path)


def test_the_schema_for_editors_is_current() -> None:
    committed = (ROOT / "docs" / "board.schema.json").read_text()
    assert committed == board_schema(), "run: ethosgen boards schema > docs/board.schema.json"


def test_every_field_is_documented() -> None:
    schema = json.loads(board_schema())
    for title, table in {"board": schema, **schema["$defs"]}.items():
        for name, field in table["properties"].items():
            assert field.get("description"), f"{title}.{name}"
