/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices that are both computed at run time. See ethosgen_dsp.h.
 *
 * Some columns of the second matrix are packed like the weights of a dense layer, and multiplied by all
 * rows of the first. Rows are widened without their zero point. The second matrix's zero point takes an
 * extra place: there a row has minus its sum, and each column the zero point. Deep rows are split into
 * parts with an extra place each, so that the sums of a part fit in 24 bits.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_tile.h"

enum { ROWS = ETHOSGEN_DSP_ROWS, STEP = ETHOSGEN_DSP_STEP, COLUMNS = 4 };

/* Inverts the sign of the first channel's weights, which adds 128 to them as bytes. */
#define RAISED 0x00800080u

typedef struct ethosgen_dsp_product Product;

static inline uint32_t centred(uint32_t pair, uint32_t zero_points)
{
#if ETHOSGEN_DSP
    return (uint32_t)__ssub16((int16x2_t)pair, (int16x2_t)zero_points);
#else
    return ((pair - zero_points) & UINT16_MAX) | ((pair >> 16) - (zero_points >> 16)) << 16;
#endif
}

static inline int32_t add_pair(uint32_t pair, int32_t sum)
{
#if ETHOSGEN_DSP
    return __smlad((int16x2_t)pair, 0x00010001, sum);
#else
    return sum + (int16_t)pair + (int16_t)(pair >> 16);
#endif
}

/* The next `count` bytes, at most 4, `step` apart; others have the value of `fill`. */
static uint32_t bytes_of(const int8_t *from, int32_t count, int32_t step, int32_t fill)
{
    uint32_t word = (uint8_t)fill * 0x01010101u;

    for (int32_t place = 0; place < count && place < STEP; place++) {
        word &= ~((uint32_t)UINT8_MAX << (8u * (uint32_t)place));
        word |= (uint32_t)(uint8_t)*from << (8u * (uint32_t)place);
        from = &from[step];
    }
    return word;
}

/* Write a place of a row, whose words are `step` apart. */
static void put(int32_t *row, int32_t place, int32_t value, int32_t step)
{
    int16_t half = (int16_t)value;
    /* The order of 4 places is 0, 2, 1, 3. */
    int32_t *word = row + (place / STEP * 2 + place % 2) * step;

    (void)memcpy((uint8_t *)word + place % STEP / 2 * 2, (const uint8_t *)&half, sizeof half);
}

/* Widen a part of a row, and the place of its sum; return the sum of all places. */
static inline int32_t widen_part(int32_t *to, const int8_t *from, int32_t depth, int32_t step,
                                 const Product *product)
{
    int32_t *row = to, next = product->first_step, sum = 0;
    uint32_t zero = (uint32_t)(uint16_t)product->first_zero * 0x00010001u;

    for (int32_t left = depth; left > 0; left -= STEP) {
        uint32_t word = next == 1 && left >= STEP
            ? ethosgen_dsp_word(from)
            : bytes_of(from, left, next, product->first_zero);
        uint32_t even = centred(ethosgen_dsp_even(word), zero);
        uint32_t odd = centred(ethosgen_dsp_odd(word), zero);

        to[0] = (int32_t)even;
        to[step] = (int32_t)odd;
        sum = add_pair(odd, add_pair(even, sum));
        to += 2 * step;
        from += STEP * next;
    }
    for (int32_t *end = row + product->part * 2 * step; to < end; to += step) {
        *to = 0;
    }
    if (product->second_zero == 0) {
        return sum;
    }
    put(row, depth, -sum, step);
    return 0;
}

static int32_t widen(int32_t *to, const int8_t *from, int32_t step, const Product *product)
{
    int32_t sum = 0;

    for (int32_t left = product->depth; left > 0; left -= product->part_depth) {
        int32_t depth = left < product->part_depth ? left : product->part_depth;

        sum += widen_part(to, from, depth, step, product);
        to += product->part * 2 * step;
        from += product->part_depth * product->first_step;
    }
    return (int32_t)((uint32_t)sum * (2u * 128u));
}

static inline int8_t *store(int8_t *to, uint32_t word)
{
    (void)memcpy((uint8_t *)to, (const uint8_t *)&word, sizeof word);
    return to + sizeof word;
}

/* Write 4 places of two columns: their bytes alternate, the first of each pair is raised. */
static inline int8_t *interleave(int8_t *to, uint32_t a, uint32_t b)
{
    uint32_t even = 0x00ff00ffu;

    to = store(to, ((a & even) | (b & even) << 8) ^ RAISED);
    return store(to, ((a >> 8 & even) | (b & ~even)) ^ RAISED);
}

/* Pack a part of two columns, of which the second may be missing. */
static int8_t *pack_two(int8_t *to, const int8_t *from, int32_t depth, int32_t columns,
                        const Product *product)
{
    int32_t down = product->second_step, zero = product->second_zero;
    const int8_t *other = columns > 1 ? from + product->second_next : from;
    int8_t *end = to + product->part * 2 * STEP;

    for (int32_t left = depth; left > 0; left -= STEP) {
        bool is_word = down == 1 && left >= STEP;
        uint32_t a = is_word ? ethosgen_dsp_word(from) : bytes_of(from, left, down, zero);
        uint32_t b = is_word ? ethosgen_dsp_word(other) : bytes_of(other, left, down, zero);

        to = interleave(to, a, b);
        from += STEP * down;
        other += STEP * down;
    }
    while (to < end) {
        to = interleave(to, (uint8_t)zero * 0x01010101u, (uint8_t)zero * 0x01010101u);
    }
    return end;
}

/* Pack a part of 4 adjacent columns, whose two pairs are `apart` bytes apart. */
static inline void pack_four(int8_t *to, int32_t apart, const int8_t *from, int32_t depth,
                             const Product *product)
{
    int32_t down = product->second_step;
    uint32_t fill = (uint8_t)product->second_zero * 0x01010101u;
    int8_t *end = to + product->part * 2 * STEP;

    for (int32_t left = depth; to < end; left -= STEP) {
        uint32_t rows[STEP] = {fill, fill, fill, fill};

        if (left >= STEP) {
            for (int32_t place = 0; place < STEP; place++) {
                rows[place] = ethosgen_dsp_word(from + place * down);
            }
        } else {
            for (int32_t place = 0; place < left; place++) {
                rows[place] = ethosgen_dsp_word(from + place * down);
            }
        }
        for (int32_t half = 0; half < 2; half++) {
            uint32_t low = rows[half], high = rows[half + 2];

            store(to + half * STEP, ((low & UINT16_MAX) | high << 16) ^ RAISED);
            store(to + apart + half * STEP,
                  (low >> 16 | (high & ~(uint32_t)UINT16_MAX)) ^ RAISED);
        }
        to += 2 * STEP;
        from += STEP * down;
    }
}

/* Pack `columns` columns of the second matrix as pairs. */
static void pack(int8_t *to, const int8_t *second, int32_t columns, const Product *product)
{
    int32_t part = product->part * 2 * STEP, pair = product->parts * part;
    bool is_wide = product->second_next == 1;

    while (columns > 0) {
        bool is_four = is_wide && columns >= COLUMNS;
        const int8_t *from = second;
        int8_t *at = to;

        for (int32_t left = product->depth; left > 0; left -= product->part_depth) {
            int32_t depth = left < product->part_depth ? left : product->part_depth;

            if (is_four) {
                pack_four(at, pair, from, depth, product);
            } else {
                (void)pack_two(at, from, depth, columns, product);
            }
            at = &at[part];
            from += product->part_depth * product->second_step;
        }
        to = &to[is_four ? 2 * pair : pair];
        second += (is_four ? COLUMNS : 2) * product->second_next;
        columns -= is_four ? COLUMNS : 2;
    }
}

/* Multiply all rows by some columns, which are packed. */
static void multiply(int8_t *output, const int8_t *first, int32_t *wide, const int8_t *weights,
                     const int32_t *scales, int32_t columns, const Product *product)
{
    const struct ethosgen_dsp_matrix matrix = {
        .depth = product->parts * product->part * STEP,
        .first = product->part,
        .part = product->parts > 1 ? product->part : 0,
        .channels = columns,
        .stride = product->columns,
        .low = INT8_MIN,
        .high = INT8_MAX,
    };
    struct ethosgen_dsp_tile tile;

    (void)memset(tile.second, 0, sizeof tile.second);
    for (int32_t left = product->rows, some; left > 0; left -= some) {
        some = ethosgen_dsp_rows(left);
        for (int32_t row = 0; row < some; row++) {
            tile.excess[row] = some == 1 ? widen(wide, first, 1, product)
                                         : widen(wide + row, first, ROWS, product);
            tile.outputs[row] = output;
            first += product->first_next;
            output += product->columns;
        }
        ethosgen_dsp_finish(wide, &tile, some, weights, scales, &matrix);
    }
}

void ethosgen_dsp_product_s8(int8_t *output, const int8_t *first, const int8_t *second, void *room,
                             const Product *product)
{
    int32_t steps = product->parts * product->part, panel = product->panel;
    int32_t *wide = room, *scales = wide + 2 * ROWS * steps;
    int8_t *weights = (int8_t *)(scales + panel * 4);

    for (int32_t column = 0; column < panel; column += 2) {
        (void)memcpy((uint8_t *)(scales + column * 4), (const uint8_t *)product->scales,
                     sizeof product->scales);
    }
    for (int32_t column = 0; column < product->columns; column += panel) {
        int32_t left = product->columns - column, columns = left < panel ? left : panel;

        pack(weights, second + column * product->second_next, columns, product);
        multiply(output + column, first, wide, weights, scales, columns, product);
    }
}
