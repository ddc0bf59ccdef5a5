"""A firmware's devices besides the NPU: registers, an interrupt, and a functional model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ethosgen.values.multiples import rounded_up

PAGE_BYTES = 4096
_FIRST_BYTE = ord("!")


@dataclass(frozen=True)
class DevicePlace:
    """A device's place on a board: the address of its registers, and its interrupt, if any."""

    base_addr: int
    irq: int | None = None


@dataclass(frozen=True)
class DeviceModel:
    """A functional model: a file in `folder`.

    `entry` is "model.py:CLASS" for a Python class, or "model.c" for C that is compiled for this
    machine (docs/accelerator.md describes both).
    """

    folder: Path
    entry: str


@dataclass(frozen=True)
class Device:
    """A device whose driver is the user's C.

    `places` are by the names of boards. `handler` is a C function without arguments that the
    device's interrupt calls, "" for none. A device without a model is in no simulation.
    """

    name: str
    register_bytes: int
    has_interrupt: bool = True
    handler: str = ""
    places: Mapping[str, DevicePlace] = field(default_factory=dict)
    model: DeviceModel | None = None

    @property
    def c_name(self) -> str:
        """The name in C."""
        return self.name.replace("-", "_")

    @property
    def page_bytes(self) -> int:
        """The size of its registers in whole pages."""
        return rounded_up(self.register_bytes, PAGE_BYTES)


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
    """Return each device once, by name, in the order of their names."""
    return tuple(dict(sorted({device.name: device for device in devices}.items())).values())
