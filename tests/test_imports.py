"""The rules of the design that a reader cannot see in any one file: who may import whom.

Each rule is a function from a module to its violations, so that the rules themselves are tested on
small examples that break them.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from ethosgen.oracle import ORACLES
from ethosgen.platforms import PLATFORMS
from tests import ROOT

GENERATOR = ROOT / "generator"
SOURCES = GENERATOR / "ethosgen"
PARTS = tuple(path.name for path in sorted(GENERATOR.glob("ethosgen_*")))
"""Packages of the same wheel, which come in by entry points."""

ETHOS_U = "backend.ethosu"
WRAPPED = "backend.wrapped"

FLOORS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("executorch",),
    ("", "cli", "relax", *PARTS),  # "" is the package's own __init__
    ("api", "commands"),
    ("studies", "systems"),
    ("flow",),
    ("verdict",),
    ("plots",),
    ("report", "targets", "toolchain"),
    ("proof",),
    ("project",),
    (
        "aot",
        "applications",
        "board",
        "metrics",
        "quantization",
        "splitting",
        "stages",
        "workspace",
    ),
    ("backend",),
    ("device", "optimizer", "oracle"),
    ("cycles", "frontend", "samples"),
    ("host", "toml"),
    ("platforms",),
    ("plugins",),
    ("late_names", "values", "version"),
)
"""The rooms from the top down: one imports only rooms on lower floors."""

SIMULATOR = f"{ETHOS_U}.simulator"
APART = (
    (SIMULATOR, f"{ETHOS_U}.offload"),
    ("oracle", "aot"),
    ("oracle", "optimizer"),
    ("verdict", "optimizer"),
    ("proof", "aot"),
    ("proof", "project"),
)
"""A judge, and what it judges: an oracle that shares code with a compiler shares its faults."""

OWNERS = {
    "IPython": "api",  # a notebook has it
    "PIL": "applications",
    "ai_edge_litert": "oracle",
    "bincopy": "toolchain",
    "capstone": "targets",
    "click": "cli",
    "cmsis_pack_manager": "board",
    "cobs": "targets",
    "elftools": "toolchain",
    "ethosu": "backend.ethosu.offload",
    "executorch": "quantization",
    "flatbuffers": "frontend.tflite",
    "jinja2": "project",
    "junitparser": "commands",
    "markupsafe": "report",  # comes with jinja2
    "litert_quantizer": "quantization",
    "matplotlib": "plots",
    "dask": "ethosgen_sweep",
    "distributed": "ethosgen_sweep",
    "onnx": "frontend.onnx",
    "onnxruntime": "oracle",
    "platformdirs": "host",
    "pyarrow": "ethosgen_sweep",
    "pydantic": "board",
    "pydantic_core": "toml",  # pydantic's own part, with the class of its errors
    "pytest": "ethosgen_pytest",
    "pymetis": "ethosgen_place",
    "rich": "commands",
    "serial": "targets",
    "simpy": "ethosgen_place",
    "tensorflow": "quantization",
    "tflite": "frontend.tflite",
    "tflite_micro": "oracle",
    "torch": "frontend.torch",
    "torchao": "quantization",
    "tosa_reference_model": "oracle",
    "tvm": "aot",
    "tvm_ffi": "aot",
}
"""Third-party package → the one package of ethosgen that may import it."""
SHARED = {
    ("ai_edge_litert", "quantization"),  # a quantized network is compared with its float original
    ("PIL", "samples"),  # labelled data are pictures too
    ("onnx", "quantization"),  # so is a QDQ one, which onnxruntime's quantizer writes
    ("onnxruntime", "quantization"),
    ("torch", "quantization"),  # so is a PT2E program
    ("flatbuffers", "frontend.tosa"),  # .tosa files are flatbuffers too
    ("click", "commands"),  # the command line, a file for each command
    ("click", "ethosgen_fvp"),
    ("click", "ethosgen_place"),
    ("click", "ethosgen_sweep"),
    ("flatbuffers", "frontend.flatbuffer"),  # reads by slot what has no published classes
    ("pydantic", "toml"),  # reads board files and others, and describes what is wrong
    ("pydantic", WRAPPED),  # and so is an accelerator.toml
    ("pydantic", "project"),  # its manifest is a file from outside, as a board's file is
    ("pydantic", "stages"),  # so are task graphs
    ("pydantic", "workspace"),  # and ethosgen.toml
    ("pydantic", "ethosgen_place"),  # mappings and elements files
    ("pydantic", "ethosgen_sweep"),  # and studies
    ("jinja2", "report"),  # the page of `ethosgen report` is a template too
    ("tvm", "frontend.relax"),  # reads Relax modules; aot writes them
    ("tvm", "ethosgen_relax"),  # for programs that use TVM
    ("tvm_ffi", "ethosgen_relax"),
    ("executorch", "executorch"),  # for programs that use ExecuTorch
    ("torch", "executorch"),
    ("tvm", "executorch"),  # by way of Relax it asks about operators
    ("tvm", "frontend.onnx"),  # by TVM's importer
    ("tvm", "frontend.torch"),
    ("torch", "oracle.runtimes"),  # runs what the front end reads
    ("elftools", "targets"),  # a target loads the ELF, toolchain reads its sizes
    ("elftools", "proof"),  # which proves facts of its code
    ("elftools", "cycles"),  # and where its constants are
}
"""A package, and one more that may import it."""
EVERYBODYS = {"numpy"}
PLATFORM_CONSTANTS = {"BAREMETAL", "ZEPHYR", "CSOLUTION", "LINUX", "LIBRARY_ONLY"}
WEIGHT_DECODER = "ethosu.mlw_codec"

KNOW_TFLITE = {
    "frontend",
    "backend.ethosu.offload.vela",  # Vela reads and writes .tflite files
    "oracle",  # so do the interpreters
    "verdict.cases",  # a case to report upstream is a .tflite file
    "studies.coverage",  # lists what the compression of .tflite files may decode to
}
"""Who may import the front end of .tflite files, its writer in particular."""

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
SHORTEST_TABLE = 10
NO_NAMES = {"util", "utils", "helper", "helpers", "common", "misc"}


@dataclass(frozen=True)
class Module:
    """One parsed file; `name` is dotted, and relative to ethosgen (f"{SIMULATOR}.decode").

    That of a part is whole: "ethosgen_relax.partition".
    """

    name: str
    source: str

    def is_in(self, package: str) -> bool:
        return f"{self.name}.".startswith(f"{package}.")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[tuple[str, int]]:
        return list(imports(self))

    def at(self, line: int) -> str:
        return f"{self.name or '__init__'}, line {line}"


Rule = Callable[[Module], Iterator[str]]


@cache
def read_modules() -> list[Module]:
    modules = []
    for path in sorted(GENERATOR.rglob("*.py")):
        parts = path.relative_to(GENERATOR).with_suffix("").parts
        parts = parts[parts[0] == "ethosgen" :]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path.read_text()))
    return modules


def imports(module: Module) -> Iterator[tuple[str, int]]:
    """Yield each imported module's dotted name and the line, those inside functions included."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "a relative import", node.lineno
            elif node.module in ("ethosgen", "ethosu"):
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
            elif node.module == "ethosgen.backend":
                for alias in node.names:
                    is_package = (SOURCES / "backend" / alias.name).is_dir()
                    yield node.module + f".{alias.name}" * is_package, node.lineno
            else:
                yield node.module or "", node.lineno


def internal_imports(module: Module) -> Iterator[tuple[str, int]]:
    for name, line in module.imports:
        if name.startswith("ethosgen.") or name.partition(".")[0] in PARTS:
            yield name.removeprefix("ethosgen."), line


def third_party_imports(module: Module) -> Iterator[tuple[str, int]]:
    for name, line in module.imports:
        top = name.split(".")[0]
        if top not in (*sys.stdlib_module_names, "ethosgen", *PARTS):
            yield name, line


def arrows_point_down(module: Module) -> Iterator[str]:
    floors = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
    room = module.name.partition(".")[0]
    for name, line in internal_imports(module):
        lower = name.partition(".")[0]
        if lower != room and floors[lower] <= floors[room]:
            yield f"{module.at(line)}: '{room}' imports '{lower}', which is not on a lower floor"


def judges_stay_apart(module: Module) -> Iterator[str]:
    for name, line in internal_imports(module):
        for own, other in (*APART, *(pair[::-1] for pair in APART)):
            if module.is_in(own) and f"{name}.".startswith(f"{other}."):
                yield f"{module.at(line)}: '{own}' imports '{other}'; one judges the other"


def only_the_registry_imports_a_backend(module: Module) -> Iterator[str]:
    own = module.name.split(".")[:2]
    for name, line in module.imports:
        parts = name.split(".")[1:]
        if not name.startswith("ethosgen.backend.") or parts[:2] == own:
            continue
        if (SOURCES / Path(*parts[:2])).is_dir() and module.name != "backend":
            yield f"{module.at(line)}: imports '{name}'; ask the registry in ethosgen.backend"


def dependencies_have_one_owner(module: Module) -> Iterator[str]:
    for name, line in third_party_imports(module):
        top = name.split(".")[0]
        if top in EVERYBODYS or any(
            top == package and module.is_in(own) for package, own in SHARED
        ):
            continue
        if name == WEIGHT_DECODER and module.is_in(SIMULATOR):
            continue
        owner = OWNERS.get(top)
        if owner is None:
            yield f"{module.at(line)}: '{name}' has no owner; name one in tests/test_imports.py"
        elif not module.is_in(owner):
            yield f"{module.at(line)}: imports '{name}', which only '{owner}' may"


def few_know_tflite(module: Module) -> Iterator[str]:
    for name, line in module.imports:
        is_there = f"{name}.".startswith("ethosgen.frontend.tflite.")
        if is_there and not any(map(module.is_in, KNOW_TFLITE)):
            yield f"{module.at(line)}: imports '{name}'; ask ethosgen.frontend instead"


def only_oracle_names_an_oracle(module: Module) -> Iterator[str]:
    if module.is_in("oracle"):
        return
    for node in module.nodes:
        if isinstance(node, ast.Constant) and node.value in ORACLES:
            yield f"{module.at(node.lineno)}: names '{node.value}'; use ethosgen.oracle's values"


def only_the_registry_compares_platforms(module: Module) -> Iterator[str]:
    if module.is_in("platforms"):
        return
    for node in module.nodes:
        if not isinstance(node, ast.Compare | ast.match_case):
            continue
        inside = list(ast.walk(node.pattern if isinstance(node, ast.match_case) else node))
        words = {ast.unparse(node).split(".")[-1] for node in inside if isinstance(node, ast.expr)}
        named = {node.value for node in inside if isinstance(node, ast.Constant)} & set(PLATFORMS)
        constants = words & PLATFORM_CONSTANTS
        if constants or (named and any("platform" in word for word in words)):
            name = sorted(constants or named)[0]
            line = getattr(node, "lineno", inside[0].lineno)
            yield f"{module.at(line)}: compares a platform with {name}; ask ethosgen.platforms"


def only_cli_prints(module: Module) -> Iterator[str]:
    if module.is_in("cli") or module.is_in("commands"):
        return
    for node in module.nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "print",
            "sys.stdout.write",
            "sys.stderr.write",
        ):
            yield f"{module.at(node.lineno)}: prints; only cli may"


def files_are_short(module: Module) -> Iterator[str]:
    lines = module.source.count("\n")
    tables = sum(
        node.end_lineno - node.lineno + 1
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= SHORTEST_TABLE
    )
    if lines - tables > LONGEST_FILE:
        yield f"{module.name}: {lines} lines, {tables} of them tables; {LONGEST_FILE} may be code"


def functions_are_short(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            lines = node.end_lineno - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield (
                    f"{module.at(node.lineno)}: {node.name} has {lines} lines, "
                    f"{LONGEST_FUNCTION} at most"
                )


def modules_say_what_they_are(module: Module) -> Iterator[str]:
    for part in module.name.split("."):
        if NO_NAMES & set(part.split("_")):
            yield f"{module.name}: a module is named after what it is, not '{part}'"


RULES: list[Rule] = [
    arrows_point_down,
    judges_stay_apart,
    only_the_registry_imports_a_backend,
    dependencies_have_one_owner,
    few_know_tflite,
    only_oracle_names_an_oracle,
    only_the_registry_compares_platforms,
    only_cli_prints,
    files_are_short,
    functions_are_short,
    modules_say_what_they_are,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sources_keep_the_rule(rule: Rule) -> None:
    modules = read_modules()
    assert modules, f"no sources in {SOURCES}"
    violations = [violation for module in modules for violation in rule(module)]
    assert not violations, "\n" + "\n".join(violations)


def test_the_weight_decoder_is_imported_in_one_module_only() -> None:
    importers = [
        module.name
        for module in read_modules()
        if module.is_in(SIMULATOR) and any(name == WEIGHT_DECODER for name, _ in module.imports)
    ]
    assert len(importers) <= 1, f"{WEIGHT_DECODER} is imported by {', '.join(importers)}"


BREACHES: list[tuple[Rule, str, str]] = [
    (arrows_point_down, "values.plan", f"from ethosgen.{SIMULATOR}.decode import x"),
    (arrows_point_down, "values.plan", "def f():\n    from ethosgen import aot"),
    (arrows_point_down, "aot", "import ethosgen.project"),
    (arrows_point_down, "targets.qemu", "from ethosgen.flow import verify"),
    (arrows_point_down, "flow", "from ethosgen import cli"),
    (arrows_point_down, "api", "from ethosgen_relax.report import x"),
    (arrows_point_down, "relax", "import ethosgen_relax"),
    (arrows_point_down, "board", "if TYPE_CHECKING:\n    from ethosgen.aot import x"),
    (judges_stay_apart, f"{SIMULATOR}.decode", f"from ethosgen.{ETHOS_U}.offload import offload"),
    (judges_stay_apart, f"{ETHOS_U}.offload.vela", f"from ethosgen.{SIMULATOR}.decode import x"),
    (judges_stay_apart, "aot", "from ethosgen.oracle import TFLM"),
    (
        only_the_registry_imports_a_backend,
        "flow.planning",
        "def f():\n    from ethosgen.backend.ethosu.offload import offload",
    ),
    (only_the_registry_imports_a_backend, "board", "import ethosgen.backend.ethosu.family"),
    (only_the_registry_imports_a_backend, "targets.fvp", "from ethosgen.backend import ethosu"),
    (
        only_the_registry_imports_a_backend,
        "backend.another.family",
        "from ethosgen.backend.ethosu.accelerator import EthosU",
    ),
    (dependencies_have_one_owner, f"{SIMULATOR}.weights", "from ethosu.vela import x"),
    (dependencies_have_one_owner, f"{SIMULATOR}.weights", "from ethosu import regor"),
    (dependencies_have_one_owner, "backend.ethosu.offload", "import tvm"),
    (dependencies_have_one_owner, "values.plan", "import pydantic"),
    (dependencies_have_one_owner, "aot", "import requests"),
    (dependencies_have_one_owner, "frontend.onnx", "import flatbuffers"),
    (dependencies_have_one_owner, "aot", "from . import memory"),
    (few_know_tflite, "project.rendering", "from ethosgen.frontend.tflite.writer import file_of"),
    (few_know_tflite, "verdict.judgement", "from ethosgen.frontend.tflite import FORMAT"),
    (only_oracle_names_an_oracle, "verdict.judgement", "if oracle == 'litert':\n    pass"),
    *(
        (only_the_registry_compares_platforms, "project.ci", source)
        for source in (
            "if platform == 'zephyr':\n    pass",
            "if 'linux' in board.platforms:\n    pass",
            "x = recipe.platform not in (BAREMETAL, ZEPHYR)",
            "x = kind.layout != platforms.ZEPHYR",
            "names = [one for one in board.platforms if one == BAREMETAL]",
            "match name:\n    case platforms.ZEPHYR:\n        pass",
        )
    ),
    (only_cli_prints, "aot", "print('x')"),
    (only_cli_prints, "aot", "import sys\nsys.stderr.write('x')"),
    (files_are_short, "aot", "x = 1\n" * 501),
    (functions_are_short, "aot", "def f():\n" + "    x = 1\n" * 60),
    (modules_say_what_they_are, f"{SIMULATOR}.utils", ""),
    (modules_say_what_they_are, "aot.string_helpers", ""),
]


@pytest.mark.parametrize(("rule", "name", "source"), BREACHES)
def test_a_breach_is_seen(rule: Rule, name: str, source: str) -> None:
    assert len(list(rule(Module(name, source)))) == 1


ALLOWED: list[tuple[Rule, str, str]] = [
    (only_oracle_names_an_oracle, "oracle.litert", "NAME = 'litert'"),
    (only_the_registry_compares_platforms, "platforms", "x = platform == 'zephyr'"),
    (only_the_registry_compares_platforms, "project.manifest", "x = kind == 'library'"),
    (only_the_registry_compares_platforms, "host", "x = sys.platform == 'darwin'"),
    (few_know_tflite, "verdict.cases", "from ethosgen.frontend.tflite.writer import file_of"),
    (few_know_tflite, "project.rendering", "from ethosgen.frontend import source_of"),
    (dependencies_have_one_owner, f"{SIMULATOR}.weights", "from ethosu import mlw_codec"),
    (dependencies_have_one_owner, "aot.emit", "from tvm import relax"),
    (dependencies_have_one_owner, "frontend.tflite.compression", "import flatbuffers"),
    (
        only_the_registry_imports_a_backend,
        "backend",
        "def f():\n    from ethosgen.backend.ethosu.family import ETHOS_U",
    ),
    (
        only_the_registry_imports_a_backend,
        f"{SIMULATOR}.decode",
        f"from ethosgen.{SIMULATOR}.memory import x",
    ),
    (only_the_registry_imports_a_backend, "board", "from ethosgen.backend import find_accelerator"),
    (files_are_short, f"{ETHOS_U}.isa", "TABLE = [\n" + "    1,\n" * 600 + "]\n"),
    (functions_are_short, "aot", "def f():\n" + "    x = 1\n" * 59),
]


@pytest.mark.parametrize(("rule", "name", "source"), ALLOWED)
def test_what_is_allowed_passes(rule: Rule, name: str, source: str) -> None:
    assert not list(rule(Module(name, source)))
