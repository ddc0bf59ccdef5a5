/*
 * Depthwise convolutions, one channel of some rows of outputs at a time. See ethosgen_dsp.h.
 *
 * The input of 4 channels is copied to 4 planes of 16 bits, with padding, so that the taps of a
 * window's row are adjacent and SMLAD multiplies two.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_math.h"

enum { PLANES = 4, TAPS = 4 };

/* Pairs of outputs of some rows, in the order in which the assembly loads its fields. */
struct run {
    const int16_t *row; /* the window's first row */
    int32_t next;       /* bytes to that of the row of outputs below */
    int32_t down;       /* bytes to the window's next row */
    const int16_t *end; /* of the first row's pairs */
    int8_t *output;
    int32_t step;
    struct ethosgen_dsp_scale scale;
    uint32_t weights[6]; /* of each row the first and the second, the second and the third */
    int32_t pair_bytes;
    int32_t output_row;
    int32_t rows;
    int8_t *row_output;
    int32_t is_odd; /* whether a row's last pair has one output */
};

#if ETHOSGEN_DSP
/* Two outputs of one row of a 3 x 3 window. */
#define STEP_1(row, first, second)             \
    "ldrd r12, lr, [" row "], #4\n\t"          \
    "smlad r2, r12, " first ", r2\n\t"         \
    "smlatb r3, r12, " first ", r3\n\t"        \
    "smlabt r2, lr, " second ", r2\n\t"        \
    "smlad r3, lr, " second ", r3\n\t"
#define STEP_2(row, first, second)             \
    "ldrd r12, lr, [" row "], #8\n\t"          \
    "smlad r2, r12, " first ", r2\n\t"         \
    "ldr r12, [" row "]\n\t"                   \
    "smlabt r2, lr, " second ", r2\n\t"        \
    "smlad r3, lr, " first ", r3\n\t"          \
    "smlabt r3, r12, " second ", r3\n\t"
#define RUN_3X3(step)                          \
    "push {r4-r11, lr}\n\t"                    \
    "ldrd r4, r5, [r0, #40]\n\t"               \
    "ldrd r6, r7, [r0, #48]\n\t"               \
    "ldrd r8, r9, [r0, #56]\n"                 \
    "1:\n\t"                                   \
    "ldr r10, [r0]\n\t"                        \
    "ldr r12, [r0, #8]\n\t"                    \
    "ldr r3, [r0, #64]\n\t"                    \
    "ldr r2, [r0, #76]\n\t"                    \
    "add r11, r10, r12\n\t"                    \
    "add r1, r11, r12\n\t"                     \
    "add r3, r3, r10\n\t"                      \
    "strd r3, r2, [r0, #12]\n"                 \
    "2:\n\t"                                   \
    "ldr r2, [r0, #24]\n\t"                    \
    "mov r3, r2\n\t"                           \
    step("r10", "r4", "r5")                    \
    step("r11", "r6", "r7")                    \
    step("r1", "r8", "r9")                     \
    "ldrd r12, lr, [r0, #28]\n\t"              \
    "smmulr r2, r2, r12\n\t"                   \
    "smmulr r3, r3, r12\n\t"                   \
    "ldr r12, [r0, #36]\n\t"                   \
    "add r2, r2, r2, asr #31\n\t"              \
    "add r3, r3, r3, asr #31\n\t"              \
    "add r2, r2, lr\n\t"                       \
    "add r3, r3, lr\n\t"                       \
    "asr r2, r2, r12\n\t"                      \
    "asr r3, r3, r12\n\t"                      \
    "ldrd r12, lr, [r0, #16]\n\t"              \
    "ssat r2, #8, r2\n\t"                      \
    "ssat r3, #8, r3\n\t"                      \
    "strb r2, [r12]\n\t"                       \
    "ldr r2, [r0, #12]\n\t"                    \
    "cmp r10, r2\n\t"                          \
    "beq 3f\n\t"                               \
    "strb r3, [r12, lr]\n\t"                   \
    "add r12, r12, lr, lsl #1\n\t"             \
    "str r12, [r0, #16]\n\t"                   \
    "b 2b\n"                                   \
    "3:\n\t"                                   \
    "ldr r2, [r0, #80]\n\t"                    \
    "cbnz r2, 4f\n\t"                          \
    "strb r3, [r12, lr]\n"                     \
    "4:\n\t"                                   \
    "ldrd r12, lr, [r0]\n\t"                   \
    "add r12, r12, lr\n\t"                     \
    "str r12, [r0]\n\t"                        \
    "ldrd r2, r3, [r0, #68]\n\t"               \
    "ldr r12, [r0, #76]\n\t"                   \
    "subs r3, r3, #1\n\t"                      \
    "add r12, r12, r2\n\t"                     \
    "strd r3, r12, [r0, #72]\n\t"              \
    "bne 1b\n\t"                               \
    "pop {r4-r11, pc}"

/* In assembly, since weights, sums, taps and addresses need all registers. */
static __attribute__((naked, noinline)) void run_3x3(struct run *run __attribute__((unused)))
{
    __asm volatile(RUN_3X3(STEP_1));
}

/* The same, with steps of 2 columns. */
static __attribute__((naked, noinline)) void run_3x3_by_2(struct run *run __attribute__((unused)))
{
    __asm volatile(RUN_3X3(STEP_2));
}

static inline uint32_t low_halves(uint32_t low, uint32_t high)
{
    uint32_t both;

    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(low), "r"(high));
    return both;
}

static inline uint32_t high_halves(uint32_t low, uint32_t high)
{
    uint32_t both;

    __asm("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(high), "r"(low));
    return both;
}

static inline uint32_t low_and_high(uint32_t low, uint32_t high)
{
    uint32_t both;

    __asm("pkhbt %0, %1, %2" : "=r"(both) : "r"(low), "r"(high));
    return both;
}

static inline uint32_t twice(uint32_t halves)
{
    return (uint32_t)__sadd16((int16x2_t)halves, (int16x2_t)halves);
}

static inline int32_t add_products(uint32_t a, uint32_t b, int32_t sum)
{
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
}
#else
static inline int32_t half(uint32_t word, int32_t place)
{
    return (int16_t)(word >> (place * 16));
}

static inline uint32_t low_halves(uint32_t low, uint32_t high)
{
    return (low & UINT16_MAX) | high << 16;
}

static inline uint32_t high_halves(uint32_t low, uint32_t high)
{
    return low >> 16 | (high & ~(uint32_t)UINT16_MAX);
}

static inline uint32_t low_and_high(uint32_t low, uint32_t high)
{
    return (low & UINT16_MAX) | (high & ~(uint32_t)UINT16_MAX);
}

static inline uint32_t twice(uint32_t halves)
{
    return low_halves(halves * 2, (halves >> 16) * 2);
}

static inline int32_t add_products(uint32_t a, uint32_t b, int32_t sum)
{
    return sum + half(a, 0) * half(b, 0) + half(a, 1) * half(b, 1);
}

static inline int8_t output_of(const struct run *run, const int16_t *from)
{
    int32_t sum = run->scale.bias;

    for (int32_t y = 0; y < 3; y++) {
        const int16_t *x = from + y * run->down / 2;

        sum += x[0] * half(run->weights[2 * y], 0) + x[1] * half(run->weights[2 * y], 1);
        sum += x[2] * half(run->weights[2 * y + 1], 1);
    }
    return (int8_t)ethosgen_dsp_requantize(sum, &run->scale);
}

static inline void run_pairs(struct run *run, int32_t columns)
{
    for (; run->rows > 0; run->rows--) {
        const int16_t *from = run->row, *end = from + run->pair_bytes / 2;

        run->output = run->row_output;
        for (; from != end; from += 2 * columns) {
            *run->output = output_of(run, from);
            if (from + 2 * columns != end || !run->is_odd) {
                run->output[run->step] = output_of(run, from + columns);
            }
            run->output += 2 * run->step;
        }
        run->row += run->next / 2;
        run->row_output += run->output_row;
    }
}

static void run_3x3(struct run *run)
{
    run_pairs(run, 1);
}

static void run_3x3_by_2(struct run *run)
{
    run_pairs(run, 2);
}
#endif

typedef struct ethosgen_dsp_depthwise Layer;

static inline int16_t *planes_of(void *room, const Layer *layer)
{
    return (int16_t *)room + 2 * layer->taps_y * ((layer->taps_x + 1) / 2);
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The rows of the input under the windows of some rows of outputs. */
static inline int32_t height_of(int32_t rows, const Layer *layer)
{
    return (rows - 1) * layer->stride_y + (layer->taps_y - 1) * layer->dilation_y + 1;
}

/* Fill planes with the value of the padding. */
static void clear(int16_t *planes, int32_t count, int32_t value)
{
    uint32_t pair = low_halves((uint32_t)value, (uint32_t)value);

    for (; count >= 8; count -= 8) {
        uint32_t pairs[4] = {pair, pair, pair, pair};

        memcpy(planes, pairs, sizeof pairs);
        planes += 8;
    }
    for (; count > 0; count--) {
        *planes++ = (int16_t)value;
    }
}

/* A pixel's 4 channels, of which `count` exist. */
static inline uint32_t channels_of(const int8_t *pixel, int32_t count)
{
    uint32_t word = 0;

    if (count >= PLANES) {
        return ethosgen_dsp_word(pixel);
    }
    for (int32_t channel = 0; channel < count; channel++) {
        word |= (uint32_t)(uint8_t)pixel[channel] << (8 * channel);
    }
    return word;
}

static inline void store_pair(int16_t *to, uint32_t pair)
{
    memcpy(to, &pair, sizeof pair);
}

/* Where a row goes in each plane, and where its next pixel is. */
struct cursor {
    int16_t *to[PLANES];
    const int8_t *from;
};

/* Copy two pixels of 4 channels to 4 planes. */
static inline void spread_pair(const struct cursor *at, uint32_t a, uint32_t b)
{
    uint32_t a_even = ethosgen_dsp_even(a), a_odd = ethosgen_dsp_odd(a);
    uint32_t b_even = ethosgen_dsp_even(b), b_odd = ethosgen_dsp_odd(b);

    store_pair(at->to[0], low_halves(a_even, b_even));
    store_pair(at->to[1], low_halves(a_odd, b_odd));
    store_pair(at->to[2], high_halves(a_even, b_even));
    store_pair(at->to[3], high_halves(a_odd, b_odd));
}

static inline void spread_few(struct cursor *at, int32_t pairs, int32_t step, int32_t count)
{
    for (; pairs > 0; pairs--) {
        spread_pair(at, channels_of(at->from, count), channels_of(at->from + step, count));
        for (int32_t channel = 0; channel < PLANES; channel++) {
            at->to[channel] += 2;
        }
        at->from += 2 * step;
    }
}

#if ETHOSGEN_DSP
/* In assembly, since the compiler keeps the addresses in memory: 8 values in 17 instructions. */
static inline void spread_all(struct cursor *at, int32_t pairs, int32_t step)
{
    uint32_t a, b, even, pair, made;

    if (pairs == 0) {
        return;
    }
    __asm volatile("1:\n\t"
                   "ldr %[a], [%[from]]\n\t"
                   "ldr %[b], [%[from], %[step]]\n\t"
                   "add %[from], %[from], %[step], lsl #1\n\t"
                   "sxtb16 %[even], %[a]\n\t"
                   "sxtb16 %[pair], %[b]\n\t"
                   "sxtb16 %[a], %[a], ror #8\n\t"
                   "sxtb16 %[b], %[b], ror #8\n\t"
                   "subs %[pairs], %[pairs], #1\n\t"
                   "pkhbt %[made], %[even], %[pair], lsl #16\n\t"
                   "pkhtb %[pair], %[pair], %[even], asr #16\n\t"
                   "str %[made], [%[first]], #4\n\t"
                   "str %[pair], [%[third]], #4\n\t"
                   "pkhbt %[even], %[a], %[b], lsl #16\n\t"
                   "pkhtb %[b], %[b], %[a], asr #16\n\t"
                   "str %[even], [%[second]], #4\n\t"
                   "str %[b], [%[fourth]], #4\n\t"
                   "bne 1b"
                   : [first] "+r"(at->to[0]), [second] "+r"(at->to[1]), [third] "+r"(at->to[2]),
                     [fourth] "+r"(at->to[3]), [from] "+r"(at->from), [pairs] "+r"(pairs),
                     [a] "=&r"(a), [b] "=&r"(b), [even] "=&r"(even), [pair] "=&r"(pair),
                     [made] "=&r"(made)
                   : [step] "r"(step)
                   : "cc", "memory");
}
#else
static inline void spread_all(struct cursor *at, int32_t pairs, int32_t step)
{
    spread_few(at, pairs, step, PLANES);
}
#endif

static inline void spread(int16_t *first, const int8_t *from, int32_t count, const Layer *layer)
{
    int32_t plane = layer->plane, step = layer->column_bytes, pairs = layer->width / 2;
    struct cursor at = {{first, first + plane, first + 2 * plane, first + 3 * plane}, from};

    if (count == PLANES) {
        spread_all(&at, pairs, step);
    } else {
        spread_few(&at, pairs, step, count);
    }
    if (layer->width % 2 != 0) {
        /* Padding follows the row. */
        spread_pair(&at, channels_of(at.from, count),
                    (uint32_t)(uint8_t)layer->zero_point * 0x01010101u);
    }
}

/* Copy a row of the input's pixels to 4 planes. Not inline, which would cost it registers. */
static __attribute__((noinline)) void spread_row(int16_t *to, const int8_t *from, int32_t count,
                                                 const Layer *layer)
{
    if (count >= PLANES) {
        spread(to, from, PLANES, layer);
    } else {
        spread(to, from, count, layer);
    }
}

/* Write a channel's weights, doubled, as pairs of 16 bits. */
static void widen(uint32_t *to, const int8_t *weights, const Layer *layer)
{
    int32_t row = (layer->taps_x + TAPS - 1) / TAPS * TAPS, pairs = (layer->taps_x + 1) / 2;

    for (int32_t y = 0; y < layer->taps_y; y++) {
        for (int32_t pair = 0; pair < pairs; pair += 2) {
            uint32_t word = ethosgen_dsp_word(weights + 2 * pair);
            uint32_t even = twice(ethosgen_dsp_even(word)), odd = twice(ethosgen_dsp_odd(word));

            *to++ = low_halves(even, odd);
            if (pair + 1 < pairs) {
                *to++ = high_halves(even, odd);
            }
        }
        weights += row;
    }
}

static inline uint32_t load(const int16_t *from)
{
    return ethosgen_dsp_word(from);
}

/* Compute `count` outputs of a row, 1, 2 or 4. */
static inline void window(int8_t *output, const int16_t *from, const uint32_t *weights,
                          int32_t count, const struct ethosgen_dsp_scale *scale,
                          const Layer *layer)
{
    int32_t sums[4], step = layer->stride_x;

    for (int32_t i = 0; i < count; i++) {
        sums[i] = scale->bias;
    }
    for (int32_t y = layer->taps_y; y > 0; y--) {
        const int16_t *x = from, *end = from + layer->taps_x;

        for (; x < end; x += 2) {
            uint32_t pair = *weights++;

            for (int32_t i = 0; i < count; i++) {
                sums[i] = add_products(load(x + i * step), pair, sums[i]);
            }
        }
        from += layer->dilation_y * layer->plane_row;
    }
    for (int32_t i = 0; i < count; i++) {
        output[i * layer->output_step] = (int8_t)ethosgen_dsp_requantize(sums[i], scale);
    }
}

/* The same for one output, whose taps may be apart. */
static inline void scattered(int8_t *output, const int16_t *from, const uint32_t *weights,
                             const struct ethosgen_dsp_scale *scale, const Layer *layer)
{
    int32_t sum = scale->bias;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        const int16_t *x = from, *weight = (const int16_t *)(const void *)weights;

        for (int32_t left = layer->taps_x; left > 0; left--) {
            sum += *x * *weight++;
            x += layer->dilation_x;
        }
        weights += (layer->taps_x + 1) / 2;
        from += layer->dilation_y * layer->plane_row;
    }
    *output = (int8_t)ethosgen_dsp_requantize(sum, scale);
}

static void run_row(int8_t *output, const int16_t *from, const uint32_t *weights,
                    const struct ethosgen_dsp_scale *scale, const Layer *layer)
{
    int32_t left = layer->pixels;

    if (layer->dilation_x != 1) {
        for (; left > 0; left--) {
            scattered(output, from, weights, scale, layer);
            output += layer->output_step;
            from += layer->stride_x;
        }
        return;
    }
    for (; left >= 4; left -= 4) {
        window(output, from, weights, 4, scale, layer);
        output += 4 * layer->output_step;
        from += 4 * layer->stride_x;
    }
    for (; left > 0; left--) {
        window(output, from, weights, 1, scale, layer);
        output += layer->output_step;
        from += layer->stride_x;
    }
}

/* What all channels have in common. */
static inline void start_run(struct run *run, const Layer *layer)
{
    run->next = layer->stride_y * layer->plane_row * 2;
    run->down = layer->dilation_y * layer->plane_row * 2;
    run->step = layer->output_step;
    run->pair_bytes = (layer->pixels + 1) / 2 * layer->stride_x * 4;
    run->output_row = layer->output_row;
    run->is_odd = layer->pixels & 1;
}

static inline void set_weights(uint32_t to[2], uint32_t word)
{
    uint32_t even = twice(ethosgen_dsp_even(word)), odd = twice(ethosgen_dsp_odd(word));

    to[0] = low_halves(even, odd);
    to[1] = low_and_high(odd, even);
}

/* Compute one channel of `rows` rows of outputs of 3 x 3 windows. */
static __attribute__((noinline)) void
run_3x3_channel(struct run *run, int32_t stride_x, const int8_t *weights,
                const struct ethosgen_dsp_scale *scale)
{
    run->scale = *scale;
    set_weights(run->weights, ethosgen_dsp_word(weights));
    set_weights(run->weights + 2, ethosgen_dsp_word(weights + TAPS));
    set_weights(run->weights + 4, ethosgen_dsp_word(weights + 2 * TAPS));
    if (stride_x == 1) {
        run_3x3(run);
    } else {
        run_3x3_by_2(run);
    }
}

/* Compute one channel of `rows` rows of outputs. */
static void run_channel(int8_t *output, const int16_t *plane, uint32_t *pairs, int32_t rows,
                        const int8_t *weights, const struct ethosgen_dsp_scale *scale,
                        const Layer *layer)
{
    widen(pairs, weights, layer);
    for (; rows > 0; rows--) {
        run_row(output, plane, pairs, scale, layer);
        plane += layer->stride_y * layer->plane_row;
        output += layer->output_row;
    }
}

/* Copy the rows of 4 channels that are inside the input to planes. */
static __attribute__((noinline)) void fill(int16_t *to, const int8_t *input, int32_t top,
                                           int32_t height, int32_t count, const Layer *layer)
{
    int32_t end = least(top + height, layer->height), row_bytes = layer->row_bytes;
    int32_t plane_row = layer->plane_row;

    for (int32_t y = top < 0 ? 0 : top; y < end; y++) {
        spread_row(to + (y - top) * plane_row, input + y * row_bytes, count, layer);
    }
}

/* Compute the outputs of 4 channels of the input, from the first that no block before has. */
static void run_block(int8_t *output, const int8_t *input, void *room, int32_t channel,
                      int32_t row, int32_t rows, const int8_t *weights, const int32_t *scales,
                      const Layer *layer)
{
    const struct ethosgen_dsp_scale *scale = (const struct ethosgen_dsp_scale *)scales;
    int32_t first = channel + PLANES <= layer->channels || channel < PLANES
        ? channel
        : layer->channels - PLANES;
    int32_t taps = (layer->taps_x + TAPS - 1) / TAPS * TAPS * layer->taps_y;
    int32_t made = channel * layer->copies, copies = layer->copies, plane = layer->plane;
    int32_t end = least(layer->channels, first + PLANES), is_3x3 = layer->is_3x3;
    int16_t *planes = planes_of(room, layer);
    struct run run;

    fill(planes + layer->before_x, input + first, row * layer->stride_y - layer->before_y,
         height_of(rows, layer), layer->channels - first, layer);
    start_run(&run, layer);
    output += row * layer->output_row + made;
    weights += made * taps;
    scale += made;
    planes += (channel - first) * plane;
    for (; channel < end; channel++) {
        for (int32_t copy = 0; copy < copies; copy++) {
            if (is_3x3) {
                run.row = planes;
                run.rows = rows;
                run.row_output = output;
                run_3x3_channel(&run, layer->stride_x, weights, scale);
            } else {
                run_channel(output, planes, room, rows, weights, scale, layer);
            }
            output++;
            weights += taps;
            scale++;
        }
        planes += plane;
    }
}

void ethosgen_dsp_depthwise_s8(int8_t *output, const int8_t *input, void *room,
                               const int8_t *weights, const int32_t *scales, const int32_t *shape)
{
    const Layer *layer = (const Layer *)shape;

    for (int32_t row = 0; row < layer->rows; row += layer->strip) {
        int32_t rest = layer->rows - row, rows = rest < layer->strip ? rest : layer->strip;

        /* Padding stays where it is for all channels. */
        clear(planes_of(room, layer), PLANES * layer->plane, layer->zero_point);
        for (int32_t channel = 0; channel < layer->channels; channel += PLANES) {
            run_block(output, input, room, channel, row, rows, weights, scales, layer);
        }
    }
    ethosgen_dsp_bound(output, layer->rows * layer->pixels * layer->channels * layer->copies,
                       layer->low, layer->high);
}
