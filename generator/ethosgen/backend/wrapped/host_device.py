"""Devices on this machine: the memory that driver and models share, and the registers.

The driver is compiled for this machine. All memory that its calls address is in one file, mapped at
a 32-bit address: a device's registers can hold it, and each model's process maps it, too.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ethosgen.device.process import DeviceProcesses, Part, SharedFile
from ethosgen.host.resources import template_folder
from ethosgen.values.device import PAGE_BYTES, Device
from ethosgen.values.errors import DeviceFault
from ethosgen.values.multiples import rounded_up

GUARD_BYTES = 64
"""Bytes before and behind each memory of a call, to which nothing may write."""
_START_ADDR = 0x7000_0000
_SOURCE = "ethosgen_devices_host.c"
CACHE = "ETHOSGEN_HOST_CACHE"
"""The macro that puts a write-back cache between a driver and its device's model."""
SOFTWARE_MODEL = "ETHOSGEN_SOFTWARE_MODEL"
"""The macro that makes the driver of a device without a model compute by itself."""


class HostDevice:
    """An accelerator's devices, and the memory of the calls that use them.

    Without a model they are only a header.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._device = devices[0]
        self._parts: list[Part] = []
        self._pages = [_START_ADDR + i * self._device.page_bytes for i in range(len(devices))]
        self._end_addr = self._pages[-1] + self._device.page_bytes
        self._register_bytes = self._end_addr - _START_ADDR
        self._models = DeviceProcesses()
        self._handle: int | None = None

    @property
    def has_model(self) -> bool:
        """Whether a model serves the registers."""
        return self._device.model is not None

    def place(self, name: str, size: int, alignment: int, writable: bool) -> int | None:
        """Return an address for some bytes of a call, None for any address.

        `name` describes them, for the fault of a model that accesses others.
        """
        if not self.has_model:
            return None
        address = rounded_up(self._end_addr + GUARD_BYTES, alignment)
        self._parts.append((name, address, size, writable))
        self._end_addr = address + size + GUARD_BYTES
        return address

    def options(self, folder: Path) -> list[str]:
        """Write the header with the device to a folder, and return the compiler's options."""
        (folder / "ethosgen_devices.h").write_text(
            f'#include "ethosgen_device.h"\nextern struct ethosgen_device {self._variable};\n'
        )
        includes = (template_folder("device") / "model", template_folder("common") / "model")
        macro = [] if self.has_model else [f"-D{SOFTWARE_MODEL}"]
        return [*(f"-I{path}" for path in (folder, *includes)), "-D_GNU_SOURCE", *macro]

    @property
    def sources(self) -> Sequence[str]:
        """The C files to compile with the driver."""
        return (str(template_folder("device") / "host" / _SOURCE),)

    @property
    def declarations(self) -> str:
        """C that defines the devices; `start` calls begin_devices."""
        pages = [f"{{{page if self.has_model else 0:#x}, -1}}" for page in self._pages]
        values = f"{{{', '.join(pages)}}}" if len(pages) > 1 else pages[0]
        mapping = ""
        if self.has_model:
            mapping = (
                f'    if (ethosgen_host_map(atoi(getenv("ETHOSGEN_MEMORY")), {_START_ADDR:#x}, '
                f"{self._register_bytes:#x}, {self._bytes:#x})) {{\n        exit(1);\n    }}\n"
            )
        return (
            '#include "ethosgen_devices.h"\n'
            f"struct ethosgen_device {self._variable} = {values};\n"
            "int ethosgen_host_map(int handle, uintptr_t start, size_t registers, size_t bytes);\n"
            "void ethosgen_host_loaded(void);\n"
            f"void begin_devices(void)\n{{\n{mapping}}}\n"
            "void end_of_loading(void)\n{\n"
            f"{'    ethosgen_host_loaded();' if self.has_model else ''}\n}}\n"
        )

    def start(self) -> tuple[dict[str, str], tuple[int, ...]]:
        """Start the models; return environment and open files that the program needs."""
        if not self.has_model:
            return {}, ()
        self._handle = _memory_file(self._bytes)
        shared = SharedFile(self._handle, 0, self._bytes, _START_ADDR)
        for device, page in zip(self._devices, self._pages, strict=True):
            self._models.start(device, shared, page, self._parts)
        return {"ETHOSGEN_MEMORY": str(self._handle)}, (self._handle,)

    def fault(self) -> DeviceFault | None:
        """Return the first model's fault, None if all run."""
        try:
            self._models.check()
        except DeviceFault as fault:
            return fault
        return None

    def cycles(self) -> int | None:
        """Return the cycles that the models have counted since their start, None if none has."""
        return self._models.cycles()

    def explain(self, is_late: bool) -> str:
        """Return notes for a failed call: hung models if it is late, and registers."""
        registers = (
            []
            if self._handle is None
            else [
                (device, os.pread(self._handle, device.register_bytes, page - _START_ADDR))
                for device, page in zip(self._devices, self._pages, strict=True)
            ]
        )
        return self._models.explain(is_late, registers)

    def silence(self) -> DeviceFault | None:
        """Return the fault of a model that worked without its interrupt, None if there is none."""
        return self._models.silence()

    def stop(self) -> None:
        """End the models."""
        self._models.stop()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @property
    def _variable(self) -> str:
        """The device, or the array of all, as C declares it."""
        number = f"[{len(self._devices)}]" if len(self._devices) > 1 else ""
        return self._device.array + number

    @property
    def _bytes(self) -> int:
        return rounded_up(self._end_addr - _START_ADDR, PAGE_BYTES)


def _memory_file(size: int) -> int:
    """Return the handle of an anonymous file."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("ethosgen-memory")
    else:
        handle, name = tempfile.mkstemp(prefix="ethosgen-")
        Path(name).unlink()
    os.ftruncate(handle, size)
    return handle
