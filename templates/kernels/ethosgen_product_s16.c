/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two int16 matrices that are both computed at run time. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_kernels_s16.h"
#include "ethosgen_wide.h"

enum { LANES = 8, COLUMNS = 2 };

#if ETHOSGEN_MVE
/*
 * The sums of 2 columns: 16 products in 6 instructions. In assembly, since the compiler does not
 * generate tail-predicated loops.
 */
static inline void sums(const int16_t *row, const int16_t *first, const int16_t *second,
                        int32_t depth, int64_t totals[COLUMNS])
{
    /* Upper halves are in odd registers, for which there is no constraint. */
    register int32_t low0 __asm("r4") = 0, high0 __asm("r5") = 0;
    register int32_t low1 __asm("r8") = 0, high1 __asm("r9") = 0;

    /* q0: a vector of the row. q1, q2: vectors of both columns. lr: elements left. */
    __asm volatile("dlstp.16 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrh.16 q0, [%[row]], #16\n\t"
                   "vldrh.16 q1, [%[first]], #16\n\t"
                   "vmlaldava.s16 %[low0], %[high0], q0, q1\n\t"
                   "vldrh.16 q2, [%[second]], #16\n\t"
                   "vmlaldava.s16 %[low1], %[high1], q0, q2\n\t"
                   "letp lr, 1b"
                   : [row] "+r"(row), [first] "+r"(first), [second] "+r"(second),
                     [low0] "+r"(low0), [high0] "+r"(high0), [low1] "+r"(low1),
                     [high1] "+r"(high1)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "lr", "memory");
    totals[0] = (int64_t)((uint64_t)(uint32_t)high0 << 32 | (uint32_t)low0);
    totals[1] = (int64_t)((uint64_t)(uint32_t)high1 << 32 | (uint32_t)low1);
}

void ethosgen_turn_s16(int16_t *to, const int16_t *from, int32_t rows, int32_t columns)
{
    uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)columns);

    for (int32_t column = 0; column < columns; column++) {
        const int16_t *place = from + column;

        for (int32_t left = rows; left > 0; left -= LANES) {
            mve_pred16_t inside = vctp16q((uint32_t)left);

            vstrhq_p_s16(to, vldrhq_gather_shifted_offset_z_s16(place, places, inside), inside);
            place += LANES * columns;
            to += left < LANES ? left : LANES;
        }
    }
}
#else
static inline void sums(const int16_t *row, const int16_t *first, const int16_t *second,
                        int32_t depth, int64_t totals[COLUMNS])
{
    totals[0] = totals[1] = 0;
    for (int32_t k = 0; k < depth; k++) {
        totals[0] += row[k] * first[k];
        totals[1] += row[k] * second[k];
    }
}

void ethosgen_turn_s16(int16_t *to, const int16_t *from, int32_t rows, int32_t columns)
{
    for (int32_t column = 0; column < columns; column++) {
        for (int32_t row = 0; row < rows; row++) {
            *to++ = from[row * columns + column];
        }
    }
}
#endif

void ethosgen_product_s16(int16_t *output, const int16_t *rows, const int16_t *columns,
                          const struct ethosgen_product_s16 *shape)
{
    const struct ethosgen_product_s16 product = *shape;

    for (int32_t row = 0; row < product.rows; row++, rows += product.depth) {
        const int16_t *column = columns;

        for (int32_t left = product.columns; left > 0; left -= COLUMNS) {
            /* If their number is odd, the last column is computed twice. */
            const int16_t *next = left > 1 ? column + product.depth : column;
            int64_t totals[COLUMNS];

            sums(rows, column, next, product.depth, totals);
            *output++ = ethosgen_wide_output(totals[0], product.scale, INT16_MIN, INT16_MAX);
            if (left > 1) {
                *output++ = ethosgen_wide_output(totals[1], product.scale, INT16_MIN, INT16_MAX);
            }
            column = next + product.depth;
        }
    }
}
