"""The templates' values for devices besides the NPU."""

from collections.abc import Mapping, Sequence
from typing import Any

from ethosgen.board import Board
from ethosgen.project.layout import ZEPHYR
from ethosgen.values.device import Device, bell_byte
from ethosgen.values.errors import InputError, UnsupportedError

_LIBRARY = ("ethosgen_device.h", "ethosgen_devices.h", "ethosgen_devices.c")
_SPARE_IRQS = range(63, 15, -1)
"""Interrupts of the processor that stand for those of devices that the board's facts lack: only
QEMU runs such a firmware."""


def require_devices(platform: str, devices: Sequence[Device]) -> None:
    """Raise UnsupportedError for a platform whose applications have no devices of the user's."""
    if devices and platform == ZEPHYR:
        raise UnsupportedError(
            f"device '{devices[0].name}' is in no Zephyr application yet: use --platform "
            "baremetal, csolution or library"
        )


def device_files(devices: Sequence[Device]) -> Mapping[str, str]:
    """Return the library's files for them, as a layout maps files to templates."""
    return {file: f"model/{file}" for file in _LIBRARY} if devices else {}


def device_facts(
    board: Board, devices: Sequence[Device], used: Sequence[int]
) -> list[dict[str, Any]]:
    """Return each device's values; `used` are the interrupts of the rest of the firmware.

    InputError if a device's interrupt is another's.
    """
    taken = dict.fromkeys(used, "the console, the NPU or QEMU's bell")
    placed = {d.name: d.places[board.name].irq for d in devices if board.name in d.places}
    for device in devices:
        irq = placed.get(device.name)
        if irq is None or not device.has_interrupt:
            continue
        if irq in taken:
            raise InputError(
                f"interrupt {irq} of device '{device.name}' on {board.name} is that of "
                f"{taken[irq]}; correct device.boards.{board.name}.irq in its accelerator.toml"
            )
        taken[irq] = f"device '{device.name}'"
    spare = iter([irq for irq in _SPARE_IRQS if irq not in taken])
    return [
        {
            "name": device.name,
            "c_name": device.c_name,
            "handler": device.handler,
            "irq": _irq(device, placed.get(device.name), spare),
            "bell_byte": bell_byte(index),
            "has_model": device.model is not None,
        }
        for index, device in enumerate(devices)
    ]


def _irq(device: Device, placed: int | None, spare: Any) -> int | None:
    if not device.has_interrupt:
        return None
    return placed if placed is not None else next(spare)
