"""The order of U85's weights: how many there are, and how many places are held at a time."""

import pytest

from ethosgen.backend.ethosu.simulator.u85.weights import U85Traversal, count, places
from ethosgen.backend.ethosu.simulator.weights import SLAB


def order(depthwise: bool, part_kernel: bool, stream: int) -> U85Traversal:
    """80 output channels of a 2x9 kernel, for the second of two decoders or the first."""
    ublock = 1 if depthwise else 16 if part_kernel else 64
    return U85Traversal(
        shape=(80, 2, 9, 1 if depthwise else 70),
        depthwise=depthwise,
        streams=2,
        stream=stream,
        ofm_block_depth=64,
        ifm_block_depth=16 if part_kernel else 64,
        ofm_ublock=16,
        ifm_ublock=ublock,
        step=1 if depthwise else 8,
        sub_kernel=(8, 8),
        stride=(1, 1),
        round_to=10 if depthwise else 5 if part_kernel else 1,
        surplus=2 if depthwise else 0,
        fast=False,
    )


@pytest.mark.parametrize(("depthwise", "part_kernel"), [(0, 0), (0, 1), (1, 0)])
def test_each_weight_has_one_place_in_one_stream(depthwise: bool, part_kernel: bool) -> None:
    indices: list[int] = []
    for stream in range(2):
        stream_order = order(depthwise, part_kernel, stream)
        slabs = list(places(stream_order))
        assert sum(slab.size for slab in slabs) == count(stream_order)
        largest_microblock = 8 * stream_order.ifm_ublock * 36
        assert max(slab.size for slab in slabs) <= max(SLAB, largest_microblock)
        indices += [index for slab in slabs for index in slab.tolist() if index >= 0]
    height, width, depth = order(depthwise, part_kernel, 0).shape[1:]
    assert sorted(indices) == list(range(80 * height * width * depth))
