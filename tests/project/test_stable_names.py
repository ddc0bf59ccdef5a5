"""One application for any network: `NAME_input()` and `NAME_output()`."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.small_models import image_net, two_inputs

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only")
LANGUAGES = {"c": ("gcc", "-std=c11"), "cc": ("g++", "-std=c++14")}
ONE = """
#include "net.h"
int main(void)
{
    NET_IN *in = net_input();
    for (uint32_t i = 0; i < NET_INPUT_ELEMENTS; i++) {
        in[i] = (NET_IN)NET_INPUT_ZERO_POINT;
    }
    return net_run() == ETHOSGEN_OK &&
           net_output()[NET_OUTPUT_ELEMENTS - 1] == NET_OUTPUT_ZERO_POINT &&
           NET_INPUT_SCALE > 0 && NET_OUTPUT_SCALE > 0 && NET_OUTPUT_BYTES > 0;
}
"""
SEVERAL = """
#include "net.h"
int main(void)
{
    for (uint32_t i = 0; i < NET_INPUTS; i++) {
        *(int8_t *)net_input(i) = 1;
    }
    return net_input(NET_INPUTS) == NULL && net_run() == ETHOSGEN_OK &&
           net_output(0) != NULL;
}
"""


def compiled(source: str, suffix: str, place: Path, folder: Path, *more: str) -> None:
    text = f"#include <stddef.h>\n{source}"
    (folder / f"app.{suffix}").write_text(text)
    compiler, standard = LANGUAGES[suffix]
    command = [compiler, standard, *STRICT, *more, f"-I{place / 'model'}"]
    subprocess.run([*command, str(folder / f"app.{suffix}")], check=True)


def project(network: Path, place: Path) -> Path:
    asked = recipe(network, npu="none", check=False, names=("net",))
    return flow.create_project(asked, directory=place, watch=Watch()).directory


@pytest.mark.compiler("gcc")
@pytest.mark.parametrize("demo", ["digits_int8", "kws_int8", "vibration_int8"])
def test_the_same_application_compiles_with_every_demo_network(demo: str, tmp_path: Path) -> None:
    place = project(ROOT / "demo" / f"{demo}.tflite", tmp_path / "p")
    for suffix in LANGUAGES:
        compiled(ONE, suffix, place, tmp_path, "-DNET_IN=int8_t")


@pytest.mark.compiler("gcc")
def test_a_network_whose_tensors_have_these_names_keeps_them(tmp_path: Path) -> None:
    net = NetworkBuilder("n", seed=1)
    y = net.logistic(net.input((1, 4)))
    net.tensors[0] = replace(net.tensors[0], name="output")
    net.tensors[y] = replace(net.tensors[y], name="input")
    (tmp_path / "n.tflite").write_bytes(net.build(y))
    place = project(tmp_path / "n.tflite", tmp_path / "p")
    for suffix in LANGUAGES:
        compiled(ONE, suffix, place, tmp_path, "-DNET_IN=int8_t")


@pytest.mark.compiler("gcc")
def test_several_inputs_have_numbers(tmp_path: Path) -> None:
    place = project(two_inputs(tmp_path / "two.tflite"), tmp_path / "p")
    for suffix in LANGUAGES:
        compiled(SEVERAL, suffix, place, tmp_path)


@pytest.mark.compiler("gcc")
def test_the_callers_buffers_have_the_sizes_too(tmp_path: Path) -> None:
    asked = recipe(
        image_net(tmp_path / "n.tflite"),
        npu="none",
        check=False,
        names=("net",),
        io=IoStyle.CALLER.value,
    )
    place = flow.create_project(asked, directory=tmp_path / "p", watch=Watch()).directory
    source = """
#include "net.h"
static int8_t in[NET_INPUT_BUFFER_BYTES], out[NET_OUTPUT_BUFFER_BYTES];
int main(void) { return net_run(in, out); }
"""
    for suffix in LANGUAGES:
        compiled(source, suffix, place, tmp_path)
