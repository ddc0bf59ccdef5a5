/*
 * Depthwise convolutions, a row of outputs at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#include <stdbool.h>

enum { BLOCK = 8, HALF = BLOCK / 2, SCALES = 6 * HALF };

static inline int32_t blocks_of(const struct ethosgen_depthwise *layer)
{
    return (layer->channels + BLOCK - 1) / BLOCK;
}

static inline const int8_t *tap_row(const int8_t *ring, int32_t first, int32_t tap,
                                    const struct ethosgen_depthwise *layer)
{
    int32_t slot = first + tap * layer->dilation_y;

    slot = slot >= layer->slots ? slot - layer->slots : slot;
    return ring + slot * blocks_of(layer) * layer->columns * BLOCK;
}

#if ETHOSGEN_MVE
static inline int8_t *fill(int8_t *to, int16x8_t values, int32_t columns)
{
    for (; columns > 0; columns--) {
        vstrbq_s16(to, values);
        to += BLOCK;
    }
    return to;
}

void ethosgen_ring_row_s8(int8_t *ring, const int8_t *input, int32_t y, int32_t slot,
                          const int32_t *shape)
{
    const struct ethosgen_depthwise *layer = (const struct ethosgen_depthwise *)shape;
    int32_t channels = layer->channels, columns = layer->columns;
    int32_t width = y < 0 || y >= layer->height ? 0 : layer->width;
    int32_t before = width == 0 ? columns : layer->before;
    int16x8_t outside = vdupq_n_s16((int16_t)layer->zero_point);

    ring += slot * blocks_of(layer) * columns * BLOCK;
    for (int32_t channel = 0; channel < channels; channel += BLOCK) {
        const int8_t *from = input + y * layer->row_bytes + channel;
        mve_pred16_t inside = vctp16q((uint32_t)(channels - channel));

        ring = fill(ring, outside, before);
        for (int32_t left = width; left > 0; left--) {
            vstrbq_s16(ring, vldrbq_z_s16(from, inside));
            ring += BLOCK;
            from += channels;
        }
        ring = fill(ring, outside, columns - before - width);
    }
}

void ethosgen_ring_copies_s8(int8_t *ring, const int8_t *input, int32_t y, int32_t slot,
                             const int32_t *shape)
{
    const struct ethosgen_depthwise *layer = (const struct ethosgen_depthwise *)shape;
    int32_t channels = layer->channels, columns = layer->columns, copies = layer->copies;
    int32_t width = y < 0 || y >= layer->height ? 0 : layer->width;
    int32_t before = width == 0 ? columns : layer->before;
    int16x8_t outside = vdupq_n_s16((int16_t)layer->zero_point);

    ring += slot * blocks_of(layer) * columns * BLOCK;
    for (int32_t channel = 0; channel < channels; channel += BLOCK) {
        const int8_t *from = input + y * layer->row_bytes;
        mve_pred16_t inside = vctp16q((uint32_t)(channels - channel));
        uint16_t sources[BLOCK];

        for (int32_t lane = 0; lane < BLOCK; lane++) {
            sources[lane] = (uint16_t)((channel + lane) / copies);
        }
        uint16x8_t offsets = vldrhq_u16(sources);

        ring = fill(ring, outside, before);
        for (int32_t left = width; left > 0; left--) {
            vstrbq_s16(ring, vldrbq_gather_offset_z_s16(from, offsets, inside));
            ring += BLOCK;
            from += channels / copies;
        }
        ring = fill(ring, outside, columns - before - width);
    }
}

/* The sums of a block's even channels and of its odd channels. */
struct sums {
    int32x4_t even;
    int32x4_t odd;
};

static inline struct sums widen_add(struct sums sums, int16x8_t part)
{
    sums.even = vaddq_s32(sums.even, vmovlbq_s16(part));
    sums.odd = vaddq_s32(sums.odd, vmovltq_s16(part));
    return sums;
}

static inline int16x8_t product(const int8_t *input, const int8_t *weights)
{
    return vmulq_s16(vldrbq_s16(input), vldrbq_s16(weights));
}

static inline int16x8_t outputs(struct sums sums, const int32_t *scale, int16_t zero_point,
                                int16x8_t low, int16x8_t high)
{
    int32x4_t even = ethosgen_requantize_x4(sums.even, vldrwq_s32(scale + HALF),
                                            vldrwq_s32(scale + 2 * HALF));
    int32x4_t odd = ethosgen_requantize_x4(sums.odd, vldrwq_s32(scale + 4 * HALF),
                                           vldrwq_s32(scale + 5 * HALF));
    /* A value that saturates at 16 bits is outside the bounds anyway. */
    int16x8_t both = vqmovnbq_s32(vreinterpretq_s16_s32(even), even);

    both = vqaddq_n_s16(vqmovntq_s32(both, odd), zero_point);
    return vminq_s16(vmaxq_s16(both, low), high);
}

/*
 * A 3 x 3 window without gaps, in assembly: the compiler does not use the offsets of widening loads.
 * q0 and q1 are the sums of even and odd channels. The sum of two products fits in 16 bits if no
 * weight is -128.
 */
#define PRODUCT(to, row, column, weight)                    \
    "vldrb.s16 " to ", [%[" row "], #" column "]\n\t"       \
    "vldrb.s16 q3, [%[weights], #" weight "]\n\t"           \
    "vmul.i16 " to ", " to ", q3\n\t"
#define WIDEN_ADD(part)                                     \
    "vmovlb.s16 q3, " part "\n\t"                           \
    "vmovlt.s16 " part ", " part "\n\t"                     \
    "vadd.i32 q0, q0, q3\n\t"                               \
    "vadd.i32 q1, q1, " part "\n\t"
#define PAIR(row_a, column_a, weight_a, row_b, column_b, weight_b) \
    PRODUCT("q2", row_a, column_a, weight_a)                \
    PRODUCT("q4", row_b, column_b, weight_b)                \
    "vadd.i16 q2, q2, q4\n\t"                               \
    WIDEN_ADD("q2")
#define REQUANTIZE(sums, mantissas, shifts)                 \
    "vldrw.32 q2, [%[scales], #" mantissas "]\n\t"          \
    "vldrw.32 q3, [%[scales], #" shifts "]\n\t"             \
    "vqrdmulh.s32 " sums ", " sums ", q2\n\t"               \
    "vand q2, " sums ", q3\n\t"                             \
    "vshr.s32 q2, q2, #31\n\t"                              \
    "vadd.i32 " sums ", " sums ", q2\n\t"                   \
    "vrshl.s32 " sums ", " sums ", q3\n\t"
#define RUN_3X3                                             \
    "vmsr p0, %[inside]\n\t"                                \
    "dls lr, lr\n"                                          \
    "1:\n\t"                                                \
    "vldrw.32 q0, [%[scales]]\n\t"                          \
    "vldrw.32 q1, [%[scales], #48]\n\t"                     \
    PAIR("row0", "0", "0", "row0", "8", "8")                \
    PAIR("row0", "16", "16", "row1", "0", "24")             \
    PAIR("row1", "8", "32", "row1", "16", "40")             \
    PAIR("row2", "0", "48", "row2", "8", "56")              \
    PRODUCT("q2", "row2", "16", "64")                       \
    WIDEN_ADD("q2")                                         \
    REQUANTIZE("q0", "16", "32")                            \
    REQUANTIZE("q1", "64", "80")                            \
    "vqmovnb.s32 q0, q0\n\t"                                \
    "vqmovnt.s32 q0, q1\n\t"                                \
    "vqadd.s16 q0, q0, %q[zero_point]\n\t"                  \
    "vmax.s16 q0, q0, %q[low]\n\t"                          \
    "vmin.s16 q0, q0, %q[high]\n\t"                         \
    "vpst\n\t"                                              \
    "vstrbt.16 q0, [%[output]]\n\t"                         \
    "add %[row0], %[step]\n\t"                              \
    "add %[row1], %[step]\n\t"                              \
    "add %[row2], %[step]\n\t"                              \
    "add %[output], %[channels]\n\t"                        \
    "le lr, 1b"

/* Compute one block of channels of a row. */
static inline void run_3x3(int8_t *output, const int8_t *const rows[3], const int8_t *weights,
                           const int32_t *scales, const struct ethosgen_depthwise *layer,
                           int32_t channel)
{
    const int8_t *row0 = rows[0] + channel * layer->columns;
    const int8_t *row1 = rows[1] + channel * layer->columns;
    const int8_t *row2 = rows[2] + channel * layer->columns;
    int32_t step = layer->stride_x * BLOCK, channels = layer->channels;
    int16x8_t zero_point = vdupq_n_s16((int16_t)layer->output.zero_point);
    int16x8_t low = vdupq_n_s16((int16_t)layer->output.low);
    int16x8_t high = vdupq_n_s16((int16_t)layer->output.high);
    uint32_t inside = vctp16q((uint32_t)(channels - channel));
    register int32_t pixels __asm("lr") = layer->pixels;

    output += channel;
    __asm volatile(RUN_3X3
                   : [row0] "+l"(row0), [row1] "+l"(row1), [row2] "+l"(row2),
                     [output] "+l"(output), "+r"(pixels)
                   : [weights] "l"(weights), [scales] "r"(scales), [step] "r"(step),
                     [channels] "r"(channels), [inside] "r"(inside), [low] "w"(low),
                     [high] "w"(high), [zero_point] "w"(zero_point)
                   : "q0", "q1", "q2", "q3", "q4", "memory");
}

/* Compute one block of channels of a row, for any window. */
static void run_any(int8_t *output, const int8_t *ring, int32_t first, const int8_t *weights,
                    const int32_t *scales, const struct ethosgen_depthwise *layer, int32_t channel)
{
    int16_t zero_point = (int16_t)layer->output.zero_point;
    int16x8_t low = vdupq_n_s16((int16_t)layer->output.low);
    int16x8_t high = vdupq_n_s16((int16_t)layer->output.high);

    for (int32_t pixel = 0; pixel < layer->pixels; pixel++) {
        struct sums sums = {vldrwq_s32(scales), vldrwq_s32(scales + 3 * HALF)};
        int32_t start = (channel / BLOCK * layer->columns + pixel * layer->stride_x) * BLOCK;
        const int8_t *weight = weights;

        for (int32_t y = 0; y < layer->taps_y; y++) {
            const int8_t *input = tap_row(ring, first, y, layer) + start;

            for (int32_t left = layer->taps_x; left > 0; left--) {
                sums = widen_add(sums, product(input, weight));
                input += layer->dilation_x * BLOCK;
                weight += BLOCK;
            }
        }
        vstrbq_p_s16(output + pixel * layer->channels + channel,
                     outputs(sums, scales, zero_point, low, high),
                     vctp16q((uint32_t)(layer->channels - channel)));
    }
}

void ethosgen_depthwise_row_s8(int8_t *output, const int8_t *ring, int32_t first,
                               const int8_t *weights, const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_depthwise *layer = (const struct ethosgen_depthwise *)shape;
    bool is_3x3 = layer->taps_y == 3 && layer->taps_x == 3 && layer->dilation_x == 1;
    const int8_t *const rows[3] = {
        tap_row(ring, first, 0, layer),
        tap_row(ring, first, 1, layer),
        tap_row(ring, first, 2, layer),
    };

    for (int32_t channel = 0; channel < layer->channels; channel += BLOCK) {
        if (is_3x3 && layer->pairs_fit) {
            run_3x3(output, rows, weights, scales, layer, channel);
        } else {
            run_any(output, ring, first, weights, scales, layer, channel);
        }
        weights += layer->taps_y * layer->taps_x * BLOCK;
        scales += SCALES;
    }
}
#else
void ethosgen_ring_copies_s8(int8_t *ring, const int8_t *input, int32_t y, int32_t slot,
                             const int32_t *shape)
{
    const struct ethosgen_depthwise *layer = (const struct ethosgen_depthwise *)shape;
    bool is_outside = y < 0 || y >= layer->height;
    int32_t pixel = layer->channels / layer->copies;

    ring += slot * blocks_of(layer) * layer->columns * BLOCK;
    for (int32_t channel = 0; channel < blocks_of(layer) * BLOCK; channel++) {
        int8_t *to = ring + channel / BLOCK * layer->columns * BLOCK + channel % BLOCK;

        for (int32_t column = 0; column < layer->columns; column++) {
            int32_t x = column - layer->before;
            bool is_inside = x >= 0 && x < layer->width && channel < layer->channels;

            to[column * BLOCK] = !is_inside || is_outside
                ? (int8_t)layer->zero_point
                : input[y * layer->row_bytes + x * pixel + channel / layer->copies];
        }
    }
}

void ethosgen_ring_row_s8(int8_t *ring, const int8_t *input, int32_t y, int32_t slot,
                          const int32_t *shape)
{
    ethosgen_ring_copies_s8(ring, input, y, slot, shape);
}

void ethosgen_depthwise_row_s8(int8_t *output, const int8_t *ring, int32_t first,
                               const int8_t *weights, const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_depthwise *layer = (const struct ethosgen_depthwise *)shape;
    int32_t taps = layer->taps_y * layer->taps_x;

    for (int32_t pixel = 0; pixel < layer->pixels; pixel++) {
        for (int32_t channel = 0; channel < layer->channels; channel++) {
            int32_t lane = channel % BLOCK, block = channel / BLOCK;
            int32_t start = (block * layer->columns + pixel * layer->stride_x) * BLOCK + lane;
            const int8_t *weight = weights + block * taps * BLOCK + lane;
            const int32_t *scale = scales + block * SCALES + lane % 2 * 3 * HALF + lane / 2;
            int32_t sum = scale[0];

            for (int32_t y = 0; y < layer->taps_y; y++) {
                const int8_t *input = tap_row(ring, first, y, layer) + start;

                for (int32_t x = 0; x < layer->taps_x; x++, weight += BLOCK) {
                    sum += input[x * layer->dilation_x * BLOCK] * weight[0];
                }
            }
            *output++ = ethosgen_clamp(ethosgen_requantize(sum, scale[HALF], scale[2 * HALF]),
                                       &layer->output);
        }
    }
}
#endif
