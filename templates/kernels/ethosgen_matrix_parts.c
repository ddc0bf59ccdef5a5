/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights, some rows at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_kernels.h"
#include "ethosgen_requantize.h"

typedef void multiplication(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix);

/* Not inline, to save code. */
static ETHOSGEN_RARE void run_parts(int8_t *output, const int8_t *rows, const int8_t *weights,
                                    const int32_t *scales, const struct ethosgen_matrix *matrix,
                                    int32_t part, multiplication *multiply)
{
    int32_t most = part < 0 ? -part : part;
    int32_t row = part < 0 ? (matrix->rows - 1) / most * most : 0;
    struct ethosgen_rows some = {.step = matrix->depth, .output_step = matrix->channels};

    for (; row >= 0 && row < matrix->rows; row += part) {
        int32_t left = matrix->rows - row;

        some.first = rows + row * some.step;
        some.count = left < most ? left : most;
        some.bytes = left * some.step;
        some.output = output + row * some.output_step;
        multiply(&some, weights, scales, matrix);
    }
}

void ethosgen_matrix_parts_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_matrix *matrix,
                              int32_t part)
{
    run_parts(output, rows, weights, scales, matrix, part, ethosgen_rows_s8);
}

void ethosgen_matrix_parts_short_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                                    const int32_t *scales, const struct ethosgen_matrix *matrix,
                                    int32_t part)
{
    run_parts(output, rows, weights, scales, matrix, part, ethosgen_rows_short_s8);
}
