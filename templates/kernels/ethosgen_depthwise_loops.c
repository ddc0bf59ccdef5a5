/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops over windows of depthwise convolutions, and the functions of layers, each named for its
 * assumption about the windows. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_depthwise.h"

#include <stddef.h>

#if ETHOSGEN_MVE
#define PLACE(member) ((uint32_t)offsetof(struct ethosgen_windows, member))
_Static_assert(PLACE(output) == 8u && PLACE(step) == 24u && PLACE(scales) == 40u
                   && PLACE(back) == 52u && PLACE(weight_bytes) == 64u,
               "the assembly has these offsets");

/*
 * The loops over windows. The sums of a window are requantized (as ethosgen_rounding_x4 says) while
 * the next one is multiplied. LOAD loads a vector of a line and moves on to the next window.
 *
 * r8 to r11: lines. r0, r2, r4, r6: their sums. r1, r3: output, its step. r5: bytes to the next window.
 * r7: weights. r12: the windows. lr: windows left in the row.
 * q0 to q3: the first weights. q4: a window. q5: the sums before. q6: constants. q7: shifts.
 * The stack has biases, roundings and mantissas, the next row's lines and output, and the rows left.
 * (6) begins 4 channels, and (1) a row.
 */
#define ENTER                                               \
    "push {r3-r11, lr}\n\t"                                 \
    "vpush {d8-d15}\n\t"                                    \
    "sub sp, #64\n\t"                                       \
    "mov r12, r0\n\t"                                       \
    "ldrd r7, r8, [r12]\n\t"                                \
    "ldr r1, [r12, #8]\n"                                   \
    "6:\n\t"                                                \
    "ldrd r4, r6, [r12, #40]\n\t"                           \
    "movs r0, #24\n\t"                                      \
    "vldrw.32 q7, [r4, #32]\n\t"                            \
    "vdup.32 q3, r6\n\t"                                    \
    "vldrw.32 q0, [r4]\n\t"                                 \
    "vmvn q2, q7\n\t"                                       \
    "vldrw.32 q1, [r4, #16]\n\t"                            \
    "vshl.s32 q3, q3, q2\n\t"                               \
    "vstrw.32 q0, [sp]\n\t"                                 \
    "vadd.i32 q7, q7, r0\n\t"                               \
    "vstrw.32 q1, [sp, #32]\n\t"                            \
    "ldrd r3, r5, [r12, #24]\n\t"                           \
    "vstrw.32 q3, [sp, #16]\n\t"                            \
    "ldr r2, [r12, #36]\n\t"                                \
    "vldrb.8 q0, [r7]\n\t"                                  \
    "vldrb.8 q1, [r7, #16]\n\t"                             \
    "vldrb.8 q2, [r7, #32]\n\t"                             \
    "vldrb.8 q3, [r7, #48]\n\t"                             \
    "str r2, [sp, #56]\n"                                   \
    "1:\n\t"                                                \
    "ldrd r4, r6, [r12, #12]\n\t"                           \
    "ldr r2, [r12, #20]\n\t"                                \
    "ldr lr, [r12, #32]\n\t"                                \
    "add r9, r8, r4\n\t"                                    \
    "add r10, r9, r4\n\t"                                   \
    "add r11, r10, r4\n\t"                                  \
    "add r6, r8\n\t"                                        \
    "add r2, r1\n\t"                                        \
    "strd r6, r2, [sp, #48]\n\t"
#define REQUANTIZE_AND_LEAVE                                \
    "vmov q5[2], q5[0], r0, r4\n\t"                         \
    "vmov q5[3], q5[1], r2, r6\n\t"                         \
    "vldrw.32 q6, [sp]\n\t"                                 \
    "ldr r4, [sp, #56]\n\t"                                 \
    "vadd.i32 q5, q5, q6\n\t"                               \
    "vldrw.32 q6, [sp, #32]\n\t"                            \
    "vqrdmulh.s32 q5, q5, q6\n\t"                           \
    "vldrw.32 q6, [sp, #16]\n\t"                            \
    "subs r4, #1\n\t"                                       \
    "vsri.32 q6, q5, #31\n\t"                               \
    "str r4, [sp, #56]\n\t"                                 \
    "vqsub.s32 q5, q5, q6\n\t"                              \
    "ldr r8, [sp, #48]\n\t"                                 \
    "vqshl.s32 q5, q5, q7\n\t"                              \
    "vshr.u32 q5, q5, #24\n\t"                              \
    "vstrb.32 q5, [r1]\n\t"                                 \
    "ldr r1, [sp, #52]\n\t"                                 \
    "bne 1b\n\t"                                            \
    "ldrd r4, r6, [r12, #56]\n\t"                           \
    "ldr r2, [r12, #64]\n\t"                                \
    "ldrd r8, r1, [r12, #4]\n\t"                            \
    "subs r4, #1\n\t"                                       \
    "beq 7f\n\t"                                            \
    "str r4, [r12, #56]\n\t"                                \
    "ldr r4, [r12, #40]\n\t"                                \
    "add r8, r6\n\t"                                        \
    "adds r1, #4\n\t"                                       \
    "add r7, r2\n\t"                                        \
    "adds r4, #48\n\t"                                      \
    "strd r8, r1, [r12, #4]\n\t"                            \
    "str r4, [r12, #40]\n\t"                                \
    "b 6b\n"                                                \
    "7:\n\t"                                                \
    "add sp, #64\n\t"                                       \
    "vpop {d8-d15}\n\t"                                     \
    "pop {r3-r11, pc}"
#define FIRST_OF_ONE                                        \
    LOAD("r8")                                              \
    "vmladav.s8 r0, q0, q4\n\t"                             \
    LOAD("r9")                                              \
    "vmladav.s8 r2, q1, q4\n\t"                             \
    LOAD("r10")                                             \
    "vmladav.s8 r4, q2, q4\n\t"                             \
    LOAD("r11")                                             \
    "vmladav.s8 r6, q3, q4\n\t"
#define NEXT_OF_ONE                                         \
    "vmov q5[2], q5[0], r0, r4\n\t"                         \
    "vmov q5[3], q5[1], r2, r6\n\t"                         \
    "vldrw.32 q6, [sp]\n\t"                                 \
    "vadd.i32 q5, q5, q6\n\t"                               \
    "vldrw.32 q6, [sp, #32]\n\t"                            \
    "vqrdmulh.s32 q5, q5, q6\n\t"                           \
    LOAD("r8")                                              \
    "vmladav.s8 r0, q0, q4\n\t"                             \
    "vldrw.32 q6, [sp, #16]\n\t"                            \
    "vsri.32 q6, q5, #31\n\t"                               \
    LOAD("r10")                                             \
    "vqsub.s32 q5, q5, q6\n\t"                              \
    "vmladav.s8 r4, q2, q4\n\t"                             \
    "vqshl.s32 q5, q5, q7\n\t"                              \
    LOAD("r9")                                              \
    "vmladav.s8 r2, q1, q4\n\t"                             \
    "vshr.u32 q5, q5, #24\n\t"                              \
    LOAD("r11")                                             \
    "vmladav.s8 r6, q3, q4\n\t"                             \
    "vstrb.32 q5, [r1]\n\t"                                 \
    "add r1, r3\n\t"
#define FIRST_OF_TWO                                        \
    "vldrb.8 q4, [r8]\n\t"                                  \
    "vmladav.s8 r0, q0, q4\n\t"                             \
    "vldrb.8 q4, [r8, #16]\n\t"                             \
    "vldrb.8 q6, [r7, #64]\n\t"                             \
    "vmladava.s8 r0, q6, q4\n\t"                            \
    "add r8, r5\n\t"                                        \
    "vldrb.8 q4, [r9]\n\t"                                  \
    "vmladav.s8 r2, q1, q4\n\t"                             \
    "vldrb.8 q4, [r9, #16]\n\t"                             \
    "vldrb.8 q6, [r7, #80]\n\t"                             \
    "vmladava.s8 r2, q6, q4\n\t"                            \
    "add r9, r5\n\t"                                        \
    "vldrb.8 q4, [r10]\n\t"                                 \
    "vmladav.s8 r4, q2, q4\n\t"                             \
    "vldrb.8 q4, [r10, #16]\n\t"                            \
    "vldrb.8 q6, [r7, #96]\n\t"                             \
    "vmladava.s8 r4, q6, q4\n\t"                            \
    "add r10, r5\n\t"                                       \
    "vldrb.8 q4, [r11]\n\t"                                 \
    "vmladav.s8 r6, q3, q4\n\t"                             \
    "vldrb.8 q4, [r11, #16]\n\t"                            \
    "vldrb.8 q6, [r7, #112]\n\t"                            \
    "vmladava.s8 r6, q6, q4\n\t"                            \
    "add r11, r5\n\t"
#define NEXT_OF_TWO                                         \
    "vmov q5[2], q5[0], r0, r4\n\t"                         \
    "vmov q5[3], q5[1], r2, r6\n\t"                         \
    "vldrw.32 q6, [sp]\n\t"                                 \
    "vadd.i32 q5, q5, q6\n\t"                               \
    "vldrb.8 q4, [r8]\n\t"                                  \
    "vmladav.s8 r0, q0, q4\n\t"                             \
    "vldrb.8 q4, [r8, #16]\n\t"                             \
    "add r8, r5\n\t"                                        \
    "vldrb.8 q6, [r7, #64]\n\t"                             \
    "vmladava.s8 r0, q6, q4\n\t"                            \
    "vldrw.32 q6, [sp, #32]\n\t"                            \
    "vqrdmulh.s32 q5, q5, q6\n\t"                           \
    "vldrb.8 q4, [r9]\n\t"                                  \
    "vmladav.s8 r2, q1, q4\n\t"                             \
    "vldrb.8 q4, [r9, #16]\n\t"                             \
    "add r9, r5\n\t"                                        \
    "vldrb.8 q6, [r7, #80]\n\t"                             \
    "vmladava.s8 r2, q6, q4\n\t"                            \
    "vldrw.32 q6, [sp, #16]\n\t"                            \
    "vsri.32 q6, q5, #31\n\t"                               \
    "vldrb.8 q4, [r10]\n\t"                                 \
    "vqsub.s32 q5, q5, q6\n\t"                              \
    "vmladav.s8 r4, q2, q4\n\t"                             \
    "vldrb.8 q4, [r10, #16]\n\t"                            \
    "vqshl.s32 q5, q5, q7\n\t"                              \
    "vldrb.8 q6, [r7, #96]\n\t"                             \
    "vmladava.s8 r4, q6, q4\n\t"                            \
    "vldrb.8 q4, [r11]\n\t"                                 \
    "vshr.u32 q5, q5, #24\n\t"                              \
    "vmladav.s8 r6, q3, q4\n\t"                             \
    "vstrb.32 q5, [r1]\n\t"                                 \
    "add r10, r5\n\t"                                       \
    "vldrb.8 q4, [r11, #16]\n\t"                            \
    "add r1, r3\n\t"                                        \
    "vldrb.8 q6, [r7, #112]\n\t"                            \
    "vmladava.s8 r6, q6, q4\n\t"                            \
    "add r11, r5\n\t"
#define LOOP(name, FIRST, NEXT)                                                                \
    static ETHOSGEN_ASSEMBLY void run_##name(                                                  \
        struct ethosgen_windows *windows __attribute__((unused)),                              \
        const struct ethosgen_depthwise *layer __attribute__((unused)))                        \
    {                                                                                          \
        __asm volatile(ENTER FIRST "wls lr, lr, 3f\n2:\n\t" NEXT                               \
                       "le lr, 2b\n3:\n\t" REQUANTIZE_AND_LEAVE);                              \
    }

/* Windows that fit in one vector, at the usual distances and at any. */
#define LOAD(line) "vldrb.8 q4, [" line "], #1\n\t"
LOOP(by_1, FIRST_OF_ONE, NEXT_OF_ONE)
#undef LOAD
#define LOAD(line) "vldrb.8 q4, [" line "], #2\n\t"
LOOP(by_2, FIRST_OF_ONE, NEXT_OF_ONE)
#undef LOAD
#define LOAD(line) "vldrb.8 q4, [" line "], #4\n\t"
LOOP(by_4, FIRST_OF_ONE, NEXT_OF_ONE)
#undef LOAD
#define LOAD(line) "vldrb.8 q4, [" line "], #8\n\t"
LOOP(by_8, FIRST_OF_ONE, NEXT_OF_ONE)
#undef LOAD
#define LOAD(line) "vldrb.8 q4, [" line "]\n\tadd " line ", r5\n\t"
LOOP(short, FIRST_OF_ONE, NEXT_OF_ONE)

/* Windows that need two vectors. */
LOOP(two, FIRST_OF_TWO, NEXT_OF_TWO)

/*
 * Windows that need more vectors. The first one's weights stay in registers, the others' are loaded.
 * lr: vectors left, then the last window's output, which is also on the stack.
 */
#define OTHER_VECTORS                                       \
    "adds r7, #64\n\t"                                      \
    "ldr lr, [r12, #48]\n\t"                                \
    "dls lr, lr\n"                                          \
    "4:\n\t"                                                \
    "vldrb.8 q4, [r8], #16\n\t"                             \
    "vldrb.8 q6, [r7], #16\n\t"                             \
    "vmladava.s8 r0, q6, q4\n\t"                            \
    "vldrb.8 q4, [r9], #16\n\t"                             \
    "vldrb.8 q6, [r7], #16\n\t"                             \
    "vmladava.s8 r2, q6, q4\n\t"                            \
    "vldrb.8 q4, [r10], #16\n\t"                            \
    "vldrb.8 q6, [r7], #16\n\t"                             \
    "vmladava.s8 r4, q6, q4\n\t"                            \
    "vldrb.8 q4, [r11], #16\n\t"                            \
    "vldrb.8 q6, [r7], #16\n\t"                             \
    "vmladava.s8 r6, q6, q4\n\t"                            \
    "le lr, 4b\n\t"                                         \
    "ldr r7, [r12]\n\t"                                     \
    "ldr lr, [sp, #60]\n\t"                                 \
    "add r8, r5\n\t"                                        \
    "add r9, r5\n\t"                                        \
    "add r10, r5\n\t"                                       \
    "add r11, r5\n\t"                                       \
    "cmp r1, lr\n\t"
#undef LOAD
#define LOAD(line) "vldrb.8 q4, [" line "], #16\n\t"
static ETHOSGEN_ASSEMBLY void
run_vectors(struct ethosgen_windows *windows __attribute__((unused)),
            const struct ethosgen_depthwise *layer __attribute__((unused)))
{
    __asm volatile(ENTER
                   "mla lr, lr, r3, r1\n\t"
                   "ldr r5, [r12, #52]\n\t"
                   "str r7, [r12]\n\t"
                   "str lr, [sp, #60]\n\t"
                   FIRST_OF_ONE OTHER_VECTORS
                   "beq 3f\n"
                   "2:\n\t"
                   NEXT_OF_ONE OTHER_VECTORS
                   "bne 2b\n"
                   "3:\n\t" REQUANTIZE_AND_LEAVE);
}

static void run_more(struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    windows->others = layer->vectors - 1;
    windows->back = windows->by - LANES * layer->vectors;
    run_vectors(windows, layer);
}

/* The sums of a window of 4 channels, from several vectors. */
static inline int32x4_t sums_of(const int8_t *line0, const int8_t *weights,
                                int32_t line_bytes, const struct ethosgen_depthwise *layer)
{
    const int8_t *line1 = line0 + line_bytes, *line2 = line1 + line_bytes;
    const int8_t *line3 = line2 + line_bytes;
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    int32x4_t all;

    /* q0, q2: vectors of lines. q1, q3: their weights. all: the sums. lr: vectors left. */
    __asm volatile("dls lr, %[vectors]\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[line0]], #16\n\t"
                   "vldrb.8 q1, [%[weights]], #16\n\t"
                   "vldrb.8 q2, [%[line1]], #16\n\t"
                   "vmladava.s8 %[sum0], q0, q1\n\t"
                   "vldrb.8 q3, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum1], q2, q3\n\t"
                   "vldrb.8 q0, [%[line2]], #16\n\t"
                   "vldrb.8 q1, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum2], q0, q1\n\t"
                   "vldrb.8 q2, [%[line3]], #16\n\t"
                   "vldrb.8 q3, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum3], q2, q3\n\t"
                   "le lr, 1b\n\t"
                   "vmov %q[all][2], %q[all][0], %[sum0], %[sum2]\n\t"
                   "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]"
                   : [all] "=w"(all), [line0] "+r"(line0), [line1] "+r"(line1),
                     [line2] "+r"(line2), [line3] "+r"(line3), [weights] "+r"(weights),
                     [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2),
                     [sum3] "+Te"(sum3)
                   : [vectors] "r"(layer->vectors)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    return all;
}

/* Windows of any size, of fewer channels or with unusual shifts. */
static void run_group(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    const int32_t *scales = windows->scales;
    int32x4_t bias = vldrwq_s32(scales), mantissa = vldrwq_s32(scales + GROUP);
    int32x4_t shift = vldrwq_s32(scales + 2 * GROUP);
    mve_pred16_t inside = vctp32q((uint32_t)layer->channels);

    for (int32_t row = 0; row < windows->rows; row++) {
        const int8_t *line = windows->lines + row * windows->stride;
        int8_t *output = windows->output + row * windows->row_step;

        for (int32_t left = windows->more; left >= 0; left--) {
            int32x4_t sums = sums_of(line, windows->weights, windows->line_bytes, layer);
            int32x4_t values = ethosgen_requantize_x4(vaddq_s32(sums, bias), mantissa, shift);

            values = vaddq_n_s32(values, layer->output.zero_point);
            values = vminq_s32(vmaxq_s32(values, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
            vstrbq_p_s32(output, values, inside);
            output += windows->step;
            line += windows->by;
        }
    }
}

#define LOOP_OF(helium) helium
#else
/* In C one loop is enough. */
#define LOOP_OF(helium) run_any
static inline int32_t product(const int8_t *window, const int8_t *weights, int32_t taps)
{
    int32_t sum = 0;

    for (; taps > 0; taps -= LANES, window += LANES, weights += GROUP * LANES) {
        int32_t count = taps < LANES ? taps : LANES;

        for (int32_t i = 0; i < count; i++) {
            sum += window[i] * weights[i];
        }
    }
    return sum;
}

static void run_group(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    int32_t channels = layer->channels < GROUP ? layer->channels : GROUP;

    for (int32_t i = 0; i < windows->rows * channels; i++) {
        int32_t row = i / channels, lane = i % channels;
        const int8_t *window = windows->lines + lane * windows->line_bytes + row * windows->stride;
        const int8_t *weights = windows->weights + lane * LANES;
        const int32_t *scales = windows->scales + lane;
        int8_t *output = windows->output + lane + row * windows->row_step;

        for (int32_t left = windows->more; left >= 0; left--, window += windows->by) {
            int32_t sum = scales[0] + product(window, weights, layer->taps);

            *output = ethosgen_clamp(
                ethosgen_requantize(sum, scales[GROUP], scales[2 * GROUP]), &layer->output);
            output += windows->step;
        }
    }
}
#endif

static void run_any(struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    for (int32_t left = windows->groups; left > 0; left--) {
        run_group(windows, layer);
        windows->weights += windows->weight_bytes;
        windows->lines += windows->group_bytes;
        windows->output += GROUP;
        windows->scales += SCALES;
    }
}

/*
 * The functions of a loop: for one output per channel; for several, and for groups of 4 with one line;
 * for lines of 6, 8, ... rows; and for lines of 4 rows. `distance` is between the lines of 4 channels.
 */
#define LAYER(name, copy_function, loop_function, distance, padding)                           \
    void ethosgen_depthwise_##name##_s8(int8_t *output, const int8_t *input, int8_t *lines,    \
                                        const int8_t *weights, const int32_t *scales,          \
                                        const struct ethosgen_depthwise *layer)                \
    {                                                                                          \
        struct ethosgen_lines all;                                                             \
                                                                                               \
        all.first = lines;                                                                     \
        all.weights = weights;                                                                 \
        all.scales = scales;                                                                   \
        all.copy = copy_function;                                                              \
        all.loop = loop_function;                                                              \
        all.windows.line_bytes = distance;                                                     \
        all.needs_padding = padding;                                                           \
        ethosgen_run_lines(output, input, &all, layer);                                        \
    }
#define LAYERS(name, loop)                                                                     \
    LAYER(name, ethosgen_spread, loop, layer->line_bytes, 1)                                   \
    LAYER(name##_copies, ethosgen_spread_copies, loop, layer->line_bytes, 1)                   \
    LAYER(name##_shared, ethosgen_spread_shared, loop, 0, 1)
#define PAIRS(name, loop)                                                                      \
    LAYER(name##_pairs, ethosgen_spread_pairs, loop, layer->line_bytes, 1)
#define WORDS(name, loop)                                                                      \
    LAYER(words_##name, ethosgen_spread_words, loop, layer->line_bytes, 0)

LAYERS(by_1, LOOP_OF(run_by_1))
LAYERS(by_2, LOOP_OF(run_by_2))
LAYERS(by_4, LOOP_OF(run_by_4))
LAYERS(by_8, LOOP_OF(run_by_8))
LAYERS(short, LOOP_OF(run_short))
LAYERS(two, LOOP_OF(run_two))
LAYERS(more, LOOP_OF(run_more))
LAYERS(any, LOOP_OF(run_any))

PAIRS(two, LOOP_OF(run_two))
PAIRS(more, LOOP_OF(run_more))

WORDS(by_1, LOOP_OF(run_by_1))
WORDS(by_2, LOOP_OF(run_by_2))
WORDS(by_4, LOOP_OF(run_by_4))
WORDS(by_8, LOOP_OF(run_by_8))
WORDS(short, LOOP_OF(run_short))
WORDS(two, LOOP_OF(run_two))
WORDS(more, LOOP_OF(run_more))
WORDS(any, LOOP_OF(run_any))
