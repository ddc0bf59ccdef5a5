"""`ethosgen accelerators`: list, new, check, schema."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.values.errors import AcceleratorFault, InputError
from tests.plugins.toy.toy_plugin.adder import DRIVER
from tests.support.command_line import ethosgen
from tests.support.needs import needs_gcc
from tests.support.toy_accelerator import TOML, changed, write_folder


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(cli, ["accelerators", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_list_is_json_too() -> None:
    names = [row["name"] for row in json.loads(run("list", "--json").stdout)]
    lines = run("list").stdout
    assert all(name in lines for name in names)


def test_the_schema_names_each_field() -> None:
    schema = json.loads(run("schema").stdout)
    assert schema["additionalProperties"] is False
    assert {"schema", "title", "kind", "headers", "operator"} <= set(schema["required"])
    fields = schema["$defs"]["DeclaredOperation"]["properties"]
    assert {"chain", "where", "call", "arguments", "weights", "scratch"} <= set(fields)
    assert all("description" in field for field in fields.values())


@pytest.mark.slow
@needs_gcc
def test_a_new_accelerator_passes_its_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "my-engine").stdout.strip() == "my-engine"
    result = run("check", "my-engine")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "PASS"
    assert "PAD? + CONV_2D + RELU6? (my_engine_conv): 28 networks" in result.stdout
    with pytest.raises(InputError, match="'my-engine' exists"):
        run("new", "my-engine")


def test_a_name_must_be_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="'My Engine' is not a valid name"):
        run("new", "My Engine")
    assert not list(tmp_path.iterdir())


@needs_gcc
def test_check_measures_a_declared_difference(tmp_path: Path) -> None:
    source = DRIVER.replace("total > 127 ? 127", "total > 126 ? 126")
    toml = changed('call = "toy_add"\n', 'call = "toy_add"\ndifference = 1\n')
    result = run("check", write_folder(tmp_path / "toy", toml, source=source))
    assert result.exit_code == 0, result.stdout
    assert " % differ, by up to 1 of 1 step" in result.stdout
    assert result.stdout.splitlines()[-1] == "PASS"


@needs_gcc
def test_check_says_what_differs(tmp_path: Path) -> None:
    source = DRIVER.replace("total > 127 ? 127", "total > 126 ? 126")
    result = run("check", "--json", write_folder(tmp_path / "toy", source=source))
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert not report["passed"]
    (operation,) = report["operations"]
    finding = operation["findings"][0]
    assert finding["chain"] == "ADD" and finding["wanted"] == 127 and finding["got"] == 126
    text = run("check", tmp_path / "toy")
    assert "differ from the plain kernel; the first is" in text.stdout
    assert "wanted 127, got 126" in text.stdout
    assert text.stdout.splitlines()[-1] == "FAIL"


@needs_gcc
def test_check_finds_an_impossible_predicate(tmp_path: Path) -> None:
    toml = changed("\"activation == 'NONE'\"", '"output_elements < 0"')
    result = run("check", write_folder(tmp_path / "toy", toml))
    assert result.exit_code == 1
    assert "it takes nothing" in result.stdout
    assert (
        "was taken: output_elements < 0 is not true (toy, line 11): output_elements is"
        in result.stdout
    )


@needs_gcc
def test_check_finds_wrong_accesses(tmp_path: Path) -> None:
    source = DRIVER.replace("sum[i] =", "sum[i + 1] =")
    with pytest.raises(AcceleratorFault, match=r"in .*toy_add\.c:\d+: it writes memory outside"):
        run("check", write_folder(tmp_path / "toy", source=source))


def test_what_does_not_run_here_is_not_passed(tmp_path: Path) -> None:
    toml = changed("start = 10", "start = 10\nhost = false")
    result = run("check", write_folder(tmp_path / "toy", toml))
    assert result.exit_code == 1
    assert "not tried" in result.stdout and "host = false" in result.stdout


def test_a_failed_check_is_the_programs_exit_status(tmp_path: Path) -> None:
    toml = changed("start = 10", "start = 10\nhost = false")
    ended = ethosgen("accelerators", "check", write_folder(tmp_path / "toy", toml))
    assert ended.stdout.splitlines()[-1] == "FAIL"
    assert ended.returncode == 1


@needs_gcc
def test_what_has_no_trials_is_not_passed(tmp_path: Path) -> None:
    toml = changed('chain = ["ADD"]', 'chain = ["CUMSUM"]', TOML.split("where")[0])
    toml += 'call = "toy_add"\narguments = ["input", "input", "output", "output_elements"]\n'
    result = run("check", write_folder(tmp_path / "toy", toml))
    assert result.exit_code == 1
    assert "not tried" in result.stdout and "no trials of CUMSUM" in result.stdout
