"""The C++ header and the quantization helpers of a library."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow, frontend
from ethosgen.board import load_board
from ethosgen.host.resources import template_folder
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from ethosgen.values.plan import IoStyle
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.programs import make_program
from tests.support.small_models import image_net

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
BARE = ["-fno-exceptions", "-fno-rtti", "-ffreestanding"]
COUNT = 4096
SCALE, ZERO_POINT, MIDDLE = 0.037, -5, 128
INT32 = 2.0**31
UNDEFINED = 8
"""Values among the given ones whose result TFLite Micro does not define."""

QUANTIZATION = """
#include "ethosgen_quantization.h"
void quantize(int8_t *to8, uint8_t *to_u8, int16_t *to16, float *back, const float *from,
              size_t count)
{
    ethosgen_quantize_all_s8(to8, from, count, %sf, %d);
    ethosgen_quantize_all_u8(to_u8, from, count, %sf, %d);
    ethosgen_quantize_all_s16(to16, from, count, %sf, 0);
    ethosgen_dequantize_all_s8(back, to8, count, %sf, %d);
}
"""
MAIN = """
#include "image_net.hpp"
#include <cstdio>
int main()
{
    image_net::network network;
    float values[IMAGE_NET_IMAGE_ELEMENTS];
    for (size_t i = 0; i < IMAGE_NET_IMAGE_ELEMENTS; i++) {
        values[i] = 0.01f * static_cast<float>(static_cast<int>(i * 37 %% 500) - 250);
    }
    auto image = network.image();
    image.set(values);
    for (auto element : image) {
        std::printf("%%d ", element);
    }
    if (network.status() != ETHOSGEN_OK || network.run() != ETHOSGEN_OK) {
        return 1;
    }
    std::printf("\\n");
    for (size_t i = 0; i < network.%s().size(); i++) {
        std::printf("%%.9g ", static_cast<double>(network.%s().real(i)));
    }
    return 0;
}
"""


def values() -> np.ndarray:
    """Return ordinary values, halves of steps and their neighbours, and values out of range."""
    random = np.random.default_rng(4)
    halves = (np.arange(-160, 160) + 0.5) * np.float32(SCALE)
    near = [np.nextafter(halves, end, dtype=np.float32) for end in (-np.inf, np.inf)]
    large = np.array([1e9, -1e9, 3e38, -3e38, np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e-40])
    fixed = np.concatenate([halves, *near, large]).astype(np.float32)
    rest = random.normal(0, 3, COUNT - len(fixed)).astype(np.float32)
    return np.concatenate([fixed, rest])


def quantize_network(path: Path, dtype: str, zero_point: int) -> Path:
    net = NetworkBuilder("quantize", seed=1)
    x = net.input((1, COUNT), "float32", name="x")
    path.write_bytes(net.build(net.quantize(x, dtype, SCALE, zero_point)))
    return path


@needs_gcc
def test_values_are_quantized_as_by_tflite_micro(tmp_path: Path) -> None:
    source = tmp_path / "quantize.c"
    source.write_text(QUANTIZATION % (SCALE, ZERO_POINT, SCALE, MIDDLE, SCALE, SCALE, ZERO_POINT))
    include = template_folder("common") / "model"
    library = tmp_path / "quantize.so"
    command = ["gcc", "-std=c11", *WARNINGS, f"-I{include}", "-shared", "-fPIC", "-O2"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True)
    inputs = values()
    to8, to_u8, to16 = (np.zeros(COUNT, dtype) for dtype in (np.int8, np.uint8, np.int16))
    back = np.zeros(COUNT, np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (to8, to_u8, to16, back, inputs)]
    ctypes.CDLL(str(library)).quantize(*pointers, ctypes.c_size_t(COUNT))
    for dtype, zero_point, got in (("int8", ZERO_POINT, to8), ("int16", 0, to16)):
        network = frontend.read(quantize_network(tmp_path / f"{dtype}.tflite", dtype, zero_point))
        golden = golden_outputs(network, [{"x": inputs.reshape(1, COUNT)}])[0]
        # TFLite Micro casts larger steps, infinities and NaN to int32_t: C++ does not define it.
        defined = np.abs(inputs) < INT32 * np.float32(SCALE)
        assert np.array_equal(got[defined], next(iter(golden.values())).flatten()[defined])
        bounds = np.where(inputs > 0, np.iinfo(dtype).max, np.iinfo(dtype).min)  # NaN: the least
        assert np.array_equal(got[~defined], bounds[~defined]) and np.sum(~defined) == UNDEFINED
    with np.errstate(over="ignore"):
        steps = np.nan_to_num(inputs / np.float32(SCALE), nan=-np.inf).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps)  # TFLite Micro makes no uint8 here
    assert np.array_equal(to_u8, np.clip(rounded + MIDDLE, 0, 255).astype(np.uint8))
    expected = (np.float64(np.float32(SCALE)) * (to8.astype(int) - ZERO_POINT)).astype(np.float32)
    assert np.array_equal(back, expected)


@needs_gcc
def test_a_network_runs_from_cpp(tmp_path: Path) -> None:
    path = image_net(tmp_path / "image_net.tflite")
    recipe = Recipe((path,), None, npu="none", platform=LIBRARY_ONLY)
    flow.create_project(recipe, directory=tmp_path / "lib", watch=Watch())
    model = tmp_path / "lib" / "model"
    network = frontend.read(path)
    header = (model / "image_net.hpp").read_text()
    output = header.rsplit("_tensor(image_net_", 1)[1].split("(")[0]
    (tmp_path / "main.cpp").write_text(MAIN % (output, output))
    sources = [str(p) for p in sorted(model.glob("*.c")) if p.stem != "ethosgen_networks"]
    subprocess.run(["gcc", "-O1", "-w", f"-I{model}", "-c", *sources], cwd=tmp_path, check=True)
    objects = [str(p) for p in sorted(tmp_path.glob("*.o"))]
    command = ["g++", "-std=c++14", *WARNINGS, f"-I{model}", "main.cpp", *objects, "-lm"]
    subprocess.run([*command, "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True)
    first, second = said.stdout.splitlines()
    tensor, scores = network.inputs[0], network.outputs[0]
    inputs = np.array(first.split(), np.int8)
    assert len(set(inputs.tolist())) > 50
    sample = {tensor.name: inputs.reshape(tensor.shape)}
    golden = golden_outputs(network, [sample])[0][scores.name].flatten()
    assert scores.quantization is not None
    scale, zero_point = scores.quantization.scale[0], scores.quantization.zero_point[0]
    real = (np.float64(np.float32(scale)) * (golden.astype(int) - zero_point)).astype(np.float32)
    assert [np.float32(word) for word in second.split()] == real.tolist()


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_the_header_is_cpp14_and_newer(tmp_path: Path, io: IoStyle) -> None:
    write(
        render(make_program(io), load_board("corstone300"), platform=LIBRARY_ONLY), tmp_path / "p"
    )
    (tmp_path / "main.cpp").write_text('#include "plus_one.hpp"\nplus_one::network network;\n')
    for standard in ("c++14", "c++17", "c++20"):
        command = ["g++", f"-std={standard}", *WARNINGS, *BARE, "-fsyntax-only", "main.cpp"]
        subprocess.run([*command, f"-I{tmp_path / 'p' / 'model'}"], cwd=tmp_path, check=True)
