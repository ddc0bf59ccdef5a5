"""Float kernels: plain C on this machine, Helium and a Cortex-M33's code on QEMU."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.layers import board_without_helium
from ethosgen import aot, flow
from ethosgen.aot import compile_program, libraries
from ethosgen.aot.libraries.floats import order
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.extension import Extension
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import GeneratedC, cpu_plan, samples_and_golden
from tests.support.catalogue.products import product, transposed
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

Build = Callable[[NetworkBuilder], int]
Pair = tuple[int, int]


def _in(net: NetworkBuilder, *shape: int) -> int:
    return net.input(shape, "float32", None)


MATRIX: dict[str, Build] = {
    "dense, one row": lambda n: n.fully_connected(_in(n, 1, 35), 7),
    "dense, one of each": lambda n: n.fully_connected(_in(n, 1, 1), 1),
    "dense, two rows": lambda n: n.fully_connected(_in(n, 2, 8), 2, activation="RELU"),
    "dense, three rows": lambda n: n.fully_connected(_in(n, 3, 13), 3, bias=False),
    "dense, tiles": lambda n: n.fully_connected(_in(n, 8, 6), 8, activation="RELU6"),
    "dense, a tile and a row": lambda n: n.fully_connected(_in(n, 5, 1), 5),
    "dense, a tile and two rows": lambda n: n.fully_connected(_in(n, 6, 7), 6),
    "dense, two tiles and three rows": lambda n: n.fully_connected(_in(n, 11, 3), 1),
    "pixels": lambda n: n.conv2d(_in(n, 2, 3, 5, 8), 6, (1, 1), activation="RELU6"),
    "pixels, strided": lambda n: n.conv2d(_in(n, 2, 5, 6, 10), 5, (1, 1), (2, 3)),
    "pixels, in groups": lambda n: n.conv2d(_in(n, 2, 5, 4, 12), 9, (1, 1), groups=3),
    "window, padded": lambda n: n.conv2d(_in(n, 1, 9, 7, 3), 9, (3, 3), (2, 2)),
    "window over the borders": lambda n: n.conv2d(_in(n, 1, 4, 3, 1), 4, (10, 8), (2, 2)),
    "window beyond the input": lambda n: n.conv2d(_in(n, 1, 2, 3, 8), 8, (7, 5)),
    "window, valid": lambda n: n.conv2d(_in(n, 2, 6, 5, 4), 5, (2, 3), padding="VALID"),
    "rows apart": lambda n: n.conv2d(_in(n, 1, 9, 7, 2), 4, dilation=(2, 1)),
    "columns apart": lambda n: n.conv2d(_in(n, 1, 9, 7, 2), 4, (2, 3), dilation=(1, 3)),
    "columns in place": lambda n: n.conv2d(_in(n, 2, 12, 1, 10), 8, (5, 1), padding="VALID"),
    "rows in place": lambda n: n.conv2d(_in(n, 1, 3, 12, 6), 4, (1, 3), (1, 2), "VALID"),
    "as wide as the input": lambda n: n.conv2d(_in(n, 1, 9, 3, 5), 7, (4, 3), padding="VALID"),
    "the whole input": lambda n: n.conv2d(_in(n, 2, 4, 3, 5), 7, (4, 3), padding="VALID"),
    "strips in pieces": lambda n: n.conv2d(_in(n, 1, 90, 3, 19), 4, activation="RELU6"),
    "strips of few outputs": lambda n: n.conv2d(_in(n, 1, 7, 2, 70), 2, (5, 3)),
    "windows of a strip each": lambda n: n.conv2d(_in(n, 1, 6, 2, 300), 2, (5, 3)),
    "in groups": lambda n: n.conv2d(_in(n, 2, 5, 6, 6), 9, (3, 2), groups=3),
    "a stride beyond the window": lambda n: n.conv2d(_in(n, 1, 9, 9, 5), 4, (2, 2), (3, 4)),
}
DEPTHWISE: dict[str, Build] = {
    "whole blocks": lambda n: n.depthwise(_in(n, 1, 9, 7, 8), activation="RELU6"),
    "end of a block": lambda n: n.depthwise(_in(n, 2, 5, 6, 13), (3, 3), (2, 2)),
    "few channels": lambda n: n.depthwise(_in(n, 1, 5, 6, 3), (3, 3), (1, 2)),
    "valid": lambda n: n.depthwise(_in(n, 1, 8, 8, 9), (3, 3), (2, 2), padding="VALID"),
    "taps apart": lambda n: n.depthwise(_in(n, 1, 9, 7, 5), dilation=(3, 2)),
    "stride beyond the window": lambda n: n.depthwise(_in(n, 1, 9, 9, 4), (2, 2), (3, 4)),
    "higher than the input": lambda n: n.depthwise(_in(n, 1, 2, 3, 8), (5, 3)),
    "two outputs a channel": lambda n: n.depthwise(_in(n, 1, 5, 7, 7), multiplier=2),
    "three outputs a channel": lambda n: n.depthwise(
        _in(n, 2, 6, 5, 3), (2, 3), (2, 1), multiplier=3, activation="RELU"
    ),
    "one channel": lambda n: n.depthwise(_in(n, 1, 9, 7, 1), multiplier=6, bias=False),
    "one channel, one output": lambda n: n.depthwise(_in(n, 1, 8, 25, 1), (1, 3)),
    "columns": lambda n: n.depthwise(_in(n, 2, 17, 1, 10), (5, 1), (2, 1), bias=False),
}
OTHERS: dict[str, Build] = {
    "average": lambda n: n.average_pool(_in(n, 2, 7, 5, 13), (7, 5), activation="RELU"),
    "averages": lambda n: n.average_pool(_in(n, 2, 7, 5, 8), (3, 2), (2, 1), padding="SAME"),
    "averages of few": lambda n: n.average_pool(_in(n, 1, 5, 5, 3), (2, 2)),
    "maxima": lambda n: n.max_pool(_in(n, 2, 7, 5, 11), (2, 3), (1, 2), padding="SAME"),
    "maxima of few": lambda n: n.max_pool(_in(n, 1, 5, 5, 2), (3, 3), activation="RELU6"),
    "resized": lambda n: _resized(n, _in(n, 2, 3, 5, 9), (6, 7)),
    "resized, centred": lambda n: _resized(n, _in(n, 1, 4, 4, 8), (9, 8), half_pixel_centers=True),
    "resized, aligned": lambda n: _resized(n, _in(n, 1, 4, 5, 6), (2, 11), align_corners=True),
    "mean": lambda n: n.mean(_in(n, 2, 5, 4, 9)),
    "mean of few": lambda n: n.mean(_in(n, 1, 5, 4, 3), keep_dims=False),
    "sums": lambda n: n.add(_in(n, 1, 5, 7, 3), _in(n, 1, 5, 7, 3), activation="RELU"),
    "differences": lambda n: n.sub(_in(n, 2, 16), _in(n, 2, 16)),
    "products": lambda n: n.mul(_in(n, 3, 5), _in(n, 3, 5), activation="RELU6"),
    "sums with channels": lambda n: n.add(_in(n, 2, 3, 19), _in(n, 19)),
    "sums with one": lambda n: n.add(_in(n, 1), _in(n, 2, 5, 9)),
    "differences from channels": lambda n: n.sub(_in(n, 9), _in(n, 2, 5, 9)),
    "differences from pixels": lambda n: n.sub(_in(n, 3, 5, 11), _in(n, 3, 5, 1)),
    "quantized": lambda n: n.quantize(_in(n, 2, 3, 5), "int8", 0.07, -5),
    "quantized, 16 bits": lambda n: n.quantize(_in(n, 8), "int16", 1e-4, 0),
    "quantized, one element": lambda n: n.quantize(_in(n, 1), "int8", 0.03, 0),
    "dequantized": lambda n: n.dequantize(n.input((2, 3, 7), scale=0.07)),
    "dequantized, unsigned": lambda n: n.dequantize(n.input((3, 8), "uint8", 0.3)),
    "dequantized, 16 bits": lambda n: n.dequantize(n.input((2, 5), "int16", 0.001)),
    "products with pixels": lambda n: n.mul(_in(n, 4, 1), _in(n, 4, 9), activation="RELU"),
}


def _resized(net: NetworkBuilder, x: int, size: Pair, **options: bool) -> int:
    """Add a RESIZE_BILINEAR."""
    return net.apply("RESIZE_BILINEAR", x, size, version=3, **options)


PRODUCTS: dict[str, Build] = {
    "matrices": lambda n: product(n, _in(n, 2, 5, 9), _in(n, 2, 9, 7)),
    "columns as rows": lambda n: product(n, _in(n, 3, 5, 20), _in(n, 3, 6, 20), adj_y=True),
    "one row": lambda n: product(n, _in(n, 3, 1, 11), _in(n, 3, 11, 8)),
    "one matrix for all": lambda n: product(n, _in(n, 3, 2, 4, 10), _in(n, 10, 6)),
    "one row for all": lambda n: product(n, _in(n, 1, 1, 10), _in(n, 4, 10, 3)),
    "spread over two axes": lambda n: product(n, _in(n, 2, 1, 3, 8), _in(n, 3, 8, 5)),
    "a constant": lambda n: product(
        n, _in(n, 3, 16), n.constant(n.random.normal(size=(16, 5)).astype(np.float32))
    ),
}
TRANSPOSED: dict[str, Build] = {
    "phases": lambda n: transposed(n, _in(n, 1, 5, 4, 9), (10, 8), 5, stride=(2, 2)),
    "odd size": lambda n: transposed(n, _in(n, 2, 4, 5, 3), (7, 9), 6, stride=(2, 2)),
    "four phases": lambda n: transposed(
        n, _in(n, 1, 6, 7, 16), (12, 14), 8, (2, 2), (2, 2), activation="RELU"
    ),
    "one phase": lambda n: transposed(n, _in(n, 1, 5, 6, 20), (5, 6), 7),
    "one row": lambda n: transposed(
        n, _in(n, 1, 1, 6, 24), (3, 14), 8, (3, 4), (1, 2), padding="VALID"
    ),
    "one pixel": lambda n: transposed(
        n, _in(n, 1, 1, 1, 7), (3, 4), 5, (3, 4), (2, 2), padding="VALID"
    ),
    "valid": lambda n: transposed(
        n, _in(n, 1, 3, 4, 8), (8, 7), 4, (4, 4), (2, 1), padding="VALID"
    ),
    "windows beyond the outputs": lambda n: transposed(
        n, _in(n, 1, 4, 3, 5), (7, 5), 4, (5, 6), (2, 2)
    ),
}
SVDFS: dict[str, Build] = {
    "svdf": lambda n: svdf(n, _in(n, 1, 40), 13, 9),
    "svdf, rank 3, batch": lambda n: svdf(n, _in(n, 2, 9), 7, 6, rank=3, activation="RELU6"),
    "svdf, one step": lambda n: svdf(n, _in(n, 1, 9), 2, 1, activation="NONE"),
}
LSTMS: dict[str, Build] = {
    "lstm": lambda n: lstm(n, _in(n, 1, 3, 10), 19),
    "lstm, batch": lambda n: lstm(n, _in(n, 3, 2, 5), 6),
    "lstm, by time, clipped": lambda n: lstm(n, _in(n, 4, 2, 5), 8, by_time=True, cell_clip=0.6),
}
GROUPS = {
    "matrix": MATRIX,
    "depthwise": DEPTHWISE,
    "others": OTHERS,
    "transposed and products": TRANSPOSED | PRODUCTS,
    "svdf": SVDFS,
}
FIRMWARE = MATRIX | DEPTHWISE | OTHERS | TRANSPOSED | PRODUCTS | SVDFS | LSTMS
FEW = dict(list(MATRIX.items())[::6] + list(DEPTHWISE.items())[::4])
PLAIN: dict[str, Build] = {
    "outputs without inputs": lambda n: transposed(
        n, _in(n, 1, 3, 2, 5), (12, 8), 4, (2, 1), (4, 4)
    ),
    "rows of two": lambda n: n.mul(_in(n, 2), _in(n, 3, 2)),
    "a mean of columns": lambda n: n.mean(_in(n, 1, 3, 2, 5), (1,)),
    "products with a column": lambda n: product(n, _in(n, 2, 6, 18), _in(n, 2, 18, 1)),
}


@pytest.mark.parametrize("case", PLAIN)
def test_what_has_no_form_is_left_to_tvm(case: str) -> None:
    net = NetworkBuilder("network", seed=8)
    program = compile_program(cpu_plan(net.build(PLAIN[case](net))), "net")
    assert set(program.sources) == {"net_graph.c", "net_graph.h"}


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("group", GROUPS)
def test_the_c_equals_tflite_micro(group: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(*(build(net) for build in GROUPS[group].values())))
    program = compile_program(plan, "net")
    functions = re.split(r"static (?!const )", program.sources["net_graph.c"])[1:]
    assert functions
    assert all("_f32(" in function for function in functions)
    generated = GeneratedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network, 3), strict=True):
        outputs = generated.outputs(sample)
        assert outputs.keys() == wanted.keys()
        for name, array in wanted.items():
            np.testing.assert_array_equal(outputs[name].view(np.int8), array.view(np.int8), name)


@needs_gcc
def test_lstms_equal_the_plain_loops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(*(build(net) for build in LSTMS.values())))
    packed = compile_program(plan, "net")
    assert "ethosgen_matrix_f32.c" in packed.sources
    monkeypatch.setattr(libraries, "LIBRARIES", ())
    plain = compile_program(plan, "net")
    assert set(plain.sources) == {"net_graph.c", "net_graph.h"}
    folders = [tmp_path / name for name in ("packed", "plain")]
    for folder in folders:
        folder.mkdir()
    packed_c, plain_c = map(GeneratedC, (packed, plain), folders)
    for sample in samples_and_golden(plan.network, 3)[0]:
        got, wanted = packed_c.run(sample)[1], plain_c.run(sample)[1]
        for name, array in wanted.items():
            np.testing.assert_array_equal(got[name].view(np.int32), array.view(np.int32), name)


def _board(core: str, folder: Path) -> str:
    """Return a board, or its file: a Cortex-M55 may have Helium without floating point."""
    if core == "cortex-m33":
        return str(board_without_helium(folder))
    path = folder / "board.toml"
    text = (ROOT / "boards" / "corstone300.toml").read_text()
    has = "false" if core == "cortex-m55 without float vectors" else "true"
    changed = text.replace('core = "cortex-m55"\n', f'core = "cortex-m55"\nmve_float = {has}\n')
    assert changed != text
    path.write_text(changed)
    return str(path)


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize(
    "core", ["cortex-m55", "cortex-m55 without float vectors", "cortex-m33", "mps2-an386"]
)
def test_firmware_equals_tflite_micro(core: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    taken = FIRMWARE if core in ("cortex-m55", "cortex-m33") else FEW
    board = core if core == "mps2-an386" else _board(core, tmp_path)
    data = net.build(*(build(net) for build in taken.values()))
    check_firmware(data, tmp_path, board, samples=1)


def _with_nans(folder: Path) -> tuple[Path, Path]:
    """Write a network of bounded outputs, and a sample with NaN and -0 in each input."""
    net = NetworkBuilder("network", seed=9)
    x, y, z = _in(net, 1, 6, 5, 7), _in(net, 1, 6, 5, 7), _in(net, 3, 13)
    outputs = [
        net.max_pool(x, (2, 2), (1, 1), activation="RELU"),
        net.average_pool(x, (2, 3), (1, 1), activation="RELU6"),
        net.add(x, y),
        net.mul(x, y, "RELU"),
        net.depthwise(x, activation="RELU6"),
        net.conv2d(x, 5, (1, 1), activation="RELU"),
        net.fully_connected(z, 6),
    ]
    network, samples = folder / "network.tflite", folder / "samples.npz"
    network.write_bytes(net.build(*outputs))
    random = np.random.default_rng(4)
    values = {}
    for spec in (net.tensors[i] for i in net.inputs):
        drawn = random.normal(size=(1, *spec.shape)).astype(np.float32)
        drawn[random.random(drawn.shape) < 0.1] = np.nan
        drawn[random.random(drawn.shape) < 0.2] = -0.0
        values[spec.name] = drawn
    np.savez(samples, **values)
    return network, samples


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("core", ["cortex-m55", "cortex-m33"])
def test_bounds_keep_nan_and_minus_zero(core: str, tmp_path: Path) -> None:
    network, samples = _with_nans(tmp_path)
    firmware_recipe = recipe(network, board=_board(core, tmp_path), npu="none")
    report = flow.verify(firmware_recipe, flow.RunOptions(Inputs(samples, None, 0)), watch=Watch())
    assert report.passed


def _between_steps(scale: float) -> np.ndarray:
    """Return floats at and beside each boundary of a quantization, and extraordinary ones."""
    steps = np.arange(-300, 301) + np.array([[0.0], [0.5]])
    exact = (steps * scale).astype(np.float32).reshape(-1)
    beside = [np.nextafter(exact, np.float32(end)) for end in (-np.inf, np.inf)]
    special = np.array([np.inf, -np.inf, 3e38, -3e38, 1e-30, -1e-30, -0.0, 1e-42], np.float32)
    return np.concatenate([exact, *beside, special])


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("core", ["cortex-m55", "cortex-m33"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_quotients_are_rounded_as_by_a_division(dtype: str, core: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    scales = (0.1, 1 / 3, 2.0**-7, 1 / 255, 0.0235, 1.9999998, 37.7, 1e-9, 1e9)
    values, outputs = {}, []
    for scale in scales:
        floats = _between_steps(scale)
        x = _in(net, len(floats))
        values[net.tensors[x].name] = floats[np.newaxis]
        outputs.append(net.quantize(x, dtype, scale, 0 if dtype == "int16" else 3))
    network, samples = tmp_path / "network.tflite", tmp_path / "samples.npz"
    network.write_bytes(net.build(*outputs))
    np.savez(samples, **values)
    firmware_recipe = recipe(network, board=_board(core, tmp_path), npu="none")
    report = flow.verify(firmware_recipe, flow.RunOptions(Inputs(samples, None, 0)), watch=Watch())
    assert report.passed


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e-40])
def test_a_layer_with_extraordinary_weights_is_left_to_tvm(value: float) -> None:
    net = NetworkBuilder("network", seed=8)
    weights = np.ones((8, 40), np.float32)
    weights[3, 5] = value
    operands = [_in(net, 1, 40), net.constant(weights)]
    spec = net.tensors[operands[0]]
    dense = net.operator("FULLY_CONNECTED", operands, [replace(spec, shape=(1, 8), name="y")], {})
    program = compile_program(cpu_plan(net.build(*dense)), "net")
    assert set(program.sources) == {"net_graph.c", "net_graph.h"}


@pytest.mark.parametrize("extension", Extension)
def test_every_processor_has_them(extension: Extension) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(net.conv2d(_in(net, 1, 8, 8, 8), 8)))
    program = compile_program(replace(plan, extension=extension), "net")
    assert "ethosgen_convolution_f32.c" in program.sources
    graph = plan.network.graph
    assert aot.cpu_cycles(graph.operators[0], graph, extension) is not None


def test_helium_is_estimated_cheaper() -> None:
    net = NetworkBuilder("network", seed=8)
    graph = cpu_plan(net.build(net.conv2d(_in(net, 1, 8, 8, 32), 32))).network.graph
    helium, dsp, plain = (
        libraries.least_cycles(graph, graph.operators[0], extension)
        for extension in (Extension.HELIUM, Extension.DSP, Extension.NONE)
    )
    assert helium is not None and dsp is not None and plain is not None
    assert 2 * helium < dsp <= plain


def test_weights_are_packed_as_the_header_says() -> None:
    weights = np.arange(1, 16, dtype=np.float32).reshape(5, 3)
    packed = order.matrix_weights(weights, np.arange(5, dtype=np.float32), (-1.0, 2.0))
    assert packed[:2].tolist() == [-1, 2]
    blocks = packed[2:].reshape(2, 4, 4)
    assert blocks[0].tolist() == [[0, 1, 2, 3], [1, 4, 7, 10], [2, 5, 8, 11], [3, 6, 9, 12]]
    assert blocks[1].tolist() == [[4, 0, 0, 0], [13, 0, 0, 0], [14, 0, 0, 0], [15, 0, 0, 0]]


@needs_gcc
def test_what_follows_a_layer_with_temporary_memory_is_joined_to_it(tmp_path: Path) -> None:
    net = NetworkBuilder("joined", 3)
    state = svdf(net, _in(net, 2, 9), 7, 6, activation="RELU")
    network = parse_network(net.build(net.quantize(state, "int8", 0.14, 36)), "joined")
    program = compile_program(cpu_plan(network), "joined")
    assert any("svdf_quantize" in text for text in program.sources.values())
    samples, golden = samples_and_golden(network, 3)
    firmware = GeneratedC(program, tmp_path)
    for sample, wanted in zip(samples, golden, strict=True):
        outputs = firmware.outputs(sample)
        assert all(np.array_equal(outputs[name], values) for name, values in wanted.items())
