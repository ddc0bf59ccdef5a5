"""Several devices of one accelerator: declarations that are refused, and what each call gets."""

from pathlib import Path

import pytest

from ethosgen.backend import load_wrapped
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import changed
from tests.support.twin_accelerator import TOML, write_twins

BOARD = "[device.boards.corstone300]\nbase = {}\nirq = {}\n\n[[operator]]"
REFUSED = {
    "more instances than addresses": (
        "[[operator]]",
        BOARD.format("0x58103000", 57),
        r"boards.corstone300.base: the device has 2 instances, but 1 address; give each its own",
    ),
    "more addresses than instances": (
        "[[operator]]",
        BOARD.format("[0x58103000, 0x58104000, 0x58105000]", "[57, 58]"),
        "the device has 2 instances, but 3 addresses; give each its own",
    ),
    "one address twice": (
        "[[operator]]",
        BOARD.format("[0x58103000, 0x58103000]", "[57, 58]"),
        "boards.corstone300.base: two instances have the same address",
    ),
    "too few interrupts": (
        "[[operator]]",
        BOARD.format("[0x58103000, 0x58104000]", "57"),
        "boards.corstone300.irq: the device has 2 instances, but 1 interrupt; give each its own, "
        "or none",
    ),
    "too many instances": ("instances = 2", "instances = 99", "line 9: device.instances: "),
    "an unknown term": (
        '"instance", "input"',
        '"instances", "input"',
        r"arguments: 'instances' has the unknown name 'instances' \(did you mean .*'instance'",
    ),
    "a driver that is not told": (
        '"instance", "input"',
        '"input"',
        r"arguments: the device has 2 instances, but no argument tells twin_conv\(\) which one to "
        'use; add "instance"',
    ),
    "a predicate for one of them": (
        '"input_channels == weights_channels"',
        '"instance == 0"',
        "where: 'instance == 0' uses 'instance', which only arguments may",
    ),
    "a memory that they would share": (
        "[device]",
        '[memory.local]\nbytes = 8\nsymbol = "m"\ncopy_in = "a"\ncopy_out = "b"\n\n[device]',
        "memory.local: the instances of a device would share it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_declaration_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    old, new, message = REFUSED[case]
    folder = write_twins(tmp_path, tmp_path / "told", toml=TOML)
    (folder / "accelerator.toml").write_text(changed(old, new, TOML))
    with pytest.raises(InputError, match=message) as refusal:
        load_wrapped(str(folder))
    assert "\n" not in str(refusal.value)


def compiled(net: NetworkBuilder, folder: Path, *outputs: int) -> Plan:
    network = parse_network(net.build(*outputs), "net.tflite")
    return load_wrapped(str(folder)).compile(plan_cpu_only(network, IoStyle.ARENA), {})


def test_independent_calls_get_different_devices_and_dependent_ones_the_same(
    tmp_path: Path,
) -> None:
    folder = write_twins(tmp_path, tmp_path / "told", 3)
    net = NetworkBuilder("net")
    x = net.input((1, 12, 12, 8))
    ends = [net.conv2d(x, 8, (3, 3), padding="VALID") for _ in range(3)]
    ends = [net.conv2d(net.relu(end), 8, (3, 3), padding="VALID") for end in ends]
    partitions = compiled(net, folder, *ends).partitions
    assert [p.instance for p in partitions] == [0, 1, 2, 0, 1, 2]
    for partition in partitions:
        assert partition.call.arguments[0] == partition.call.awaited_instance == partition.instance
        assert partition.unit == f"twin[{partition.instance}]"


def test_each_device_has_its_address_and_its_name_in_c(tmp_path: Path) -> None:
    folder = write_twins(tmp_path, tmp_path / "told")
    places = BOARD.format("[0x58103000, 0x58104000]", "[57, 58]")
    (folder / "accelerator.toml").write_text(changed("[[operator]]", places, TOML))
    devices = load_wrapped(str(folder)).devices
    assert [(d.label, d.symbol, d.c_name) for d in devices] == [
        ("twin[0]", "ethosgen_device_twin[0]", "twin_0"),
        ("twin[1]", "ethosgen_device_twin[1]", "twin_1"),
    ]
    assert [d.places["corstone300"].base_addr for d in devices] == [0x58103000, 0x58104000]
    assert [d.places["corstone300"].irq for d in devices] == [57, 58]
