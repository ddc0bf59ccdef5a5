/*
 * Rows times weights: fully connected layers and convolutions. See ethosgen_dsp.h.
 *
 * A word of weights has those of two channels at two places: a and b at each, as a + 128 + 256 * b.
 * So SMLAD with the word accumulates both channels at once, and SMLAD with the lower bytes alone the
 * first; their difference is 256 times the second's sum, which fits in 24 bits.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_math.h"

enum { ROWS = 4, PAIRS = 2, BLOCK = 2 * PAIRS, STEP = 4, FIELDS = 4 };

static inline int32_t round_up(int32_t depth)
{
    return (depth + STEP - 1) / STEP * STEP;
}

#if ETHOSGEN_DSP
/* The sums of 4 rows for 2 places: 16 products in 12 instructions. */
#define PLACES                                 \
    "ldr r0, [r2], #8\n\t"                     \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "uxtb16 r3, r0\n\t"                        \
    "smlad r4, r12, r3, r4\n\t"                \
    "smlad r5, r12, r0, r5\n\t"                \
    "smlad r6, lr, r3, r6\n\t"                 \
    "smlad r7, lr, r0, r7\n\t"                 \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "smlad r8, r12, r3, r8\n\t"                \
    "smlad r9, r12, r0, r9\n\t"                \
    "smlad r10, lr, r3, r10\n\t"               \
    "smlad r11, lr, r0, r11\n\t"

/*
 * Add the sums of a pair of channels to sums[0]: for each row the first channel's, and both channels'
 * together. In assembly, since the sums and what is multiplied need all registers.
 */
static __attribute__((naked, noinline)) void
sum_rows(int32_t *sums __attribute__((unused)), const int32_t *rows __attribute__((unused)),
         const int8_t *weights __attribute__((unused)), int32_t steps __attribute__((unused)))
{
    __asm volatile("lsls r12, r3, #31\n\t" /* whether the number of steps is odd */
                   "add.w r3, r1, r3, lsl #5\n\t"
                   "push {r0, r3-r11, lr}\n\t"
                   "ldr r4, [r0]\n\t"
                   "mov r5, r4\n\t"
                   "mov r6, r4\n\t"
                   "mov r7, r4\n\t"
                   "mov r8, r4\n\t"
                   "mov r9, r4\n\t"
                   "mov r10, r4\n\t"
                   "mov r11, r4\n\t"
                   "bne 2f\n"
                   "1:\n\t" PLACES PLACES
                   "2:\n\t" PLACES PLACES
                   "ldr r0, [sp, #4]\n\t"
                   "cmp r1, r0\n\t"
                   "bne 1b\n\t"
                   "pop {r0, r3}\n\t"
                   "stm r0, {r4-r11}\n\t"
                   "pop {r4-r11, pc}");
}

/* The sums of a row for 4 places and 4 channels: 16 products in 14 instructions. */
#define CHANNELS                               \
    "ldm r2!, {r8-r11}\n\t"                    \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "uxtb16 r0, r8\n\t"                        \
    "smlad r4, r12, r0, r4\n\t"                \
    "smlad r5, r12, r8, r5\n\t"                \
    "uxtb16 r0, r9\n\t"                        \
    "smlad r6, r12, r0, r6\n\t"                \
    "smlad r7, r12, r9, r7\n\t"                \
    "uxtb16 r0, r10\n\t"                       \
    "smlad r4, lr, r0, r4\n\t"                 \
    "smlad r5, lr, r10, r5\n\t"                \
    "uxtb16 r0, r11\n\t"                       \
    "smlad r6, lr, r0, r6\n\t"                 \
    "smlad r7, lr, r11, r7\n\t"

/* Add the sums of two pairs of channels to the first and the third sum. */
static __attribute__((naked, noinline)) void
sum_channels(int32_t *sums __attribute__((unused)), const int32_t *row __attribute__((unused)),
             const int8_t *weights __attribute__((unused)), int32_t steps __attribute__((unused)))
{
    __asm volatile("push {r0, r4-r11, lr}\n\t"
                   "ldr r4, [r0]\n\t"
                   "ldr r6, [r0, #8]\n\t"
                   "mov r5, r4\n\t"
                   "mov r7, r6\n\t"
                   "lsrs r3, r3, #1\n\t"
                   "bcc 2f\n\t"
                   CHANNELS
                   "cbz r3, 3f\n"
                   "2:\n\t" CHANNELS CHANNELS
                   "subs r3, r3, #1\n\t"
                   "bne 2b\n"
                   "3:\n\t"
                   "pop {r0}\n\t"
                   "stm r0, {r4-r7}\n\t"
                   "pop {r4-r11, pc}");
}

static inline uint32_t even_bytes(uint32_t word)
{
    uint32_t pair;

    __asm("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
    return pair;
}

static inline uint32_t odd_bytes(uint32_t word)
{
    uint32_t pair;

    __asm("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
}

static inline int32_t add_pair(uint32_t pair, int32_t sum)
{
    return __smlad((int16x2_t)pair, 0x00010001, sum);
}
#else
static int32_t half(uint32_t word, int32_t place)
{
    return (int16_t)(word >> (place * 16));
}

static void accumulate(int32_t sums[2], uint32_t row, uint32_t weights)
{
    for (int32_t place = 0; place < 2; place++) {
        int32_t value = half(row, place), both = half(weights, place);

        sums[0] = (int32_t)((uint32_t)sums[0] + (uint32_t)(value * (both & UINT8_MAX)));
        sums[1] = (int32_t)((uint32_t)sums[1] + (uint32_t)(value * both));
    }
}

static void sum_rows(int32_t *sums, const int32_t *rows, const int8_t *weights, int32_t steps)
{
    for (int32_t i = 1; i < 2 * ROWS; i++) {
        sums[i] = sums[0];
    }
    for (int32_t word = 0; word < 2 * steps; word++) {
        for (int32_t row = 0; row < ROWS; row++) {
            accumulate(sums + 2 * row, (uint32_t)rows[word * ROWS + row],
                       ethosgen_dsp_word(weights + word * 4 * PAIRS));
        }
    }
}

static void sum_channels(int32_t *sums, const int32_t *row, const int8_t *weights, int32_t steps)
{
    sums[1] = sums[0];
    sums[3] = sums[2];
    for (int32_t word = 0; word < 2 * steps; word++) {
        for (int32_t pair = 0; pair < PAIRS; pair++) {
            accumulate(sums + 2 * pair, (uint32_t)row[word],
                       ethosgen_dsp_word(weights + (word * PAIRS + pair) * 4));
        }
    }
}

static inline uint32_t even_bytes(uint32_t word)
{
    return (uint16_t)(int8_t)word | (uint32_t)(int8_t)(word >> 16) << 16;
}

static inline uint32_t odd_bytes(uint32_t word)
{
    return even_bytes(word >> 8);
}

static inline int32_t add_pair(uint32_t pair, int32_t sum)
{
    return sum + half(pair, 0) + half(pair, 1);
}
#endif

/* Write a row as pairs of 16 bits, `step` words apart; return 256 times its sum. */
static int32_t widen(int32_t *to, const int8_t *row, int32_t depth, int32_t step)
{
    int32_t sum = 0;

    for (; depth > 0; depth -= STEP) {
        uint32_t word = 0;

        if (depth >= STEP) {
            word = ethosgen_dsp_word(row);
        } else {
            for (int32_t k = 0; k < depth; k++) {
                word |= (uint32_t)(uint8_t)row[k] << (8 * k);
            }
        }
        uint32_t even = even_bytes(word), odd = odd_bytes(word);

        sum = add_pair(odd, add_pair(even, sum));
        to[0] = (int32_t)even;
        to[step] = (int32_t)odd;
        to += 2 * step;
        row += STEP;
    }
    return sum * (2 * 128);
}

/* Twice the sums of the first and of the second channel of a pair, from those of SMLAD. */
static inline int32_t first_of(const int32_t sums[2], int32_t excess)
{
    return (int32_t)(2 * (uint32_t)sums[0] - (uint32_t)excess);
}

static inline int32_t second_of(const int32_t sums[2], int32_t twice_bias)
{
    return ((int32_t)((uint32_t)sums[1] - (uint32_t)sums[0]) >> 7) + twice_bias;
}

static inline void store(int8_t *output, int32_t twice, const struct ethosgen_dsp_scale *scale,
                         const struct ethosgen_dsp_matrix *matrix)
{
    *output = ethosgen_dsp_clamp(ethosgen_dsp_requantize(twice, scale), matrix->low, matrix->high);
}

/* Compute `count` outputs (1 to 4) of each of 2 channels, or of one. */
static inline void store_pair(int8_t *output, const int32_t *sums, const int32_t *excess,
                              int32_t count, bool is_pair, const struct ethosgen_dsp_scale *scales,
                              const struct ethosgen_dsp_matrix *matrix)
{
    for (int32_t row = 0; row < count; row++) {
        store(output, first_of(sums + 2 * row, excess[row]), scales, matrix);
        if (is_pair) {
            store(output + 1, second_of(sums + 2 * row, scales[1].bias), scales + 1, matrix);
        }
        output += matrix->stride;
    }
}

/* Multiply 4 rows, of which `count` count. */
static void multiply_rows(int8_t *output, const int32_t *rows, const int32_t *excess, int32_t count,
                          const int8_t *weights, const int32_t *scales,
                          const struct ethosgen_dsp_matrix *matrix)
{
    const struct ethosgen_dsp_scale *scale = (const struct ethosgen_dsp_scale *)scales;
    int32_t steps = round_up(matrix->depth) / STEP;

    for (int32_t left = matrix->channels; left > 0; left -= 2) {
        int32_t sums[2 * ROWS] = {scale->bias};

        sum_rows(sums, rows, weights, steps);
        if (count == ROWS && left > 1) {
            store_pair(output, sums, excess, ROWS, true, scale, matrix);
        } else {
            store_pair(output, sums, excess, count, left > 1, scale, matrix);
        }
        output += 2;
        scale += 2;
        /* The pairs of a block are interleaved. */
        weights += 4;
        weights += (matrix->channels - left) % BLOCK == 0 ? 0 : steps * STEP * BLOCK - 4 * PAIRS;
    }
}

static void multiply_row(int8_t *output, const int32_t *row, int32_t excess, const int8_t *weights,
                         const int32_t *scales, const struct ethosgen_dsp_matrix *matrix)
{
    const struct ethosgen_dsp_scale *scale = (const struct ethosgen_dsp_scale *)scales;
    int32_t steps = round_up(matrix->depth) / STEP;

    for (int32_t left = matrix->channels; left > 0; left -= BLOCK) {
        int32_t sums[2 * PAIRS] = {scale[0].bias, 0, scale[2].bias};

        sum_channels(sums, row, weights, steps);
        if (left >= BLOCK) {
            store_pair(output, sums, &excess, 1, true, scale, matrix);
            store_pair(output + 2, sums + 2, &excess, 1, true, scale + 2, matrix);
        } else {
            store_pair(output, sums, &excess, 1, left > 1, scale, matrix);
            if (left > 2) {
                store_pair(output + 2, sums + 2, &excess, 1, false, scale + 2, matrix);
            }
        }
        output += BLOCK;
        scale += BLOCK;
        weights += steps * STEP * BLOCK;
    }
}

void ethosgen_dsp_matrix_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                            const int8_t *weights, const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_dsp_matrix *matrix = (const struct ethosgen_dsp_matrix *)shape;
    int32_t excess[ROWS], *wide = room;

    while (count > 1) {
        int32_t some = count < ROWS ? count : ROWS;

        for (int32_t row = 0; row < some; row++) {
            excess[row] = widen(wide + row, rows, matrix->depth, ROWS);
            rows += matrix->depth;
        }
        multiply_rows(output, wide, excess, some, weights, scales, matrix);
        output += some * matrix->stride;
        count -= some;
    }
    if (count == 1) {
        excess[0] = widen(wide, rows, matrix->depth, 1);
        multiply_row(output, wide, excess[0], weights, scales, matrix);
    }
}

static void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    for (; bytes >= 4; bytes -= 4) {
        uint32_t word = ethosgen_dsp_word(from);

        memcpy(to, &word, sizeof word);
        to += 4;
        from += 4;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Copy the pixels under the window at row y, column x (which may be negative). */
static void gather(int8_t *patch, const int8_t *input, int32_t y, int32_t x, int32_t depth,
                   const struct ethosgen_dsp_window *window)
{
    int32_t channels = window->channels, row_bytes = window->width * window->pixel;
    bool is_dense = window->dilation_x == 1 && window->pixel == channels;
    int32_t end_y = y + (window->taps_y - 1) * window->dilation_y + 1;
    int32_t end_x = x + (window->taps_x - 1) * window->dilation_x + 1;

    if (y < 0 || x < 0 || end_y > window->height || end_x > window->width) {
        memset(patch, window->zero_point, (size_t)depth);
    }
    for (int32_t row = y; row < end_y; row += window->dilation_y) {
        const int8_t *from = input + row * row_bytes;

        if (row < 0 || row >= window->height) {
            patch += window->taps_x * channels;
        } else if (is_dense) {
            int32_t first = x < 0 ? -x : 0, last = least(window->taps_x, window->width - x);

            if (first < last) {
                copy(patch + first * channels, from + (x + first) * channels,
                     (last - first) * channels);
            }
            patch += window->taps_x * channels;
        } else {
            for (int32_t column = x; column < end_x; column += window->dilation_x) {
                if (column >= 0 && column < window->width) {
                    copy(patch, from + column * window->pixel, channels);
                }
                patch += channels;
            }
        }
    }
}

void ethosgen_dsp_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const int32_t *shape, const int32_t *window_shape)
{
    const struct ethosgen_dsp_matrix *matrix = (const struct ethosgen_dsp_matrix *)shape;
    const struct ethosgen_dsp_window *window = (const struct ethosgen_dsp_window *)window_shape;
    int32_t depth = matrix->depth, left = window->rows * window->columns, used = 0;
    int32_t excess[ROWS], *wide = room;
    int8_t *patch = (int8_t *)(wide + 2 * round_up(depth));

    for (int32_t row = 0; row < window->rows; row++) {
        for (int32_t column = 0; column < window->columns; column++) {
            gather(patch, input, row * window->stride_y - window->before_y,
                   column * window->stride_x - window->before_x, depth, window);
            left--;
            if (used == 0 && left == 0) {
                excess[0] = widen(wide, patch, depth, 1);
                multiply_row(output, wide, excess[0], weights, scales, matrix);
                return;
            }
            excess[used] = widen(wide + used, patch, depth, ROWS);
            used++;
            if (used == ROWS || left == 0) {
                multiply_rows(output, wide, excess, used, weights, scales, matrix);
                output += used * matrix->stride;
                used = 0;
            }
        }
    }
}
