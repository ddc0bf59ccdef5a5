"""Runs one random network through the steps of `project`, and compares all its outputs."""

import re
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ethosgen.board import Board, load_board
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle import DEFAULT, MIXED
from ethosgen.oracle.answers import Answer
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.errors import EthosgenError, InternalError, NpuFault
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, equal_elements
from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.trial import question_of
from tests.corpus.choices import Choices, seeded
from tests.corpus.wild.fragments import draw_values
from tests.corpus.wild.golden import golden
from tests.corpus.wild.graph import WildNetwork, make_network

SAMPLES = 3
ENDS = (1, 3)
"""The places of the lowest and of the highest values among drawn samples."""
BOARD = "corstone300"
NPUS = (
    "none", "none", "ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256",
    "ethos-u65-256", "ethos-u65-512",
)  # fmt: skip
U85 = ("ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048")
ONE_IN_U85 = 3
"""One in so many networks is for U85; the others keep the setting that they had before U85 came."""
ORACLE_S = 60.0


@dataclass(frozen=True)
class WildSetting:
    """The options of `project` for a network."""

    npu: str
    memory_mode: str | None
    io: str
    offload: str

    def __str__(self) -> str:
        mode = f" --memory-mode {self.memory_mode}" if self.memory_mode else ""
        return f"--npu {self.npu}{mode} --io {self.io} --offload {self.offload}"


@dataclass
class Verdict:
    """The verdict on a network: equal, refused, dropped, or one of `batch.BAD`."""

    seed: int
    verdict: str
    setting: str = ""
    operators: int = 0
    on_npu: int = 0
    why: str = ""
    followed: str = ""
    """The --io that a refusal advised and the run then used."""
    errata: list[str] = field(default_factory=list)
    """The errata that kept operators on the CPU; "found-by-check" stands for unnamed ones."""
    oracles: tuple[str, ...] = ()
    elements: int = 0
    mismatches: int = 0
    codes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        return asdict(self)


def wild_setting(seed: int, board: Board) -> WildSetting:
    """Choose NPU, memory mode, --io and --offload for a seed."""
    choices = seeded(seed, 2)
    if choices.chance(ONE_IN_U85):
        return choose_wild_setting(choices, board, U85)
    return choose_wild_setting(seeded(seed, 1), board, NPUS)


def choose_wild_setting(choices: Choices, board: Board, npus: Sequence[str]) -> WildSetting:
    """Choose one of the NPUs, memory mode, --io and --offload."""
    npu = choices.pick(npus)
    accelerator = None if npu == "none" else board.accelerator(npu)
    mode = choices.pick(board.memory_modes(accelerator))
    io = choices.pick(("arena", "arena", "arena", "caller"))
    offload = "all" if accelerator is None else choices.pick(("all",) * 9 + ("auto",))
    return WildSetting(npu, mode, io, offload)


def wild_samples(wild: WildNetwork, network: Network, seed: int) -> list[dict[str, Any]]:
    """Draw the inputs of a network; where no operator bounds them, also their ends everywhere."""
    specs = {wild.net.tensors[i].name: wild.net.tensors[i] for i in wild.net.inputs}
    ends = [] if wild.ranges else draw_samples(network, ENDS[-1] + 1, seed)
    return [
        {
            t.name: draw_values(
                np.random.default_rng((seed, how, i)), specs[t.name], wild.ranges.get(t.name), how
            )
            for i, t in enumerate(network.inputs)
        }
        for how in range(SAMPLES)
    ] + [dict(ends[i]) for i in ENDS if ends]


def run_wild(seed: int) -> Verdict:
    """Run the network of a seed."""
    wild = make_network(seed)
    setting = wild_setting(seed, load_board(BOARD))
    try:
        samples = wild_samples(wild, decode_network(wild.data, "wild"), seed)
    except Exception:
        return Verdict(seed, "traceback", str(setting), why=traceback.format_exc(limit=-6))
    return run_network(wild, setting, samples, seed)


def run_network(
    wild: WildNetwork,
    setting: WildSetting,
    samples: list[dict[str, Any]],
    seed: int = 0,
) -> Verdict:
    """Run a network with a setting on samples, and compare."""
    verdict = Verdict(seed, "traceback", str(setting))
    verdict.codes = tuple(o.custom_code or o.code for o in wild.net.operators)
    verdict.operators = len(verdict.codes)
    watch = Watch()
    try:
        network = decode_network(wild.data, "wild")
        outputs, refusal = _project_and_run(network, setting, samples, verdict, watch)
        advice = re.search(r"use --io (arena|caller)", refusal or "")
        if advice is not None:
            verdict.followed = advice[1]
            setting = replace(setting, io=advice[1])
            outputs, refusal = _project_and_run(network, setting, samples, verdict, watch)
    except NpuFault as fault:
        verdict.verdict, verdict.why = "fault", str(fault)
        return verdict
    except Exception:
        verdict.why = traceback.format_exc(limit=-6)
        return verdict
    with watch.phase("oracle", ""):
        said = golden(network, samples, ORACLE_S)
    verdict.oracles = said.oracles
    verdict.seconds = {name: round(s, 4) for name, s in watch.wall_s.items()}
    if said.outputs is None:
        verdict.verdict, verdict.why = "dropped", said.why
    elif refusal is not None:
        verdict.verdict = "inexact" if "cannot be made exact" in refusal else "refused"
        verdict.why = refusal
    else:
        _compare(outputs, said.outputs, network, samples, verdict)
    return verdict


def _compare(
    outputs: list[Arrays],
    wanted: list[Any],
    network: Network,
    samples: list[dict[str, Any]],
    verdict: Verdict,
) -> None:
    compared = Answer(question_of(network, samples), MIXED, wanted).against(outputs)
    verdict.elements, verdict.mismatches = compared.elements, compared.mismatches
    verdict.verdict = "differs" if compared.mismatches else "equal"
    verdict.why = ""
    if compared.left_out and not compared.elements:
        verdict.verdict, verdict.why = "dropped", compared.left_out_why
    elif compared.mismatches:
        worst = [
            name
            for name in dict.fromkeys(name for outputs_of in wanted for name in outputs_of)
            if any(
                name in w and (name not in o or not equal_elements(o[name], w[name]).all())
                for o, w in zip(outputs, wanted, strict=True)
            )
        ]
        verdict.why = f"by up to {compared.max_abs_diff:g} in {', '.join(worst)}"


def _project_and_run(
    network: Network,
    setting: WildSetting,
    samples: list[dict[str, Any]],
    verdict: Verdict,
    watch: Watch,
) -> tuple[list[Arrays], str | None]:
    """Plan, compile, render in memory, and run on this machine; or return the refusal."""
    from ethosgen.flow.planning import (
        PlanSettings,
        choose_accelerator,
        make_plan,
        make_program,
    )
    from ethosgen.project import render
    from ethosgen.verdict.execution import simulate_samples

    board = load_board(BOARD)
    try:
        accelerator = choose_accelerator(network, setting.npu, board)
        mode = board.choose_memory_mode(setting.memory_mode, accelerator)
        options = OffloadOptions(mode=OffloadMode(setting.offload), oracle="tflm")
        settings = PlanSettings(accelerator, options, IoStyle(setting.io)).on(board, mode)
        plan = make_plan(network, settings, watch, _ask)
        verdict.on_npu = plan.npu_operators or 0
        verdict.errata = sorted({op.erratum for op in plan.cpu_operators if op.erratum})
        program = make_program(plan, watch)
        with watch.phase("render", ""):
            render([program], board, memory_mode=mode)
        with watch.phase("run", ""):
            return simulate_samples(plan, samples, Watch()), None
    except (NpuFault, InternalError):
        raise  # as bad as any other exception
    except EthosgenError as error:
        return [], f"{type(error).__name__}: {error}"


def _ask(network: Network, samples: Any, _oracle: str | None) -> Answer | str:
    """Ask the oracles for the check, operator by operator where it has to be."""
    said = golden(network, samples, ORACLE_S)
    if said.outputs is None:
        return said.why
    return Answer(question_of(network, samples), DEFAULT, said.outputs)
