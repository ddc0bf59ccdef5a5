"""The facts of a library's page for reviewers: its files, the checks, and known anomalies."""

import hashlib
import operator
import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import PurePosixPath
from typing import Any

from ethosgen.frontend import source_of, suffix_of
from ethosgen.project.manifest import LIBRARY
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.plan import Check, CpuOperator
from ethosgen.values.program import Program

REVIEW = f"{LIBRARY}/REVIEW.md"
"""It describes the whole library, so it is rendered last, and is in no digest but the manifest."""

_COMMENT = re.compile(r"\s*/\*(.*?)\*/", re.DOTALL)
_SENTENCE = re.compile(r".+?\.(?=\s|$)|.+")
_LICENCE = re.compile(r"SPDX-\S+:.*")
_CODE = (".c", ".h", ".hpp")

_KINDS = {
    "CMakeLists.txt": "The build with CMake.",
    "ethosgen.json": "The manifest: facts of networks and board, and the SHA-256 of each file.",
    "REVIEW.md": "This page.",
    "LICENSE": "Under which terms these files may be used.",
    "sbom.cdx.json": "What the library is made of, in CycloneDX's format.",
    "sbom.spdx.json": "What the library is made of, in SPDX's format.",
    "misra_deviations.txt": "Where the library deviates from MISRA C:2012, and why.",
    "REUSE.toml": "The terms of files that cannot carry a comment.",
    "Apache-2.0.txt": "The text of the Apache License.",
    "LicenseRef-ethosgen-no-claim.txt": "What we do not claim: the network, its weights, its code.",
    "Kconfig": "Zephyr's options of the library.",
    "module.yml": "Zephyr's description of the module.",
    "library.json": "PlatformIO's description of the library.",
    "library.properties": "Arduino's description of the library.",
}
_ENDS = {
    "_graph.c": "The network's steps in their order, and the code that belongs to it alone.",
    "_graph.h": "Declares the function that runs the network's steps.",
}
_SUFFIXES = {
    ".cmake": "A part of the build with CMake.",
    ".c": "C code without a description of its own.",
    ".h": "Declarations without a description of their own.",
    ".txt": "A list for a build.",
    ".sh": "A script that the build's simulator starts.",
    ".ld": "A part of the linker script.",
    ".py": "A script of the build.",
    ".sizes": "Zephyr's options for sizes.",
    ".conf": "Settings of Zephyr's options.",
    ".yaml": "A description of hardware for Zephyr.",
    ".mk": "A part of the build with make.",
    ".yml": "A part of the build, or of the platform's description.",
    ".in": "A template of the build.",
    ".weights": "The weights, constants and NPU commands, apart from the code.",
    ".md": "A document.",
    ".pdsc": "The description of the library as a CMSIS pack.",
    ".pack": "The library as a CMSIS pack, for pack managers.",
    ".license": "The terms of the file beside it.",
}


def review_facts(
    programs: Sequence[Program], library: Mapping[str, bytes], later: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the values of the page's template; `library` are all other files, by their paths.

    `later` are files derived from these and the page.
    """
    sources = {source_of(program.plan.network).data for program in programs}
    paths = sorted({*library, *later, REVIEW, f"{LIBRARY}/ethosgen.json"})
    return {
        "review_files": [
            (path.removeprefix(f"{LIBRARY}/"), _purpose(path, library.get(path, b""), sources))
            for path in paths
        ],
        "review_networks": [_network(program) for program in programs],
    }


def _network(program: Program) -> dict[str, Any]:
    summary, source = program.summary(), source_of(program.plan.network)
    kept = [cpu_operator for cpu_operator in summary.cpu_operators if cpu_operator.erratum]
    return {
        "name": program.name,
        "file": f"{program.name}{suffix_of(source)}",
        "format": source.format,
        "sha256": hashlib.sha256(source.data).hexdigest(),
        "npu_operators": summary.npu_operators,
        "partitions": summary.partitions,
        "cpu_operators": len(summary.cpu_operators),
        "steps": summary.steps,
        "check": _checked(summary.check, summary.steps),
        "anomalies": _anomalies(kept),
        "trusts_compiler": program.plan.options.trust_compiler,
    }


def _checked(check: Check | None, steps: float) -> str:
    if check is None:
        return "not compared before it was written: nobody asked (`--no-check`)"
    if check.oracle is None:
        return f"not compared before it was written: {check.skipped}"
    what = f"{counted(check.elements, 'output')} of {counted(check.samples, 'sample')}"
    near = f"within {steps_text(steps)} of" if steps else "equal to"
    alone = f"; {counted(check.driven, 'operator')} also alone, at the ends of their inputs"
    left = f"; {counted(check.left_out, 'output')} left out: {check.left_out_why}"
    more = f"{alone if check.driven else ''}{left if check.left_out else ''}"
    return f"{what} {near} those of `{check.oracle}`, before it was written{more}"


def _anomalies(operators: Sequence[CpuOperator]) -> list[dict[str, str]]:
    return [
        {
            "erratum": cpu_operator.erratum,
            "operator": f"{cpu_operator.code} (`{cpu_operator.output}`)",
            "reason": cpu_operator.reason,
        }
        for cpu_operator in operators
    ]


def _purpose(path: str, data: bytes, sources: set[bytes]) -> str:
    """Describe a file: by its own first sentence if it is C, else by its name."""
    name = PurePosixPath(path)
    if name.name in _KINDS:
        return _KINDS[name.name]
    for end, purpose in _ENDS.items():
        if name.name.endswith(end):
            return purpose
    if data in sources:
        return "The network as it was given."
    if name.suffix in _CODE and (said := _first_sentence(data.decode(errors="replace"))):
        return said
    return _SUFFIXES.get(name.suffix, "Part of the library.")


def _first_sentence(text: str) -> str:
    """Return the first sentence of the first comment that is not a licence."""
    for comment in _COMMENT.finditer(text):
        lines = [line.strip(" *\t") for line in comment[1].strip(" *\t\n").splitlines()]
        words = [line for line in lines if not _LICENCE.match(line)]
        paragraph = " ".join(takewhile(bool, dropwhile(operator.not_, words)))
        if match := _SENTENCE.match(paragraph):
            said = match[0].rstrip(":;.").replace("|", "/")
            return said if said.endswith("?") else f"{said}."
    return ""
