"""The parameters of the FVPs (-C NAME=VALUE): one table of the known ones.

A parameter has Arm's effect, or has nothing to change here and is accepted silently. Any other is
named on stderr and ignored.
"""

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ethosgen.values.errors import InputError
from ethosgen_fvp.platforms import FixedPlatform

TERMINALS = (0, 1, 2, 5)
"""The UARTs that are connected to a socket each, on ports from 5000 on."""
UARTS = (0, 1, 2, 3, 4, 5)

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name after the prefix of its component, its default, and its effect."""

    name: str
    default: str
    what: str


_NPU = (
    Parameter("num_macs", "", "number of 8x8 MACs performed in a cycle"),
    Parameter("extra_args", "", "arguments of Arm's NPU model; --fast is what this one does"),
)
_UART = (
    Parameter("out_file", "", "file that gets the output; - is stdout"),
    Parameter("in_file", "", "file that is the input"),
    Parameter("shutdown_on_eot", "0", "stop when EOT (ASCII 4) is transmitted"),
    Parameter("shutdown_tag", "", "stop when this text is transmitted"),
)
_TERMINAL = (
    Parameter("start_port", "5000", "TCP port; the next one that is free is taken"),
    Parameter("mode", "telnet", "telnet or raw"),
    Parameter("quiet", "0", "do not print the port"),
)
_PROCESSOR = (
    Parameter("semihosting-enable", "0", "BKPT 0xAB calls the host"),
    Parameter("semihosting-cmd_line", "", "the program's arguments, the first its name"),
    Parameter("semihosting-cwd", "", "folder for the names of files"),
    Parameter("semihosting-heap_base", "0x0", "SYS_HEAPINFO's answer; 0: the C library's own"),
    Parameter("semihosting-heap_limit", "0x20700000", "... and so on"),
    Parameter("semihosting-stack_base", "0x20800000", "... and so on"),
    Parameter("semihosting-stack_limit", "0x20700000", "... and so on"),
    Parameter("INITSVTOR", "", "address of the vectors at reset"),
)

_SILENT = (
    "{board}.visualisation.*",
    "{board}.telnetterminal*.start_telnet",
    "{board}.telnetterminal*.terminal_command",
    "{board}.uart*.unbuffered_output",
    "{board}.uart*.untimed_fifos",
    "{board}.uart*.enable_dc4",
    "{board}.DISABLE_GATING",
    "{cpu}CFGITCMSZ",
    "{cpu}CFGDTCMSZ",
    "{cpu}min_sync_level",
    "{cpu}semihosting-Thumb_SVC",
    "vis_hdlcd.*",
    "core_clk.mul",
    "cpu_core.core_clk.mul",
    "idau.*",
)
"""Parameters that have nothing to change: there is no window, no terminal to start, no buffer and
no clock, and both TCMs have their largest size."""
_SILENT_IF_OFF = ("{board}.hostbridge.*", "{board}.smsc_91c111.*", "{board}.virtio*", "{cpu}PACBTI")
"""... and those that would have something to do only if they were on."""


def known_parameters(platform: FixedPlatform) -> Mapping[str, Parameter]:
    """Return the parameters with an effect, by their full names."""
    names = {f"{platform.subsystem}ethosu.{p.name}": p for p in _NPU}
    macs = f"{platform.subsystem}ethosu.num_macs"
    names[macs] = Parameter("num_macs", str(platform.macs[0]), names[macs].what)
    for uart in UARTS:
        names |= {f"{platform.prefix}.uart{uart}.{p.name}": p for p in _UART}
    for terminal in TERMINALS:
        names |= {f"{platform.prefix}.telnetterminal{terminal}.{p.name}": p for p in _TERMINAL}
    names |= {f"{platform.subsystem}cpu0.{p.name}": p for p in _PROCESSOR}
    return names


class ParameterValues:
    """The parameters of a command line, without their quotes; the last value of each counts.

    InputError for one that is not NAME=VALUE.
    """

    def __init__(self, platform: FixedPlatform, settings: Sequence[str]) -> None:
        self._platform = platform
        self._known = known_parameters(platform)
        self._values: dict[str, str] = {}
        for setting in settings:
            name, separator, value = setting.partition("=")
            if not separator:
                raise InputError(f"-C {setting}: write NAME=VALUE")
            self._values[self._whole(name.strip())] = _unquoted(value.strip())

    def unknown(self) -> Iterator[str]:
        """Yield the names of parameters that should have an effect but have none."""
        for name, value in self._values.items():
            patterns = [*_SILENT, *(_SILENT_IF_OFF if value.lower() in _FALSE else ())]
            if name not in self._known and not any(self._fits(name, p) for p in patterns):
                yield name

    def npu(self, name: str) -> str:
        """Return a parameter of the NPU."""
        return self._text(f"{self._platform.subsystem}ethosu.{name}")

    def macs(self) -> int:
        """Return the NPU's size."""
        return self._number(f"{self._platform.subsystem}ethosu.num_macs")

    def vectors(self) -> int | None:
        """Return the address of the vectors at reset, None for QEMU's own."""
        name = f"{self._platform.subsystem}cpu0.INITSVTOR"
        return self._number(name) if self._text(name) else self._platform.vectors

    def processor(self, name: str) -> str:
        """Return a parameter of the processor."""
        return self._text(f"{self._platform.subsystem}cpu0.{name}")

    def has_semihosting(self) -> bool:
        """Return whether semihosting is enabled."""
        return self._flag(f"{self._platform.subsystem}cpu0.semihosting-enable")

    def heap(self) -> tuple[int, int, int, int]:
        """Return base and limit of semihosting's heap, and those of its stack."""
        start = f"{self._platform.subsystem}cpu0.semihosting"
        heap, stack = f"{start}-heap", f"{start}-stack"
        return (
            *(self._number(f"{heap}_base"), self._number(f"{heap}_limit")),
            *(self._number(f"{stack}_base"), self._number(f"{stack}_limit")),
        )

    def uart(self, number: int, name: str) -> str:
        """Return a parameter of a UART."""
        return self._text(f"{self._platform.prefix}.uart{number}.{name}")

    def ends_on_eot(self, number: int) -> bool:
        """Return whether the simulation ends when a UART transmits EOT."""
        return self._flag(f"{self._platform.prefix}.uart{number}.shutdown_on_eot")

    def port(self, terminal: int) -> int:
        """Return the first TCP port to try for a terminal."""
        return self._number(f"{self._platform.prefix}.telnetterminal{terminal}.start_port")

    def is_raw(self, terminal: int) -> bool:
        """Return whether a terminal's socket carries only bytes, without telnet commands."""
        return self._text(f"{self._platform.prefix}.telnetterminal{terminal}.mode") == "raw"

    def is_quiet(self, terminal: int) -> bool:
        """Return whether a terminal's port must not be printed."""
        return self._flag(f"{self._platform.prefix}.telnetterminal{terminal}.quiet")

    def _whole(self, name: str) -> str:
        """Return the name of a parameter that has several."""
        if name.endswith(".INITSVTOR_RST"):
            return f"{self._platform.subsystem}cpu0.INITSVTOR"
        return name

    def _fits(self, name: str, pattern: str) -> bool:
        cpu = f"{self._platform.subsystem}cpu0."
        return fnmatch.fnmatchcase(name, pattern.format(board=self._platform.prefix, cpu=cpu))

    def _text(self, name: str) -> str:
        return self._values.get(name, self._known[name].default)

    def _number(self, name: str) -> int:
        text = self._text(name)
        try:
            return int(text, 0)
        except ValueError:
            raise InputError(f"-C {name}={text}: '{text}' is not a number") from None

    def _flag(self, name: str) -> bool:
        text = self._text(name).lower()
        if text not in _TRUE + _FALSE:
            raise InputError(f"-C {name}={text}: '{text}' is neither 0 nor 1")
        return text in _TRUE


def _unquoted(value: str) -> str:
    """Return a value without the quotes around it, which scripts pass on."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value
