"""Chains of U85 that overwrite their own tables are compiled again, without chains."""

import pytest

from ethosgen import frontend
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa import U55
from ethosgen.backend.ethosu.isa_u85 import U85, ActivationStorage, U85ActivationFunction
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.offload.chains import overwrites_table
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.values.network import Network
from ethosgen.values.outcome import compare
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.backend.ethosu.offload.test_regions import DMA0_DST, DMA0_DST_REGION, ELEMENTWISE, stream
from tests.support.errata_networks import FOLDER
from tests.support.needs import needs_tosa
from tests.support.networks import NetworkBuilder
from tests.support.tosa_networks import TosaBuilder

U85_NPU = "ethos-u85-256"
POOL, DMA_START, DMA0_LEN = 0x005, 0x010, 0x032
ACTIVATION, OFM_PRECISION = 0x125, 0x114
INTERNAL, STORAGE_LSB, TABLE_LSB = 1 << 8, 14, 5
BYTES, WORDS = U85ActivationFunction.LUT_S8_S8, U85ActivationFunction.LUT_S16_S16
NO_TABLE = U85ActivationFunction.LUT_NONE

Commands = list[tuple[int, int] | tuple[int, int, int]]


def load(place: int, size: int) -> Commands:
    """Return the commands that load a table."""
    to = (DMA0_DST_REGION, INTERNAL)
    return [to, (DMA0_DST, 0, place), (DMA0_LEN, 0, size), (DMA_START, 0)]


def run(code: int, function: int, table: int = 0, *, is_last: bool = False) -> Commands:
    """Return an operation that hands its result over, or the last of a chain."""
    storage = ActivationStorage.TILE2X2 if is_last else ActivationStorage.CHAINED
    return [(ACTIVATION, function | table << TABLE_LSB), (OFM_PRECISION, storage << STORAGE_LSB),
            (code, 0)]  # fmt: skip


LAST_WORDS = run(ELEMENTWISE, WORDS, is_last=True)
LAST_BYTES = run(ELEMENTWISE, BYTES, 1, is_last=True)


@pytest.mark.parametrize(
    ("commands", "is_so"),
    [
        ([*load(0, 2048), *load(0, 2048), *run(POOL, WORDS), *LAST_WORDS], True),
        ([*load(0, 2048), *run(POOL, WORDS), *run(ELEMENTWISE, NO_TABLE), *LAST_WORDS], True),
        ([*load(0, 256), *load(0, 2048), *run(POOL, BYTES, 0), *LAST_WORDS], True),
        ([*load(256, 256), *load(0, 2048), *run(POOL, WORDS), *LAST_BYTES], True),
        ([*load(0, 256), *load(256, 256), *run(POOL, BYTES, 0), *LAST_BYTES], False),
        ([*run(POOL, WORDS), *LAST_WORDS], False),
        ([*load(0, 2048), *run(POOL, NO_TABLE), *LAST_WORDS], False),
        ([*load(0, 2048), *run(POOL, WORDS, is_last=True), *load(0, 2048), *LAST_WORDS], False),
        ([*load(0, 2048), *LAST_WORDS, *run(POOL, WORDS), *LAST_WORDS], False),
    ],
)
def test_a_chain_overwrites_a_table_where_two_share_a_place(
    commands: Commands, is_so: bool
) -> None:
    assert overwrites_table(stream(*commands)) == is_so


def test_a_dma_to_memory_loads_no_table() -> None:
    away: Commands = [(DMA0_DST_REGION, 1), (DMA0_DST, 0, 0), (DMA0_LEN, 0, 2048), (DMA_START, 0)]
    assert not overwrites_table(stream(*away, *run(POOL, WORDS), *LAST_WORDS))


def test_u55_has_no_chains() -> None:
    commands = stream(*load(0, 2048), *load(0, 2048), *run(POOL, WORDS), *LAST_WORDS)
    assert overwrites_table(commands, U85)
    assert not overwrites_table(commands, U55)


def shown(network: Network, *, is_trusted: bool) -> bool:
    """Return whether the stream that is made of a network overwrites a table."""
    plan = offload(network, find_accelerator(U85_NPU), is_trusted=is_trusted)
    assert not plan.cpu_operators
    return any(overwrites_table(stream_of(p).commands) for p in plan.partitions)


@pytest.mark.parametrize(("dtype", "is_so"), [("int16", True), ("int8", False)])
def test_vela_chains_16_bit_tables_that_do_not_fit(dtype: str, is_so: bool) -> None:
    net = NetworkBuilder("chained", seed=1)
    x, y = (net.input((1, 4, 4, 8), dtype, 2.0**-7, 0) for _ in range(2))
    net.unary("EXP", net.mul(net.unary("EXP", x, scale=2.0**-6), y), scale=2.0**-5)
    network = decode_network(net.build(), "chained")
    assert shown(network, is_trusted=True) == is_so
    assert not shown(network, is_trusted=False)


def test_a_user_who_trusts_vela_gets_its_chains() -> None:
    network = frontend.read(FOLDER / "chained-tables.tflite")
    for is_trusted in (True, False):
        options = OffloadOptions(trust_compiler=is_trusted, check=False)
        plan = make_plan(network, PlanSettings(find_accelerator(U85_NPU), options), Watch())
        (partition,) = plan.partitions
        assert overwrites_table(stream_of(partition).commands) == is_trusted


@needs_tosa
def test_tables_of_tosa_are_those_of_their_operators() -> None:
    net = TosaBuilder("gates", 1)
    network = net.network(_gated(net))
    samples = [net.sample() for _ in range(3)]
    golden = reference_outputs(network, samples)
    npu = find_accelerator(U85_NPU)
    trusted, plan = (offload(network, npu, is_trusted=trust) for trust in (True, False))
    assert not plan.cpu_operators
    comparison = compare("tosa", simulate_samples(plan, samples, Watch()), golden)
    assert comparison.elements
    assert not comparison.mismatches
    assert compare("tosa", simulate_samples(trusted, samples, Watch()), golden).mismatches


def _gated(net: TosaBuilder) -> int:
    """Add what an LSTM does: a table, a product, another table."""
    gate = _table(net, net.input((1, 16), "int16"))
    wide = [net.rescale(x, "int32", 1.0) for x in (gate, net.input((1, 16), "int16"))]
    product = net.op("MUL", [*wide, net.constant([0], "int8")], (1, 16), "int32")
    return _table(net, net.rescale(product, "int16", 2.0**-15))


def _table(net: TosaBuilder, x: int) -> int:
    values = net.constant(net.drawn((513,), "int16", -16000, 16000), "int16")
    looked_up = net.op("TABLE", [x, values], net.tensors[x].shape, "int32")
    return net.rescale(looked_up, "int16", 2.0**-7)
