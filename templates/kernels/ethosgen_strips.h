/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strips of a convolution's input: a row of outputs at a time. See struct ethosgen_convolution. Bytes
 * are those of int8 or int16 values.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_STRIPS_H
#define ETHOSGEN_STRIPS_H

#include "ethosgen_bytes.h"

#include <stdbool.h>

enum { SLICE = 16 };

/* A part of a row: its pixels, the bytes of each, and the bytes from each to the next. */
struct pixels {
    int32_t count;
    int32_t bytes;
    int32_t step;
    int32_t strip_step;
};

#if ETHOSGEN_MVE
/* Copy pixels of up to 16 bytes, two at a time. */
static inline void copy_small(int8_t *to, const int8_t *from, const struct pixels *pixels)
{
    int8_t *to1 = to + pixels->strip_step;
    const int8_t *from1 = from + pixels->step;

    /* q0, q1: two pixels. lr: pairs of pixels left. */
    __asm volatile("vctp.8 %[bytes]\n\t"
                   "lsr lr, %[count], #1\n\t"
                   "wls lr, lr, 2f\n"
                   "1:\n\t"
                   "vpstttt\n\t"
                   "vldrbt.8 q0, [%[from]]\n\t"
                   "vldrbt.8 q1, [%[from1]]\n\t"
                   "vstrbt.8 q0, [%[to]]\n\t"
                   "vstrbt.8 q1, [%[to1]]\n\t"
                   "add %[from], %[from_step]\n\t"
                   "add %[from1], %[from_step]\n\t"
                   "add %[to], %[to_step]\n\t"
                   "add %[to1], %[to_step]\n\t"
                   "le lr, 1b\n"
                   "2:\n\t"
                   "tst %[count], #1\n\t"
                   "beq 3f\n\t"
                   "vpstt\n\t"
                   "vldrbt.8 q0, [%[from]]\n\t"
                   "vstrbt.8 q0, [%[to]]\n"
                   "3:"
                   : [to] "+r"(to), [to1] "+r"(to1), [from] "+r"(from), [from1] "+r"(from1)
                   : [to_step] "r"(2 * pixels->strip_step), [from_step] "r"(2 * pixels->step),
                     [count] "r"(pixels->count), [bytes] "r"(pixels->bytes)
                   : "q0", "q1", "lr", "cc", "memory" ETHOSGEN_P0);
}

/* Copy pixels of any number of bytes, one after another. */
static inline void copy_large(int8_t *to, const int8_t *from, const struct pixels *pixels)
{
    int32_t whole = (pixels->bytes + SLICE - 1) & -SLICE, count = pixels->count;

    if (count > 0) {
        /* q0: a part of a pixel. lr: its bytes left. */
        __asm volatile("1:\n\t"
                       "dlstp.8 lr, %[bytes]\n"
                       "2:\n\t"
                       "vldrb.8 q0, [%[from]], #16\n\t"
                       "vstrb.8 q0, [%[to]], #16\n\t"
                       "letp lr, 2b\n\t"
                       "add %[from], %[from_step]\n\t"
                       "add %[to], %[to_step]\n\t"
                       "subs %[count], #1\n\t"
                       "bne 1b"
                       : [to] "+r"(to), [from] "+r"(from), [count] "+r"(count)
                       : [to_step] "r"(pixels->strip_step - whole),
                         [from_step] "r"(pixels->step - whole), [bytes] "r"(pixels->bytes)
                       : "q0", "lr", "cc", "memory");
    }
}

static inline void copy_pixels(int8_t *to, const int8_t *from, const struct pixels *pixels)
{
    if (pixels->bytes <= SLICE) {
        copy_small(to, from, pixels);
    } else {
        copy_large(to, from, pixels);
    }
}
#else
static void copy_pixels(int8_t *to, const int8_t *from, const struct pixels *pixels)
{
    for (int32_t pixel = 0; pixel < pixels->count; pixel++) {
        for (int32_t i = 0; i < pixels->bytes; i++) {
            to[pixel * pixels->strip_step + i] = from[pixel * pixels->step + i];
        }
    }
}
#endif

static inline int32_t least(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

/* Return x / y, rounded up, or 0 if x is negative. Not inline, to save code. */
static __attribute__((noinline)) int32_t up(int32_t x, int32_t y)
{
    return x <= 0 ? 0 : (x + y - 1) / y;
}

/* Columns of the strip that are inside the input. */
struct columns {
    int32_t first;
    int32_t count;
};

/* Fill some columns of the strip with the zero point. Not inline, to save code. */
static __attribute__((noinline)) void fill_columns(int8_t *strip, int32_t first, int32_t end,
                                                   const struct ethosgen_convolution *layer)
{
    int32_t column = layer->height * layer->depth;

    ethosgen_fill(strip + first * column, layer->zero_point, (end - first) * column);
}

/* Copy the rows under a row of windows to the strip; `input` is the first column's row 0. */
static inline void fill_strip(int8_t *strip, const int8_t *input, int32_t row,
                              struct columns inside, const struct ethosgen_convolution *layer)
{
    const struct ethosgen_axis *across = &layer->across;
    int32_t column = layer->height * layer->depth;
    int32_t last = row + (layer->height - 1) * across->dilation;
    bool has_all_rows = row >= 0 && last < across->size;
    struct pixels pixels = {
        .count = inside.count,
        .bytes = layer->depth,
        .step = layer->along.dilation * layer->along.input_step,
        .strip_step = column,
    };

    if (!has_all_rows) {
        fill_columns(strip, 0, layer->columns, layer);
    }
    if (has_all_rows && inside.count < layer->columns) {
        fill_columns(strip, 0, inside.first, layer);
        fill_columns(strip, inside.first + inside.count, layer->columns, layer);
    }
    strip += inside.first * column;
    for (; row <= last; row += across->dilation, strip += layer->depth) {
        if (row >= 0 && row < across->size) {
            copy_pixels(strip, input + row * across->input_step, &pixels);
        }
    }
}

/* A layer's constants, and its function for rows of windows. */
struct products {
    const int8_t *weights;
    const int32_t *scales;
    void (*multiply)(const struct ethosgen_rows *rows, const int8_t *weights,
                     const int32_t *scales, const struct ethosgen_matrix *matrix);
};

/* Compute some outputs of each row, the first at the input's column `origin`. */
static inline void run_piece(struct ethosgen_rows *rows, int8_t *strip, const int8_t *input,
                             int32_t origin, const struct products *products,
                             const struct ethosgen_convolution *layer)
{
    const struct ethosgen_axis *along = &layer->along, *across = &layer->across;
    struct columns inside = {.first = up(-origin, along->dilation)};
    int32_t end = least(up(along->size - origin, along->dilation), layer->columns);
    int32_t row = -across->padding;

    inside.count = end > inside.first ? end - inside.first : 0;
    input += (origin + inside.first * along->dilation) * along->input_step;
    for (int32_t left = across->outputs; left > 0; left--, row += across->stride) {
        fill_strip(strip, input, row, inside, layer);
        products->multiply(rows, products->weights, products->scales, &layer->matrix);
        rows->output += across->output_step;
    }
}

static void run_strips(int8_t *output, const int8_t *input, int8_t *strip,
                       const struct products *products, const struct ethosgen_convolution *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    struct ethosgen_rows rows;

    rows.first = strip;
    rows.step = layer->window_step;
    rows.bytes = layer->bytes;
    rows.output_step = along->output_step * layer->phases;
    for (int32_t phase = 0; phase < layer->phases; phase++) {
        for (int32_t start = phase; start < along->outputs; start += layer->pixels * layer->phases) {
            rows.count = least(up(along->outputs - start, layer->phases), layer->pixels);
            rows.output = output + start * along->output_step;
            run_piece(&rows, strip, input, start * along->stride - along->padding, products, layer);
        }
    }
}

static void run_in_place(int8_t *output, const int8_t *input, const struct products *products,
                         const struct ethosgen_convolution *layer)
{
    int32_t row_bytes = layer->across.stride * layer->across.input_step;
    struct ethosgen_rows rows = {
        .first = input,
        .count = layer->along.outputs,
        .step = layer->window_step,
        .bytes = layer->bytes,
        .output = output,
        .output_step = layer->along.output_step,
    };

    for (int32_t left = layer->across.outputs; left > 0; left--) {
        products->multiply(&rows, products->weights, products->scales, &layer->matrix);
        rows.first += row_bytes;
        rows.bytes -= row_bytes;
        rows.output += layer->across.output_step;
    }
}

#endif /* ETHOSGEN_STRIPS_H */
