/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions of float32, a pixel at a time. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

#include <stddef.h>

enum { LANES = ETHOSGEN_LANES };

/* The taps of a pixel inside the input. */
struct taps {
    const float *input;
    const float *weights;
    int32_t rows;
    int32_t columns;
};

#if ETHOSGEN_MVE_F || ETHOSGEN_FPU
/* Bytes from the end of a row of taps to the next row, of the input and of the weights. */
struct skips {
    int32_t input;
    int32_t weights;
};

enum { FLOAT = sizeof(float) };

static inline struct skips skips_of(const struct taps *taps,
                                    const struct ethosgen_depthwise_f32 *layer)
{
    return (struct skips){
        (layer->row_floats - taps->columns * layer->tap_floats) * FLOAT,
        (layer->weight_row - taps->columns * layer->channels) * FLOAT,
    };
}
#endif

#if ETHOSGEN_MVE_F
#ifdef __clang__
#define P0
#else
#define P0 , "p0"
#endif

/*
 * The sum of all taps; LOADS puts 4 channels of an element into q1, and their weights into q2.
 *
 * q1: inputs, then products. q2: weights. sum: the sums. lr: columns left.
 */
#define SUM(LOADS)                                                                           \
    __asm volatile("vmov.i32 %q[sum], #0\n\t"                                                \
                   "vctp.32 %[left]\n"                                                       \
                   "1:\n\t"                                                                  \
                   "dls lr, %[columns]\n"                                                    \
                   "2:\n\t"                                                                  \
                   LOADS                                                                     \
                   "add %[input], %[tap]\n\t"                                                \
                   "vmul.f32 q1, q1, q2\n\t"                                                 \
                   "add %[weights], %[step]\n\t"                                             \
                   "vadd.f32 %q[sum], %q[sum], q1\n\t"                                       \
                   "le lr, 2b\n\t"                                                           \
                   "add %[input], %[input_skip]\n\t"                                         \
                   "add %[weights], %[weight_skip]\n\t"                                      \
                   "subs %[rows], #1\n\t"                                                    \
                   "bne 1b"                                                                  \
                   : [input] "+r"(taps.input), [weights] "+r"(taps.weights),                 \
                     [rows] "+r"(taps.rows), [sum] "=&w"(sum)                                \
                   : [columns] "r"(taps.columns), [tap] "r"(tap), [step] "r"(step),          \
                     [input_skip] "r"(skips.input), [weight_skip] "r"(skips.weights),        \
                     [left] "r"(left), [places] "w"(inputs)                                  \
                   : "q1", "q2", "lr", "cc", "memory" P0)

/* Write 4 channels, or fewer if no more are left; `places` has the channels' inputs, or is null. */
static inline void four_channels(float *output, struct taps taps, const float *bias,
                                 const uint32_t *places, float32x4_t low, float32x4_t high,
                                 const struct ethosgen_depthwise_f32 *layer,
                                 struct skips skips, int32_t left)
{
    float32x4_t sum = vdupq_n_f32(0.0f);
    uint32x4_t inputs = places ? vldrwq_u32(places) : vdupq_n_u32(0);
    int32_t tap = layer->tap_floats * FLOAT, step = layer->channels * FLOAT;

    if (taps.rows <= 0 || taps.columns <= 0) {
        /* The whole window is outside the input. */
    } else if (places != NULL) {
        SUM("vpstt\n\tvldrwt.u32 q1, [%[input], %q[places], uxtw #2]\n\t"
            "vldrwt.u32 q2, [%[weights]]\n\t");
    } else if (left < LANES) {
        SUM("vpstt\n\tvldrwt.u32 q1, [%[input]]\n\tvldrwt.u32 q2, [%[weights]]\n\t");
    } else {
        SUM("vldrw.u32 q1, [%[input]]\n\tvldrw.u32 q2, [%[weights]]\n\t");
    }
    sum = ethosgen_limit_x4(vaddq_f32(sum, vldrwq_f32(bias)), low, high);
    ethosgen_store(output, sum, left);
}

static inline void pixel(float *output, struct taps taps, const float *biases,
                         const uint32_t *places, const struct ethosgen_depthwise_f32 *layer)
{
    float32x4_t low = vdupq_n_f32(biases[0]), high = vdupq_n_f32(biases[1]);
    struct skips skips = skips_of(&taps, layer);
    int32_t left = layer->channels;

    biases += ETHOSGEN_BOUNDS_F32;
    for (; left >= LANES; left -= LANES) {
        four_channels(output, taps, biases, places, low, high, layer, skips, LANES);
        output += LANES;
        biases += LANES;
        taps.weights += LANES;
        taps.input += places != NULL ? 0 : LANES;
        places += places != NULL ? LANES : 0;
    }
    if (left > 0) {
        four_channels(output, taps, biases, places, low, high, layer, skips, left);
    }
}
#else
#if ETHOSGEN_FPU
/* Add the products of 4 channels. */
static inline void add_four(float *sums, struct taps taps,
                            const struct ethosgen_depthwise_f32 *layer)
{
    int32_t tap = layer->tap_floats * FLOAT, step = layer->channels * FLOAT, left;
    struct skips skips = skips_of(&taps, layer);

    /* s0 to s3: sums. s4 to s7: inputs, then products. s8 to s11: weights. left: columns left. */
    __asm volatile("vldmia %[sums], {s0-s3}\n"
                   "1:\n\t"
                   "mov %[left], %[columns]\n"
                   "2:\n\t"
                   "vldmia %[input], {s4-s7}\n\t"
                   "vldmia %[weights], {s8-s11}\n\t"
                   "vmul.f32 s4, s4, s8\n\t"
                   "add %[input], %[tap]\n\t"
                   "vmul.f32 s5, s5, s9\n\t"
                   "add %[weights], %[step]\n\t"
                   "vmul.f32 s6, s6, s10\n\t"
                   "subs %[left], #1\n\t"
                   "vmul.f32 s7, s7, s11\n\t"
                   "vadd.f32 s0, s0, s4\n\t"
                   "vadd.f32 s1, s1, s5\n\t"
                   "vadd.f32 s2, s2, s6\n\t"
                   "vadd.f32 s3, s3, s7\n\t"
                   "bne 2b\n\t"
                   "add %[input], %[input_skip]\n\t"
                   "add %[weights], %[weight_skip]\n\t"
                   "subs %[rows], #1\n\t"
                   "bne 1b\n\t"
                   "vstmia %[sums], {s0-s3}"
                   : [input] "+r"(taps.input), [weights] "+r"(taps.weights),
                     [rows] "+r"(taps.rows), [left] "=&r"(left)
                   : [sums] "r"(sums), [tap] "r"(tap), [step] "r"(step),
                     [columns] "r"(taps.columns), [input_skip] "r"(skips.input),
                     [weight_skip] "r"(skips.weights)
                   : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
                     "cc", "memory");
}
#else
static inline void add_four(float *sums, struct taps taps,
                            const struct ethosgen_depthwise_f32 *layer)
{
    for (int32_t y = 0; y < taps.rows; y++) {
        for (int32_t x = 0; x < taps.columns; x++) {
            const float *from = taps.input + y * layer->row_floats + x * layer->tap_floats;
            const float *weight = taps.weights + y * layer->weight_row + x * layer->channels;

            for (int32_t i = 0; i < LANES; i++) {
                sums[i] += from[i] * weight[i];
            }
        }
    }
}
#endif

/* Return the sum of a channel. */
static inline float one_sum(struct taps taps, const struct ethosgen_depthwise_f32 *layer)
{
    float sum = 0.0f;

    for (int32_t y = taps.rows; y > 0; y--) {
        const float *from = taps.input, *weight = taps.weights;

        for (int32_t x = taps.columns; x > 0; x--) {
            sum += *from * *weight;
            from += layer->tap_floats;
            weight += layer->channels;
        }
        taps.input += layer->row_floats;
        taps.weights += layer->weight_row;
    }
    return sum;
}

static inline void pixel(float *output, struct taps taps, const float *biases,
                         const uint32_t *places, const struct ethosgen_depthwise_f32 *layer)
{
    float low = biases[0], high = biases[1];
    const float *input = taps.input;
    int32_t channel = 0;

    biases += ETHOSGEN_BOUNDS_F32;
    for (; !places && taps.rows > 0 && taps.columns > 0 && channel + LANES <= layer->channels;
         channel += LANES) {
        float sums[LANES] = {0};

        add_four(sums, taps, layer);
        *output++ = ethosgen_limit(sums[0] + *biases++, low, high);
        *output++ = ethosgen_limit(sums[1] + *biases++, low, high);
        *output++ = ethosgen_limit(sums[2] + *biases++, low, high);
        *output++ = ethosgen_limit(sums[3] + *biases++, low, high);
        taps.input += LANES;
        taps.weights += LANES;
    }
    for (; channel < layer->channels; channel++) {
        taps.input = input + (places ? places[channel] : (uint32_t)channel);
        *output++ = ethosgen_limit(one_sum(taps, layer) + *biases++, low, high);
        taps.weights++;
    }
}
#endif

void ethosgen_depthwise_f32(float *output, const float *input, const float *weights, int32_t rows,
                            int32_t columns, const float *biases,
                            const struct ethosgen_depthwise_f32 *shape)
{
    pixel(output, (struct taps){input, weights, rows, columns}, biases, 0,
          shape);
}

void ethosgen_depthwise_copies_f32(float *output, const float *input, const float *weights,
                                   int32_t rows, int32_t columns, const float *biases,
                                   const uint32_t *places,
                                   const struct ethosgen_depthwise_f32 *shape)
{
    pixel(output, (struct taps){input, weights, rows, columns}, biases, places,
          shape);
}
