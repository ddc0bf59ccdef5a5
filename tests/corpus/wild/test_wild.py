"""Random networks of 1 to 30 operators: a fresh part of what evidence/random.md measures."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.frontend.tflite.reader import decode_network
from tests.corpus.wild import page
from tests.corpus.wild.batch import BAD, Worker, run_logged
from tests.corpus.wild.cutting import part_of
from tests.corpus.wild.graph import MOST, make_network
from tests.corpus.wild.trial import BOARD, U85, Verdict, wild_setting
from tests.support.fresh import fresh_seed
from tests.support.pages import load_lines

SEEDS = 1 << 30
PARTS = 4
NETWORKS = 100 // PARTS
LEAST = NETWORKS // 2
"""Equal networks of a part: eight or nine of ten are, and the rest is refused or dropped."""


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    """The process that runs networks, kept from part to part; a list, since one may be replaced."""
    started = [Worker()]
    yield started
    started[0].close()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_fresh_networks_equal_the_oracles(
    part: int, workers: list[Worker], record_property: Callable[[str, object], None]
) -> None:
    """CORPUS_SEED=N repeats a failure, as does `python -m tests.corpus.wild one SEED`."""
    start = fresh_seed(SEEDS) + part * NETWORKS
    record_property("random networks", start)
    verdicts = [_run(seed, workers) for seed in range(start, start + NETWORKS)]
    bad = [f"{v.seed} {v.setting}: {v.verdict} {v.why}" for v in verdicts if v.verdict in BAD]
    assert not bad, f"python -m tests.corpus.wild one SEED repeats each of {bad}"
    counts = Counter(verdict.verdict for verdict in verdicts)
    assert counts["equal"] >= LEAST, f"from seed {start}: {counts}"


def _run(seed: int, workers: list[Worker]) -> Verdict:
    if workers[0].left <= 0:
        workers[0].close()
        workers[0] = Worker()
    return workers[0].run(seed)


def test_a_seed_names_one_network() -> None:
    assert make_network(7).data == make_network(7).data
    assert make_network(7).data != make_network(8).data


def test_every_npu_is_drawn_with_its_memory_modes() -> None:
    board = load_board(BOARD)
    drawn: dict[str, set[str | None]] = {}
    for seed in range(500):
        setting = wild_setting(seed, board)
        drawn.setdefault(setting.npu, set()).add(setting.memory_mode)
    assert board.npu is not None
    assert {*drawn} == {"none", *board.npu.configurations}
    assert all(drawn[npu] == {*board.memory_modes(board.accelerator(npu))} for npu in U85)


@pytest.mark.parametrize("seed", [136768974, 137000025])
def test_no_quotient_is_drawn_that_cpp_leaves_open(seed: int) -> None:
    """LiteRT divides -128 by -1 to 127 or -128, by the element's place."""
    wild = make_network(seed)
    tensors = wild.net.tensors
    divisors = [tensors[o.inputs[1]].name for o in wild.net.operators if o.code == "FLOOR_DIV"]
    limits = [wild.ranges[name] for name in divisors if name in wild.ranges]
    assert limits and not any(low <= -1 <= high for low, high in limits)


def test_networks_are_as_varied_as_promised() -> None:
    networks = [decode_network(make_network(seed).data, "wild") for seed in range(150)]
    sizes = [len(network.graph.operators) for network in networks]
    assert min(sizes) == 1
    assert max(sizes) <= MOST
    assert sum(size > 10 for size in sizes) > 10
    assert len({op.code for network in networks for op in network.graph.operators}) > 60
    assert len({tensor.dtype for network in networks for tensor in network.graph.tensors}) >= 7
    assert sum(len(network.inputs) > 1 for network in networks) > 30
    assert sum(len(network.outputs) > 1 for network in networks) > 30
    assert any(_is_shared(network) for network in networks)


def _is_shared(network: object) -> bool:
    graph = network.graph  # type: ignore[attr-defined]
    read = Counter(i for op in graph.operators for i in set(op.inputs) if i >= 0)
    return any(i in read and read[i] > 1 for i in graph.outputs)


def test_a_part_of_a_network_is_a_network() -> None:
    whole = next(w for w in map(make_network, range(50)) if len(w.net.operators) > 4)
    part = part_of(whole, [1, 3])
    graph = decode_network(part.wild.data, "part").graph
    assert [op.code for op in graph.operators] == [whole.net.operators[i].code for i in (1, 3)]
    assert {graph.tensors[i].name for i in graph.inputs} == set(part.names.values())


@pytest.mark.slow
def test_a_run_goes_on_where_its_log_ends(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    seeds = range(3, 5)
    first = [verdict.seed for verdict in run_logged(seeds, log)]
    assert first == [*seeds]
    assert [*run_logged(seeds, log)] == []
    assert [entry["seed"] for entry in load_lines(log)] == first
    assert "| drawn | 2 |" in page.page(load_lines(log))


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        (
            "UnsupportedError: operator 7 of 9, ADD that makes 't7', cannot be compiled: there is "
            "no CPU code for uint8 (it is not on the NPU because: words); change the network",
            "ADD, cannot be compiled: there is no CPU code for uint8",
        ),
        ("InputError: a part of 'x' has 16 ends; use --io arena", "a part of … has n ends"),
    ],
)
def test_refusals_are_counted_by_class(sentence: str, name: str) -> None:
    assert page.class_of(sentence) == name
