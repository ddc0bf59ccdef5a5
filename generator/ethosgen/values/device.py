"""A firmware's devices besides the NPU: registers, an interrupt, and a functional model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ethosgen.values.multiples import rounded_up

PAGE_BYTES = 4096
_FIRST_BYTE = ord("!")
VERILOG_SUFFIXES = (".sv", ".v")


@dataclass(frozen=True)
class DevicePlace:
    """A device's place on a board: the address of its registers, and its interrupt, if any."""

    base_addr: int
    irq: int | None = None


@dataclass(frozen=True)
class VerilogSettings:
    """What simulates a device's RTL: more sources, and Verilator's options.

    A write to the register at `start` starts a job; the one at `done` announces its end. Each
    write to one of `commands` acts, whatever it reads as. A job may take `limit` clock cycles.
    Memory answers `latency` cycles after an address. `trace` is a file for the waveform, or "".
    """

    start: int
    done: int
    commands: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    limit: int = 10_000_000
    latency: int = 1
    trace: str = ""


@dataclass(frozen=True)
class DeviceModel:
    """A functional model: a file in `folder`.

    `entry` is "model.py:CLASS" for a Python class, "model.c" for C that is compiled for this
    machine, or "model.sv" or "model.sv:TOP" for RTL (docs/accelerator.md describes them).
    """

    folder: Path
    entry: str
    is_watched: bool = False
    """Whether its C is compiled with sanitizers."""
    verilog: VerilogSettings | None = None
    """Of RTL."""

    @property
    def file(self) -> str:
        """The file."""
        return self.entry.partition(":")[0]

    @property
    def member(self) -> str:
        """The class, or the top module, "" if none is named."""
        return self.entry.partition(":")[2]

    @property
    def is_verilog(self) -> bool:
        """Whether it is RTL, which Verilator compiles."""
        return is_verilog(self.entry)


@dataclass(frozen=True)
class Device:
    """A device whose driver is the user's C.

    `places` are by the names of boards. `handler` is a C function without arguments that the
    device's interrupt calls, "" for none. A device without a model is in no simulation. Several
    equal devices of one accelerator have one name, and are numbered.
    """

    name: str
    register_bytes: int
    has_interrupt: bool = True
    handler: str = ""
    places: Mapping[str, DevicePlace] = field(default_factory=dict)
    model: DeviceModel | None = None
    instance: int = 0
    instances: int = 1
    shown: Mapping[str, int] = field(default_factory=dict)
    """The offsets of registers that the message of a failed call shows, by name."""

    def registers_text(self, page: bytes) -> str:
        """Return "; DONE is 0x0, STATUS is 0x4" for the bytes of its registers, "" for none."""
        values = (
            f"{name} is 0x{int.from_bytes(page[offset : offset + 4], 'little'):x}"
            for name, offset in self.shown.items()
        )
        return f"; registers of '{self.label}': {', '.join(values)}" if self.shown else ""

    @property
    def label(self) -> str:
        """The name for messages: that of one of several devices has its number."""
        return f"{self.name}[{self.instance}]" if self.instances > 1 else self.name

    @property
    def array(self) -> str:
        """The C variable of the device, or of the array of all instances."""
        return f"ethosgen_device_{_in_c(self.name)}"

    @property
    def symbol(self) -> str:
        """The device in C."""
        return f"{self.array}[{self.instance}]" if self.instances > 1 else self.array

    @property
    def c_name(self) -> str:
        """The beginning of its own names in C."""
        number = f"_{self.instance}" if self.instances > 1 else ""
        return _in_c(self.name) + number

    @property
    def page_bytes(self) -> int:
        """The size of its registers in whole pages."""
        return rounded_up(self.register_bytes, PAGE_BYTES)


def is_verilog(entry: str) -> bool:
    """Return whether a model is RTL."""
    return entry.partition(":")[0].endswith(VERILOG_SUFFIXES)


def device_pages(npu_base_addr: int, devices: Sequence[Device]) -> list[int]:
    """Return the address of each device's registers on QEMU: below the NPU's page.

    The page between them is for the model of a data cache.
    """
    address, pages = npu_base_addr - PAGE_BYTES, []
    for device in devices:
        address -= device.page_bytes
        pages.append(address)
    return pages


def bell_byte(index: int | None) -> int:
    """Return the byte for a device's interrupt on QEMU's bell; None is the NPU."""
    return _FIRST_BYTE + (0 if index is None else index + 1)


def unite(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Return each device once, in the order of their names and numbers."""
    known = {(device.name, device.instance): device for device in devices}
    return tuple(dict(sorted(known.items())).values())


def _in_c(name: str) -> str:
    return name.replace("-", "_")
