"""Bad declarations: one sentence with the file, the line and what to do."""

from pathlib import Path

import pytest

from ethosgen.backend import load_wrapped
from ethosgen.values.errors import InputError
from tests.support.conv_accelerator import TOML as CONV
from tests.support.toy_accelerator import changed, write_folder

CASES = {
    "an unknown field": ("start = 10", "stat = 10", r"line 6: stat: .* \(did you mean 'start'"),
    "an unknown operator": (
        '["ADD"]',
        '["AD"]',
        r"line 9: operator\[0\].chain: .*'AD' \(did you m",
    ),
    "only optional members": ('["ADD"]', '["ADD?"]', "at least one operator must not be optional"),
    "an unknown name": (
        '"output_elements"]',
        '"output_elments"]',
        r"line 17: operator\[0\].arguments: .*unknown name 'output_elments' \(did you",
    ),
    "an unknown name of a predicate": (
        "activation == 'NONE'",
        "activaton == 'NONE'",
        r"line 10: operator\[0\].where: .* 'activaton' \(did you mean 'activation'",
    ),
    "no expression": (
        "activation == 'NONE'",
        "activation = 'NONE'",
        r"line 10: operator\[0\].where: 'activation = 'NONE'' is not an expression",
    ),
    "a predicate that is never true": (
        "activation == 'NONE'",
        "1 == 2",
        r"line 10: operator\[0\].where: '1 == 2' is never true",
    ),
    "what is not allowed": (
        "activation == 'NONE'",
        "activation.upper() == 'NONE'",
        "calls no known function",
    ),
    "a wrong kind": ('"device"', '"engine"', r"line 3: kind: it must be 'device' or 'libr"),
    "a number as text": ("start = 10", 'start = "10"', r"line 6: start: it must be a whole n"),
    "no header": ('headers = ["toy_add.h"]', "", "headers: it is missing"),
    "a missing source": ('"toy_add.c"', '"toy_sub.c"', r"line 5: sources: cannot read"),
    "a file outside": ('"toy_add.c"', '"../toy_add.c"', r"line 5: sources: .* is outside the fold"),
    "another schema": ("schema = 1", "schema = 2", r"line 1: schema: it must be 1, but is 2"),
    "a wrong C name": (
        'call = "toy_add"',
        'call = "toy add"',
        "'toy add' is not a name in C, such",
    ),
    "an interrupt that no board has": (
        "[[operator]]",
        "[device]\nregisters = 4\n[device.boards.corstone300]\nbase = 0\nirq = 900\n[[operator]]",
        r"line 12: device\.boards\.corstone300\.irq: it must be less than 480, but is 900",
    ),
    "a register outside": (
        "[[operator]]",
        "[device]\nregisters = 8\nshown = { DONE = 4, STATUS = 8 }\n[[operator]]",
        r"line 10: device\.shown\.STATUS: offset 0x8 is behind the registers, which have 8 bytes",
    ),
    "RTL without its registers": (
        "[[operator]]",
        '[device]\nregisters = 8\nmodel = "engine.sv"\n[[operator]]',
        r"line 10: device\.model: RTL needs a table \[device\.verilog\] .*: start = 0x04",
    ),
    "registers of no RTL": (
        "[[operator]]",
        '[device]\nregisters = 8\nmodel = "a.c"\nverilog = { start = 0, done = 4 }\n[[operator]]',
        r'line 11: device\.verilog: the model is not RTL; write model = "engine\.sv"',
    ),
    "a start outside": (
        "[[operator]]",
        '[device]\nregisters = 8\nmodel = "a.v"\nverilog = { start = 8, done = 4 }\n[[operator]]',
        r"line 11: device\.verilog\.start: offset 0x8 is behind the registers, which have 8 bytes",
    ),
    "another format of waveforms": (
        "[[operator]]",
        '[device]\nregisters = 8\nmodel = "a.v"\n[device.verilog]\nstart = 0\ndone = 4\n'
        'trace = "a.fst"\n[[operator]]',
        r"line 14: device\.verilog\.trace: 'a\.fst' must end with \.vcd",
    ),
    "a library with its option": (
        "start = 10",
        'start = 10\nlink = ["-lm"]',
        r"link\[0\]: '-lm' is not a library, such as pthr",
    ),
    "a method without a class": (
        'call = "toy_add"',
        'call = "toy_add"\nweights = "python:pack"',
        "it names a method, but `python` none",
    ),
    "weights where there are none": (
        'call = "toy_add"',
        'call = "toy_add"\nweights = "OHWI"',
        r"line 17: operator\[0\].weights: ADD has no weights",
    ),
    "no TOML": ("schema = 1", "schema = ", "is not TOML"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_declaration_is_one_sentence(case: str, tmp_path: Path) -> None:
    old, new, said = CASES[case]
    folder = write_folder(tmp_path / "toy", changed(old, new))
    with pytest.raises(InputError, match=said) as error:
        load_wrapped(str(folder))
    assert str(folder / "accelerator.toml") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="accelerator 'toi'"):
        load_wrapped("toi")
    with pytest.raises(InputError, match=r"has no accelerator\.toml; start one with"):
        load_wrapped(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "class Engine:\n  def takes(self, site):\n    return 1 / 0\n",
            r"line 3: ZeroDivisionError",
        ),
        ("class Engine\n", r"failed, line 1: SyntaxError"),
        ("class Motor:\n  pass\n", "has no class Engine"),
    ],
)
def test_a_bad_class_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    from ethosgen.frontend.tflite.reader import parse_network
    from ethosgen.values.plan import IoStyle
    from ethosgen.verdict.cpu_only import plan_cpu_only
    from tests.support.toy_accelerator import sums_file

    toml = changed("start = 10", 'start = 10\npython = "engine.py:Engine"')
    folder = write_folder(tmp_path / "toy", toml, engine__py=text)
    network = parse_network(sums_file(tmp_path / "sums.tflite").read_bytes(), "sums")
    with pytest.raises(InputError, match=said):
        load_wrapped(str(folder)).offers(plan_cpu_only(network, IoStyle.ARENA), {})


def test_another_order_of_weights_is_refused(tmp_path: Path) -> None:
    toml = changed('weights = "HWIO"', 'weights = "OHW"', CONV)
    with pytest.raises(
        InputError, match="'OHW' is not an order of CONV_2D's dimensions, which are OH"
    ):
        load_wrapped(str(write_folder(tmp_path / "conv", toml)))
