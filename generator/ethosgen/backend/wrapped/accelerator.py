"""A wrapped accelerator as a backend: offers, partitions, files, and its run on this machine."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from ethosgen.backend.protocol import (
    AcceleratorCall,
    Chain,
    LowerToC,
    Offer,
    ProgramRunner,
    ProjectFiles,
)
from ethosgen.backend.wrapped.arguments import (
    CycleTable,
    Refusal,
    check_names,
    cycles_of,
    make_parameters,
    start_of,
)
from ethosgen.backend.wrapped.external import external_files
from ethosgen.backend.wrapped.folder import AcceleratorFolder, find_folder, read_folder
from ethosgen.backend.wrapped.folding import Taken, fold, place_fault, state_fault
from ethosgen.backend.wrapped.generated import HEADER, SOURCE, generated_files, with_code
from ethosgen.backend.wrapped.host_device import CACHE
from ethosgen.backend.wrapped.instances import choose_instances
from ethosgen.backend.wrapped.matching import Graphs, Match, find_sites, refusal_of, type_refusal
from ethosgen.backend.wrapped.python import Engine
from ethosgen.backend.wrapped.site import HELIUM, INSTANCE, PAD
from ethosgen.host.sanitizers import ADDRESS, sanitizers
from ethosgen.values.allocation import Allocation, ResidualIndex
from ethosgen.values.device import Device, DeviceModel, DevicePlace
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.network import Operator
from ethosgen.values.plan import Partition, Plan, Share

CYCLES = "cycles"


@dataclass(frozen=True)
class WrappedAccelerator:
    """An accelerator that a user describes; `backend.protocol.Wrapped` documents the methods."""

    folder: AcceleratorFolder
    engine: Engine = field(repr=False, compare=False)
    numbers: tuple[int, ...] | None = None
    """The operations that it offers, None for all."""
    flags: tuple[str, ...] = ()
    """More options of the compiler for this machine."""
    is_watched: bool = False
    """Whether sanitizers watch its C and its model's."""
    steps: float = 0.0
    """The difference that the user allows."""
    has_helium: bool = True
    """Whether the processor that calls it has Helium, for its formulas."""
    lower: LowerToC | None = field(default=None, repr=False, compare=False)
    """What makes C of its class's PrimFuncs."""

    @property
    def name(self) -> str:
        """Its name: the folder's."""
        return self.folder.name

    @property
    def title(self) -> str:
        """A description in a few words."""
        return self.folder.declaration.title

    @property
    def is_library(self) -> bool:
        """Whether it is C on the CPU, used only where it is cheaper."""
        return self.folder.declaration.kind == "library"

    @property
    def devices(self) -> tuple[Device, ...]:
        """Its instances, with registers, interrupt and model; none if the declaration has none."""
        declared = self.folder.declaration.device
        if declared is None:
            return ()
        model = None
        if declared.model:
            rtl = declared.verilog.settings if declared.verilog else None
            model = DeviceModel(self.folder.origin, declared.model, self.is_watched, rtl)
        return tuple(
            Device(
                self.name,
                declared.registers,
                declared.interrupt,
                declared.handler,
                {name: DevicePlace(*at.place(number)) for name, at in declared.boards.items()},
                model,
                number,
                declared.instances,
                declared.shown,
            )
            for number in range(declared.instances)
        )

    @property
    def is_simulated(self) -> bool:
        """Whether its C compiles for this machine."""
        return bool(self.folder.declaration.host)

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Its operations."""
        return tuple(
            Chain(
                number,
                tuple(operation.chain),
                tuple(operation.dtypes),
                operation.call,
                operation.difference,
                tuple(sorted({n for _, text in operation.formulas() for n in text.whole_numbers})),
            )
            for number, operation in enumerate(self.folder.declaration.operator)
        )

    def only(
        self, number: int, has_cache: bool = True, is_watched: bool = True
    ) -> "WrappedAccelerator":
        """Return it with one operation, its C watched by sanitizers, or behind a data cache."""
        declared = self.folder.declaration
        flags: tuple[str, ...] = ()
        # Of others' sources only the accesses are watched; an emulated machine's sanitizer is slow.
        if is_watched and declared.host is True:
            flags = ADDRESS if declared.external and sanitizers() else sanitizers()
        if declared.device and declared.device.model and has_cache:
            flags = (*flags, f"-D{CACHE}")
        steps = declared.operator[number].difference
        return replace(self, numbers=(number,), flags=flags, steps=steps, is_watched=is_watched)

    def allowing(self, steps: float) -> "WrappedAccelerator":
        """Return it with the operations whose results differ by up to `steps`."""
        return replace(self, steps=steps)

    def lowered_by(self, lower: LowerToC) -> "WrappedAccelerator":
        """Return it with the function that makes C of its class's PrimFuncs."""
        return replace(self, lower=lower)

    def beside(self, has_helium: bool) -> "WrappedAccelerator":
        """Return it for a processor with or without Helium."""
        return replace(self, has_helium=has_helium)

    def offers(
        self, asked: Plan, allocation: Allocation[ResidualIndex]
    ) -> Mapping[ResidualIndex, Offer]:
        """Return an offer for each operator of the residual graph on the CPU, by its index."""
        offers: dict[ResidualIndex, Offer] = {}
        taken, refusals = self._divide(asked, allocation)
        for group, take in enumerate(taken):
            first, *others = (ResidualIndex(op.index) for op in take.match.site.operators)
            why = "" if take.cycles is not None else self._unknown(take.match)
            offers[first] = Offer(take.cycles, group=group, start=take.start, unknown=why)
            zero = None if take.cycles is None else 0
            offers |= {index: Offer(zero, group=group, start=take.start) for index in others}
        return offers | {index: Offer(refusal=why) for index, why in refusals.items()}

    def compile(self, asked: Plan, allocation: Allocation[ResidualIndex]) -> Plan:
        """Return the plan with its chains as partitions."""
        taken, _ = self._divide(asked, allocation)
        taken = [self._with_code(take) for take in self._spread(asked, taken)]
        folded = fold(asked, self.folder, taken, self.steps)
        wrapped = (*asked.wrapped, self) if taken else asked.wrapped
        devices = self.devices if taken else ()
        return replace(
            folded,
            wrapped=wrapped,
            shares=(*asked.shares, self._share(taken)),
            devices=(*asked.devices, *devices),
        )

    def _spread(self, plan: Plan, taken: list[Taken]) -> list[Taken]:
        """Return the calls, each with the number of its device."""
        if len(self.devices) < 2:
            return taken
        numbers = choose_instances(plan.residual, taken, len(self.devices))
        return [
            self._on(take, number, f"{self.folder.slug}_{place}")
            for place, (take, number) in enumerate(zip(taken, numbers, strict=True))
        ]

    def _with_code(self, take: Taken) -> Taken:
        """Return a call with the C of its PrimFunc, if the class gives one."""
        code = with_code(self.folder, self.engine, take.match, take.parameters, self.lower)
        return replace(take, parameters=code)

    def _on(self, take: Taken, instance: int, stem: str) -> Taken:
        """Return a call of one of several devices."""
        match = take.match
        match.site.extra[INSTANCE] = instance
        parameters = make_parameters(self.folder, self.engine, match, stem)
        return replace(take, parameters=parameters, instance=instance)

    def _share(self, taken: Sequence[Taken]) -> Share:
        known = [take.cycles for take in taken if take.cycles is not None]
        start = sum(take.start for take in taken)
        own = sum(known) if len(known) == len(taken) else None
        return Share(
            self.name,
            self.title,
            len(taken),
            sum(len(take.match.site.operators) for take in taken),
            None if own is None else own + start,
            self.is_simulated,
            own if self.devices else 0,
        )

    def files(self, plans: Sequence[Plan]) -> ProjectFiles:
        """Return its folder's unchanged files, its C files, and its headers."""
        declaration = self.folder.declaration
        called = (p.call.function for plan in plans for p in self._own(plan))
        generated = generated_files(self.folder, called)
        files = self.folder.files | {path: text.encode() for path, text in generated.items()}
        sources = (*declaration.sources, *(path for path in generated if path == SOURCE))
        headers = tuple(f"{self.name}/{path}" for path in generated if path == HEADER)
        return ProjectFiles(
            copies={f"{self.name}/{path}": data for path, data in files.items()},
            sources=tuple(f"{self.name}/{source}" for source in sources),
            headers=(*self.folder.headers, *headers),
            includes=tuple(f"{self.name}/{path}" for path in declaration.include),
            external=external_files(self.folder),
            libraries=tuple(declaration.link),
            platforms=tuple(declaration.platforms),
        )

    def runner(self, plan: Plan) -> ProgramRunner:
        """Return a runner for its partitions on this machine."""
        from ethosgen.backend.wrapped.host_program import HostProgram

        return HostProgram(self.folder, plan, self._own(plan), self.flags, self.devices)

    def _own(self, plan: Plan) -> tuple[Partition, ...]:
        """Return its partitions."""
        return tuple(p for p in plan.partitions if p.backend == self.name)

    def facts_of(self, partition: Partition) -> AcceleratorCall:
        """Return the operation and the terms of the call of one of its partitions."""
        take = partition.payload
        assert isinstance(take, Taken)
        return AcceleratorCall(take.match.number, take.match.site.terms)

    def _divide(
        self, plan: Plan, allocation: Allocation[ResidualIndex]
    ) -> tuple[list[Taken], dict[ResidualIndex, str]]:
        """Return the chains that it takes, and a reason for each operator that it refuses."""
        free = {cpu.operator for cpu in plan.cpu_operators}
        graphs = Graphs(plan.residual)
        taken: list[Taken] = []
        refusals: dict[ResidualIndex, str] = {}
        # An operator that reads a PAD may take it, too.
        for operator in sorted(plan.residual.operators, key=lambda operator: operator.code == PAD):
            if operator.index not in free:
                continue
            chain = self._find(plan, graphs, operator, allocation, free, len(taken))
            if isinstance(chain, Taken):
                taken.append(chain)
                free -= {ResidualIndex(op.index) for op in chain.match.site.operators}
            else:
                refusals[ResidualIndex(operator.index)] = chain
        taken.sort(key=lambda take: take.match.site.operators[0].index)
        inside = {op.index for take in taken for op in take.match.site.operators}
        return taken, {index: why for index, why in refusals.items() if index not in inside}

    def _find(
        self,
        plan: Plan,
        graphs: Graphs,
        operator: Operator,
        allocation: Allocation[ResidualIndex],
        free: Collection[ResidualIndex],
        number: int,
    ) -> Taken | str:
        """Return the first operation that takes the chain around an operator, or the refusal.

        A refusal of an operation for the operator's types says more than another operation's types.
        """
        why = other = ""
        index = ResidualIndex(operator.index)
        if index in allocation:
            return allocation[index].reason
        if index not in plan.origins:
            return "it is not an operator of the network, but made by the NPU's compiler"
        for place, operation in enumerate(self.folder.declaration.operator):
            is_offered = self.numbers is None or place in self.numbers
            for site in find_sites(operation, graphs, operator) if is_offered else ():
                site.extra.update({HELIUM: self.has_helium, INSTANCE: 0})
                match = Match(place, operation, site)
                reason = self._refusal(plan, match, allocation, free)
                if not reason:
                    try:
                        return self._taken(match, number)
                    except Refusal as refusal:
                        reason = str(refusal)
                if type_refusal(operation, site):
                    other = other or reason
                else:
                    why = why or reason
        return why or other or f"it does not run {operator.code}"

    def _taken(self, match: Match, number: int) -> Taken:
        """Return the call of a chain; Refusal if it cannot be called as declared."""
        stem = f"{self.folder.slug}_{number}"
        parameters = make_parameters(self.folder, self.engine, match, stem)
        cycles = cycles_of(self.folder, self.engine, match, self._tables)
        return Taken(match, parameters, cycles, start_of(self.folder, match))

    def _refusal(
        self,
        plan: Plan,
        match: Match,
        allocation: Allocation[ResidualIndex],
        free: Collection[ResidualIndex],
    ) -> str:
        site = match.site
        for operator in site.operators:
            index = ResidualIndex(operator.index)
            if index in allocation:
                return allocation[index].reason
            if index not in free or index not in plan.origins:
                return "a part of its chain runs elsewhere"
        if wrong := type_refusal(match.operation, site):
            return wrong
        lines = partial(self.folder.line_of, f"operator.{match.number}.where")
        where = {text: f" ({self.name}, line {lines(text)})" for text in match.operation.where}
        site.extra.update(self.engine.terms(site))
        check_names(self.folder, match, ("where",))
        return (
            refusal_of(match.operation, site, where)
            or self.engine.takes(site)
            or place_fault(plan, match, self.folder.declaration.memory.alignment)
            or state_fault(match, self.folder.declaration)
            or self._difference(match.operation.difference)
        )

    def _unknown(self, match: Match) -> str:
        """Return why the cycles of a call are unknown."""
        if match.number in self._tables:
            return self._tables[match.number].nearest_row(match)
        return f"accelerator.toml has no `cycles` for {match.operation.call}"

    def _difference(self, steps: float) -> str:
        """Return why results that differ by this much are refused, "" if they are not."""
        if steps <= self.steps:
            return ""
        return (
            f"its results differ from TensorFlow Lite Micro's by up to {steps_text(steps)}, "
            f"allowed by --allow-difference {steps:g}"
        )

    @cached_property
    def _tables(self) -> Mapping[int, CycleTable]:
        """The measured tables by the number of the operation."""
        return {
            number: _read_table(self.folder, operation.cycles_table)
            for number, operation in enumerate(self.folder.declaration.operator)
            if operation.cycles_table
        }


def load_wrapped(name_or_path: str) -> WrappedAccelerator:
    """Return an accelerator by its name or folder; InputError names file, line and field."""
    folder = read_folder(find_folder(name_or_path))
    declaration = folder.declaration
    engine = Engine(declaration.python, folder.files)
    return WrappedAccelerator(folder, engine)


def _read_table(folder: AcceleratorFolder, file: str) -> CycleTable:
    """Return a measured table; InputError names the line of any other file."""
    place = folder.origin / file
    head, *rows = [line for line in csv.reader(io.StringIO(_text(folder, file))) if line] or [[]]
    if CYCLES not in head:
        raise InputError(
            f"'{place}' is not a table of cycles: its first line must name terms and '{CYCLES}'"
        )
    column, cycles = head.index(CYCLES), {}
    for number, row in enumerate(rows, 2):
        if len(row) != len(head) or not row[column].strip().isdecimal():
            raise InputError(
                f"'{place}', row {number}: it must have {counted(len(head), 'value')}, and under "
                f"'{CYCLES}' a whole number, but is '{','.join(row)}'"
            )
        cycles[tuple(value for i, value in enumerate(row) if i != column)] = int(row[column])
    terms = tuple(name for i, name in enumerate(head) if i != column)
    return CycleTable(str(place), terms, cycles)


def _text(folder: AcceleratorFolder, file: str) -> str:
    return folder.files[file].decode(errors="replace")
