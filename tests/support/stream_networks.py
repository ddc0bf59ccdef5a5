"""Networks of operators on streams of samples, with sizes that fit, overlap or leave gaps."""

from collections.abc import Callable, Sequence

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder, Spec
from tests.support.signal_networks import TYPES, make, plain

DELAYS = ((5, 2), (5, 0), (5, 5), (4, 11), (1, 3))
"""Samples for each inference, and the delay of the output in samples."""
FRAMES = (
    (8, 4, 3, True), (7, 4, 3, True), (7, 4, 3, False), (8, 2, 2, False), (8, 2, 1, False),
    (4, 4, 2, True), (3, 4, 2, False), (5, 2, 6, True), (9, 2, 2, True),
)  # fmt: skip
"""Samples in a frame, samples between frames, frames for each inference, and whether prefilled."""
STACKS = ((10, 1, 1, 2), (4, 0, 0, 1), (3, 2, 1, 1), (3, 1, 3, 5), (2, 0, 2, 2), (2, 3, 0, 4))
"""Channels, inputs before, inputs after, and inputs between stacks."""
SUMS = ((8, 4, 3, 2), (7, 3, 2, 1), (5, 5, 2, 2), (6, 1, 4, 1))
"""Samples in a frame, samples between frames, frames for each inference, and rows."""
RINGS = ((1, 4, 3), (5, 2, 1), (3, 1, 16), (13, 1, 2))
"""Slots, width and channels."""


def delays(net: NetworkBuilder) -> list[int]:
    outputs = list[int]()
    for size, length in DELAYS:
        x = plain(net, (2, size), "int16")
        outputs += make(net, "SignalDelay", [x], [Spec((2, size), "int16")], delay_length=length)
    return outputs


def framers(
    net: NetworkBuilder, choose: Sequence[tuple[int, int, int, bool]] = FRAMES
) -> list[int]:
    results = list[int]()
    for size, step, count, prefill in choose:
        x = plain(net, (2, step * count), "int16")
        outputs = [Spec((2, count, size), "int16"), Spec((), "bool")]
        options = {"frame_size": size, "frame_step": step, "prefill": prefill}
        results += make(net, "SignalFramer", [x], outputs, **options)
    return results


def stackers(
    net: NetworkBuilder, choose: Sequence[tuple[int, int, int, int]] = STACKS
) -> list[int]:
    results = list[int]()
    for channels, left, right, step in choose:
        x = plain(net, (channels,), "int16")
        outputs = [Spec((channels * (left + 1 + right),), "int16"), Spec((), "bool")]
        options = {"num_channels": channels, "stacker_left_context": left}
        options |= {"stacker_right_context": right, "stacker_step": step}
        results += make(net, "SignalStacker", [x], outputs, **options)
    return results


def sums(net: NetworkBuilder, dtype: str) -> list[int]:
    results = list[int]()
    for size, step, count, rows in SUMS:
        x = plain(net, (rows, count, size), dtype)
        outputs = [Spec((rows, count * step), dtype)]
        results += make(net, "SignalOverlapAdd", [x], outputs, T=TYPES[dtype], frame_step=step)
    return results


def rings(net: NetworkBuilder, cycles: int = 1) -> list[int]:
    outputs = list[int]()
    for slots, width, channels in RINGS:
        x = net.input((1, 1, width, channels), "int8", 0.1, -7)
        output = Spec((1, slots, width, channels), "int8", 0.1, -7, is_variable=True)
        outputs += make(net, "CIRCULAR_BUFFER", [x], [output], cycles_max=cycles)
    return outputs


def waiting(net: NetworkBuilder) -> list[int]:
    """Add layers between buffers that pass every second inference, and every third of these."""
    x = net.conv2d(net.input((1, 1, 8, 4)), channels=6, kernel=(1, 3))
    for slots, cycles in ((3, 2), (2, 3)):
        spec = net.tensors[x]
        kept = Spec((1, slots, 8, 6), "int8", spec.scale, spec.zero_point, is_variable=True)
        (x,) = make(net, "CIRCULAR_BUFFER", [x], [kept], cycles_max=cycles)
        x = net.conv2d(x, channels=6, kernel=(slots, 1), padding="VALID")
    return [x]


STREAMS: dict[str, Callable[[NetworkBuilder], list[int]]] = {
    "SignalDelay": delays,
    "SignalFramer": framers,
    "SignalStacker": stackers,
    "SignalOverlapAdd, int16": lambda net: sums(net, "int16"),
    "SignalOverlapAdd, float32": lambda net: sums(net, "float32"),
    "CIRCULAR_BUFFER": rings,
}


def network_of(build: Callable[[NetworkBuilder], list[int]]) -> Network:
    """Return a network of cases whose outputs are all outputs of the network."""
    net = NetworkBuilder("streams", 1)
    return parse_network(net.build(*build(net)), "streams")


def valid_at_once(net: NetworkBuilder) -> list[int]:
    """Add each operator and type with sizes whose outputs are valid from the first inference."""
    outputs = [*delays(net), *sums(net, "int16"), *sums(net, "float32"), *rings(net)]
    outputs += framers(net, [case for case in FRAMES if case[-1]])
    return [*outputs, *stackers(net, [case for case in STACKS if not case[2]])]
