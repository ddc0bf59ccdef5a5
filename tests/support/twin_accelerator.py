"""A device that computes convolutions without padding, of which a system has one or several.

The driver counts the starts and waits of all instances in one order. The model computes only when
the driver waits, so a device is busy from its start to its wait; it records both in a file.
"""

import json
from pathlib import Path

from tests import ROOT
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import write_folder

TOML = """\
schema = 1
title = "convolutions"
kind = "device"
headers = ["toy_add.h"]
sources = ["toy_add.c"]

[device]
registers = 0x80
instances = 2
model = "model.py:Twin"

[[operator]]
chain = ["CONV_2D"]
where = [
    "dilation_h == 1 and dilation_w == 1 and stride_h == stride_w",
    "input_channels == weights_channels",
    "pad_top + pad_left + pad_bottom + pad_right == 0",
    "weights_zero_point == 0 and input_batches == 1",
]
call = "twin_conv"
arguments = [
    "instance", "input", "weights", "bias", "output", "multipliers", "shifts",
    "input_h", "input_w", "input_channels", "output_h", "output_w", "output_channels",
    "kernel_h", "kernel_w", "stride_h",
    "-input_zero_point", "output_zero_point", "activation_min", "activation_max",
]
start = 100
cycles = "output_elements * kernel_h * kernel_w * input_channels"
awaited = "twin_wait"
"""
HEADER = """\
#include <stdint.h>
int32_t twin_conv(int32_t instance, const int8_t *input, const int8_t *weights, const int32_t *bias,
    int8_t *output, const int32_t *multipliers, const int32_t *shifts,
    int32_t input_h, int32_t input_w, int32_t input_c, int32_t output_h, int32_t output_w,
    int32_t output_c, int32_t kernel_h, int32_t kernel_w, int32_t stride,
    int32_t input_offset, int32_t output_offset, int32_t low, int32_t high);
int32_t twin_wait(int32_t instance);
"""
DRIVER = """
#include "ethosgen_devices.h"
enum { START = 0x00, DONE = 0x04, STARTED = 0x08, WAITED = 0x0C, FIRST = 0x10 };
static uint32_t order;

static volatile uint32_t *at(int32_t instance, uint32_t offset)
{
    return ethosgen_device_register(&THE_TWIN, offset);
}

int32_t twin_conv(int32_t instance, const int8_t *input, const int8_t *weights, const int32_t *bias,
    int8_t *output, const int32_t *multipliers, const int32_t *shifts,
    int32_t input_h, int32_t input_w, int32_t input_c, int32_t output_h, int32_t output_w,
    int32_t output_c, int32_t kernel_h, int32_t kernel_w, int32_t stride,
    int32_t input_offset, int32_t output_offset, int32_t low, int32_t high)
{
    const void *const pointers[] = { input, weights, bias, output, multipliers, shifts };
    const int32_t numbers[] = { input_h, input_w, input_c, output_h, output_w, output_c, kernel_h,
        kernel_w, stride, input_offset, output_offset, low, high };
    for (uint32_t i = 0; i < 6u; i++) {
        *at(instance, FIRST + 4u * i) = pointers[i] ? ETHOSGEN_DEVICE_ADDRESS(pointers[i]) : 0u;
    }
    for (uint32_t i = 0; i < 13u; i++) {
        *at(instance, FIRST + 4u * (6u + i)) = (uint32_t)numbers[i];
    }
    ethosgen_device_flush(input, (uint32_t)(input_h * input_w * input_c));
    ethosgen_device_flush(output, (uint32_t)(output_h * output_w * output_c));
    *at(instance, STARTED) = ++order;
    *at(instance, WAITED) = 0;
    ETHOSGEN_DEVICE_BARRIER();
    *at(instance, START) = *at(instance, DONE) + 1u;
    return 0;
}

int32_t twin_wait(int32_t instance)
{
    *at(instance, WAITED) = ++order;
    int32_t status = ethosgen_device_await(&THE_TWIN, DONE, 0xFFFFFFFFu, *at(instance, START));
    ethosgen_device_flush((const void *)(uintptr_t)*at(instance, FIRST + 12u),
        *at(instance, FIRST + 36u) * *at(instance, FIRST + 40u) * *at(instance, FIRST + 44u));
    return status;
}
"""
MODEL = """
import json, os
import numpy as np

class Twin:
    def __init__(self, registers, memory, interrupt):
        self.registers, self.memory, self.interrupt = registers, memory, interrupt

    def poll(self):
        r = self.registers
        if r[0x00] == r[0x04] or r[0x0C] == 0:  # it computes as late as it can: during the wait
            return False
        pointers = [r[0x10 + 4 * i] for i in range(6)]
        h, w, depth, rows, columns, outputs, high, wide, stride = (
            r.signed(0x28 + 4 * i) for i in range(9)
        )
        offset, zero, least, most = (r.signed(0x4C + 4 * i) for i in range(4))
        read, (source, weights, bias, output, multipliers, shifts) = self.memory.read, pointers
        x = read(source, (h, w, depth), np.int8).astype(np.int64) + offset
        k = read(weights, (outputs, high, wide, depth), np.int8).astype(np.int64)
        sums = np.zeros((rows, columns, outputs), np.int64)
        for i in range(high):
            for j in range(wide):
                part = x[i : i + stride * rows : stride, j : j + stride * columns : stride]
                sums += part[:rows, :columns] @ k[:, i, j].T
        if bias:
            sums += read(bias, (outputs,), np.int32)
        many = [read(a, (outputs,), np.int32).astype(np.int64) for a in (multipliers, shifts)]
        values = np.clip(rescale(sums, *many) + zero, least, most)
        self.memory.write(output, values.astype(np.int8), (columns * outputs, outputs, 1))
        with open("PLACE", "a") as told:
            told.write(json.dumps([int(r[0x08]), int(r[0x0C]), os.getpid()]) + "\\n")
        r[0x04] = r[0x00]
        self.interrupt()
        return True

"""


def write_twins(folder: Path, told: Path, instances: int = 2, toml: str = TOML) -> Path:
    """Write the folder; its models tell `told` when they were busy."""
    toml = toml.replace("instances = 2", f"instances = {instances}")
    device = "ethosgen_device_twin" + ("[instance]" if instances > 1 else "")
    driver, header = DRIVER.replace("THE_TWIN", device), HEADER
    if instances == 1:
        header = header.replace("twin_wait(int32_t instance)", "twin_wait(void)")
        driver = driver.replace("twin_wait(int32_t instance)\n{", ONE_WAIT)
        driver = driver.replace(
            "{\n    return ethosgen", "{\n    (void)instance;\n    return ethosgen"
        )
    write_folder(folder / "twin", toml, header, driver)
    engine = (ROOT / "accelerators" / "matrix-engine" / "model.py").read_text()
    arithmetic = engine[engine.index("def wrap") :]
    model = MODEL.replace("PLACE", str(told)) + arithmetic
    (folder / "twin" / "model.py").write_text(model)
    return folder / "twin"


UNUSED = "{\n    return ethosgen"
ONE_WAIT = "twin_wait(void)\n{\n    const int32_t instance = 0;"


def busy_times(told: Path, instances: int = 2) -> list[list[tuple[int, int]]]:
    """Return, for each instance in the last run, the numbers of its calls' starts and waits."""
    calls = [json.loads(line) for line in told.read_text().splitlines()]
    models = list(dict.fromkeys(model for *_, model in calls))[-instances:]
    return [
        [(start, wait) for start, wait, model in calls if model == instance] for instance in models
    ]


def branches(path: Path) -> Path:
    """Write a network of two branches, in the order of a program for one device.

    Each has two convolutions with an operator of the CPU between them.
    """
    net = NetworkBuilder("branches", seed=4)
    x = net.input((1, 12, 12, 8), name="x")
    ends = []
    for _ in range(2):
        first = net.conv2d(x, 8, (3, 3), padding="VALID")
        ends.append(net.conv2d(net.mul(first, first), 4, (3, 3), padding="VALID"))
    path.write_bytes(net.build(net.add(ends[0], ends[1])))
    return path
