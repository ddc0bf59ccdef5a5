"""Which operators are the head of a network, by the bytes of their whole tensors."""

from ethosgen.flow.head import REASON, head_length, head_limits, with_head
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.allocation import FREE, Allocation, Kept, OperatorIndex
from ethosgen.values.network import Graph
from ethosgen.values.schedule import USUAL_SCHEDULE, Schedule
from tests.support.networks import NetworkBuilder


def _graph() -> Graph:
    """Return layers whose tensors have 256, 1,024, 256 and 256 bytes, and a skip over the last."""
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.conv2d(net.input((1, 8, 8, 4)), 16), 4)
    return parse_network(net.build(net.add(x, net.depthwise(x))), "n.tflite").graph


def test_the_head_ends_with_the_last_operator_that_needs_more() -> None:
    graph = _graph()  # 1,280, 1,280, 512 and 768 bytes
    assert [head_length(graph, above) for above in (1280, 1279, 768, 767, 0)] == [0, 2, 2, 4, 4]


def test_each_limit_gives_another_head_and_leaves_something() -> None:
    graph = _graph()
    limits = head_limits(graph)
    assert [head_length(graph, limit) for limit in limits] == [2]
    assert limits == [768]


def test_a_schedule_keeps_the_head_on_the_cpu() -> None:
    graph, index = _graph(), OperatorIndex
    assert with_head(graph, USUAL_SCHEDULE, FREE) == FREE
    other = Allocation({index(1): Kept("another reason")})
    kept = with_head(graph, Schedule(bands_above=800), other)
    assert dict(kept) == {index(0): Kept(REASON), index(1): Kept("another reason")}
