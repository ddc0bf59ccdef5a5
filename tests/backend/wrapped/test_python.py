"""What a declaration cannot say: a Python class, packed weights, measured cycles."""

from pathlib import Path

import pytest

from ethosgen.backend import load_wrapped
from ethosgen.flow import simulate
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle, OffloadOptions, Plan
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.judgement import Inputs
from tests.support.conv_accelerator import HEADER, SOURCE, TOML
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import changed, write_folder

ENGINE = """\
import numpy as np


class Engine:
    def takes(self, site):
        return "" if site.terms["output_channels"] < 8 else "it has seven channels"

    def terms(self, site):
        return {"sum_bytes": 4 * site.terms["output_channels"]}

    def arrays(self, site):
        offset = np.int32(-site.terms["input_zero_point"])
        return {"offsets": np.array([offset], np.int32)}

    def pack_transposed(self, site, weights):
        return weights.transpose(1, 2, 3, 0)

    def cycles(self, site):
        return 77
"""
WITH_CLASS = (
    TOML.replace('weights = "HWIO"', 'weights = "python:pack_transposed"')
    .replace('scratch = "4 * output_channels"', 'scratch = "sum_bytes"')
    .replace('"-input_zero_point"', '"offsets"')
    .replace("start = 60", 'start = 60\npython = "engine.py:Engine"')
)


def folder_of(place: Path) -> Path:
    header = HEADER.replace("int32_t input_offset", "const int32_t *offsets")
    source = SOURCE.replace("int32_t input_offset", "const int32_t *offsets")
    source = source.replace("+ input_offset)", "+ *offsets)")
    return write_folder(place, WITH_CLASS, header, source, engine__py=ENGINE)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    net = NetworkBuilder("convs", seed=5)
    x = net.conv2d(net.input((1, 6, 5, 4)), 8)
    path = tmp_path / "convs.tflite"
    path.write_bytes(net.build(net.conv2d(x, 3)))
    return path


def plan_of(model: Path) -> Plan:
    return plan_cpu_only(parse_network(model.read_bytes(), "convs"), IoStyle.ARENA)


def simulated(model: Path, folder: Path) -> Report:
    return simulate(
        model,
        npu="none",
        accelerators=(str(folder),),
        inputs=Inputs(None, 5, 0),
        options=OffloadOptions(),
        watch=Watch(),
    )


@needs_gcc
def test_a_class_refuses_packs_and_adds(model: Path, tmp_path: Path) -> None:
    report = simulated(model, folder_of(tmp_path / "engine"))
    assert report.passed
    (share,) = report.plan.shares
    assert (share.operators, share.cycles) == (1, 60 + 77)
    assert "engine: it has seven channels" in report.plan.cpu_operators[0].reason


def test_a_class_sees_no_chain_of_other_types() -> None:
    """The matrix engine's terms are integers', which a float layer does not have."""
    net = NetworkBuilder("floats")
    y = net.conv2d(net.input((1, 6, 5, 4), "float32"), 8)
    plan = plan_cpu_only(parse_network(net.build(y), "floats"), IoStyle.ARENA)
    (offer,) = load_wrapped("matrix-engine").offers(plan, {}).values()
    assert offer.refusal == "it takes int8, not float32"


def test_measured_cycles_are_looked_up(model: Path, tmp_path: Path) -> None:
    formula = 'cycles = "output_elements * kernel_h * kernel_w * input_channels / 4"'
    toml = changed(formula, 'cycles_table = "measured.csv"', TOML)
    table = "output_channels,cycles,kernel_h\n8,1234,3\n3,99,1\n"
    folder = write_folder(tmp_path / "conv", toml, HEADER, SOURCE, measured__csv=table)
    offers = load_wrapped(str(folder)).offers(plan_of(model), {})
    assert [offer.cycles for offer in offers.values()] == [1234, None]
    assert [offer.unknown.partition("; ")[2] for offer in offers.values()] == [
        "",
        "in the nearest output_channels is 8 instead of 3",
    ]
    for wrong, said in (
        ("output_channels\n8\n", r"measured\.csv' is not a table of cycles"),
        ("output_channels,cycles\n8,12\n3,-4\n", r"row 3: .* whole number, but is '3,-4'"),
        ("output_channels,cycles\n8\n", r"row 2: it must have 2 values"),
        ("output_chanels,cycles\n8,1\n", r"'output_chanels' \(did you mean 'output_channels'\?\)"),
    ):
        (folder / "measured.csv").write_text(wrong)
        with pytest.raises(InputError, match=said):
            load_wrapped(str(folder)).offers(plan_of(model), {})


def test_a_formula_estimates_what_was_not_measured(model: Path, tmp_path: Path) -> None:
    formula = 'cycles = "output_elements * kernel_h * kernel_w * input_channels / 4"'
    toml = changed(formula, 'cycles = 77\ncycles_table = "measured.csv"', TOML)
    table = "output_channels,cycles,kernel_h\n8,1234,3\n"
    folder = write_folder(tmp_path / "conv", toml, HEADER, SOURCE, measured__csv=table)
    offers = load_wrapped(str(folder)).offers(plan_of(model), {})
    assert [offer.cycles for offer in offers.values()] == [1234, 77]


def test_weights_of_an_unknown_method_are_refused(model: Path, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "engine")
    engine = folder / "engine.py"
    engine.write_text(engine.read_text().replace("pack_transposed", "pack_other"))
    with pytest.raises(InputError, match="has no method pack_transposed, which weights name"):
        load_wrapped(str(folder)).offers(plan_of(model), {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"offsets"', '"ofsets"', r"arguments: 'ofsets' .* 'ofsets' \(did you mean 'offsets'\?\)"),
        ('scratch = "sum_bytes"', 'scratch = "sum_byts"', r"scratch: .*mean 'sum_bytes'"),
        (
            "where = [",
            'where = [\n    "sum_byts < 9",',
            r"where: 'sum_byts < 9' .*mean 'sum_bytes'",
        ),
    ],
)
def test_a_misspelled_name_is_an_error(
    model: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    """The chain is not left to the CPU, where the network would pass without the accelerator."""
    folder = folder_of(tmp_path / "conv")
    toml = folder / "accelerator.toml"
    toml.write_text(changed(old, new, toml.read_text()))
    line = next(n for n, text in enumerate(toml.read_text().splitlines(), 1) if new[-8:] in text)
    with pytest.raises(InputError, match=said) as error:
        load_wrapped(str(folder)).offers(plan_of(model), {})
    assert f"accelerator.toml', line {line}: operator[0]." in str(error.value)
    assert "engine.py:Engine gives " in str(error.value)


def test_a_refusal_names_its_line_and_what_the_terms_are(model: Path, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "conv")
    toml = folder / "accelerator.toml"
    rule = "output_channels == 2 * input_channels + 1"
    toml.write_text(
        changed("where = [", f'where = [\n    "1 < 2",\n    "{rule}",', toml.read_text())
    )
    lines = toml.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if rule in text)
    refusals = [o.refusal for o in load_wrapped(str(folder)).offers(plan_of(model), {}).values()]
    said = f"{rule} is not true (conv, line {line}): output_channels is 8, input_channels is 4"
    assert said in refusals
