"""Self-tests: their golden outputs, from the oracle, and the projects that can run them."""

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from ethosgen.oracle.answers import Answer
from ethosgen.platforms import find_platform
from ethosgen.samples.known import MOST_RUNS, known_samples
from ethosgen.values.errors import InputError
from ethosgen.values.golden import GoldenCrc
from ethosgen.values.grammar import counted
from ethosgen.values.plan import Plan
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch
from ethosgen.verdict.exactness import ask_oracles

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo

CALL = "ethosgen_networks_self_test"
"""The C function that an application calls when it starts."""


def require_self_test(info: "ProjectInfo") -> None:
    """Raise InputError for a platform whose build has no option, or an application without CALL."""
    if find_platform(info.platform).profile_remedy:
        raise InputError(
            f"the solution in '{info.directory}' has no option for --self-test; add "
            "ETHOSGEN_SELF_TEST to define in firmware.csolution.yml, and build it without "
            "--self-test"
        )
    sources = [info.directory / folder / "main.c" for folder in ("app", "src")]
    if not any(CALL in f.read_text("utf-8", "replace") for f in sources if f.is_file()):
        raise InputError(
            f"the application in '{info.directory}' does not call {CALL}(); take its main.c from a "
            "new project"
        )


def with_golden(program: Program, watch: Watch) -> Program:
    """Return a program with the CRC-32 of the oracle's outputs for the known input, or the reason.

    Only a plan that was found equal to the oracle has one: firmware must not refuse itself.
    """
    absent = _absent(program.plan)
    if absent:
        return replace(program, golden=GoldenCrc(None, absent=absent))
    with watch.phase("check", "asking the oracle about the self-test"):
        return replace(program, golden=_asked(program.plan))


def _absent(plan: Plan) -> str:
    """Return why a plan's outputs may differ from an oracle's, or "" if they may not."""
    check, network = plan.check, plan.original
    if check is None:
        return "the network was not compared with an oracle"
    if check.oracle is None:
        return f"the network was not compared with an oracle: {check.skipped}"
    if plan.options.steps:
        return "its outputs may differ from the oracle's by the steps that --steps allows"
    if network.period > MOST_RUNS:
        return f"it gives an output only after {counted(network.period, 'inference')}"
    return ""


def _asked(plan: Plan) -> GoldenCrc:
    network = plan.original
    answer = ask_oracles(network, known_samples(network), plan.check.oracle if plan.check else None)
    if not isinstance(answer, Answer):
        return GoldenCrc(None, absent=answer)
    outputs = answer.outputs[-1]
    if answer.tolerance:
        return GoldenCrc(None, absent="floats that the C library computes may differ by platform")
    if not outputs:
        return GoldenCrc(None, absent="the known input gives no output")
    if answer.left_out is not None:
        return GoldenCrc(None, absent=f"{answer.left_out.why} undefined for the known input")
    crc = 0
    for tensor in network.outputs:
        crc = zlib.crc32(outputs[tensor.name].tobytes(), crc)
    return GoldenCrc(crc, answer.oracle.title)
