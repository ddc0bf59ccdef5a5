"""A handmade program with two devices of a user's beside an NPU or none, and their models."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from ethosgen.values.device import Device, DeviceModel, DevicePlace
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from tests.support.programs import ELEMENTS, OUTPUT_OFFSET, make_cpu_program, make_program

ADDER_BYTES, NEGATOR_BYTES = 0x20, 0x1010
"""The negator's registers need two pages."""

DRIVER_HEADER = """\
#include <stdint.h>
int32_t adder_run(const int8_t *from, int8_t *to, int32_t count, int32_t term);
int32_t negator_run(int8_t *data, int32_t count);
void negator_irq(void);
extern volatile uint32_t negator_irqs;
"""
ADDER = """\
#include "ethosgen_devices.h"
#include "toy_devices.h"

enum { COMMAND = 0x00, DONE = 0x04, FROM = 0x08, TO = 0x0C, COUNT = 0x10, TERM = 0x14 };

int32_t adder_run(const int8_t *from, int8_t *to, int32_t count, int32_t term)
{
    static uint32_t runs;
    const struct ethosgen_device *adder = &ethosgen_device_adder;

    *ethosgen_device_register(adder, FROM) = (uint32_t)(uintptr_t)from;
    *ethosgen_device_register(adder, TO) = (uint32_t)(uintptr_t)to;
    *ethosgen_device_register(adder, COUNT) = (uint32_t)count;
    *ethosgen_device_register(adder, TERM) = (uint32_t)term;
    ethosgen_device_flush(from, (uint32_t)count);
    ethosgen_device_flush(to, (uint32_t)count);
    ETHOSGEN_DEVICE_BARRIER();
    runs++;
    *ethosgen_device_register(adder, COMMAND) = runs;
    int32_t status = ethosgen_device_await(adder, DONE, 0xFFFFFFFFu, runs);
    ethosgen_device_flush(to, (uint32_t)count);
    return status;
}
"""
NEGATOR = """\
#include "ethosgen_devices.h"
#include "toy_devices.h"

enum { ADDRESS = 0x00, COUNT = 0x04, GO = 0x100C };

volatile uint32_t negator_irqs;

void negator_irq(void)
{
    negator_irqs = negator_irqs + 1u;
}

int32_t negator_run(int8_t *data, int32_t count)
{
    const struct ethosgen_device *negator = &ethosgen_device_negator;

    *ethosgen_device_register(negator, ADDRESS) = (uint32_t)(uintptr_t)data;
    *ethosgen_device_register(negator, COUNT) = (uint32_t)count;
    ETHOSGEN_DEVICE_BARRIER();
    *ethosgen_device_register(negator, GO) = 1;
    return ethosgen_device_await(negator, GO, 1, 0);
}
"""
ADDER_MODEL = """\
import numpy as np

class Adder:
    def __init__(self, registers, memory, interrupt):
        self.registers, self.memory, self.interrupt = registers, memory, interrupt

    def poll(self):
        r = self.registers
        if r[0x00] == r[0x04]:
            return False
        data = self.memory.read(r[0x08], r[0x10]).astype(np.int64)
        self.memory.write(r[0x0C], (data + r.signed(0x14)).astype(np.int8))
        r[0x04] = r[0x00]
        self.interrupt()
        return True
"""
NEGATOR_MODEL = """\
#include "ethosgen_model.h"

void ethosgen_model_reset(void)
{
    ethosgen_model_set(0x100C, 0);
}

bool ethosgen_model_poll(void)
{
    if (ethosgen_model_get(0x100C) == 0) {
        return false;
    }
    uint32_t count = ethosgen_model_get(0x04);
    int8_t *data = ethosgen_model_write(ethosgen_model_get(0x00), count);
    for (uint32_t i = 0; i < count; i++) {
        data[i] = (int8_t)-data[i];
    }
    ethosgen_model_set(0x100C, 0);
    ethosgen_model_interrupt();
    return true;
}
"""
_OUTPUT = f"arena + {OUTPUT_OFFSET}"
_CALLS = f"""\
    if (status == 0) {{
        status = adder_run(arena, {_OUTPUT}, {ELEMENTS}, -5);
    }}
    if (status == 0) {{
        status = negator_run({_OUTPUT}, {ELEMENTS});
    }}
    if (status == 0) {{
        status = adder_run({_OUTPUT}, {_OUTPUT}, {ELEMENTS}, 7);
    }}
"""
"""Computes 12 - x; with the NPU, which adds one first, 11 - x."""


def make_devices(folder: Path, **changed: Device) -> tuple[Device, ...]:
    """Write the models, and return the devices; `changed` replaces some by their names."""
    (folder / "adder.py").write_text(ADDER_MODEL)
    (folder / "negator.c").write_text(NEGATOR_MODEL)
    adder = Device(
        "adder",
        ADDER_BYTES,
        places={"corstone300": DevicePlace(0x58103000, 57)},
        model=DeviceModel(folder, "adder.py:Adder"),
    )
    negator = Device(
        "negator", NEGATOR_BYTES, handler="negator_irq", model=DeviceModel(folder, "negator.c")
    )
    known: Mapping[str, Device] = {"adder": adder, "negator": negator} | changed
    return tuple(known[name] for name in sorted(known))


def make_device_program(devices: tuple[Device, ...], has_npu: bool, name: str = "toys") -> Program:
    """Return a program whose output is 12 - x, or with an NPU 11 - x."""
    base = make_program(IoStyle.ARENA, name=name) if has_npu else make_cpu_program(name)
    graph = base.sources[f"{name}_graph.c"]
    if has_npu:
        first = graph.rindex("    return ")
        call = graph[first:].removeprefix("    return ").removesuffix("}\n")
        # The NPU's output is the devices' input.
        calls = _CALLS.replace("run(arena,", f"run(arena + {OUTPUT_OFFSET},", 1)
        body = f"    int32_t status = {call}{calls}"
        graph = graph[:first] + body + "    return status;\n}\n"
    else:
        graph = (
            f'#include "{name}_graph.h"\nint32_t {name}_entry(int8_t *arena)\n{{\n'
            f"    int32_t status = 0;\n{_CALLS}    return status;\n}}\n"
        )
    sources = {
        **base.sources,
        f"{name}_graph.c": f'#include "toy_devices.h"\n{graph}',
        "toy_devices.h": DRIVER_HEADER,
        "adder.c": ADDER,
        "negator.c": NEGATOR,
    }
    plan = dataclasses.replace(base.plan, devices=devices)
    return dataclasses.replace(base, plan=plan, sources=sources)
