"""Single layers whose instructions QEMU counts: those of the bench's networks, and drawn ones.

Formulas of cycles are fitted to them. Each layer is a network; many of them go into one firmware.
"""

import random
import string
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import ethosgen
from bench.shapes import shape
from bench.shapes.shape import Image, Pair
from bench.shapes.shape import Layer as Shape
from ethosgen import aot, frontend
from ethosgen.backend import load_wrapped
from ethosgen.flow.firmware import build_project
from ethosgen.oracle.excerpt import single_operator
from ethosgen.project import open_project
from ethosgen.project.info import ProjectInfo
from ethosgen.samples.drawing import draw_samples
from ethosgen.targets import run
from ethosgen.toolchain.sizes import Built
from ethosgen.values.device import unite
from ethosgen.values.network import Network, Operator, Tensor
from ethosgen.values.outcome import Arrays, Sample
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.networks import NetworkBuilder

Draw = Callable[[random.Random], Shape]

TOGETHER = 60
"""Layers in one firmware."""
SIZES, CHANNELS = (4, 6, 8, 10, 12, 16, 20), (1, 3, 4, 8, 12, 16, 24, 32, 40, 64, 96)
KERNELS = ((1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (2, 2), (1, 3), (3, 1))


@dataclass(frozen=True)
class Layer:
    """A network of one operator, as a file; `origin` names where it is from."""

    path: Path
    origin: str

    @property
    def network(self) -> Network:
        """The network."""
        return frontend.read(self.path)

    @property
    def code(self) -> str:
        """Its operator."""
        return self.network.graph.operators[0].code

    @property
    def dtype(self) -> str:
        """The type of its input."""
        network = self.network
        return network.graph.tensors[network.graph.inputs[0]].dtype

    def estimate(self) -> int | None:
        """Return our estimate of its cycles with our kernels."""
        graph = self.network.graph
        return aot.cpu_cycles(graph.operators[0], graph)


def layers_of(networks: Sequence[Path], folder: Path) -> Iterator[Layer]:
    """Write each layer of some networks once: layers of one shape and setting are equal."""
    seen: set[Any] = set()
    for path in networks:
        network = frontend.read(path)
        for operator in network.graph.operators:
            key = _kind(operator, network.graph.tensors)
            alone = single_operator(network, operator.index)
            if key in seen or alone is None or not alone.graph.inputs:
                continue
            seen.add(key)
            name = f"{path.stem.partition('_')[0]}_{operator.index}"
            yield _write(frontend.written(alone).data, folder, name, path.stem)


def _kind(operator: Operator, tensors: Sequence[Tensor]) -> Any:
    shapes = tuple(tensors[i].shape for i in (*operator.inputs, *operator.outputs) if i >= 0)
    return operator.code, shapes, tuple(sorted(map(str, operator.options.items())))


def _write(data: bytes, folder: Path, name: str, origin: str) -> Layer:
    path = folder / f"{name}.tflite"
    path.write_bytes(data)
    return Layer(path, origin)


def drawn(folder: Path, dtype: str = "int8", seed: int = 1) -> Iterator[Layer]:
    """Write layers of random sizes."""
    rng = random.Random(seed)
    for code, (draw, count) in DRAWN.items():
        for number in range(count):
            net = NetworkBuilder("layer", seed=rng.randrange(1 << 30))
            output = draw(rng).build(net, dtype)
            yield _write(net.build(output), folder, f"{code.lower()}_{dtype}_{number}", "drawn")


def _image(rng: random.Random, least: Pair) -> Image:
    height, width = (max(rng.choice(SIZES), size) for size in least)
    return height, width, rng.choice(CHANNELS)


def _window(rng: random.Random) -> dict[str, Any]:
    stride = rng.choice((1, 1, 2))
    return {"stride": (stride, stride), "padding": rng.choice(("SAME", "VALID"))}


def _conv(rng: random.Random) -> Shape:
    kernel = rng.choice((*KERNELS, (10, 4)))
    size, channels = _image(rng, kernel), rng.choice(CHANNELS)
    return shape.conv(size, channels, kernel, **_window(rng), activation="NONE")


def _row(rng: random.Random) -> Shape:
    size = 1, rng.choice((16, 20, 40)), rng.choice((4, 8, 16, 32))
    return shape.conv(size, rng.choice(CHANNELS), (1, rng.choice((3, 5))), activation="NONE")


def _depthwise(rng: random.Random) -> Shape:
    kernel = rng.choice(KERNELS[2:])
    size, multiplier = _image(rng, kernel), rng.choice((1, 1, 1, 1, 2))
    window = _window(rng)
    return shape.depthwise(size, kernel, **window, multiplier=multiplier, activation="NONE")


def _dense(rng: random.Random) -> Shape:
    rows, depth = rng.choice((1, 1, 3)), rng.choice((1, 5, 16, 33, 64, 100, 256, 640))
    return shape.dense(depth, rng.choice((1, 2, 5, 10, 16, 33, 128)), rows)


def _pool(kind: str) -> Draw:
    def draw(rng: random.Random) -> Shape:
        size = rng.choice((2, 3, 4, 5))
        image = _image(rng, (size, size))
        return shape.pool(kind, image, (size, size), (rng.choice((1, 2, size)),) * 2)

    return draw


def _pair(code: str) -> Draw:
    def draw(rng: random.Random) -> Shape:
        return shape.pair(code, (1, rng.choice((1, 3, 8, 16)), rng.choice((1, 5, 16, 40))))

    return draw


def _softmax(rng: random.Random) -> Shape:
    sizes = ((1, 2), (1, 10), (1, 12), (1, 100), (1, 500), (4, 10), (16, 16), (50, 4))
    return shape.softmax(*rng.choice(sizes))


def _transposed(rng: random.Random) -> Shape:
    size, stride = rng.choice((2, 3, 4)), rng.choice((1, 2, 2))
    image = (
        rng.choice((2, 4, 6, 8)), rng.choice((2, 4, 6, 8)), rng.choice(CHANNELS),
    )  # fmt: skip
    return shape.transposed(image, rng.choice(CHANNELS[:8]), (size, size), (stride, stride))


def _product(rng: random.Random) -> Shape:
    sizes = ((1, 2), (1, 4, 9, 16), (4, 16, 30, 64), (1, 4, 10, 32))
    batch, rows, depth, columns = map(rng.choice, sizes)
    return shape.product(batch, rows, depth, columns, rng.random() < 0.5)


def _pad(rng: random.Random) -> Shape:
    size = _image(rng, (2, 2))
    return shape.pad(size, [(rng.choice((0, 1, 2)),) * 2, (1, rng.choice((0, 1))), (0, 0)])


def _turn(rng: random.Random) -> Shape:
    order = rng.choice(((0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 1, 3, 2)))
    return shape.transpose((1, *_image(rng, (2, 2))), order)


DRAWN: dict[str, tuple[Draw, int]] = {
    "CONV_2D": (_conv, 24),
    "ROW": (_row, 4),
    "DEPTHWISE_CONV_2D": (_depthwise, 24),
    "FULLY_CONNECTED": (_dense, 16),
    "AVERAGE_POOL_2D": (_pool("average"), 8),
    "MAX_POOL_2D": (_pool("max"), 8),
    "ADD": (_pair("ADD"), 5),
    "MUL": (_pair("MUL"), 5),
    "MINIMUM": (_pair("MINIMUM"), 4),
    "MAXIMUM": (_pair("MAXIMUM"), 4),
    "SOFTMAX": (_softmax, 8),
    "TRANSPOSE_CONV": (_transposed, 16),
    "BATCH_MATMUL": (_product, 12),
    "PAD": (_pad, 5),
    "TRANSPOSE": (_turn, 6),
}
"""By operator: a function that draws a layer, and how many are drawn."""


@dataclass(frozen=True)
class Firmware:
    """Some layers in one firmware; they have short names in it, in their order."""

    layers: Sequence[Layer]
    built: Built
    info: ProjectInfo

    @property
    def core(self) -> str:
        """The processor's core."""
        return self.info.board.cpu.core

    @property
    def names(self) -> Sequence[str]:
        """The names of the layers' networks in the firmware."""
        return _NAMES[: len(self.layers)]

    def run(self, samples: Sequence[Sequence[Arrays]]) -> list[list[Sample]]:
        """Run each layer's samples on QEMU, layer by layer."""
        devices = [d for path in self.info.accelerators for d in load_wrapped(str(path)).devices]
        known = replace(self.info, devices=unite(devices))
        order = [index for index, some in enumerate(samples) for _ in some]
        flat = [sample for some in samples for sample in some]
        outcome = run(self.built.elf, known, flat, order=order, on="qemu", attach=None)
        done = iter(outcome.samples)
        return [[next(done) for _ in some] for some in samples]


def firmwares(layers: Sequence[Layer], board: object, *options: object) -> Iterator[Firmware]:
    """Build firmwares of many layers each; a firmware's files are gone when the next is built.

    The networks get short names, since CMake makes a file whose name has all of them.
    """
    for start in range(0, len(layers), TOGETHER):
        some = layers[start : start + TOGETHER]
        with tempfile.TemporaryDirectory(prefix="ethosgen-layers-") as folder:
            place = Path(folder, "project")
            named = [word for name in _NAMES[: len(some)] for word in ("--name", name)]
            paths = [layer.path for layer in some]
            ethosgen("project", *paths, *named, "--board", board, *options, "-o", place)
            yield Firmware(some, build_project(place, watch=Watch()), open_project(place))


def run_layers(layers: Sequence[Layer], board: object, *options: object) -> Iterator[Sample]:
    """Run one sample of each layer on QEMU, many layers in one firmware; yield what it reports.

    No oracle is asked: compare the outputs with those of our kernels.
    """
    for firmware in firmwares(layers, board, *options):
        for done in firmware.run([draw_samples(layer.network, 1, 0) for layer in firmware.layers]):
            yield from done


_NAMES = ["".join(pair) for pair in product("xyz", string.ascii_lowercase)]


def board_without_helium(folder: Path) -> Path:
    """Write a corstone300 whose processor is a Cortex-M33; QEMU's Cortex-M55 runs its code too."""
    return board_of(folder, "cortex-m33")


def board_of(folder: Path, core: str) -> Path:
    """Write a corstone300 with a smaller core, whose code QEMU's Cortex-M55 runs too."""
    text = (ROOT / "boards" / "corstone300.toml").read_text()
    for old, new in _WITHOUT_HELIUM.items():
        text = text.replace(old, new)
    path = folder / f"{core.removeprefix('cortex-')}.toml"
    path.write_text(text.replace('core = "cortex-m55"', f'core = "{core}"'))
    return path


_WITHOUT_HELIUM = {
    "icache = true\n": "",
    "dcache = true\n": "",
    '"cpu.icache", "cpu.dcache", ': "",
}
