"""`ethosgen explain`: every code has its meaning, and errors are JSON if that is asked for."""

import inspect
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.explain import explanations
from ethosgen.flow import alternatives
from ethosgen.report import advice
from ethosgen.values import errors
from ethosgen.values.explanation import ADVICE, ERROR, REASON
from tests import ROOT
from tests.support.command_line import ethosgen


def test_each_error_that_a_user_may_see_is_explained() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.EthosgenError) and kind is not errors.EthosgenError
    ]
    codes = [kind.code for kind in kinds]
    assert len(codes) == len(set(codes)) > 9
    explained = {explanation.code for explanation in explanations() if explanation.kind == ERROR}
    assert explained == {*codes, errors.BUG_CODE}


def test_each_erratum_and_each_piece_of_advice_is_explained() -> None:
    known = {explanation.code: explanation for explanation in explanations()}
    assert len(known) == len(explanations()), "a code has two meanings"
    networks = {path.stem for path in (ROOT / "tests" / "errata").glob("*.tflite")}
    reasons = {code for code, explanation in known.items() if explanation.kind == REASON}
    assert networks and networks <= reasons
    source = inspect.getsource(advice) + inspect.getsource(alternatives)
    codes = set(re.findall(r'Improvement\(\s*"([\w-]+)"', source))
    codes |= set(re.findall(r'code, how, option = "([\w-]+)"', source))
    assert codes == {code for code, explanation in known.items() if explanation.kind == ADVICE}
    assert all(explanation.remedy and explanation.text for explanation in known.values())


def test_a_code_is_explained_alone_in_a_list_and_as_json() -> None:
    alone = CliRunner().invoke(cli, ["explain", "mirror-pad-axes"]).stdout
    assert alone.startswith("mirror-pad-axes: ") and "what to do: " in alone and "Regor" in alone
    listed = CliRunner().invoke(cli, ["explain"]).stdout
    assert all(f"  {explanation.code} " in listed for explanation in explanations())
    answer = json.loads(CliRunner().invoke(cli, ["explain", "float", "--json"]).stdout)
    assert [explanation["code"] for explanation in answer] == ["float"] and answer[0][
        "kind"
    ] == ADVICE
    done = ethosgen("explain", "capacty")
    assert done.returncode == 2 and "did you mean 'capacity'?" in done.stderr


@pytest.mark.parametrize("with_json", [False, True])
def test_an_error_is_an_object_with_its_code_if_json_is_asked_for(
    tmp_path: Path, with_json: bool
) -> None:
    words = ["simulate", tmp_path / "missing.tflite", *(["--json"] if with_json else [])]
    done = ethosgen(*words)
    assert done.returncode == 2 and done.stderr.startswith("ethosgen: cannot read")
    if not with_json:
        assert done.stdout == ""
        return
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["exit_status"]) == ("input", 2)
    assert done.stderr == f"ethosgen: {error['message']}\n"
