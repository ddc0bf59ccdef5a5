/*
 * The loops over windows of depthwise convolutions, and the functions of layers, each named for what
 * it assumes of the windows. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_depthwise.h"

#if ETHOSGEN_MVE
/*
 * The loop over a row's windows of 4 channels, in assembly. Mantissas and shifts stay in registers; so
 * do the weights if a window fits in one vector. LOAD loads a window and moves `by` bytes on.
 */
#define LOAD_BY(to, from) "vldrb.8 " to ", [" from "], %[by]\n\t"
#define LOAD_ADD(to, from) "vldrb.8 " to ", [" from "]\n\tadd " from ", %[by]\n\t"
#define SUMS_OF_ONE(LOAD)                                   \
    LOAD("q4", "%[line0]")                                  \
    "vmladav.s8 %[sum0], %q[weight0], q4\n\t"               \
    LOAD("q5", "%[line2]")                                  \
    "vmladav.s8 %[sum1], %q[weight2], q5\n\t"               \
    LOAD("q5", "%[line1]")                                  \
    "vmov q4[2], q4[0], %[sum0], %[sum1]\n\t"               \
    "vmladav.s8 %[sum0], %q[weight1], q5\n\t"               \
    LOAD("q5", "%[line3]")                                  \
    "vmladav.s8 %[sum1], %q[weight3], q5\n\t"               \
    "vldrw.32 q5, [%[bias]]\n\t"                            \
    "vmov q4[3], q4[1], %[sum0], %[sum1]\n\t"               \
    "vadd.i32 q4, q4, q5\n\t"
#define SUM_OF_TWO(sum, line, weight, weight_behind)        \
    "vldrb.8 q0, [" line "]\n\t"                            \
    "vldrb.8 q1, [%[weights], #" weight "]\n\t"             \
    "vmladav.s8 " sum ", q0, q1\n\t"                        \
    "vldrb.8 q2, [" line ", #16]\n\t"                       \
    "vldrb.8 q5, [%[weights], #" weight_behind "]\n\t"      \
    "vmladava.s8 " sum ", q2, q5\n\t"                       \
    "add " line ", %[by]\n\t"
#define SUMS_OF_TWO                                         \
    SUM_OF_TWO("%[sum0]", "%[line0]", "0", "64")            \
    SUM_OF_TWO("%[sum1]", "%[line2]", "32", "96")           \
    "vmov q4[2], q4[0], %[sum0], %[sum1]\n\t"               \
    SUM_OF_TWO("%[sum0]", "%[line1]", "16", "80")           \
    SUM_OF_TWO("%[sum1]", "%[line3]", "48", "112")          \
    "vmov q4[3], q4[1], %[sum0], %[sum1]\n\t"               \
    "vadd.i32 q4, q4, %q[bias]\n\t"
#define REQUANTIZE                                          \
    "vqrdmulh.s32 q4, q4, %q[mantissa]\n\t"                 \
    "vand q5, q4, %q[shift]\n\t"                            \
    "vshr.s32 q5, q5, #31\n\t"                              \
    "vadd.i32 q4, q4, q5\n\t"                               \
    "vrshl.s32 q4, q4, %q[shift]\n\t"                       \
    "vadd.i32 q4, q4, %[zero_point]\n\t"                    \
    "vqmovnb.s32 q4, q4\n\t"                                \
    "vqmovnb.s16 q4, q4\n\t"                                \
    "vstrb.32 q4, [%[output]]\n\t"                          \
    "add %[output], %[step]\n\t"
#define LOOP(SUMS, ...)                                                                        \
    __asm volatile("dls lr, lr\n1:\n\t" SUMS REQUANTIZE "le lr, 1b"                            \
                   : [line0] "+r"(line0), [line1] "+r"(line1), [line2] "+r"(line2),            \
                     [line3] "+r"(line3), [output] "+l"(output), [sum0] "=&Te"(sum0),          \
                     [sum1] "=&Te"(sum1), "+r"(pixels)                                         \
                   : [step] "r"(step), [zero_point] "r"(zero_point), [mantissa] "w"(mantissa), \
                     [shift] "w"(shift), __VA_ARGS__                                           \
                   : "q4", "memory", CLOBBERED)
#define ONE(LOAD, constraint, distance)                                                        \
    LOOP(SUMS_OF_ONE(LOAD), [by] constraint(distance), [bias] "r"(scales),                     \
         [weight0] "w"(weight0), [weight1] "w"(weight1), [weight2] "w"(weight2),               \
         [weight3] "w"(weight3))

/* The state of a row of outputs of 4 channels. */
#define ROW                                                                                    \
    const int8_t *line0 = lines, *line1 = line0 + line_bytes, *line2 = line1 + line_bytes;     \
    const int8_t *line3 = line2 + line_bytes;                                                  \
    int8_t *output = outputs;                                                                  \
    int32_t sum0, sum1;                                                                        \
    register int32_t pixels __asm("lr") = windows->pixels

/* Compute outputs of windows that fit in one vector, `distance` bytes apart, or 0 if it varies. */
static inline __attribute__((always_inline)) void run_one(const struct ethosgen_windows *windows,
                                                          const struct ethosgen_depthwise *layer,
                                                          int32_t distance)
{
    const int8_t *weights = windows->weights;
    const int32_t *scales = windows->scales;
    int32_t line_bytes = layer->line_bytes, step = layer->along.output_step * layer->phases;
    int32_t zero_point = layer->output.zero_point;
    int8x16_t weight0 = vldrbq_s8(weights), weight1 = vldrbq_s8(weights + LANES);
    int8x16_t weight2 = vldrbq_s8(weights + 2 * LANES), weight3 = vldrbq_s8(weights + 3 * LANES);
    int32x4_t mantissa = vldrwq_s32(scales + GROUP), shift = vldrwq_s32(scales + 2 * GROUP);
    const int8_t *lines = windows->lines;
    int8_t *outputs = windows->output;

#define CLOBBERED "q5"
    for (int32_t row = windows->rows; row > 0; row--) {
        ROW;

        switch (distance) {
        case 1: ONE(LOAD_BY, "n", 1); break;
        case 2: ONE(LOAD_BY, "n", 2); break;
        case 4: ONE(LOAD_BY, "n", 4); break;
        case 8: ONE(LOAD_BY, "n", 8); break;
        default: ONE(LOAD_ADD, "r", layer->window_step); break;
        }
        lines += layer->across.stride;
        outputs += layer->across.output_step;
    }
#undef CLOBBERED
}

static void run_by_1(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    run_one(windows, layer, 1);
}

static void run_by_2(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    run_one(windows, layer, 2);
}

static void run_by_4(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    run_one(windows, layer, 4);
}

static void run_by_8(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    run_one(windows, layer, 8);
}

static void run_short(const struct ethosgen_windows *windows,
                      const struct ethosgen_depthwise *layer)
{
    run_one(windows, layer, 0);
}

/* Windows that need two vectors. */
static void run_two(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    const int8_t *weights = windows->weights;
    const int32_t *scales = windows->scales;
    int32_t line_bytes = layer->line_bytes, step = layer->along.output_step * layer->phases;
    int32_t zero_point = layer->output.zero_point;
    int32x4_t bias = vldrwq_s32(scales), mantissa = vldrwq_s32(scales + GROUP);
    int32x4_t shift = vldrwq_s32(scales + 2 * GROUP);
    const int8_t *lines = windows->lines;
    int8_t *outputs = windows->output;

#define CLOBBERED "q0", "q1", "q2", "q5"
    for (int32_t row = windows->rows; row > 0; row--) {
        ROW;

        LOOP(SUMS_OF_TWO, [by] "r"(layer->window_step), [bias] "w"(bias), [weights] "r"(weights));
        lines += layer->across.stride;
        outputs += layer->across.output_step;
    }
#undef CLOBBERED
}

/* The sums of a window of 4 channels, from several vectors. */
static inline int32x4_t sums_of(const int8_t *line0, const int8_t *weights,
                                const struct ethosgen_depthwise *layer)
{
    const int8_t *line1 = line0 + layer->line_bytes, *line2 = line1 + layer->line_bytes;
    const int8_t *line3 = line2 + layer->line_bytes;
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    int32x4_t all;

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

/* Windows of any size, and of fewer channels. */
static void run_any(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    const int32_t *scales = windows->scales;
    int32_t step = layer->along.output_step * layer->phases;
    int32x4_t bias = vldrwq_s32(scales), mantissa = vldrwq_s32(scales + GROUP);
    int32x4_t shift = vldrwq_s32(scales + 2 * GROUP);
    mve_pred16_t inside = vctp32q((uint32_t)layer->channels);

    for (int32_t row = 0; row < windows->rows; row++) {
        const int8_t *line = windows->lines + row * layer->across.stride;
        int8_t *output = windows->output + row * layer->across.output_step;

        for (int32_t left = windows->pixels; left > 0; left--) {
            int32x4_t sums = vaddq_s32(sums_of(line, windows->weights, layer), bias);
            int32x4_t values = vaddq_n_s32(ethosgen_requantize_x4(sums, mantissa, shift),
                                           layer->output.zero_point);

            values = vminq_s32(vmaxq_s32(values, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
            vstrbq_p_s32(output, values, inside);
            output += step;
            line += layer->window_step;
        }
    }
}

#define LOOP_OF(helium) helium
#else
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

static void run(const struct ethosgen_windows *windows, const struct ethosgen_depthwise *layer)
{
    int32_t channels = layer->channels < GROUP ? layer->channels : GROUP;
    int32_t step = layer->along.output_step * layer->phases;

    for (int32_t i = 0; i < windows->rows * channels; i++) {
        int32_t row = i / channels, lane = i % channels;
        const int8_t *window = windows->lines + lane * layer->line_bytes;
        const int8_t *weights = windows->weights + lane * LANES;
        const int32_t *scales = windows->scales + lane;
        int8_t *output = windows->output + lane + row * layer->across.output_step;

        window += row * layer->across.stride;
        for (int32_t pixel = 0; pixel < windows->pixels; pixel++, window += layer->window_step) {
            int32_t sum = scales[0] + product(window, weights, layer->taps);

            output[pixel * step] = ethosgen_clamp(
                ethosgen_requantize(sum, scales[GROUP], scales[2 * GROUP]), &layer->output);
        }
    }
}

/* In C one loop is enough. */
#define LOOP_OF(helium) run
#endif

/* The two functions of a loop: for layers with one output for each channel, and with several. */
#define LAYER(name, copy_function, loop_function)                                              \
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
        ethosgen_run_lines(output, input, &all, layer);                                        \
    }
#define LAYERS(name, loop)                                                                     \
    LAYER(name, ethosgen_spread, loop)                                                         \
    LAYER(name##_copies, ethosgen_spread_copies, loop)

LAYERS(by_1, LOOP_OF(run_by_1))
LAYERS(by_2, LOOP_OF(run_by_2))
LAYERS(by_4, LOOP_OF(run_by_4))
LAYERS(by_8, LOOP_OF(run_by_8))
LAYERS(short, LOOP_OF(run_short))
LAYERS(two, LOOP_OF(run_two))
LAYERS(any, LOOP_OF(run_any))
