"""The package's functions: they are the commands', with the same options."""

import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any, get_args

import pytest

import ethosgen
from ethosgen import api
from tests.support.command_line import commands

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "simulate": api.simulate,
    "verify": api.verify,
    "report": api.create_report,
    "project": api.create_project,
    "build": api.build_project,
    "flash": api.flash_project,
    "run": api.run_project,
    "attach": api.attach,
    "compare": api.compare,
    "place": ethosgen.place,
    "sweep": ethosgen.sweep,
    "accuracy": api.accuracy,
    "identify": api.identify,
}
RENAMED = {
    **{"networks": "network", "input_path": "inputs", "strategy": "strategies"},
    "ports": "port",
}
OPTIONS = {
    *("cpu_ops", "offload", "trust_compiler", "check", "optimize", "oracle", "steps"),
    "allow_fallback",
}
"""Fields of OffloadOptions; those of SCHEDULE are its schedule's."""
SINGULAR = {"board", "npu", "memory_mode", "strategy"}
"""One value for an option of `compare` that takes several."""
SCHEDULE = {"strategy", "arena_limit", "stream", "fetch", "feed", "step"}
READING = {"shapes", "input_layout"}
FOR_TERMINALS_AND_FILES = {
    *("verbose", "goal"),
    *("as_json", "as_csv", "tables", "wide", "junit_path", "output_path", "plot"),
    *("dry_run", "schema", "no_cache"),
    *("with_ci", "ci_ethosgen", "pack", "trace", "no_times", "dumps"),
    "log_path",
}
"""The values have what these print or write."""
BUILT = {"build", "flash", "run", "sweep", "identify"}
"""Their files decide about the NPU."""
FOR_BOARDS = {"host", "ports", "baud", "reset", "flasher", "build_directory", "files", "harness"}
"""Most functions reach no board on a line, and run no application by itself."""


@pytest.mark.parametrize("command", FUNCTIONS)
def test_a_function_has_its_commands_options(command: str) -> None:
    parameters: set[str] = set()
    for parameter in inspect.signature(FUNCTIONS[command]).parameters.values():
        is_keywords = parameter.kind is parameter.VAR_KEYWORD
        parameters |= (
            set(get_args(parameter.annotation)[0].__annotations__)
            if is_keywords
            else {parameter.name}
        )
    known = {option.name or "" for option in commands()[command].params}
    missing = known - FOR_TERMINALS_AND_FILES - FOR_BOARDS - READING - parameters
    if "options" in parameters:
        missing -= OPTIONS | SCHEDULE
    assert not {name for name in missing if RENAMED.get(name) not in parameters}
    own = parameters - known - set(RENAMED.values())
    own -= SINGULAR if command == "compare" else set()
    assert own <= {"announce", "options"}, "a parameter that the command lacks"


def test_every_function_takes_one_npu_by_one_name() -> None:
    for command, function in FUNCTIONS.items():
        signature = inspect.signature(function).parameters.values()
        keywords = [p.annotation for p in signature if p.kind is p.VAR_KEYWORD]
        names = {p.name for p in signature}.union(
            *(get_args(k)[0].__annotations__ for k in keywords)
        )
        assert "npu" in names or command in BUILT, command


def test_the_options_of_a_division_are_fields() -> None:
    assert {field.name for field in dataclasses.fields(api.OffloadOptions)} >= {
        "cpu_ops",
        "schedule",
    }
    assert set(inspect.signature(api.read).parameters) >= READING


def test_the_package_exports_what_api_does() -> None:
    assert set(ethosgen.__all__) - {"EthosgenError", "__version__", "place", "sweep"} == set(
        api.__all__
    ) - {
        "AccuracyOptions",
        "ComparisonOptions",
        "FirmwareOptions",
        "NetworkLike",
        "SampleOptions",
    }
    for name in set(ethosgen.__all__) & set(api.__all__):
        assert getattr(ethosgen, name) is getattr(api, name)
    assert set(dir(ethosgen)) == set(ethosgen.__all__)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        ethosgen.simulat  # noqa: B018


def test_importing_the_package_imports_no_compiler() -> None:
    told = "import sys, ethosgen; print([m for m in ('tvm', 'numpy', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
