"""A device on this machine: the memory that its driver and its model share, and its registers.

The driver is compiled for this machine. All memory that its calls address is in one file, mapped at
a 32-bit address: the device's registers can hold it, and the model's process maps it, too.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ethosgen.device.process import DeviceProcess, Part, SharedFile
from ethosgen.host.resources import template_folder
from ethosgen.values.device import PAGE_BYTES, Device
from ethosgen.values.errors import DeviceFault
from ethosgen.values.multiples import rounded_up

_START_ADDR = 0x7000_0000
_SOURCE = "ethosgen_devices_host.c"
CACHE = "ETHOSGEN_HOST_CACHE"
"""The macro that puts a write-back cache between a driver and its device's model."""
SOFTWARE_MODEL = "ETHOSGEN_SOFTWARE_MODEL"
"""The macro that makes the driver of a device without a model compute by itself."""


class HostDevice:
    """A device, and the memory of the calls that use it. Without a model it is only a header."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._parts: list[Part] = []
        self._end_addr = _START_ADDR + device.page_bytes
        self._model: DeviceProcess | None = None
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
        address = rounded_up(self._end_addr, alignment)
        self._parts.append((name, address, size, writable))
        self._end_addr = address + size + 1  # nothing adjoins: anything after the bytes is outside
        return address

    def options(self, folder: Path) -> list[str]:
        """Write the header with the device to a folder, and return the compiler's options."""
        (folder / "ethosgen_devices.h").write_text(
            '#include "ethosgen_device.h"\n'
            f"extern struct ethosgen_device ethosgen_device_{self._device.c_name};\n"
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
        """C that defines the device; `start` calls begin_devices."""
        base = _START_ADDR if self.has_model else 0
        mapping = ""
        if self.has_model:
            mapping = (
                f'    if (ethosgen_host_map(atoi(getenv("ETHOSGEN_MEMORY")), {_START_ADDR:#x}, '
                f"{self._device.page_bytes:#x}, {self._bytes:#x})) {{\n        exit(1);\n    }}\n"
            )
        return (
            '#include "ethosgen_devices.h"\n'
            f"struct ethosgen_device ethosgen_device_{self._device.c_name} = {{{base:#x}, -1}};\n"
            "int ethosgen_host_map(int handle, uintptr_t start, size_t registers, size_t bytes);\n"
            "void ethosgen_host_loaded(void);\n"
            f"static void begin_devices(void)\n{{\n{mapping}}}\n"
            "static void end_of_loading(void)\n{\n"
            f"{'    ethosgen_host_loaded();' if self.has_model else ''}\n}}\n"
        )

    def start(self) -> tuple[dict[str, str], tuple[int, ...]]:
        """Start the model; return environment and open files that the program needs."""
        if not self.has_model:
            return {}, ()
        self._handle = _memory_file(self._bytes)
        self._model = DeviceProcess(self._device)
        shared = SharedFile(self._handle, 0, self._bytes, _START_ADDR)
        self._model.start(shared, _START_ADDR, self._parts, None)
        return {"ETHOSGEN_MEMORY": str(self._handle)}, (self._handle,)

    def fault(self) -> DeviceFault | None:
        """Return the model's fault, None if it runs."""
        if self._model is None:
            return None
        try:
            self._model.check()
        except DeviceFault as fault:
            return fault
        return None

    def cycles(self) -> int | None:
        """Return the cycles that the model has counted since its start, None if it counts none."""
        return self._model.cycles() if self._model else None

    def stop(self) -> None:
        """End the model."""
        if self._model is not None:
            self._model.stop()
            self._model = None
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

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
