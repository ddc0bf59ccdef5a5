"""The templates' values for devices besides the NPU."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ethosgen.board import Board, attaches_models, boards_with_models
from ethosgen.platforms import find_platform
from ethosgen.values.device import Device, bell_byte
from ethosgen.values.errors import InputError

_SOURCE = "ethosgen_devices.c"
_LIBRARY = ("ethosgen_device.h", "ethosgen_devices.h", _SOURCE)
_SPARE_IRQS = range(63, 15, -1)
"""Interrupts of the processor that stand for those of devices that the board's facts lack: only
QEMU runs such a firmware."""


def require_devices(platform: str, board: Board, devices: Sequence[Device]) -> None:
    """Raise InputError for a device without an address on a board that only hardware can run."""
    if not find_platform(platform).boots or attaches_models(board):
        return
    for device in devices:
        if _base_addr(device, board) is None:
            raise InputError(
                f"the address of device '{device.label}' on {board.name} is unknown, and QEMU "
                f"attaches models of devices only on {boards_with_models()}: use one of these, or "
                f"add [device.boards.{board.name}] to its accelerator.toml"
            )


def device_files(platform: str, devices: Sequence[Device]) -> Mapping[str, str]:
    """Return the library's files for them, as a layout's map of files to templates."""
    if not devices:
        return {}
    own = find_platform(platform).templates
    return {file: own.get(file, f"model/{file}") for file in _LIBRARY}


def device_facts(
    board: Board, devices: Sequence[Device], used: Sequence[int], platform: str
) -> list[dict[str, Any]]:
    """Return each device's values; `used` are the interrupts of the rest of the firmware.

    A library may run on other boards than QEMU's, so it guesses no interrupt. InputError if a
    device's interrupt is another's.
    """
    taken = dict.fromkeys(used, "the console, the NPU or QEMU's bell")
    placed = {d.label: d.places[board.name].irq for d in devices if board.name in d.places}
    for device in devices:
        irq = placed.get(device.label)
        if irq is None or not device.has_interrupt:
            continue
        if irq in taken:
            raise InputError(
                f"interrupt {irq} of device '{device.label}' on {board.name} is that of "
                f"{taken[irq]}; correct device.boards.{board.name}.irq in its accelerator.toml"
            )
        taken[irq] = f"device '{device.label}'"
    spares = _SPARE_IRQS if find_platform(platform).guesses_irqs else ()
    spare = iter([irq for irq in spares if irq not in taken])
    irqs = {d.label: _irq(d, placed.get(d.label), spare) for d in devices}
    return [
        {
            "name": device.name,
            "label": device.label,
            "c_name": device.c_name,
            "array": device.array,
            "symbol": device.symbol,
            "instance": device.instance,
            "instances": device.instances,
            "is_first": device.instance == 0,
            "handler": device.handler,
            "irq": irqs[device.label],
            **_irq_text(device, irqs[device.label]),
            "base_addr": _base_addr(device, board),
            "bell_byte": bell_byte(index),
            "has_model": device.model is not None,
            "register_bytes": device.register_bytes,
            "page_bytes": device.page_bytes,
        }
        for index, device in enumerate(devices)
    ]


def _irq(device: Device, placed: int | None, spare: Iterator[int]) -> int | None:
    if not device.has_interrupt:
        return None
    return placed if placed is not None else next(spare, None)


def _irq_text(device: Device, irq: int | None) -> dict[str, Any]:
    """Return the interrupt for C: a number, or a macro if it is unknown."""
    if device.has_interrupt and irq is None:
        return {"irq_text": f"ETHOSGEN_{device.c_name.upper()}_IRQ", "is_irq_unknown": True}
    return {"irq_text": str(-1 if irq is None else irq), "is_irq_unknown": False}


def _base_addr(device: Device, board: Board) -> int | None:
    place = device.places.get(board.name)
    return place.base_addr if place else None
