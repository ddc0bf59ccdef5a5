/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SVDF with a state of int16. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_sums.h"

/* Filters whose sums are computed at a time. */
enum { BLOCK = 8 };

#if ETHOSGEN_DSP
/* Move two values of the state on by a step; return their products with the time weights. */
static inline uint32_t move_two(int16_t *state, const int16_t *time, uint32_t sum)
{
    uint32_t values = ethosgen_dsp_word(state + 1), weights = ethosgen_dsp_word(time);

    (void)memcpy((uint8_t *)state, (const uint8_t *)&values, sizeof values);
    return (uint32_t)__smlad((int16x2_t)values, (int16x2_t)weights, (int32_t)sum);
}

/*
 * Move the state of a filter on by a step, and return its product with the time weights. Sums wrap,
 * as TensorFlow Lite Micro's do in practice.
 */
static inline uint32_t recall(int16_t *state, const int16_t *time, int32_t memory, int32_t newest)
{
    uint32_t sum = 0;
    int32_t past = memory - 1;

    for (; past >= 4; past -= 4) {
        sum = move_two(state, time, sum);
        sum = move_two(state + 2, time + 2, sum);
        state += 4;
        time += 4;
    }
    if (past >= 2) {
        sum = move_two(state, time, sum);
        state += 2;
        time += 2;
        past -= 2;
    }
    if (past > 0) {
        *state = state[1];
        sum += (uint32_t)(*state++ * *time++);
    }
    *state = (int16_t)newest;
    return sum + (uint32_t)(newest * *time);
}
#else
/* Move a value of the state on by a step; return its product with the time weight. */
static inline uint32_t move(int16_t *state, const int16_t *time)
{
    int32_t value = state[1];

    state[0] = (int16_t)value;
    return (uint32_t)(value * *time);
}

static inline uint32_t recall(int16_t *state, const int16_t *time, int32_t memory, int32_t newest)
{
    uint32_t sum = 0;
    int32_t past = memory - 1;

    for (; past >= 4; past -= 4) {
        sum += move(state, time);
        sum += move(state + 1, time + 1);
        sum += move(state + 2, time + 2);
        sum += move(state + 3, time + 3);
        state += 4;
        time += 4;
    }
    for (; past > 0; past--) {
        sum += move(state++, time++);
    }
    *state = (int16_t)newest;
    return sum + (uint32_t)(newest * *time);
}
#endif

/* Convert a unit's total, any 32-bit number. */
static inline int8_t convert(uint32_t total, const struct ethosgen_dsp_svdf *svdf)
{
    const struct ethosgen_dsp_multiplier *by = &svdf->out;
    int64_t value = (int32_t)(total << by->left);
    int32_t product = (int32_t)((value * by->mantissa + 0x40000000) >> 31);

    product += (product >> 31) & by->sign;
    product = (int32_t)(((int64_t)product + by->half) >> by->right);
    return (int8_t)ethosgen_dsp_saturate(ethosgen_dsp_saturate_16(product) + svdf->zero_point);
}

void ethosgen_dsp_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, void *room,
                          const int8_t *weights, const int32_t *biases, const int16_t *time,
                          const int32_t *units, const struct ethosgen_dsp_svdf *svdf)
{
    struct ethosgen_dsp_row row = ethosgen_dsp_row_of(room, input, svdf->depth);
    int32_t memory = svdf->memory, rank = svdf->rank;
    uint32_t total = 0;

    for (int32_t left = svdf->filters; left > 0; left -= BLOCK) {
        int32_t count = left < BLOCK ? left : BLOCK, pairs = (count + 1) / 2, sums[BLOCK];

        weights = ethosgen_dsp_sums(sums, biases, pairs, &row, weights);
        biases += BLOCK;
        for (int32_t filter = 0; filter < count; filter++) {
            int32_t newest = ethosgen_dsp_rescale(sums[filter], &svdf->into);

            total += recall(state, time, memory, ethosgen_dsp_saturate_16(newest));
            state = &state[memory];
            time = &time[memory];
            if (--rank == 0) {
                *output++ = convert(total + (uint32_t)*units++, svdf);
                total = 0;
                rank = svdf->rank;
            }
        }
    }
}
