"""Programs that are damaged, or that ethosgen cannot run: one sentence each, and nothing else."""

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.backend import compiled_for
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend import FRONT_ENDS, read_source, recognized
from ethosgen.frontend.pte.delegate import read_stream
from ethosgen.frontend.pte.identifier import FORMAT
from ethosgen.frontend.pte.program import Delegate, ProgramDecoder, PteProgram
from ethosgen.frontend.pte.reader import parse_network
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError, InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.mutations import mutate
from tests.support.networks import NetworkBuilder
from tests.support.program_file import ProgramFile, compile_raw, packed_blocks, vela_stream

MUTATIONS = 200
SHAPE = (1, 6, 6, 4)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = NetworkBuilder("small", 1)
    net.conv2d(net.input(SHAPE), 4)
    return compile_raw(tmp_path_factory.mktemp("raw"), net.build(), "ethos-u55-128")


@pytest.fixture(scope="module")
def stream(raw: Path) -> bytes:
    return vela_stream(raw)


def whole(stream: bytes, segments: bool = True) -> bytes:
    """A program with quantization at its ends and a constant."""
    program = ProgramFile()
    x, q = program.tensor(SHAPE, "float32"), program.tensor(SHAPE)
    y, z = program.tensor(SHAPE), program.tensor(SHAPE, "float32")
    flat = program.tensor((144,), "float32")
    program.quantize(x, q, 0.05, 3)
    program.call(stream, q, y, specs={"target": b"ethos-u55-128"})
    program.dequantize(y, z, 0.07, -2)
    program.kernel("aten::view_copy.out", z, program.integers([144]), flat, flat)
    held = program.tensor((4,), "float32", data=np.arange(4, dtype=np.float32).tobytes())
    return program.build([x], [flat, held], segments=segments)


def fate(data: bytes) -> str:
    """Say how far a program gets; anything but one sentence of an EthosgenError escapes."""
    stage = "read"
    try:
        network = parse_network(data, "mutant.pte")
        stage = "plan"
        plan = make_plan(network, PlanSettings(compiled_for(network)), Watch())
        stage = "run"
        samples = random_samples(network, 1, 0)
        simulate_samples(plan, samples, Watch())
    except EthosgenError as error:
        said = str(error)
        assert said and "\n" not in said and len(said) < 600, said
        return stage
    return "done"


@pytest.mark.slow
@pytest.mark.parametrize("segments", [False, True], ids=["inline", "segments"])
def test_two_hundred_damaged_programs(stream: bytes, segments: bool) -> None:
    data, random = whole(stream, segments), np.random.default_rng(13)
    assert fate(data) == "done"
    fates = Counter(fate(mutate(data, random)) for _ in range(MUTATIONS))
    assert sum(fates.values()) == MUTATIONS
    assert fates["read"] > MUTATIONS // 4 and fates["done"] > 0, fates


def test_every_truncation_is_said(stream: bytes) -> None:
    """Of both forms, since one ends with a segment, the other with the last table."""
    for segments in (False, True):
        data = whole(stream, segments).rstrip(b"\0")
        for length in range(0, len(data), 7):
            with pytest.raises(InputError) as caught:
                parse_network(data[:length], "cut.pte")
            assert "\n" not in str(caught.value) and "'cut.pte'" in str(caught.value)


def test_the_registry_knows_the_format(stream: bytes) -> None:
    data = whole(stream)
    front_end = recognized(data)
    assert front_end is not None and (front_end.name, front_end.suffixes) == (
        FORMAT,
        (".pte", ".bpte"),
    )
    network = read_source(Source(FORMAT, "whole.pte", data))
    assert network.source == Source(FORMAT, "whole.pte", data)
    assert sum(front_end.recognizes(data) for front_end in FRONT_ENDS) == 1


# ---- programs that are intact, but cannot be run ------------------------------------------------


def ends(program: ProgramFile) -> tuple[int, int]:
    return program.tensor(SHAPE), program.tensor(SHAPE)


def xnnpack(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(b"XNNP", x, y, backend="XnnpackBackend")
    return program.build([x], [y])


def two_backends(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    z, w = ends(program)
    program.call(stream, x, y)
    program.call(b"", y, z, backend="VulkanBackend")
    program.call(b"", z, w, backend="CoreMLBackend")
    return program.build([x], [w])


def no_delegate(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.kernel("aten::relu.out", x, y, y)
    return program.build([x], [y])


def lacking(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    z = program.tensor(SHAPE)
    program.call(stream, x, y)
    program.kernel("aten::convolution.out", y, z, z)
    return program.build([x], [z])


def tosa(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(b"\x08\0\0\0TOSA", x, y)
    return program.build([x], [y])


def fewer_outputs(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    z = program.tensor(SHAPE)
    program.call(stream, x, y, z)
    return program.build([x], [y, z])


def another_size(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor((1, 6, 6, 5)), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([x], [y])


def another_type(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor(SHAPE, "int16"), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([x], [y])


def bfloats(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor(SHAPE, "bfloat16"), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([x], [y])


def dynamic(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor(SHAPE, dynamism=1), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([x], [y])


def external(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor(SHAPE, location=1), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([program.tensor(SHAPE)], [y])


def state(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor(SHAPE, data=bytes(144), is_state=True), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([program.tensor(SHAPE)], [y])


def in_place(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(stream, x, y)
    program.call(stream, y, x)
    return program.build([x], [y])


def control(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.jump(x)
    program.call(stream, x, y)
    return program.build([x], [y])


def other_method(stream: bytes) -> bytes:
    program = ProgramFile()
    return program.build([], [], name="step")


def integer_input(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(stream, x, y)
    return program.build([x, program.integer(3)], [y])


def unwritten(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(stream, x, y)
    return program.build([program.tensor(SHAPE)], [y])


def short_constant(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = program.tensor(SHAPE, data=bytes(100)), program.tensor(SHAPE)
    program.call(stream, x, y)
    return program.build([program.tensor(SHAPE)], [y])


def newer(stream: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(stream, x, y)
    return program.build([x], [y], version=1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (xnnpack, "has parts for XnnpackBackend, which no Ethos-U runs; export it with EthosUPart"),
        (two_backends, "has parts for VulkanBackend and CoreMLBackend, which no"),
        (no_delegate, r"no Ethos-U delegate: .* all 1 instruction \(first aten::relu.out\)"),
        (lacking, "runs aten::convolution.out on the CPU, which ethosgen does not support"),
        (tosa, "holds TOSA instead of commands"),
        (fewer_outputs, "has 1 input and 1 output, but is called with 3 tensors"),
        (another_size, r"an input of 144 x 1 byte for a tensor int8 \[1, 6, 6, 5\]"),
        (another_type, "an input of 144 x 1 byte for a tensor int16"),
        (bfloats, "input 0 .* has ExecuTorch's type 15"),
        (dynamic, r"dynamic shape \(at most \[1, 6, 6, 4\]\)"),
        (external, "keeps constants in another file"),
        (state, "keeps state between runs"),
        (in_place, "keeps state between runs or overwrites a value"),
        (control, "has control flow"),
        (other_method, "has no method with instructions"),
        (integer_input, "input 1 of 'bad.pte' is not a tensor"),
        (unwritten, "reads value 0, which nothing has written"),
        (short_constant, "constant 0 lacks bytes"),
        (newer, "schema version 1"),
    ],
)
def test_what_cannot_be_run_is_said(
    stream: bytes, make: Callable[[bytes], bytes], says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_network(make(stream), "bad.pte")
    assert "\n" not in str(caught.value) and "'bad.pte'" in str(caught.value)


def test_several_methods_are_listed(stream: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    data = whole(stream)
    (method,) = ProgramDecoder(data, "two.pte").program().methods

    def give(*names: str) -> None:
        program = PteProgram(tuple(replace(method, name=name) for name in names))
        monkeypatch.setattr(ProgramDecoder, "program", lambda _self: program)

    give("encode", "decode")
    with pytest.raises(UnsupportedError, match=r"several methods \(encode, decode\)"):
        parse_network(data, "two.pte")
    give("encode", "forward")
    assert parse_network(data, "two.pte").graph.name == "forward"


def changed(raw: Path, **blocks: bytes) -> bytes:
    program = ProgramFile()
    x, y = ends(program)
    program.call(vela_stream(raw, **blocks), x, y)
    return program.build([x], [y])


def port(offset: int = 0, region: int = 1, shape: tuple[int, ...] = (1, 1, *SHAPE)) -> bytes:
    return struct.pack("<10i", 1, *shape, 1, offset, region)


@pytest.mark.parametrize(
    ("blocks", "says"),
    [
        ({"inputs": port(offset=1 << 20)}, "has an input outside its scratch"),
        ({"inputs": port(offset=-1)}, "has an input outside its scratch"),
        ({"outputs": port(region=4)}, "an output in region 4 instead of its scratch"),
        ({"inputs": port(region=3)}, "an input in region 3 instead of its scratch"),
        ({"inputs": struct.pack("<i", 1)}, "inputs have 4 bytes for 1"),
        ({"inputs": b""}, "inputs have 0 bytes for 0"),
        ({"scratch_size": b"\xff\xff\xff\xff"}, "takes 4095 MiB of scratch"),
        ({"scratch_size": b""}, "does not say the size of its scratch"),
        ({"persistent_size": bytes(4)}, "has the block 'persistent_size'"),
    ],
)
def test_a_delegate_that_does_not_fit_is_said(
    raw: Path, blocks: dict[str, bytes], says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_network(changed(raw, **blocks), "bad.pte")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not a vela_bin_stream"),
        (b"vela", "ends within a block"),
        (packed_blocks({"vela_end_stream": b""}, {}), "not a vela_bin_stream"),
        (packed_blocks({"vela_bin_stream": b"", "cmd_data": b"1"}, {}), "not a vela_bin_stream"),
        (packed_blocks({"vela_bin_stream": b"", "vela_end_stream": b""}, {}), "no block cmd_data"),
        (packed_blocks({"vela_bin_stream": bytes(99)}, {})[:64], "is longer than its data"),
        (packed_blocks({"vela_bin_stream": b"", "x\n": b""}, {}), "not a vela_bin_stream"),
        (
            packed_blocks({"vela_bin_stream": b"", "cmd_data": b""}, {"cmd_data": "a" * 64}),
            r"keeps data in another file \(.ptd\)",
        ),
    ],
)
def test_a_delegates_data_is_checked(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_stream(Delegate("EthosUBackend", data), {}, "bad.pte")


def test_a_stream_for_no_known_npu_is_said(raw: Path) -> None:
    with pytest.raises(UnsupportedError, match="neither COP1 nor COP2"):
        planned(parse_network(changed(raw, cmd_data=b"COP9" + bytes(60)), "bad.pte"))


def planned(network: Network) -> None:
    make_plan(network, PlanSettings(compiled_for(network)), Watch())
