/*
 * SVDF with a state of int16. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums.h"

/*
 * Move a filter's state on by a step, and return the sum of its products with the weights of time.
 * Sums wrap, as TensorFlow Lite Micro's do in practice.
 */
static inline int32_t recall(int16_t *state, const int16_t *time, int32_t past, int32_t now)
{
    int32_t sum;
#if ETHOSGEN_MVE
    int16_t *place = state;
    const int16_t *weights = time;

    sum = now * time[past];
    /* Each vector is read one element on, before the next one is stored over. */
    __asm volatile("wlstp.16 lr, %[past], 2f\n"
                   "1:\n\t"
                   "vldrh.16 q0, [%[place], #2]\n\t"
                   "vldrh.16 q1, [%[weights]], #16\n\t"
                   "vstrh.16 q0, [%[place]], #16\n\t"
                   "vmladava.s16 %[sum], q0, q1\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [place] "+r"(place), [weights] "+r"(weights), [sum] "+Te"(sum)
                   : [past] "r"(past)
                   : "q0", "q1", "lr", "memory");
#else
    uint32_t total = (uint32_t)(now * time[past]);

    for (int32_t step = 0; step < past; step++) {
        state[step] = state[step + 1];
        total += (uint32_t)(state[step] * time[step]);
    }
    sum = (int32_t)total;
#endif
    state[past] = (int16_t)now;
    return sum;
}

/* Compute the state's newest values of 4 filters. */
static inline void compress(int16_t now[ETHOSGEN_BLOCK], const int8_t *input,
                            const int8_t *weights, const int32_t *biases,
                            const struct ethosgen_svdf *svdf)
{
#if ETHOSGEN_MVE
    int32x4_t sums = ethosgen_sums_x4(input, weights, biases, svdf->depth);

    vstrhq_s32(now, ethosgen_narrow_x4(ethosgen_rescale_x4(sums, &svdf->into)));
#else
    for (int32_t lane = 0; lane < ETHOSGEN_BLOCK; lane++) {
        int32_t sum = ethosgen_sum(input, weights + lane * ETHOSGEN_LANES, biases[lane],
                                   svdf->depth);

        now[lane] = (int16_t)ethosgen_narrow(ethosgen_rescale(sum, &svdf->into));
    }
#endif
}

/* Convert the totals of up to 4 units. */
static inline void convert(int8_t *output, const int32_t totals[ETHOSGEN_BLOCK], int32_t count,
                           const struct ethosgen_svdf *svdf)
{
    const struct ethosgen_output *to = &svdf->output;
#if ETHOSGEN_MVE
    int32x4_t values = ethosgen_rescale_x4(vldrwq_s32(totals), &svdf->out);

    values = vaddq_n_s32(values, to->zero_point);
    values = vminq_s32(vmaxq_s32(values, vdupq_n_s32(to->low)), vdupq_n_s32(to->high));
    vstrbq_p_s32(output, values, vctp32q((uint32_t)count));
#else
    for (int32_t lane = 0; lane < count; lane++) {
        output[lane] = ethosgen_clamp(ethosgen_rescale(totals[lane], &svdf->out), to);
    }
#endif
}

void ethosgen_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, const int8_t *weights,
                      const int32_t *biases, const int16_t *time, const int32_t *units,
                      const int32_t *shape)
{
    const struct ethosgen_svdf *svdf = (const struct ethosgen_svdf *)shape;
    int32_t memory = svdf->memory, block_bytes = ethosgen_block_bytes(svdf->depth);
    int16_t now[ETHOSGEN_BLOCK];
    int32_t lane = 0; /* of the next filter in its block */

    for (int32_t left = svdf->units; left > 0; left -= ETHOSGEN_BLOCK) {
        int32_t totals[ETHOSGEN_BLOCK];
        int32_t count = left < ETHOSGEN_BLOCK ? left : ETHOSGEN_BLOCK;

        for (int32_t unit = 0; unit < count; unit++) {
            uint32_t total = (uint32_t)*units++;

            for (int32_t rank = svdf->rank; rank > 0; rank--) {
                if (lane == 0) {
                    compress(now, input, weights, biases, svdf);
                    weights += block_bytes;
                    biases += ETHOSGEN_BLOCK;
                }
                total += (uint32_t)recall(state, time, memory - 1, now[lane]);
                lane = (lane + 1) % ETHOSGEN_BLOCK;
                state += memory;
                time += memory;
            }
            totals[unit] = (int32_t)total;
        }
        convert(output, totals, count, svdf);
        output += ETHOSGEN_BLOCK;
    }
}
