/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed matrices, and rows in another order. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"

void ethosgen_transpose_rows(void *output, const void *input, const struct ethosgen_transpose *block)
{
    const int8_t *from = (const int8_t *)input;
    int8_t *to = (int8_t *)output;

    for (int32_t left = block->rows; left > 0; left--) {
        ethosgen_copy(to, from, block->columns);
        from += block->input_step;
        to += block->output_step;
    }
}

#if ETHOSGEN_MVE
/*
 * Two loops for elements of some bits: vectors along the rows of the input are scattered, vectors
 * along those of the output are gathered. In assembly, since the compiler does not generate
 * tail-predicated loops.
 */
#define ETHOSGEN_RUNS(bits, lane_bits, bytes, letter, offsets)                                 \
    static inline void scatter_##bits(int8_t *to, const int8_t *from, int32_t count,           \
                                      int32_t step, offsets apart)                             \
    {                                                                                          \
        /* q0: a vector. lr: elements left. */                                                 \
        __asm volatile("dlstp." #lane_bits " lr, %[count]\n"                                   \
                       "1:\n\t"                                                                \
                       "vldr" letter ".u" #lane_bits " q0, [%[from]], #" #bytes "\n\t"         \
                       "vstr" letter "." #lane_bits " q0, [%[to], %q[apart]]\n\t"              \
                       "add %[to], %[step]\n\t"                                                \
                       "letp lr, 1b"                                                           \
                       : [to] "+l"(to), [from] "+l"(from)                                      \
                       : [count] "r"(count), [step] "r"(step), [apart] "w"(apart)              \
                       : "q0", "lr", "memory");                                                \
    }                                                                                          \
                                                                                               \
    static inline void gather_##bits(int8_t *to, const int8_t *from, int32_t count,            \
                                     int32_t step, offsets apart)                              \
    {                                                                                          \
        /* q0: a vector. lr: elements left. */                                                 \
        __asm volatile("dlstp." #lane_bits " lr, %[count]\n"                                   \
                       "1:\n\t"                                                                \
                       "vldr" letter ".u" #lane_bits " q0, [%[from], %q[apart]]\n\t"           \
                       "vstr" letter "." #lane_bits " q0, [%[to]], #" #bytes "\n\t"            \
                       "add %[from], %[step]\n\t"                                              \
                       "letp lr, 1b"                                                           \
                       : [to] "+l"(to), [from] "+l"(from)                                      \
                       : [count] "r"(count), [step] "r"(step), [apart] "w"(apart)              \
                       : "q0", "lr", "memory");                                                \
    }

ETHOSGEN_RUNS(8, 16, 8, "b", uint16x8_t)
ETHOSGEN_RUNS(16, 16, 16, "h", uint16x8_t)
ETHOSGEN_RUNS(32, 32, 16, "w", uint32x4_t)

/* Offsets of lanes that are `step` bytes apart. */
static inline uint16x8_t apart_16(int32_t step)
{
    return vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
}

static inline uint32x4_t apart_32(int32_t step)
{
    return vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)step);
}

/* A row's time: about 5 units per vector, and 4 for the call of its loop. */
static inline int32_t row_time(int32_t elements, int32_t lanes)
{
    return (elements + lanes - 1) / lanes * 5 + 4;
}

/* The vectors run along the axis that takes less time. */
#define ETHOSGEN_TRANSPOSE(bits, lanes, apart)                                                 \
    void ethosgen_transpose_##bits(void *output, const void *input,                            \
                                   const struct ethosgen_transpose *block)                     \
    {                                                                                          \
        int32_t rows = block->rows, columns = block->columns;                                  \
        int32_t in = block->input_step, out = block->output_step;                              \
        const int8_t *from = (const int8_t *)input;                                            \
        int8_t *to = (int8_t *)output;                                                         \
                                                                                               \
        if (row_time(columns, lanes) * rows <= row_time(rows, lanes) * columns) {              \
            for (int32_t left = rows; left > 0; left--) {                                      \
                scatter_##bits(to, from, columns, (lanes) * out, apart(out));                  \
                from = &from[in];                                                                    \
                to = &to[(bits) / 8];                                                              \
            }                                                                                  \
        } else {                                                                               \
            for (int32_t left = columns; left > 0; left--) {                                   \
                gather_##bits(to, from, rows, (lanes) * in, apart(in));                        \
                from = &from[(bits) / 8];                                                            \
                to = &to[out];                                                                     \
            }                                                                                  \
        }                                                                                      \
    }

ETHOSGEN_TRANSPOSE(8, 8, apart_16)
ETHOSGEN_TRANSPOSE(16, 8, apart_16)
ETHOSGEN_TRANSPOSE(32, 4, apart_32)
#else
enum { BLOCK = 4 };

/* Move a row of the input, four elements at a time, to a column of the output. */
#define ETHOSGEN_COLUMN(bits)                                                                  \
    static inline void column_##bits(uint##bits##_t *to, const uint##bits##_t *from,           \
                                     int32_t count, int32_t step)                              \
    {                                                                                          \
        for (; count >= BLOCK; count -= BLOCK, from = &from[BLOCK], to = &to[BLOCK * step]) {            \
            to[0] = from[0];                                                                   \
            to[step] = from[1];                                                                \
            to[2 * step] = from[2];                                                            \
            to[3 * step] = from[3];                                                            \
        }                                                                                      \
        for (; count > 0; count--, to = &to[step]) {                                               \
            *to = *from++;                                                                     \
        }                                                                                      \
    }

ETHOSGEN_COLUMN(8)
ETHOSGEN_COLUMN(16)
ETHOSGEN_COLUMN(32)

#define ETHOSGEN_TRANSPOSE(bits)                                                               \
    void ethosgen_transpose_##bits(void *output, const void *input,                            \
                                   const struct ethosgen_transpose *block)                     \
    {                                                                                          \
        const uint##bits##_t *from = (const uint##bits##_t *)input;                            \
        uint##bits##_t *to = (uint##bits##_t *)output;                                         \
        int32_t in = block->input_step / (int32_t)sizeof(*from);                               \
        int32_t out = block->output_step / (int32_t)sizeof(*to);                               \
                                                                                               \
        for (int32_t left = block->rows; left > 0; left--, from = &from[in], to++) {                 \
            column_##bits(to, from, block->columns, out);                                      \
        }                                                                                      \
    }

ETHOSGEN_TRANSPOSE(16)
ETHOSGEN_TRANSPOSE(32)

#if defined(__ARM_FEATURE_UNALIGNED) || !defined(__ARM_ARCH)
/* Constants that the compiler must keep in registers: otherwise each use costs an instruction. */
struct masks {
    uint32_t even; /* bytes 0 and 2 */
    uint32_t low;  /* bytes 0 and 1 */
};

static inline struct masks in_registers(void)
{
    struct masks masks = {0x00ff00ffu, 0x0000ffffu};

#ifndef ETHOSGEN_PLAIN_C
    __asm volatile("" : "+r"(masks.even), "+r"(masks.low));
#endif
    return masks;
}

static inline uint32_t word(const uint8_t *from)
{
    uint32_t value;

    (void)memcpy(&value, from, sizeof(value));
    return value;
}

/* Store the lower halves of two words, and at `next` the upper ones. */
static inline void store_halves(uint8_t *to, uint8_t *next, uint32_t a, uint32_t b, uint32_t low)
{
    uint32_t first = (a & low) | b << 16, second = a >> 16 | (b & ~low);

    (void)memcpy(to, &first, sizeof(first));
    (void)memcpy(next, &second, sizeof(second));
}

/* Transpose the squares of 4 x 4 bytes in 4 rows; return the remaining columns. */
static inline int32_t squares(uint8_t *to, const uint8_t *from,
                              const struct ethosgen_transpose *block)
{
    int32_t in = block->input_step, out = block->output_step, left = block->columns;
    const uint8_t *from2 = from + 2 * in;
    uint8_t *to2 = to + 2 * out;
    struct masks masks = in_registers();
    uint32_t even = masks.even;

    for (; left >= BLOCK; left -= BLOCK) {
        uint32_t a = word(from), b = word(from + in), c = word(from2), d = word(from2 + in);

        store_halves(to, to2, (a & even) | (b & even) << 8, (c & even) | (d & even) << 8,
                     masks.low);
        store_halves(to + out, to2 + out, (a >> 8 & even) | (b >> 8 & even) << 8,
                     (c >> 8 & even) | (d >> 8 & even) << 8, masks.low);
        from += BLOCK;
        from2 += BLOCK;
        to += BLOCK * out;
        to2 += BLOCK * out;
    }
    return left;
}
#else
static inline int32_t squares(uint8_t *to, const uint8_t *from,
                              const struct ethosgen_transpose *block)
{
    (void)to;
    (void)from;
    return block->columns;
}
#endif

void ethosgen_transpose_8(void *output, const void *input, const struct ethosgen_transpose *block)
{
    int32_t in = block->input_step, out = block->output_step, left = block->rows;
    const uint8_t *from = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;

    for (; left >= BLOCK; left -= BLOCK, from += BLOCK * in, to += BLOCK) {
        int32_t rest = squares(to, from, block), done = block->columns - rest;

        for (int32_t row = 0; row < BLOCK && rest > 0; row++) {
            column_8(to + done * out + row, from + row * in + done, rest, out);
        }
    }
    for (; left > 0; left--, from = &from[in], to++) {
        column_8(to, from, block->columns, out);
    }
}
#endif
