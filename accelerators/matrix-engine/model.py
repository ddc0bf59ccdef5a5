# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""The matrix engine's functional model; matrix_engine.h describes its registers."""

import numpy as np

ID_VALUE = 0x4D450100
ID, COMMAND, DONE, STATUS = 0x00, 0x04, 0x08, 0x0C
A, OUTERS, A_OUTER_STEP, ROWS, A_ROW_STEP = 0x10, 0x14, 0x18, 0x1C, 0x20
CHUNKS, A_CHUNK_STEP, CHUNK_BYTES = 0x24, 0x28, 0x2C
B, COLUMNS, B_COLUMN_STEP, B_CHUNK_STEP = 0x30, 0x34, 0x38, 0x3C
C, C_OUTER_STEP, C_ROW_STEP = 0x40, 0x44, 0x48
BIAS, MULTIPLIERS, SHIFTS = 0x4C, 0x50, 0x54
A_OFFSET, C_OFFSET, C_MIN, C_MAX = 0x58, 0x5C, 0x60, 0x64

OK, BAD_SIZE = 0, 1


class MatrixEngine:
    """Runs a command when COMMAND differs from DONE."""

    def __init__(self, registers, memory, interrupt):
        self.registers, self.memory, self.interrupt = registers, memory, interrupt
        registers[ID] = ID_VALUE
        registers[COMMAND] = registers[DONE] = registers[STATUS] = 0
        self.cycles = 0

    def poll(self):
        """Run the command that was given, if there is one; return whether there was."""
        number = self.registers[COMMAND]
        if number == self.registers[DONE]:
            return False
        self.registers[STATUS] = self.run()
        self.registers[DONE] = number
        self.interrupt()
        return True

    def run(self):
        """Compute C and return the command's status."""
        r = self.registers
        outers, rows, columns = r[OUTERS], r[ROWS], r[COLUMNS]
        chunks, size = r[CHUNKS], r[CHUNK_BYTES]
        if not 0 < outers * rows * columns < 1 << 31 or chunks * size >= 1 << 31:
            return BAD_SIZE
        self.cycles += blocks(outers * rows) * blocks(columns) * (chunks * size + 16)
        a = self.memory.read(
            r[A],
            (outers, rows, chunks, size),
            np.int8,
            (r.signed(A_OUTER_STEP), r.signed(A_ROW_STEP), r.signed(A_CHUNK_STEP), 1),
        )
        b = self.memory.read(
            r[B],
            (columns, chunks, size),
            np.int8,
            (r.signed(B_COLUMN_STEP), r.signed(B_CHUNK_STEP), 1),
        )
        # Products of float64 are exact far beyond the sums of int32, and quicker than integers.
        left = a.reshape(outers * rows, chunks * size).astype(np.float64) + r.signed(A_OFFSET)
        sums = (left @ b.reshape(columns, chunks * size).T.astype(np.float64)).astype(np.int64)
        if r[BIAS]:
            sums += self.memory.read(r[BIAS], columns, np.int32)
        scaled = rescale(
            wrap(sums),
            self.memory.read(r[MULTIPLIERS], columns, np.int32).astype(np.int64),
            self.memory.read(r[SHIFTS], columns, np.int32).astype(np.int64),
        )
        clamped = np.clip(scaled + r.signed(C_OFFSET), r.signed(C_MIN), r.signed(C_MAX))
        self.memory.write(
            r[C],
            clamped.astype(np.int8).reshape(outers, rows, columns),
            (r.signed(C_OUTER_STEP), r.signed(C_ROW_STEP), 1),
        )
        return OK


def blocks(count):
    """Return the number of blocks of 16."""
    return (count + 15) // 16


def wrap(values):
    """Return values as a register of 32 bits holds them, in 64 bits."""
    return values.astype(np.int32).astype(np.int64)


def rescale(sums, multipliers, shifts):
    """Return sums times multiplier * 2**shift / 2**31, rounded twice as TensorFlow Lite does."""
    shifted = wrap(sums << np.maximum(shifts, 0))
    product = shifted * multipliers
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    total = product + nudge
    high = np.where(total >= 0, total >> 31, -(-total >> 31))  # a division rounds towards 0
    high = np.minimum(high, (1 << 31) - 1)  # the one product that overflows
    right = np.maximum(-shifts, 0)
    mask = (np.int64(1) << right) - 1
    threshold = (mask >> 1) + (high < 0)
    return (high >> right) + ((high & mask) > threshold)
