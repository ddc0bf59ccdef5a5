"""The walk through the arena: all that ethosgen plans passes, and each mutation of it is found."""

import copy
import json
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.board import load_board
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.flow.planning import make_program as compiled
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.project.memory_facts import memory_facts
from ethosgen.proof.commands import accesses
from ethosgen.proof.ownership import Ownership, WrongAccessError
from ethosgen.proof.stream import REGISTERS
from ethosgen.values.plan import IoStyle, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.corpus.wild.graph import make_network
from tests.support.networks import NetworkBuilder

KWS = ROOT / "demo" / "kws_int8.tflite"
CORES = {"none": "mps2-an386", "u55": "corstone300", "u65": "corstone300", "u85": "corstone320"}
HEADER = 8

Facts = dict[str, Any]


@cache
def planned(data: bytes, npu: str, io: IoStyle = IoStyle.ARENA) -> tuple[str, Plan]:
    """Return the facts of a network's memory as JSON, and its plan."""
    board = load_board(CORES["none" if npu == "none" else npu.split("-")[1]])
    accelerator = None if npu == "none" else find_accelerator(npu)
    mode = board.choose_memory_mode(None, accelerator)
    settings = PlanSettings(accelerator, OffloadOptions(check=False), io).on(board, mode)
    plan = make_plan(decode_network(data, "net"), settings, Watch())
    return json.dumps(memory_facts(compiled(plan, Watch()))), plan


def fault(facts: Facts, streams: list[bytes]) -> str:
    try:
        Ownership(facts, lambda number: accesses(streams[number])).walk()
    except WrongAccessError as error:
        return str(error)
    except ValueError as error:
        return f"damaged: {error}"
    return ""


def streams_of(plan: Plan) -> list[bytes]:
    return [blob.data for blob in plan.blobs if blob.name.startswith("commands_")]


def read(path: Path, npu: str, io: IoStyle = IoStyle.ARENA) -> tuple[Facts, list[bytes]]:
    text, plan = planned(path.read_bytes(), npu, io)
    return json.loads(text), streams_of(plan)


@pytest.mark.parametrize("io", list(IoStyle))
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128", "ethos-u65-512", "ethos-u85-1024"])
@pytest.mark.parametrize("name", ["kws_int8", "digits_int8", "vibration_int8"])
def test_demo_networks_pass(name: str, npu: str, io: IoStyle) -> None:
    assert fault(*read(ROOT / "demo" / f"{name}.tflite", npu, io)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_pass(seed: int) -> None:
    """With LSTMs, variables, several partitions, and tensors of the CPU between them."""
    npu = ("none", "ethos-u55-128", "ethos-u65-256", "ethos-u85-256")[seed % 4]
    text, plan = planned(make_network(seed).data, npu)
    assert fault(json.loads(text), streams_of(plan)) == ""


def together(facts: Facts, other: Facts) -> int:
    return 1 + min(facts["last"], other["last"]) - max(facts["first"], other["first"])


def test_each_block_that_moves_onto_another_is_found() -> None:
    """Blocks that share two steps or more cannot be where the other is, unless they are one."""
    net = NetworkBuilder("net")
    x = net.conv2d(net.input((1, 8, 8, 4)), 8, (3, 3))
    y = net.conv2d(net.max_pool(x, (1, 1), (1, 1)), 8, (3, 3))
    text, _ = planned(net.build(net.add(net.add(x, y), net.conv2d(y, 8, (1, 1)))), "none")
    facts = json.loads(text)
    moves = [{*step["reads"], *step["writes"]} for step in facts["steps"] if step["is_move"]]
    tried = 0
    for index, first in enumerate(facts["blocks"]):
        for second in facts["blocks"]:
            is_one = any({first["tensor"], second["tensor"]} <= pair for pair in moves)
            if first is second or is_one or together(first, second) < 2:
                continue
            changed = copy.deepcopy(facts)
            changed["blocks"][index]["offset"] = second["offset"]
            assert fault(changed, []), (first["name"], second["name"])
            tried += 1
    assert tried >= 6


@pytest.mark.parametrize("step", range(1, 12))
def test_an_output_that_begins_too_near_behind_its_input_is_found(step: int) -> None:
    """A kernel that reads ahead by `distance` bytes must not find them overwritten."""
    facts, _ = read(KWS, "none")
    access = facts["steps"][step]
    blocks = {block["tensor"]: block for block in facts["blocks"] if block["kind"] == "tensor"}
    source, target = (blocks[access[end][0]] for end in ("reads", "writes"))
    target["offset"] = source["offset"] - min(access["distance"], target["bytes"]) + 1
    target["offset"] += bool(access["over"])  # there it may be
    if target["offset"] < 0:
        for block in facts["blocks"]:
            block["offset"] += source["offset"] + 4096
        facts["arena"] += source["offset"] + 8192
    assert fault(facts, [])


def test_a_step_that_is_left_out_is_found() -> None:
    facts, _ = read(KWS, "none")
    for number, step in enumerate(facts["steps"]):
        if not step["is_move"]:
            changed = copy.deepcopy(facts)
            changed["steps"][number]["reads"] = changed["steps"][number]["writes"] = []
            assert "nothing has written" in fault(changed, []) or "overwritten" in fault(
                changed, []
            )


def words_of(stream: bytes) -> list[int]:
    return [word for (word,) in struct.iter_unpack("<I", stream)]


def commands(words: list[int]) -> Iterator[tuple[int, str]]:
    """Yield the place and the register of each command that decides about memory."""
    names: dict[int, list[str]] = {}
    for name, number in REGISTERS.items():
        names.setdefault(number, []).append(name)
    place = HEADER
    while place < len(words):
        word = words[place]
        number = word & 0x3FF | word & 0x4000
        if number in names and (word & 0x3FF >= 0x100 or word & 0x4000):
            yield place, names[number][0]
        place += 1 + (word >> 14 & 3)


def larger(words: list[int], place: int, more: int) -> list[int]:
    changed = list(words)
    if words[place] & 0x4000:
        changed[place + 1] = words[place + 1] + more & 0xFFFFFFFF
    else:
        changed[place] = words[place] + (more << 16) & 0xFFFFFFFF
    return changed


FAR = {
    "IFM_BASE0": 1 << 20,
    "OFM_BASE0": 1 << 20,
    "IFM_STRIDE_Y": 1 << 20,
    "OFM_STRIDE_Y": 1 << 20,
    "IFM_DEPTH_M1": 1 << 14,
    "OFM_HEIGHT_M1": 1 << 14,
    "OFM_WIDTH_M1": 1 << 14,
    "OFM_REGION": 2,
    "IFM_REGION": 2,
}
"""Registers, and how much more is surely too much."""


def in_ram(facts: Facts, stream: bytes) -> list[tuple[int, int]]:
    """Return where a stream's accesses begin and end; the ELF's table bounds those of constants."""
    bases = facts["steps"][0]["bases"]
    return [(a.low, a.end) for a in accesses(stream) if bases[a.region] != "weights"]


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_commands_that_are_far_off_are_found(npu: str) -> None:
    facts, (stream,) = read(KWS, npu)
    words, tried = words_of(stream), dict.fromkeys(FAR, 0)
    for place, name in commands(words):
        if name not in FAR:
            continue
        worse = struct.pack(f"<{len(words)}I", *larger(words, place, FAR[name]))
        if in_ram(facts, worse) != in_ram(facts, stream):
            assert fault(facts, [worse]), (name, place)
            tried[name] += 1
    assert sum(tried.values()) > 20, tried
    assert tried["IFM_BASE0"] and tried["OFM_BASE0"] and tried["OFM_HEIGHT_M1"], tried


Change = Callable[[Facts], None]


def _smaller_scratch(facts: Facts) -> None:
    (scratch,) = (block for block in facts["blocks"] if block["kind"] == "npu")
    scratch["bytes"] -= 64


def _moved_input(facts: Facts) -> None:
    inputs = [block for block in facts["blocks"] if block["tensor"] in facts["inputs"]]
    inputs[0]["offset"] -= 16


def _constants(facts: Facts) -> None:
    bases = facts["steps"][0]["bases"]
    bases[bases.index("scratch")] = "weights"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_smaller_scratch, "leaves 'scratch', with its"),
        (_moved_input, "reads bytes that nothing has written"),
        (_constants, "is in region 1: weights"),
    ],
)
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_memory_that_does_not_fit_a_stream_is_found(npu: str, change: Change, words: str) -> None:
    facts, streams = read(KWS, npu)
    change(facts)
    with pytest.raises(WrongAccessError, match=words):
        Ownership(facts, lambda number: accesses(streams[number])).walk()


@pytest.mark.parametrize("size", [0, 8, 37])
def test_a_stream_that_is_cut_off_is_refused(size: int) -> None:
    facts, (stream,) = read(KWS, "ethos-u55-128")
    assert fault(facts, [stream[:size]]) == "damaged: it is cut off"


STEP: Facts = {"is_move": False, "over": [], "distance": None, "npu": None, "bases": []}


def chain(*steps: Facts, blocks: list[tuple[str, int, int]], arena: int = 64) -> Facts:
    """Return facts of tensors 0, 1 … at offsets, with sizes, live throughout."""
    life = {"first": 0, "last": len(steps) - 1}
    return {
        "arena": arena,
        "inputs": [0],
        "outputs": [len(blocks) - 1],
        "blocks": [
            {"kind": kind, "name": f"t{i}", "tensor": i, "offset": at, "bytes": size, **life}
            for i, (kind, at, size) in enumerate(blocks)
        ],
        "steps": [
            {**STEP, "name": f"S{i}", "until": i + 1, **step} for i, step in enumerate(steps)
        ],
    }


def test_an_input_that_is_overwritten_where_it_is_read() -> None:
    step = {"reads": [0], "writes": [1]}
    held = [("tensor", 0, 16), ("tensor", 0, 16)]
    assert "writes 't1' over 't0' while it reads it" in fault(chain(step, blocks=held), [])
    assert fault(chain({**step, "over": [0]}, blocks=held), []) == ""
    assert fault(chain({**step, "distance": 0}, blocks=held), []) == ""
    assert fault(chain({**step, "distance": 1}, blocks=held), [])
    higher = [("tensor", 8, 16), ("tensor", 0, 16)]
    for unit, words in ((4, ""), (3, "writes 't1' over 't0' while it reads it")):
        assert words in fault(chain({**step, "distance": 4, "unit": unit}, blocks=higher), [])
    assert fault(chain({**step, "distance": 4, "unit": 8}, blocks=higher), []) == ""
    backward = {**step, "distance": 8, "is_backward": True}
    assert fault(chain(backward, blocks=higher), [])
    assert fault(chain(backward, blocks=higher[::-1]), []) == ""
    after = {"reads": [0, 1], "writes": [2]}
    twice = chain({**step, "over": [0]}, after, blocks=[*held, ("tensor", 32, 16)])
    assert "S1 reads 't0' at byte 0 of the arena, that 't1' has overwritten" in fault(twice, [])


def test_a_step_disturbs_an_accelerator_that_is_at_work() -> None:
    steps = (
        {"reads": [0], "writes": [1], "until": 2},
        {"reads": [], "writes": [2]},
        {"reads": [1, 2], "writes": [3]},
    )
    apart = [("tensor", 0, 16), ("tensor", 16, 16), ("tensor", 32, 16), ("tensor", 48, 16)]
    assert fault(chain(*steps, blocks=apart), []) == ""
    onto = [*apart[:2], ("tensor", 0, 16), apart[3]]
    assert "S1 writes where S0 is still at work" in fault(chain(*steps, blocks=onto), [])


def test_each_of_two_accelerators_that_are_awaited_at_one_step_counts() -> None:
    steps = (
        {"reads": [0], "writes": [1], "until": 3},
        {"reads": [0], "writes": [2], "until": 3},
        {"reads": [], "writes": [3]},
        {"reads": [1, 2, 3], "writes": [4]},
    )
    held = [("tensor", 16 * at, 16) for at in (0, 1, 2, 3, 4)]
    assert fault(chain(*steps, blocks=held, arena=80), []) == ""
    for place, name in ((1, "S0"), (2, "S1")):
        onto = [*held[:3], ("tensor", 16 * place, 16), held[4]]
        assert f"S2 writes where {name} is still at work" in fault(
            chain(*steps, blocks=onto, arena=80), []
        )


def test_outputs_and_devices_of_what_still_runs_are_taboo() -> None:
    steps = (
        {"reads": [0], "writes": [1], "until": 3, "device": "a[0]"},
        {"reads": [0], "writes": [2], "until": 3, "device": "a[1]"},
        {"reads": [0], "writes": [3], "device": "b"},
        {"reads": [1, 2, 3], "writes": [4]},
    )
    held = [("tensor", 16 * at, 16) for at in (0, 1, 2, 3, 4)]
    assert fault(chain(*steps, blocks=held, arena=80), []) == ""
    again = [*steps[:2], {**steps[2], "device": "a[0]"}, steps[3]]
    assert "a[0] is still at work on S0 at the start of S2" in fault(
        chain(*again, blocks=held, arena=80), []
    )
    early = [*steps[:2], {**steps[2], "reads": [2]}, steps[3]]
    assert "S2 reads what S1 is still writing" in fault(chain(*early, blocks=held, arena=80), [])


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-1024"])
def test_a_stream_does_not_write_where_an_accelerator_is_at_work(npu: str) -> None:
    facts, streams = read(KWS, npu)
    start = {**STEP, "name": "start", "reads": [], "writes": [99], "device": "a"}
    for item in (*facts["blocks"], *facts["steps"]):
        for key in {"first", "last", "until"} & item.keys():
            item[key] += 1
    facts["steps"].insert(0, {**start, "until": len(facts["steps"]) + 1})
    (scratch,) = (block for block in facts["blocks"] if block["kind"] == "npu")
    place = {"kind": "tensor", "name": "t", "tensor": 99, "bytes": 16, "first": 0, "last": 99}
    facts["blocks"].append({**place, "offset": facts["arena"]})
    facts["arena"] += 16
    assert fault(facts, streams) == ""
    facts["blocks"][-1]["offset"] = scratch["offset"]
    assert "stream writes where start is still at work" in fault(facts, streams)


def test_a_workspace_that_a_step_overwrites() -> None:
    held = [("tensor", 0, 16), ("tensor", 16, 16)]
    facts = chain({"reads": [0], "writes": [1]}, blocks=held)
    space = {"kind": "workspace", "name": "w", "tensor": None, "bytes": 8, "first": 0, "last": 0}
    facts["blocks"].append({**space, "offset": 24})
    assert "S0 writes into 'w'" in fault(facts, [])
    facts["blocks"][-1]["offset"] = 8
    assert "S0 reads 't0' at byte 8 of the arena, that 'w' has overwritten" in fault(facts, [])
