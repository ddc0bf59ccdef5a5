/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions of 3 x 3 adjacent pixels, all channels of a pixel at a time, for Armv7-M.
 * See ethosgen_thumb.h.
 *
 * Each row of a window has an address: in the input, in a row of padding, or in a copy if the row
 * touches padding. So the loop over channels needs no code for borders.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_math.h"

#include <string.h>

enum { SIDE = 3, TAPS = SIDE * SIDE };

typedef struct ethosgen_thumb_depthwise Layer3x3;
typedef struct ethosgen_core_scale Scale3x3;

/* A window, in the order in which the assembly loads its fields. */
struct window {
    const int8_t *rows[SIDE];
    int32_t pixel; /* bytes between a pixel and the next */
    const int8_t *weights;
    const Scale3x3 *scales;
    const Scale3x3 *end;
    int8_t *output;
};

#if ETHOSGEN_THUMB2
#define MIDDLE(row, weight)                       \
    "ldrsb r9, [" row ", r3]\n\t"                 \
    "ldrsb r10, [r4, #" weight "]\n\t"            \
    "mla r8, r9, r10, r8\n\t"
#define RIGHT(row, weight)                        \
    "ldrsb r9, [" row ", r3, lsl #1]\n\t"         \
    "ldrsb r10, [r4, #" weight "]\n\t"            \
    "mla r8, r9, r10, r8\n\t"
#define LEFT(row, weight)                         \
    "ldrsb r9, [" row "], #1\n\t"                 \
    "ldrsb r10, [r4" weight "\n\t"                \
    "mla r8, r9, r10, r8\n\t"

/*
 * In assembly, since the compiler keeps some of the addresses in memory: 40 instructions.
 *
 * r0 to r2: rows. r3: bytes to the next pixel. r4: weights. r5, r6: scales, their end. r7: output.
 * r8: the sum. r9, r10: a value, its weight. Behind the products, r9: mantissa. r10: addend. r11:
 * shift. lr, r12: the product's halves, of which r12 becomes the output.
 */
static ETHOSGEN_THUMB_NAKED void
compute_pixel(const struct window *window __attribute__((unused)))
{
    __asm volatile("push {r4-r11, lr}\n\t"
                   "ldm r0, {r0-r7}\n"
                   "1:\n\t"
                   "ldr r8, [r5], #4\n\t"
                   MIDDLE("r0", "1") RIGHT("r0", "2")
                   MIDDLE("r1", "4") RIGHT("r1", "5") LEFT("r1", ", #3]")
                   MIDDLE("r2", "7") RIGHT("r2", "8") LEFT("r2", ", #6]")
                   LEFT("r0", "], #9")
                   "ldm r5!, {r9, r10, r11}\n\t"
                   "add r8, r8, r8\n\t"
                   "smull lr, r12, r8, r9\n\t"
                   "adds lr, lr, lr\n\t" /* the carry is what rounds */
                   "adc r12, r12, #0\n\t"
                   "add r12, r12, r12, asr #31\n\t"
                   "add r12, r12, r10\n\t"
                   "asr r12, r12, r11\n\t"
                   "ssat r12, #8, r12\n\t"
                   "strb r12, [r7], #1\n\t"
                   "cmp r5, r6\n\t"
                   "bne 1b\n\t"
                   "pop {r4-r11, pc}");
}
#else
static void compute_pixel(const struct window *window)
{
    const int8_t *weights = window->weights;
    int32_t channels = (int32_t)(window->end - window->scales);

    for (int32_t channel = 0; channel < channels; channel++) {
        const Scale3x3 *scale = window->scales + channel;
        int32_t sum = scale->bias;

        for (int32_t y = 0; y < SIDE; y++) {
            for (int32_t x = 0; x < SIDE; x++) {
                sum += window->rows[y][x * window->pixel + channel] * *weights++;
            }
        }
        window->output[channel] = (int8_t)ethosgen_thumb_requantize(sum, scale);
    }
}
#endif

/* Copy the 3 pixels at a column, some of which are outside the input; `row` is its first pixel. */
static void copy_row(int8_t *to, const int8_t *row, int32_t column, const Layer3x3 *layer)
{
    int32_t pixel = layer->channels;
    int32_t first = column < 0 ? -column : 0;
    int32_t end = layer->width - column < SIDE ? layer->width - column : SIDE;

    (void)memset(to, layer->zero_point, (size_t)(SIDE * pixel));
    if (first < end) {
        (void)memcpy(to + first * pixel, row + (column + first) * pixel, (size_t)((end - first) * pixel));
    }
}

void ethosgen_thumb_depthwise_3x3_s8(int8_t *output, const int8_t *input, int8_t *room,
                                     const int8_t *weights, const int32_t *scales,
                                     const Layer3x3 *layer)
{
    int32_t pixel = layer->channels, elements = layer->rows * layer->pixels * pixel;
    const Scale3x3 *scale = (const Scale3x3 *)scales;
    struct window window = {{0, 0, 0}, pixel, weights, scale, scale + pixel, output};

    (void)memset(room, layer->zero_point, (size_t)(SIDE * pixel));
    for (int32_t row = 0; row < layer->rows; row++) {
        int32_t top = row * layer->stride_y - layer->before_y, column = -layer->before_x;

        for (int32_t left = layer->pixels; left > 0; left--) {
            for (int32_t y = 0; y < SIDE; y++) {
                int32_t start = (top + y) * layer->row_bytes;

                if (top + y < 0 || top + y >= layer->height) {
                    window.rows[y] = room;
                } else if (column >= 0 && column + SIDE <= layer->width) {
                    window.rows[y] = input + start + column * pixel;
                } else {
                    int8_t *copy = room + (y + 1) * SIDE * pixel;

                    copy_row(copy, input + start, column, layer);
                    window.rows[y] = copy;
                }
            }
            compute_pixel(&window);
            window.output += pixel;
            column += layer->stride_x;
        }
    }
    ethosgen_thumb_bound(output, elements, layer->low, layer->high);
}
