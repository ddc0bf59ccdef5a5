"""Files that were lowered for own accelerators: who uses the choice, who refuses it, and damage."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen import frontend
from ethosgen.cli import cli
from ethosgen.flow.lowered import accelerators_for, choices_for
from ethosgen.values.choice import CHOICE, LoweringChoice
from ethosgen.values.errors import InputError
from tests.support.needs import needs_extra
from tests.support.networks import NetworkBuilder
from tests.support.program_file import ProgramFile

ENGINE = LoweringChoice("none", ("matrix-engine",))


def _network() -> bytes:
    net = NetworkBuilder("small", 4)
    x = net.conv2d(net.input((1, 8, 8, 4), name="x"), 8, activation="RELU")
    return net.build(net.conv2d(x, 4))


def _lowered(path: Path, data: bytes, choice: LoweringChoice = ENGINE) -> Path:
    """Write a program whose only step is a delegate of ethosgen.executorch's."""
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    specs = {CHOICE: choice.as_text().encode()}
    program.call(data, x, y, backend="EthosgenBackend", specs=specs)
    path.write_bytes(program.build([x], [y]))
    return path


def test_a_user_comes_before_the_file(tmp_path: Path) -> None:
    path = _lowered(tmp_path / "net.pte", _network())
    assert choices_for(path, None, ()) == ("none", ("matrix-engine",))
    assert choices_for(path, "ethos-u55-128", ("acl",)) == ("ethos-u55-128", ("acl",))
    other = _lowered(tmp_path / "other.pte", _network(), LoweringChoice("none", ("acl",)))
    with pytest.raises(InputError, match="lowered for different accelerators"):
        accelerators_for([path, other], ())


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_damaged_network_in_a_delegate_is_one_sentence(kept: float, tmp_path: Path) -> None:
    data = _network()
    path = _lowered(tmp_path / "net.pte", data[: int(len(data) * kept)])
    with pytest.raises(InputError, match=r"net\.pte") as error:
        frontend.read(path)
    assert "\n" not in str(error.value)


def test_every_flipped_byte_is_read_or_refused(tmp_path: Path) -> None:
    data = _network()
    for place in range(4, len(data), 31):
        wrong = bytearray(data)
        wrong[place] ^= 0xFF
        try:
            frontend.read(_lowered(tmp_path / "net.pte", bytes(wrong)))
        except InputError as error:
            assert "\n" not in str(error)


def _refusal(*arguments: object) -> str:
    """Return the sentence of a command that the user's files make fail."""
    ended = CliRunner().invoke(cli, [*map(str, arguments)])
    assert isinstance(ended.exception, InputError)
    return str(ended.exception)


@needs_extra("place")
def test_a_mesh_refuses_accelerators_by_name(tmp_path: Path) -> None:
    path = _lowered(tmp_path / "net.pte", _network())
    why = _refusal("place", path, "--mesh", "2x2")
    assert why.startswith(
        f"'{path}' was lowered for matrix-engine, but elements of a mesh have none"
    )


def test_a_system_without_the_accelerator_refuses_it_by_name(tmp_path: Path) -> None:
    path = _lowered(tmp_path / "net.pte", _network())
    system = tmp_path / "system.toml"
    elements = (f'[[elements]]\nname = "{name}"\nboard = "corstone300"\n' for name in "ab")
    system.write_text(f'link = "serial"\n{"".join(elements)}')
    why = _refusal("pipeline", path, "--system", system, "-o", tmp_path / "line")
    assert why == (
        f"'{path}' was lowered for matrix-engine, but no element of '{system}' names an accelerator"
    )
