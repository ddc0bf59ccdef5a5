"""The hand-overs between stages: the way of each tensor, the lines, the room, whose turn it is."""

from itertools import combinations, pairwise

import pytest

from ethosgen.stages.cuts import crossing, cut, positions
from ethosgen.stages.frames import handover, windows, windows_bytes
from ethosgen.stages.routes import route
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.wiring import (
    HOST,
    StageEdge,
    Wiring,
    chain_ways,
    graph_ways,
    host_ways,
    line_names,
)
from tests.stages.test_cuts import late_input, residual, with_state


def every_operator(network: Network) -> tuple[int, ...]:
    return tuple(positions(network.graph))


def edges(wiring: Wiring, network: Network) -> dict[tuple[int, int], list[str]]:
    tensors = network.graph.tensors
    return {
        (edge.sender, edge.receiver): [tensors[i].name for i in edge.tensors]
        for edge in wiring.edges
    }


def routed(network: Network, ways: frozenset[tuple[int, int]] | None = None) -> Wiring:
    """Return the hand-overs with a stage for each operator, in a graph unless ways are given."""
    stages = cut(network, every_operator(network))
    names = [f"s{k}" for k in range(len(stages))]
    ways = graph_ways(len(stages)) if ways is None else ways
    return route(network.graph, stages, names, ways, [1] * len(stages))


@pytest.mark.parametrize("make", [residual, late_input, with_state])
def test_a_chain_hands_over_what_crosses_each_cut(make) -> None:  # type: ignore[no-untyped-def]
    network = make()
    graph, ends = network.graph, every_operator(network)
    for count in range(1, len(ends) - 1):
        for inner in combinations(ends[1:-1], count):
            boundaries = (0, *inner, ends[-1])
            stages = cut(network, boundaries)
            names = [f"s{k}" for k in range(len(stages))]
            ways = chain_ways(len(stages))
            wiring = route(graph, stages, names, ways, [1] * len(stages))
            assert {(edge.sender, edge.receiver) for edge in wiring.edges} == ways
            for edge in wiring.edges:
                at = boundaries[edge.sender + 1]
                assert set(edge.tensors) == set(crossing(graph, at))
                assert edge.bytes == sum(graph.tensors[i].bytes for i in edge.tensors)


def test_in_a_graph_a_tensor_goes_to_each_that_reads_it() -> None:
    network = residual()
    names = [network.graph.tensors[op.outputs[0]].name for op in network.graph.operators]
    assert edges(routed(network), network) == {
        (HOST, 0): ["input_0"],
        (0, 1): [names[0]],
        (0, 3): [names[0]],
        (1, 2): [names[1]],
        (1, HOST): [names[1]],
        (2, 3): [names[2]],
        (3, 4): [names[3]],
        (4, HOST): [names[4]],
    }


def test_a_late_input_enters_at_the_element_that_reads_it() -> None:
    network = late_input()
    assert edges(routed(network), network)[HOST, 2] == ["late"]


def test_a_tensor_takes_the_shortest_of_the_given_ways() -> None:
    network = residual()
    first = network.graph.tensors[network.graph.operators[0].outputs[0]].name
    ways = host_ways(5) | {(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)}
    carried = edges(routed(network, ways), network)
    assert (0, 3) not in carried
    assert first in carried[0, 1] and first in carried[1, 3]
    assert first not in carried[1, 2]
    with pytest.raises(
        InputError, match=r"no \[\[links\]\] lead from element 's2' to element 's3'"
    ):
        routed(network, ways - {(2, 3)})


def test_a_short_way_has_room_for_what_is_on_the_long_one() -> None:
    wiring = routed(residual())
    rooms = {
        (edge.sender, edge.receiver): wiring.room(number)
        for number, edge in enumerate(wiring.edges)
    }
    assert rooms[0, 3] == 4  # two elements between hold a sample each
    assert {room for ends, room in rooms.items() if ends != (0, 3)} == {2}


def test_frames_in_shared_memory_do_not_overlap() -> None:
    wiring = routed(residual())
    places = windows(wiring, 0x1000)
    ends = [
        place.start_addr + place.stride * line.room
        for place, line in zip(places, wiring.lines, strict=True)
    ]
    assert [place.start_addr for place in places[1:]] == ends[:-1]
    assert ends[-1] == 0x1000 + windows_bytes(wiring)
    assert all(
        place.stride >= wiring.edges[line.edge].bytes + 36
        for place, line in zip(places, wiring.lines, strict=True)
    )


def test_in_shared_memory_a_frame_for_several_is_written_once() -> None:
    network = residual()
    graph, stages = network.graph, cut(network, every_operator(network))
    names = [f"s{k}" for k in range(5)]
    ways, ones = graph_ways(5), [1] * 5
    wiring = route(graph, stages, names, ways, ones, is_shared=True)
    places = windows(wiring, 0x1000)
    place_of = {
        (line.sender, line.receiver): (place, line.room)
        for place, line in zip(places, wiring.lines, strict=True)
    }
    assert place_of[0, 1] == place_of[0, 3]  # as many frames as the longer way needs
    assert place_of[0, 1][1] == 4
    assert place_of[1, 2] == place_of[1, HOST]
    assert len({place.start_addr for place in places}) == len(places) - 2
    first = handover(graph, stages[0], names, 0, wiring, bytes(8), places)
    assert [len(pieces) for pieces in first.pieces] == [1, 0]
    apart = routed(network)
    assert all(apart.line_alike(n) == n for n in range(len(apart.lines)))
    serial = handover(graph, stages[0], names, 0, apart, bytes(8))
    assert [len(pieces) for pieces in serial.pieces] == [1, 1]


def test_replicas_read_only_what_is_for_them() -> None:
    ends = ((HOST, 0), (0, 1), (0, 2), (1, 2), (2, HOST))
    edges = tuple(StageEdge(a, b, (7,), 4) for a, b in ends)
    both = Wiring((1, 2, 2), edges, is_shared=True)
    alike = {n: both.line_alike(n) for n, line in enumerate(both.lines) if line.sender == 0}
    first, second, third, fourth = alike
    assert alike == {first: first, second: second, third: first, fourth: second}
    single = Wiring((1, 2, 1), edges, is_shared=True)
    assert all(single.line_alike(n) == n for n in range(len(single.lines)))


def test_the_hand_over_of_a_join() -> None:
    network = residual()
    graph, stages = network.graph, cut(network, every_operator(network))
    wiring, names = routed(network), [f"s{k}" for k in range(5)]
    joined = handover(graph, stages[3], names, 3, wiring, bytes(8))
    assert [line.peer for line in joined.before] == ["s0", "s2"]
    assert [line.peer for line in joined.behind] == ["s4"]
    assert [(arrival.edge, arrival.offset) for arrival in joined.inputs] == [(0, 0), (1, 0)]
    assert joined.turns_before == ((0, 1),)
    forked = handover(graph, stages[1], names, 1, wiring, bytes(8))
    assert [line.peer for line in forked.behind] == ["s2", ""]
    assert [len(pieces) for pieces in forked.pieces] == [1, 1]
    assert line_names(wiring, 1, names) == {1: "before", 3: "behind.s2", 4: "behind.host"}


def test_a_frames_tensors_are_in_sequence() -> None:
    network = late_input()
    stages = cut(network, (0, 1, 3))
    wiring = route(network.graph, stages, ["a", "b"], chain_ways(2), [1, 1])
    handed = handover(network.graph, stages[0], ["a", "b"], 0, wiring, bytes(8))
    (pieces,) = handed.pieces
    assert [piece.is_output for piece in pieces] == [False, True]
    assert handed.behind[0].bytes == wiring.edges[1].bytes == sum(piece.bytes for piece in pieces)
    ends = [(piece.at, piece.at + piece.bytes) for piece in pieces]
    assert ends[0][0] == 0
    assert all(a[1] == b[0] for a, b in pairwise(ends))


# ---- replicas ---------------------------------------------------------------------------------


def line(*replicas: int) -> Wiring:
    """Return a chain of stages with replicas."""
    ends = (HOST, *range(len(replicas)), HOST)
    return Wiring(replicas, tuple(StageEdge(a, b, (0,), 4) for a, b in pairwise(ends)))


@pytest.mark.parametrize("replicas", [(1,), (3,), (1, 2), (2, 1), (2, 3, 1), (4, 6), (2, 2)])
def test_samples_take_replicas_in_turn_and_keep_their_order(replicas: tuple[int, ...]) -> None:
    wiring, samples = line(*replicas), 60
    for number, edge in enumerate(wiring.edges):
        for end, stage in (("sender", edge.sender), ("receiver", edge.receiver)):
            for sample in range(samples):
                at = getattr(wiring.lines[wiring.line_of(number, sample)], end)
                assert at == (HOST if stage == HOST else wiring.element(stage, sample))
    for element in range(len(wiring.elements)):
        own = wiring.samples_of(element, samples)
        for n in (*wiring.before(element), *wiring.behind(element)):
            on_line = [s for s in own if wiring.line_of(wiring.lines[n].edge, s) == n]
            assert wiring.frames(n, element, len(own)) == len(on_line) > 0


def test_elements_follow_their_turns() -> None:
    network = late_input()
    stages = cut(network, (0, 1, 2, 3))
    names = ["a", "b_0", "b_1", "c"]
    wiring = route(network.graph, stages, ["a", "b", "c"], chain_ways(3), (1, 2, 1))
    turns = [
        handover(network.graph, stages[k], names, n, wiring, bytes(8))
        for n, (k, _) in enumerate(wiring.elements)
    ]
    assert turns[0].turns_behind == ((0,), (1,))
    assert turns[0].turns_before == ((0,), (0,))
    assert turns[1].turns_before == turns[1].turns_behind == ((0,),)
    assert turns[3].turns_before == ((0,), (1,))
