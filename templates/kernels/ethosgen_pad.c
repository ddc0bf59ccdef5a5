/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with padding around them. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"

#if ETHOSGEN_MVE
enum { LANES = 16, FOUR = 4 * LANES };

/* Copy bytes four vectors at a time. */
static inline void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    /* q0 to q3: vectors. lr: rounds left. */
    __asm volatile("wls lr, %[times], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[from]], #16\n\t"
                   "vldrb.8 q1, [%[from]], #16\n\t"
                   "vldrb.8 q2, [%[from]], #16\n\t"
                   "vldrb.8 q3, [%[from]], #16\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "vstrb.8 q1, [%[to]], #16\n\t"
                   "vstrb.8 q2, [%[to]], #16\n\t"
                   "vstrb.8 q3, [%[to]], #16\n\t"
                   "le lr, 1b\n"
                   "2:"
                   : [to] "+r"(to), [from] "+r"(from)
                   : [times] "r"((uint32_t)bytes / FOUR)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    ethosgen_copy(to, from, bytes & (FOUR - 1));
}

/* Fill bytes four vectors at a time. */
static inline void fill(int8_t *to, int32_t value, int32_t bytes)
{
    /* q0: the value. lr: rounds left. */
    __asm volatile("vdup.8 q0, %[value]\n\t"
                   "wls lr, %[times], 2f\n"
                   "1:\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "le lr, 1b\n"
                   "2:"
                   : [to] "+r"(to)
                   : [value] "r"(value), [times] "r"((uint32_t)bytes / FOUR)
                   : "q0", "lr", "memory");
    ethosgen_fill(to, value, bytes & (FOUR - 1));
}

/* Copy rows of at most two vectors, with gaps of at most one between them. */
static inline void copy_short_rows(int8_t *to, const int8_t *from, const struct ethosgen_pad *pad)
{
    int32_t row_bytes = pad->row_bytes, step = row_bytes + pad->between;
    int32_t first = row_bytes < LANES ? row_bytes : LANES;
    mve_pred16_t in_first = vctp8q((uint32_t)first), in_rest = vctp8q((uint32_t)row_bytes - (uint32_t)first);
    mve_pred16_t in_gap = vctp8q((uint32_t)pad->between);
    int8x16_t gap = vdupq_n_s8((int8_t)pad->value);

    for (int32_t left = pad->rows; left > 0; left--) {
        vstrbq_p_s8(to, vldrbq_z_s8(from, in_first), in_first);
        if (row_bytes > LANES) {
            vstrbq_p_s8(to + LANES, vldrbq_z_s8(from + LANES, in_rest), in_rest);
        }
        if (left > 1) {
            vstrbq_p_s8(to + row_bytes, gap, in_gap);
        }
        to = &to[step];
        from = &from[row_bytes];
    }
}

static inline void copy_rows(int8_t *to, const int8_t *from, const struct ethosgen_pad *pad)
{
    int32_t row_bytes = pad->row_bytes, between = pad->between;

    if (row_bytes <= 2 * LANES && between <= LANES) {
        copy_short_rows(to, from, pad);
        return;
    }
    for (int32_t left = pad->rows; left > 0; left--) {
        copy(to, from, row_bytes);
        to = &to[row_bytes];
        from = &from[row_bytes];
        if (left > 1) {
            ethosgen_fill(to, pad->value, between);
            to = &to[between];
        }
    }
}
#else
static inline void fill(int8_t *to, int32_t value, int32_t bytes)
{
    ethosgen_fill(to, value, bytes);
}

static inline void copy_rows(int8_t *to, const int8_t *from, const struct ethosgen_pad *pad)
{
    for (int32_t left = pad->rows; left > 0; left--) {
        ethosgen_copy(to, from, pad->row_bytes);
        to += pad->row_bytes;
        from += pad->row_bytes;
        if (left > 1) {
            ethosgen_fill(to, pad->value, pad->between);
            to += pad->between;
        }
    }
}
#endif

void ethosgen_pad_s8(void *output, const void *input, const struct ethosgen_pad *pad)
{
    int8_t *to = (int8_t *)output;
    int32_t rows = pad->rows * pad->row_bytes + (pad->rows - 1) * pad->between;

    fill(to, pad->value, pad->before);
    copy_rows(to + pad->before, (const int8_t *)input, pad);
    fill(to + pad->before + rows, pad->value, pad->after);
}
