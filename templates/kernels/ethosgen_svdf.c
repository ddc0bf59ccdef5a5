/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SVDF with a state of int16. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums.h"

#if ETHOSGEN_MVE
/* A multiplier in registers, which outlast the assembly. */
struct factor {
    int32_t left;
    int32_t mantissa;
    int32x4_t right;
};

static inline struct factor factor_of(const struct ethosgen_multiplier *by)
{
    return (struct factor){by->left, by->mantissa, vdupq_n_s32(by->right)};
}

/* The same as ethosgen_rescale_x4. */
static inline int32x4_t rescale(int32x4_t value, const struct factor *by)
{
    int32x4_t product = vqrdmulhq_n_s32(vshlq_r_s32(value, by->left), by->mantissa);
    int32x4_t sign = vshrq_n_s32(vandq_s32(product, by->right), 31);

    return vrshlq_s32(vaddq_s32(product, sign), by->right);
}
#else
struct factor {
    const struct ethosgen_multiplier *by;
};

static inline struct factor factor_of(const struct ethosgen_multiplier *by)
{
    return (struct factor){by};
}
#endif

/* Compute the state's newest values of 4 filters. */
static inline void compress(int16_t now[ETHOSGEN_BLOCK], const int8_t *input,
                            const int8_t *weights, const int32_t *biases, int32_t depth,
                            const struct factor *into)
{
#if ETHOSGEN_MVE
    int32x4_t sums = rescale(ethosgen_sums_x4(input, &weights, biases, depth), into);

    vstrhq_s32(now, vreinterpretq_s32_s16(ethosgen_narrow_x4(sums)));
#else
    for (int32_t lane = 0; lane < ETHOSGEN_BLOCK; lane++) {
        int32_t sum = ethosgen_sum(input, weights + lane * ETHOSGEN_LANES, biases[lane],
                                   depth);

        now[lane] = (int16_t)ethosgen_narrow(ethosgen_rescale(sum, into->by));
    }
#endif
}

/*
 * Move the states of `count` filters on by a step, and add their products with the time weights to
 * `totals`. Sums wrap, as TensorFlow Lite Micro's do in practice. Not inline, since it needs most
 * registers.
 */
static __attribute__((noinline)) void recall(uint32_t *totals, int16_t *state, const int16_t *time,
                                             int32_t past, const int16_t *now, int32_t count)
{
#if ETHOSGEN_MVE
    int32_t sum, newest, weight;

    /*
     * Each vector is read one element later, before the next store overwrites it. The vectors end
     * behind the past, from which `rest` leads to the newest element.
     */
    int32_t rest = -2 * (-past & 7);

    /*
     * sum: a filter's total. newest: its newest state. weight: its weight. q0: states. q1: time weights.
     * lr: states left.
     */
    __asm volatile("1:\n\t"
                   "ldr %[sum], [%[totals]]\n\t"
                   "wlstp.16 lr, %[past], 3f\n"
                   "2:\n\t"
                   "vldrh.16 q0, [%[state], #2]\n\t"
                   "vldrh.16 q1, [%[time]], #16\n\t"
                   "vstrh.16 q0, [%[state]], #16\n\t"
                   "vmladava.s16 %[sum], q0, q1\n\t"
                   "letp lr, 2b\n"
                   "3:\n\t"
                   "add %[time], %[rest]\n\t"
                   "ldrsh %[newest], [%[now]], #2\n\t"
                   "add %[state], %[rest]\n\t"
                   "ldrsh %[weight], [%[time]], #2\n\t"
                   "mla %[sum], %[newest], %[weight], %[sum]\n\t"
                   "strh %[newest], [%[state]], #2\n\t"
                   "subs %[count], #1\n\t"
                   "str %[sum], [%[totals]], #4\n\t"
                   "bne 1b"
                   : [totals] "+r"(totals), [state] "+r"(state), [time] "+r"(time), [now] "+r"(now),
                     [count] "+r"(count), [sum] "=&Te"(sum), [newest] "=&r"(newest),
                     [weight] "=&r"(weight)
                   : [past] "r"(past), [rest] "r"(rest)
                   : "q0", "q1", "lr", "cc", "memory");
#else
    for (; count > 0; count--) {
        for (int32_t step = 0; step < past; step++) {
            state[step] = state[step + 1];
            *totals += (uint32_t)(state[step] * time[step]);
        }
        state[past] = *now++;
        *totals++ += (uint32_t)(state[past] * time[past]);
        state = &state[past + 1];
        time = &time[past + 1];
    }
#endif
}

/* Convert the totals of up to 4 units. */
static inline void convert(int8_t *output, const uint32_t totals[ETHOSGEN_BLOCK], int32_t count,
                           const struct factor *out, const struct ethosgen_output *to)
{
#if ETHOSGEN_MVE
    int32x4_t values = vreinterpretq_s32_u32(vldrwq_u32(totals));

    values = vaddq_n_s32(rescale(values, out), to->zero_point);
    values = vminq_s32(vmaxq_s32(values, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
    /* In assembly, since the compiler moves the predicate to a register and back. */
    __asm volatile("vctp.32 %[count]\n\t"
                   "vpst\n\t"
                   "vstrbt.32 %q[values], [%[output]]"
                   :
                   : [count] "r"(count), [values] "w"(values), [output] "r"(output)
                   : "memory" ETHOSGEN_P0);
#else
    for (int32_t lane = 0; lane < count; lane++) {
        output[lane] = ethosgen_clamp(ethosgen_rescale((int32_t)totals[lane], out->by), to);
    }
#endif
}

void ethosgen_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, const int8_t *weights,
                      const int32_t *biases, const int16_t *time, const int32_t *units,
                      const struct ethosgen_svdf *svdf)
{
    int32_t memory = svdf->memory, depth = svdf->depth, block_bytes = ethosgen_block_bytes(depth);
    const struct factor into = factor_of(&svdf->into), out = factor_of(&svdf->out);

    for (int32_t left = svdf->units; left > 0; left -= ETHOSGEN_BLOCK) {
        int32_t count = left < ETHOSGEN_BLOCK ? left : ETHOSGEN_BLOCK;
        uint32_t totals[ETHOSGEN_BLOCK] = {(uint32_t)units[0], (uint32_t)units[1],
                                           (uint32_t)units[2], (uint32_t)units[3]};
        int32_t filters = count * svdf->rank, unit = 0, rank = 0;

        for (; filters > 0; filters -= ETHOSGEN_BLOCK) {
            int32_t some = filters < ETHOSGEN_BLOCK ? filters : ETHOSGEN_BLOCK;
            int16_t now[ETHOSGEN_BLOCK];

            compress(now, input, weights, biases, depth, &into);
            if (svdf->rank == 1) {
                recall(totals, state, time, memory - 1, now, some);
            } else {
                uint32_t products[ETHOSGEN_BLOCK] = {0};

                recall(products, state, time, memory - 1, now, some);
                if (svdf->rank == 2) {
                    totals[unit] += products[0] + products[1];
                    totals[unit + 1] += products[2] + products[3];
                    unit += 2;
                } else {
                    for (int32_t filter = 0; filter < some; filter++) {
                        totals[unit] += products[filter];
                        rank = rank + 1 < svdf->rank ? rank + 1 : 0;
                        unit += rank == 0;
                    }
                }
            }
            weights = &weights[block_bytes];
            biases += ETHOSGEN_BLOCK;
            state = &state[some * memory];
            time = &time[some * memory];
        }
        convert(output, totals, count, &out, &svdf->output);
        output += ETHOSGEN_BLOCK;
        units += ETHOSGEN_BLOCK;
    }
}
