# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""The device's functional model; new_accelerator.h describes its registers. model.c is the same in C."""

import numpy as np

IDENTITY, START, DONE, STATUS = 0x00, 0x04, 0x08, 0x0C
INPUT, WEIGHTS, BIAS, MULTIPLIERS, SHIFTS, OUTPUT = 0x10, 0x14, 0x18, 0x1C, 0x20, 0x24
VECTORS, INPUTS, OUTPUTS = 0x28, 0x2C, 0x30
INPUT_OFFSET, OUTPUT_OFFSET, OUTPUT_MIN, OUTPUT_MAX = 0x34, 0x38, 0x3C, 0x40
OK, BAD_SIZE = 0, 1


class NewAccelerator:
    """Runs a job when START differs from DONE."""

    def __init__(self, registers, memory, interrupt):
        self.registers, self.memory, self.interrupt = registers, memory, interrupt
        registers[IDENTITY] = 0x4E450001
        registers[START] = registers[DONE] = registers[STATUS] = 0
        self.cycles = 0

    def poll(self):
        """Run the job that was started, if there is one; return whether there was."""
        number = self.registers[START]
        if number == self.registers[DONE]:
            return False
        self.registers[STATUS] = self.run()
        self.registers[DONE] = number  # after the results are in memory
        self.interrupt()
        return True

    def run(self):
        """Compute the outputs and return the job's status."""
        r = self.registers
        vectors, inputs, outputs = r[VECTORS], r[INPUTS], r[OUTPUTS]
        if 0 in (vectors, inputs, outputs):
            return BAD_SIZE
        self.cycles += (vectors * outputs * inputs + 15) // 16 + 40
        values = self.memory.read(r[INPUT], (vectors, inputs)).astype(np.int64)
        weights = self.memory.read(r[WEIGHTS], (outputs, inputs)).astype(np.int64)
        sums = (values + r.signed(INPUT_OFFSET)) @ weights.T
        if r[BIAS]:
            sums += self.memory.read(r[BIAS], outputs, np.int32)
        multipliers = self.memory.read(r[MULTIPLIERS], outputs, np.int32).astype(np.int64)
        shifts = self.memory.read(r[SHIFTS], outputs, np.int32).astype(np.int64)
        scaled = rescale(wrap(sums), multipliers, shifts) + r.signed(OUTPUT_OFFSET)
        clamped = np.clip(scaled, r.signed(OUTPUT_MIN), r.signed(OUTPUT_MAX))
        self.memory.write(r[OUTPUT], clamped.astype(np.int8))
        return OK


def wrap(values):
    """Return values as a register of 32 bits holds them, in 64 bits."""
    return values.astype(np.int32).astype(np.int64)


def rescale(sums, multipliers, shifts):
    """Return sums times multiplier * 2**shift / 2**31, rounded twice as TensorFlow Lite does."""
    product = wrap(sums << np.maximum(shifts, 0)) * multipliers
    total = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.where(total >= 0, total >> 31, -(-total >> 31))  # a division rounds towards 0
    high = np.minimum(high, (1 << 31) - 1)
    right = np.maximum(-shifts, 0)
    mask = (np.int64(1) << right) - 1
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
