"""Moves of blocks and of products' factors: exact, and without what the NPU lacks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ethosgen import frontend
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.values.network import Network, Operator
from tests.support.onnx_networks import OnnxNetwork, quantized
from tests.support.onnx_trials import SETTINGS, grid_samples, trial_of

pytestmark = pytest.mark.slow

Make = Callable[[OnnxNetwork], str]


def read_quantized(make: Make, setting: str, folder: Path, *operators: str) -> tuple[Path, Network]:
    net = OnnxNetwork(1)
    model = net.model([make(net)])
    options: Mapping[str, Any] = {"ForceQuantizeNoInputCheck": True, **SETTINGS[setting]}
    path = quantized(model, folder / "net.onnx", operators=list(operators), **options)
    return path, frontend.read(path)


def assert_exact(path: Path) -> None:
    trial = trial_of(path, path.stem, grid_samples(path, 3, 7))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.elements > 0
    assert trial.fidelity.most_steps < 2.5


def codes(network: Network) -> list[str]:
    return [op.code for op in network.graph.operators]


def _conv(net: OnnxNetwork, x: str, depth: int, channels: int) -> str:
    weights = [net.weights(channels, depth, 3, 3), net.weights(channels)]
    return net.add("Conv", [x, *weights], pads=[1, 1, 1, 1])


def _to_space(mode: str) -> Make:
    def make(net: OnnxNetwork) -> str:
        x = _conv(net, net.add_input("x", 1, 3, 8, 10), 3, 16)
        return _conv(net, net.add("DepthToSpace", [x], blocksize=2, mode=mode), 4, 5)

    return make


def _to_depth(net: OnnxNetwork) -> str:
    x = _conv(net, net.add_input("x", 2, 3, 8, 10), 3, 4)
    return _conv(net, net.add("SpaceToDepth", [x], blocksize=2), 16, 5)


def _alone(name: str, channels: int, **attributes: Any) -> Make:
    def make(net: OnnxNetwork) -> str:
        x = net.add("Relu", [net.add_input("x", 2, channels, 4, 6)])
        return net.add(name, [x], blocksize=2, **attributes)

    return make


@pytest.mark.parametrize("setting", ["int8", "int16"])
@pytest.mark.parametrize(
    ("make", "transposes"),
    [
        (_to_space("DCR"), 3),
        (_to_space("CRD"), 4),
        (_to_depth, 3),
        (_alone("DepthToSpace", 8, mode="DCR"), 3),
        (_alone("DepthToSpace", 8, mode="CRD"), 3),
        (_alone("SpaceToDepth", 3), 3),
    ],
)
def test_blocks_move_on_the_npu(make: Make, transposes: int, setting: str, tmp_path: Path) -> None:
    """Two of the transposes are at the network's ends, which are channels-first."""
    path, network = read_quantized(
        make, setting, tmp_path, "Conv", "Relu", "DepthToSpace", "SpaceToDepth"
    )
    assert codes(network).count("TRANSPOSE") == transposes
    plan = offload(network, find_accelerator("ethos-u55-128"))
    assert "TRANSPOSE" not in {cpu.code for cpu in plan.cpu_operators}
    assert_exact(path)


def _product(net: OnnxNetwork, order: list[int], keys: tuple[int, ...]) -> str:
    first = net.add("Relu", [net.add_input("q", *keys[:-2], 5, 8)])
    second = net.add("Relu", [net.add_input("k", *keys)])
    turned = net.add("Transpose", [second], perm=order)
    return net.add("MatMul", [first, turned])


@pytest.mark.parametrize("setting", ["int8", "int16"])
@pytest.mark.parametrize(
    ("order", "keys", "is_absorbed"),
    [
        ([0, 2, 1], (2, 6, 8), True),
        ([0, 1, 3, 2], (1, 2, 6, 8), True),
        ([0, 2, 1], (2, 1, 8), False),
    ],
)
def test_a_product_absorbs_the_transpose_of_its_second_factor(
    order: list[int], keys: tuple[int, ...], is_absorbed: bool, setting: str, tmp_path: Path
) -> None:
    path, network = read_quantized(
        lambda net: _product(net, order, keys), setting, tmp_path, "Relu", "Transpose", "MatMul"
    )
    (product,) = [op for op in network.graph.operators if op.code == "BATCH_MATMUL"]
    assert _adjoint(product) == (False, is_absorbed)
    assert "TRANSPOSE" not in codes(network)
    assert_exact(path)


def _adjoint(product: Operator) -> tuple[bool, bool]:
    return product.options["adj_x"], product.options["adj_y"]
