"""The non-secure view of a board, and the rules for what its secure side is told."""

from pathlib import Path
from typing import Any

import pytest

from ethosgen.board import Board, board_names, load_board
from ethosgen.board.facts import BoardMemory
from ethosgen.board.trustzone import Trustzone
from ethosgen.values.errors import InputError
from ethosgen.values.security import Security
from tests.support.command_line import ethosgen


def told(board: Board) -> Trustzone:
    assert board.trustzone is not None
    return board.trustzone


@pytest.fixture(scope="module")
def secure() -> Board:
    return load_board("corstone300")


@pytest.fixture(scope="module")
def non_secure(secure: Board) -> Board:
    return secure.in_state(Security.NON_SECURE)


def test_every_address_loses_the_bit_of_the_idau(secure: Board, non_secure: Board) -> None:
    bit = 1 << told(secure).secure_bit
    assert secure.npu and non_secure.npu and secure.console and non_secure.console
    pairs = [
        (secure.npu.base_addr, non_secure.npu.base_addr),
        (secure.console.base_addr, non_secure.console.base_addr),
        *((a.base_addr, b.base_addr) for a, b in zip(secure.links, non_secure.links, strict=True)),
    ]
    assert all(
        address is not None and address & bit and other == address - bit for address, other in pairs
    )
    assert non_secure.counter and non_secure.counter.value_addr == told(secure).counter_value_addr
    assert (secure.npu.secure, non_secure.npu.secure) == (True, False)
    assert (secure.is_non_secure, non_secure.is_non_secure) == (False, True)
    assert non_secure.in_state(Security.NON_SECURE) is non_secure
    assert secure.in_state(Security.SECURE) is secure


def test_the_secure_image_keeps_the_start_of_two_memories(secure: Board, non_secure: Board) -> None:
    bit = 1 << told(secure).secure_bit
    kept = {part.memory: part.size_bytes for part in (told(secure).code, told(secure).data)}
    assert kept

    def left(name: str, memory: BoardMemory) -> tuple[int, int]:
        return memory.start_addr - bit + kept.get(name, 0), memory.size_bytes - kept.get(name, 0)

    for name, memory in secure.memories.items():
        other = non_secure.memories[name]
        assert (other.start_addr, other.size_bytes) == left(name, memory)


def test_the_npu_model_moves_to_memory_of_the_other_state(secure: Board, non_secure: Board) -> None:
    first, other = (board.run.qemu for board in (secure, non_secure))
    assert first and other and first.npu_base_addr and other.npu_base_addr
    assert other.npu_base_addr == first.npu_base_addr - (1 << told(secure).secure_bit)
    assert other.shared == first.shared.model_copy(  # type: ignore[union-attr]
        update={"npu_base_addr": other.npu_base_addr, "bell": other.bell}
    )


def test_it_survives_the_manifest(non_secure: Board) -> None:
    assert Board.model_validate(non_secure.model_dump(mode="json")) == non_secure


def test_only_bare_metal_has_a_secure_side(non_secure: Board) -> None:
    assert non_secure.platforms == ["baremetal"]
    assert not non_secure.run.zephyr and non_secure.cmsis is None


def test_a_board_without_the_table_names_those_with_it() -> None:
    with pytest.raises(
        InputError, match=r"no \[trustzone\].* use corstone300 or mps2-an505, or add"
    ):
        load_board("microbit").in_state(Security.NON_SECURE)
    for name in board_names():
        assert load_board(name).in_state(Security.SECURE).security is Security.SECURE


def changed(board: Board, path: str, value: object) -> dict[str, Any]:
    facts = board.model_dump()
    *tables, last = path.split(".")
    table: Any = facts
    for name in tables:
        table = table[int(name)] if isinstance(table, list) else table[name]
    table[last] = value
    return facts


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("trustzone.mpcs.0.memory", "moon", "trustzone.mpcs.0.memory: there is no memory 'moon'"),
        ("trustzone.tgus.1.memory", "moon", "trustzone.tgus.1.memory: there is no memory 'moon'"),
        ("trustzone.code.memory", "isram", "trustzone.code.memory: must be 'itcm'"),
        ("trustzone.data.size_bytes", 1 << 24, "leaves nothing of 'dtcm'"),
        ("trustzone.data.size_bytes", 40, "must be a multiple of 32"),
        ("memories.isram.start_addr", 0x21000000, "isram.start_addr: is not secure, by bit 28"),
        ("cpu.core", "cortex-m7", "a cortex-m7 has no TrustZone"),
    ],
)
def test_contradictions(secure: Board, path: str, value: object, fault: str) -> None:
    with pytest.raises((ValueError, InputError)) as error:
        Board.model_validate(changed(secure, path, value)).in_state(Security.NON_SECURE)
    assert fault in str(error.value)


def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    network = tmp_path / "n.tflite"
    network.write_bytes(b"no network is needed")
    asked = ("project", network, "--security", "non-secure")
    ended = ethosgen(*asked, "--board", "microbit")
    assert ended.returncode == 2
    assert "board 'microbit' has no [trustzone]" in ended.stderr
    ended = ethosgen(*asked, "--npu", "none", "--platform", "library")
    assert ended.returncode == 2
    assert "--security non-secure needs a board" in ended.stderr
