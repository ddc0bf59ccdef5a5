"""The ports of a device's RTL: what each is for, and the header that connects them to our C++."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ethosgen.values.device import Device
from ethosgen.values.errors import BuildError
from ethosgen.values.grammar import counted

_PORT = re.compile(
    r"^\s*VL_(?P<way>IN|OUT)(?:8|16|64|W)?\(&(?P<name>\w+),(?P<most>\d+),(?P<least>\d+)", re.M
)
"""A port in the header that Verilator writes."""
_ROLE = re.compile(r"(?P<name>\w+)(?P<way>[<>])(?P<bits>\d+)?(?P<optional>\?)?")
CLOCKS = ("clk", "clock", "aclk", "pclk", "ap_clk", "clk_i")
RESETS_LOW = ("rst_n", "resetn", "reset_n", "aresetn", "presetn", "ap_rst_n", "rst_ni")
RESETS_HIGH = ("rst", "reset", "ap_rst", "rst_i")
INTERRUPTS = ("irq", "interrupt", "intr", "irq_o")
BUSY = ("busy", "busy_o")
_REGISTER_BITS = 32
_DATA_BITS = (32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class RtlPort:
    """A port of the top module."""

    name: str
    is_input: bool
    bits: int

    @property
    def size(self) -> str:
        """Its width and name, for a message."""
        return f"{counted(self.bits, 'bit')} in '{self.name}'"


@dataclass(frozen=True)
class PortRole:
    """What a port of a bus does; `bits` is its width, 0 for any."""

    name: str
    is_input: bool
    bits: int
    is_optional: bool


def _roles(text: str) -> tuple[PortRole, ...]:
    """Return the signals of a bus: > goes into the device, < comes out, ? may be missing."""
    return tuple(
        PortRole(m["name"], m["way"] == ">", int(m["bits"] or 0), bool(m["optional"]))
        for m in _ROLE.finditer(text)
    )


APB = _roles(
    "psel>1 penable>1 pwrite>1 paddr> pwdata>32 prdata<32 pready<1? pslverr<1? pstrb>4? pprot>?"
)
AXI_LITE = _roles(
    "awvalid>1 awready<1 awaddr> wvalid>1 wready<1 wdata>32 bvalid<1 bready>1 arvalid>1 arready<1 "
    "araddr> rvalid<1 rready>1 rdata<32 wstrb>4? bresp<2? rresp<2? awprot>? arprot>?"
)
READS = _roles(
    "arvalid<1 arready>1 araddr< rvalid>1 rready<1 rdata> arlen<? arsize<3? arburst<2? arid<? "
    "rlast>1? rid>? rresp>2?"
)
WRITES = _roles(
    "awvalid<1 awready>1 awaddr< wvalid<1 wready>1 wdata< bvalid>1 bready<1 wstrb<? awlen<? "
    "awsize<3? awburst<2? awid<? wlast<1? bid>? bresp>2?"
)
_DEFAULTS = {"pready": "1", "arburst": "1", "awburst": "1", "wlast": "UNKNOWN"}
"""The values of optional outputs that a device lacks; of others 0."""


def read_ports(header: str) -> tuple[RtlPort, ...]:
    """Return the ports in the header of the class that Verilator makes of a top module."""
    return tuple(
        RtlPort(m["name"], m["way"] == "IN", int(m["most"]) - int(m["least"]) + 1)
        for m in _PORT.finditer(header)
    )


class Pinout:
    """The ports of a device by what they are for; BuildError says what is missing or unsuitable."""

    def __init__(self, device: Device, ports: Sequence[RtlPort]) -> None:
        """Find the ports; their names may have prefixes, and letters of either case."""
        assert device.model is not None
        self._device, self._model = device, device.model
        self._ports = {port.name.lower(): port for port in ports}
        self.clocks = self._named(CLOCKS, is_input=True)
        self.resets = self._named(RESETS_LOW, is_input=True)
        self.high_resets = self._named(RESETS_HIGH, is_input=True)
        self.interrupts = self._named(INTERRUPTS, is_input=False)
        self.busy = self._named(BUSY, is_input=False)
        self._check_lines()
        selects, writes = self._prefixes("psel", True), self._prefixes("awvalid", True)
        self.is_apb = bool(selects)
        self.registers = self._registers([*selects, *writes])
        managers = sorted({*self._prefixes("arvalid", False), *self._prefixes("awvalid", False)})
        self.memory = self._memory(managers)
        self.data_bits = self._data_bits()

    def header(self) -> str:
        """Return ethosgen_ports.h."""
        return "\n".join(["/* Written by ethosgen. */", '#include "Vmodel.h"', *self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        settings = self._model.verilog
        assert settings is not None
        yield "static Vmodel *top;"
        yield f"enum {{ HAS_INTERRUPT = {int(self._device.has_interrupt)}, UNKNOWN = 2 }};"
        yield f"enum : unsigned {{ REGISTER_BYTES = {self._device.register_bytes}u }};"
        yield f"enum : unsigned {{ START_REGISTER = {settings.start}u, "
        yield f"    DONE_REGISTER = {settings.done}u, LATENCY = {settings.latency}u }};"
        yield f"enum : unsigned {{ DATA_BYTES = {self.data_bits // 8}u }};"
        commands = ", ".join(f"{offset}u" for offset in (settings.start, *settings.commands))
        yield f"static const unsigned commands[] = {{{commands}}};"
        yield f"enum : unsigned long long {{ LIMIT = {settings.limit}ull }};"
        yield f"#define HAS_APB {int(self.is_apb)}"
        yield f"#define HAS_BUSY {int(bool(self.busy))}"
        yield "static unsigned char all_ones[DATA_BYTES];"
        yield from _lines_of("set_clock", "bool level", [f"{p.name} = level" for p in self.clocks])
        levels = [f"{p.name} = !is_on" for p in self.resets]
        levels += [f"{p.name} = is_on" for p in self.high_resets]
        yield from _lines_of("set_reset", "bool is_on", levels)
        yield from self._line("P_irq", self.interrupts)
        yield from self._line("P_busy", self.busy)
        roles = APB if self.is_apb else AXI_LITE
        yield from self._bus("P_s_", roles, self.registers)
        yield from self._bus("P_m_", (*READS, *WRITES), self.memory)
        named = {*self.clocks, *self.resets, *self.high_resets}
        inputs = (p for p in self._ports.values() if p.is_input and p not in named)
        zeroed = [f"{port.name} = {{}}" for port in inputs]
        yield from _lines_of("set_inputs", "", zeroed, "    for (auto &b : all_ones) b = 0xFF;")

    def _line(self, macro: str, ports: Sequence[RtlPort]) -> Iterator[str]:
        yield f"#define {macro} {f'(top->{ports[0].name})' if ports else '0'}"

    def _bus(
        self, macro: str, roles: Sequence[PortRole], ports: Mapping[str, RtlPort]
    ) -> Iterator[str]:
        for role in roles:
            if port := ports.get(role.name):
                yield f"#define {macro}{role.name} (top->{port.name})"
            elif role.name == "wstrb" and not role.is_input:
                yield f"#define {macro}{role.name} all_ones"
            else:
                value = _DEFAULTS.get(role.name, "0")
                if role.name in ("arsize", "awsize"):
                    value = str((self.data_bits // 8).bit_length() - 1)
                wide = "[DATA_BYTES]" if role.name in ("rdata", "wdata") else ""
                yield f"static unsigned long long absent_{macro}{role.name}{wide} = {{{value}}};"
                yield f"#define {macro}{role.name} absent_{macro}{role.name}"

    def _named(self, names: Sequence[str], is_input: bool) -> tuple[RtlPort, ...]:
        ports = (self._ports.get(name) for name in names)
        return tuple(port for port in ports if port is not None and port.is_input == is_input)

    def _prefixes(self, name: str, is_input: bool) -> list[str]:
        """Return the prefixes of the ports whose names end with a signal's name."""
        return sorted(
            lower.removesuffix(name)
            for lower, port in self._ports.items()
            if lower.endswith(name) and port.is_input == is_input
        )

    def _check_lines(self) -> None:
        if not self.clocks:
            raise self._fault(f"has no clock: name an input {_either(CLOCKS)}")
        if not self.resets and not self.high_resets:
            raise self._fault(
                f"has no reset: name an input {_either(RESETS_LOW)} if it is active low, or "
                f"{_either(RESETS_HIGH)}"
            )
        if self._device.has_interrupt and not self.interrupts:
            raise self._fault(
                f"has no interrupt: name an output {_either(INTERRUPTS)}, or write interrupt = "
                "false in accelerator.toml and give it an output 'busy', which falls at the end"
            )
        if not self.interrupts and not self.busy:
            raise self._fault(
                "has neither an output 'busy', which falls at the end of a job, nor an interrupt, "
                "so its end cannot be seen"
            )
        for port in (*self.clocks, *self.resets, *self.high_resets, *self.interrupts, *self.busy):
            if port.bits != 1:
                raise self._fault(f"has {port.size}, which must have 1")

    def _registers(self, prefixes: Sequence[str]) -> dict[str, RtlPort]:
        if not prefixes:
            raise self._fault(
                "has no port for its registers: name its inputs and outputs as APB (psel, penable, "
                "paddr, …) or AXI4-Lite (s_axi_awvalid, …) does"
            )
        self._check_single(prefixes, "its registers")
        bus = "APB" if self.is_apb else "AXI4-Lite"
        ports = self._matched(APB if self.is_apb else AXI_LITE, prefixes[0], bus)
        needed = (self._device.register_bytes - 1).bit_length()
        for name in ("paddr", "awaddr", "araddr"):
            if name in ports and ports[name].bits < needed:
                raise self._fault(
                    f"has {ports[name].size}, but registers = "
                    f"0x{self._device.register_bytes:x} needs {needed}"
                )
        return ports

    def _memory(self, prefixes: Sequence[str]) -> dict[str, RtlPort]:
        if not prefixes:
            return {}
        self._check_single(prefixes, "memory")
        ports: dict[str, RtlPort] = {}
        for name, roles in (("arvalid", READS), ("awvalid", WRITES)):
            if prefixes[0] + name in self._ports:
                ports |= self._matched(roles, prefixes[0], "AXI4")
        return ports

    def _check_single(self, prefixes: Sequence[str], what: str) -> None:
        if len(prefixes) > 1:
            names = ", ".join(f"'{prefix}…'" for prefix in prefixes)
            raise self._fault(f"has several ports for {what}, {names}; ethosgen connects one")

    def _matched(self, roles: Sequence[PortRole], prefix: str, bus: str) -> dict[str, RtlPort]:
        """Return the ports by role."""
        ports = {}
        for role in roles:
            port = self._ports.get(prefix + role.name)
            way = "input" if role.is_input else "output"
            if port is None:
                if not role.is_optional:
                    raise self._fault(f"has no {way} '{prefix}{role.name}', which {bus} needs")
                continue
            if port.is_input != role.is_input:
                raise self._fault(f"has '{port.name}' in the wrong direction: it is an {way}")
            if role.bits and port.bits != role.bits:
                raise self._fault(f"has {port.size}, but ethosgen's {bus} has {role.bits}")
            ports[role.name] = port
        return ports

    def _data_bits(self) -> int:
        widths = {
            name: self.memory[name].bits for name in ("rdata", "wdata") if name in self.memory
        }
        if not widths:
            return _REGISTER_BITS
        bits = next(iter(widths.values()))
        if len(set(widths.values())) > 1 or bits not in _DATA_BITS:
            sizes = " and ".join(self.memory[name].size for name in widths)
            known = ", ".join(map(str, _DATA_BITS))
            raise self._fault(f"has {sizes} of its memory's port; use one width of {known}")
        if "wstrb" in self.memory and self.memory["wstrb"].bits != bits // 8:
            port = self.memory["wstrb"]
            raise self._fault(f"has {port.size}, but needs {bits // 8}")
        return bits

    def _fault(self, what: str) -> BuildError:
        return BuildError(
            f"the model of device '{self._device.name}' cannot be connected: the top module of "
            f"'{self._model.entry}' {what}"
        )


def _either(names: Sequence[str]) -> str:
    *others, last = (f"'{name}'" for name in names)
    return f"{', '.join(others)} or {last}"


def _lines_of(
    name: str, parameter: str, statements: Sequence[str], more: str = ""
) -> Iterator[str]:
    """Yield the lines of a C++ function that sets ports of `top`."""
    yield f"static void {name}({parameter})"
    yield "{"
    yield from (f"    top->{statement};" for statement in statements)
    yield from filter(None, (more,))
    yield "}"
