/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix engine: C = clamp(rescale((A + a_offset) * B + bias) + c_offset), with int8 matrices and
 * int32 sums, rescaled per column as TensorFlow Lite Micro does. It fetches A and B by DMA, whose steps
 * gather a convolution's windows without a copy.
 *
 * A command computes OUTERS x ROWS rows of C with COLUMNS columns. A row of A is a window: CHUNKS runs
 * of CHUNK_BYTES. All steps are in bytes.
 *
 *     offset  register      access  meaning
 *     0x00    ID            r       MATRIX_ENGINE_ID
 *     0x04    COMMAND       rw      write the number of the next command to start it
 *     0x08    DONE          r       the number of the last command that has ended
 *     0x0C    STATUS        r       of that command: 0, or 1 for a size that is not possible
 *     0x10    A             rw      address of the first byte of A
 *     0x14    OUTERS        rw      number of groups of rows
 *     0x18    A_OUTER_STEP  rw      from one group of A to the next
 *     0x1C    ROWS          rw      rows in a group
 *     0x20    A_ROW_STEP    rw      from one row of A to the next
 *     0x24    CHUNKS        rw      runs of bytes in a row of A and a column of B; may be 0
 *     0x28    A_CHUNK_STEP  rw      from one run of A to the next
 *     0x2C    CHUNK_BYTES   rw      bytes in a run; may be 0
 *     0x30    B             rw      address of the first byte of B
 *     0x34    COLUMNS       rw      columns of B and C
 *     0x38    B_COLUMN_STEP rw      from one column of B to the next
 *     0x3C    B_CHUNK_STEP  rw      from one run of B to the next
 *     0x40    C             rw      address of the first byte of C; the columns of a row are adjacent
 *     0x44    C_OUTER_STEP  rw      from one group of C to the next
 *     0x48    C_ROW_STEP    rw      from one row of C to the next
 *     0x4C    BIAS          rw      address of an int32 for each column, 0 for none
 *     0x50    MULTIPLIERS   rw      address of an int32 for each column
 *     0x54    SHIFTS        rw      address of an int32 for each column: left if positive
 *     0x58    A_OFFSET      rw      added to each element of A, signed
 *     0x5C    C_OFFSET      rw      added to each element of C, signed
 *     0x60    C_MIN         rw      the smallest element of C, signed
 *     0x64    C_MAX         rw      the largest element of C, signed
 *
 * When a command ends, the engine sets DONE and pulses its interrupt.
 */
#ifndef MATRIX_ENGINE_H
#define MATRIX_ENGINE_H

#include <stdint.h>

#define MATRIX_ENGINE_ID 0x4D450100u

/* The engine refused a command: its STATUS was not 0. */
#define MATRIX_ENGINE_REFUSED 100

/* A layer's sizes and quantization, in the order of MatrixEngine.arrays() in matrix_engine.py. */
struct matrix_engine_layer {
    int32_t batches;
    int32_t input_h, input_w, input_channels;
    int32_t output_h, output_w, output_channels;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left;
    int32_t input_offset, output_offset;
    int32_t activation_min, activation_max;
};

/* CONV_2D and FULLY_CONNECTED, which is a convolution of one pixel. `layer` is a struct
 * matrix_engine_layer. Returns 0, ETHOSGEN_DEVICE_TIMEOUT, ETHOSGEN_NOT_INITIALIZED or
 * MATRIX_ENGINE_REFUSED. */
int32_t matrix_engine_conv(const int8_t *input, const int8_t *weights, const int32_t *bias,
                           int8_t *output, const int32_t *multipliers, const int32_t *shifts,
                           const int32_t *layer);

#endif /* MATRIX_ENGINE_H */
