"""Damages command streams and runs them: each must end with a stop or a typed fault, in time.

    .venv/bin/python -m tests.support.npu_fuzz --count 100000          # make fuzz
    .venv/bin/python -m tests.support.npu_fuzz --only 4711             # one of them again
    .venv/bin/python -m tests.support.npu_fuzz --generation u85        # streams of Ethos-U85 only

Mutant number n of a generation is the same on every machine and in every run. Canaries surround
each segment of memory and must not change, and neither may read-only segments. Every fourth mutant
has a board's memory, where the scratch is followed by much more memory than the network needs.
"""

import argparse
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from ethosgen.backend.ethosu.accelerator import EthosU, find_accelerator
from ethosgen.backend.ethosu.isa import U55, InstructionSet
from ethosgen.backend.ethosu.isa_u85 import U85
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.register_map import FAULT_BITS
from ethosgen.backend.ethosu.stream import RegionKind, read_only, scratch_bytes, stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import NpuFault
from tests.support.fuzzed_networks import NETWORKS, Build
from tests.support.npu_networks import Simulation
from tests.support.thin_networks import ThinBuilder

Random = np.random.Generator

LIMIT_S = 5.0
"""Processor seconds for one mutant; on an idle machine, the wall-clock time."""
SEED = 2026
CANARY_BYTES = 1 << 14
CANARY = 0xA5
BOARD_BYTES = 8 << 20
STREAM_BYTES = 1 << 17
"""The longest mutant; a stream has no jumps, so only its length can make it endless."""
EXTREMES = (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)


class Overdue(BaseException):  # not an Exception: no handler may swallow it
    """A mutant that did not end in time."""


@dataclass
class Mutant:
    """A stream as 32-bit words, the bytes of it that are executed, constants, base pointers."""

    isa: InstructionSet
    words: list[int]
    constants: bytearray
    bases: list[int]
    cut_bytes: int | None = None


@dataclass(frozen=True)
class Victim:
    """A network that Vela has compiled, from which mutants are made."""

    name: str
    accelerator: EthosU
    words: tuple[int, ...]
    constants: bytes
    scratch_bytes: tuple[int, ...]
    """The sizes of the scratch, and of the fast scratch if there is one."""
    bases: tuple[int, ...]
    segment_addrs: tuple[int, ...]
    """The addresses of the stream, the constants, and the scratches."""

    @property
    def isa(self) -> InstructionSet:
        """The instruction set of its accelerator."""
        return U55 if self.accelerator.u85 is None else U85


@dataclass
class Tally:
    """The results of mutants: the number of each, and the slowest mutant."""

    ends: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    longest_s: float = 0.0
    longest: int = -1

    def add(self, other: "Tally") -> None:
        """Add the figures of other mutants."""
        self.ends += other.ends
        self.failures += other.failures
        if other.longest_s > self.longest_s:
            self.longest_s, self.longest = other.longest_s, other.longest


# ---- what is damaged -------------------------------------------------------------------------


@cache
def victims(generation: str) -> tuple[Victim, ...]:
    """Compile the networks to be damaged."""
    networks = NETWORKS[generation].items()
    return tuple(_victim(name, build, npu) for name, (build, npus) in networks for npu in npus)


def _victim(name: str, build: Build, npu: str) -> Victim:
    net = ThinBuilder(name, seed=11)
    outputs = build(net) or ()
    plan = offload(parse_network(net.build(*outputs), name), find_accelerator(npu))
    simulation = Simulation(plan)
    sizes = [simulation.scratch.size]
    if scratch_bytes(plan, RegionKind.SCRATCH_FAST):
        sizes.append(scratch_bytes(plan, RegionKind.SCRATCH_FAST) + 16)
    count = 2 + len(sizes)
    return Victim(
        f"{name} on {npu}",
        find_accelerator(npu),
        tuple(np.frombuffer(stream_of(simulation.partition).commands, "<u4").tolist()),
        read_only(plan).ljust(16, b"\0"),
        tuple(sizes),
        tuple(simulation.bases),
        tuple(n << 28 for n in range(1, count + 1)),
    )


# ---- how it is damaged -----------------------------------------------------------------------


def _commands(mutant: Mutant) -> Iterator[tuple[int, str]]:
    """Yield the index of each command's last word and its name, up to the first invalid one."""
    try:
        for instruction in decode(np.array(mutant.words, "<u4").tobytes(), mutant.isa):
            yield instruction.next_offset // 4 - 1, instruction.command.name
    except NpuFault:
        return


def _value(random: Random) -> int:
    """Return a word of any magnitude, often near a limit."""
    if random.integers(2):
        return int(random.choice(EXTREMES))
    return int(random.integers(1 << int(random.integers(1, 33))))


def _change_registers(wanted: Callable[[str], bool], mutant: Mutant, random: Random) -> None:
    commands = [(last, name) for last, name in _commands(mutant) if wanted(name)]
    if not commands:
        return
    for index in random.integers(len(commands), size=int(random.integers(1, 9))):
        last, name = commands[index]
        if mutant.isa.by_name[name].words == 2:
            mutant.words[last] = _value(random)
        else:
            mutant.words[last] = mutant.words[last] & 0xFFFF | (_value(random) & 0xFFFF) << 16


def _flip_bits(mutant: Mutant, random: Random) -> None:
    for place in random.integers(len(mutant.words), size=int(random.integers(1, 9))):
        mutant.words[place] ^= 1 << int(random.integers(32))


def _replace_words(mutant: Mutant, random: Random) -> None:
    for place in random.integers(len(mutant.words), size=int(random.integers(1, 4))):
        mutant.words[place] = _value(random)


def _truncate(mutant: Mutant, random: Random) -> None:
    mutant.cut_bytes = int(random.integers(4 * len(mutant.words)))


def _pieces(mutant: Mutant) -> list[list[int]]:
    """Return a stream cut into commands; an invalid rest is the last one."""
    pieces, start = [], 0
    for last, _ in _commands(mutant):
        pieces.append(mutant.words[start : last + 1])
        start = last + 1
    return [*pieces, mutant.words[start:]]


def _shuffle(mutant: Mutant, random: Random) -> None:
    pieces = _pieces(mutant)
    start = int(random.integers(len(pieces)))
    end = min(len(pieces), start + int(random.integers(2, 200)))
    order = random.permutation(end - start)
    pieces[start:end] = [pieces[start + i] for i in order]
    mutant.words = [word for piece in pieces for word in piece]


def _drop_commands(mutant: Mutant, random: Random) -> None:
    pieces = _pieces(mutant)
    keep = random.random(len(pieces)) > 10 ** random.uniform(-2.5, -0.5)
    words = [w for piece, kept in zip(pieces, keep, strict=True) if kept for w in piece]
    mutant.words = words or [0]


def _repeat(mutant: Mutant, random: Random) -> None:
    """Repeat everything before STOP many times."""
    pieces = _pieces(mutant)
    start = int(random.integers(len(pieces)))
    end = min(len(pieces), start + int(random.integers(1, len(pieces) + 1)))
    body = [word for piece in pieces[start:end] for word in piece]
    most = STREAM_BYTES // 4 - len(mutant.words)
    times = min(int(10 ** random.uniform(0, 5)), most // max(1, len(body)))
    before = [word for piece in pieces[:start] for word in piece]
    after = [word for piece in pieces[start:] for word in piece]
    mutant.words = before + body * times + after


def _soup(mutant: Mutant, random: Random) -> None:
    """Insert existing commands with any operands somewhere into the stream."""
    known = mutant.isa.commands
    place = int(random.integers(len(mutant.words)))
    words = []
    for index in random.integers(len(known), size=int(random.integers(1, 64))):
        command = known[index]
        words.append(command.code | command.control << 14 | (_value(random) & 0xFFFF) << 16)
        if command.words == 2:
            words.append(_value(random))
    mutant.words[place:place] = words


def _move_bases(mutant: Mutant, random: Random) -> None:
    index = int(random.integers(len(mutant.bases)))
    if random.integers(2):
        mutant.bases[index] = _value(random)
    else:
        mutant.bases[index] += int(random.integers(-64, 65)) * 16


def _damage_constants(mutant: Mutant, random: Random) -> None:
    for place in random.integers(len(mutant.constants), size=int(random.integers(1, 33))):
        mutant.constants[place] = int(random.integers(256))


def _make_large(mutant: Mutant, random: Random) -> None:
    """Request much work in little memory: large shapes, strides of 0."""
    for last, name in _commands(mutant):
        if "STRIDE_" in name and "KERNEL" not in name and random.integers(4):
            mutant.words[last] = 0
        elif name.endswith("_M1") and not any(part in name for part in ("BLK", "KERNEL")):
            size = mutant.words[last] >> 16
            if random.integers(2):
                size = int(2 ** random.uniform(0, 16)) - 1
            mutant.words[last] = mutant.words[last] & 0xFFFF | size << 16


MUTATIONS: dict[str, Callable[[Mutant, Random], None]] = {
    "bits flipped": _flip_bits,
    "words replaced": _replace_words,
    "truncated": _truncate,
    "shuffled": _shuffle,
    "commands left out": _drop_commands,
    "repeated": _repeat,
    "commands put in": _soup,
    "addresses": partial(_change_registers, lambda name: "BASE" in name or "REGION" in name),
    "sizes": partial(_change_registers, lambda name: "M1" in name or "LEN" in name),
    "strides": partial(_change_registers, lambda name: "STRIDE" in name or "PAD" in name),
    "any register": partial(_change_registers, lambda name: name.startswith("NPU_SET")),
    "operations": partial(_change_registers, lambda name: name.startswith("NPU_OP")),
    "base pointers": _move_bases,
    "weights": _damage_constants,
    "large": _make_large,
}


def make(number: int, generation: str = "u55") -> tuple[Victim, Mutant, tuple[str, ...]]:
    """Return mutant `number`, the network that it was made from, and its one to three mutations."""
    random = np.random.default_rng((SEED, number))
    victim = victims(generation)[number % len(victims(generation))]
    mutant = Mutant(victim.isa, list(victim.words), bytearray(victim.constants), list(victim.bases))
    chosen = random.choice(list(MUTATIONS), size=int(random.choice((1, 1, 2, 3))))
    for name in chosen:
        MUTATIONS[str(name)](mutant, random)
    return victim, mutant, tuple(str(name) for name in chosen)


# ---- what becomes of it ----------------------------------------------------------------------


class GuardedMemory:
    """A segment between two canaries."""

    def __init__(
        self, start: int, content: bytes, writable: bool, name: str, size: int = 0
    ) -> None:
        """Put `content` at the start of the segment; only memory that is touched costs time."""
        size = max(size, len(content))
        self._whole = np.zeros(size + 2 * CANARY_BYTES, np.uint8)
        self._whole[:CANARY_BYTES] = self._whole[-CANARY_BYTES:] = CANARY
        memory = self._whole[CANARY_BYTES : CANARY_BYTES + size]
        memory[: len(content)] = np.frombuffer(content, np.uint8)
        self._content = content
        self.segment = Segment(start, memory, writable, name)

    def damage(self) -> str | None:
        """Return a description of the damage, None if there is none."""
        low, high = self._whole[:CANARY_BYTES], self._whole[-CANARY_BYTES:]
        if (low != CANARY).any() or (high != CANARY).any():
            return f"the canary around {self.segment.name} was written"
        if not self.segment.writable and self.segment.memory.tobytes() != self._content:
            return f"read-only {self.segment.name} was written"
        return None


def _has_memory_of_board(number: int, generation: str) -> bool:
    return number // len(victims(generation)) % 4 == 3


def lay_out(victim: Victim, mutant: Mutant, least: int = 0) -> tuple[list[GuardedMemory], int]:
    """Lay out a mutant's memory, with scratches of at least `least` bytes, and the stream's."""
    stream = np.array(mutant.words, "<u4").tobytes()
    stream_addr, constants_addr, *scratch_addrs = victim.segment_addrs
    guarded = [
        GuardedMemory(stream_addr, stream, False, "stream"),
        GuardedMemory(constants_addr, bytes(mutant.constants), False, "constants"),
    ]
    for addr, size, name in zip(
        scratch_addrs, victim.scratch_bytes, ("scratch", "scratch_fast"), strict=False
    ):
        guarded.append(GuardedMemory(addr, b"", True, name, max(size, least)))
    return guarded, len(stream) if mutant.cut_bytes is None else mutant.cut_bytes


@contextmanager
def _time_limit() -> Iterator[None]:
    def expire(_signal: int, _frame: object) -> None:
        raise Overdue

    before = signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def fate(number: int, generation: str = "u55") -> tuple[str, str | None, float]:
    """Run mutant `number`; return how it ended, an error if there is one, and processor seconds."""
    victim, mutant, how = make(number, generation)
    least = BOARD_BYTES if _has_memory_of_board(number, generation) else 0
    memories, size = lay_out(victim, mutant, least)
    machine = Machine(victim.accelerator, Bus([m.segment for m in memories]))
    wrong = None
    begin = time.process_time()
    try:
        with _time_limit():
            machine.run(memories[0].segment.start, size, mutant.bases)
        end = "stop"
    except NpuFault as fault:
        end = fault.kind
        if end not in FAULT_BITS or not 0 <= fault.offset <= size or not fault.reason:
            wrong = f"a fault that STATUS and QREAD cannot tell: {fault.kind}, {fault}"
    except (Exception, Overdue) as error:
        end = type(error).__name__
        wrong = f"{end}: {error}"
    spent = time.process_time() - begin
    wrong = wrong or next(filter(None, (m.damage() for m in memories)), None)
    told = f"mutant {number} ({victim.name}; {', '.join(how)}): {wrong}" if wrong else None
    return end, told, spent


def run(numbers: range, generation: str = "u55") -> Tally:
    """Run mutants and count their results."""
    tally = Tally()
    for number in numbers:
        end, wrong, spent = fate(number, generation)
        tally.ends[end] += 1
        if wrong:
            tally.failures.append(wrong)
        if spent > tally.longest_s:
            tally.longest_s, tally.longest = spent, number
    return tally


def _damage(generation: str, count: int, jobs: int | None) -> bool:
    """Run a generation's mutants on all processors; return whether all ended as they must."""
    step = math.ceil(count / 200)
    parts = [range(start, min(start + step, count)) for start in range(0, count, step)]
    tally, begin = Tally(), time.monotonic()
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(run, parts, [generation] * len(parts))
        for part, done in zip(parts, results, strict=True):
            tally.add(done)
            print(
                f"{generation}: {part.stop} in {time.monotonic() - begin:.0f} s: "
                f"{dict(tally.ends)}, longest {tally.longest_s:.2f} s ({tally.longest})",
                flush=True,
            )
            for failure in done.failures:
                print(failure, flush=True)
    print(f"{generation}: {sum(tally.ends.values())} mutants, {len(tally.failures)} wrong")
    return not tally.failures


def main() -> int:
    """Run the mutants; return 1 if one did not end as it must."""
    parser = argparse.ArgumentParser(description="Damage command streams and run them.")
    parser.add_argument("--count", type=int, default=100_000, help="mutants of each generation")
    parser.add_argument("--generation", choices=list(NETWORKS), help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=int, help="the number of one mutant")
    arguments = parser.parse_args()
    generations = [arguments.generation] if arguments.generation else list(NETWORKS)
    if arguments.only is not None:
        for generation in generations:
            print(generation, *fate(arguments.only, generation))
        return 0
    passed = [_damage(generation, arguments.count, arguments.jobs) for generation in generations]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
