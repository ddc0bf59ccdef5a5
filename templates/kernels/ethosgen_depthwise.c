/*
 * Depthwise convolutions, a block of channels at a time. See ethosgen_kernels.h.
 *
 * The input's pixels under a row of windows are copied channel by channel, so that each window is one
 * piece of memory: one vector of it times one of weights are 16 products.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#include <stdbool.h>

enum { GROUP = 4, LANES = 16, SCALES = 3 * GROUP, UNROLLED = 4 };

/* Pixels of a block of channels, and their place in the lines. */
struct piece {
    int8_t *to;
    const int8_t *from;
    int32_t step;     /* bytes from a pixel to the next */
    int32_t row_step; /* bytes from a row to the next */
    int32_t columns;  /* pixels in a row */
    int32_t channels;
    int32_t copy; /* the number of the first channel among the copies of the input's channel */
};

/* Rows of outputs of a block of channels, computed from the same lines. */
struct strip {
    int8_t *output;
    const int8_t *lines;
    const int8_t *weights;
    const int32_t *scales;
    int32_t rows;
    int32_t pixels;
    int32_t channels;
};

#if ETHOSGEN_MVE
/* In assembly, since the compiler does not generate tail-predicated loops. */
static inline void fill(int8_t *to, int32_t value, int32_t bytes)
{
    __asm volatile("vdup.8 q0, %[value]\n\t"
                   "wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [to] "+r"(to)
                   : [value] "r"(value), [bytes] "r"(bytes)
                   : "q0", "lr", "memory");
}

static void limit(int8_t *output, int32_t bytes, const struct ethosgen_output *to)
{
    int8x16_t low = vdupq_n_s8((int8_t)to->low), high = vdupq_n_s8((int8_t)to->high);

    for (; bytes > 0; bytes -= LANES, output += LANES) {
        mve_pred16_t inside = vctp8q((uint32_t)bytes);
        int8x16_t values = vldrbq_z_s8(output, inside);

        vstrbq_p_s8(output, vminq_s8(vmaxq_s8(values, low), high), inside);
    }
}

/* The places of eight channels' lines. */
static inline uint16x8_t lines_of(const struct ethosgen_depthwise *layer)
{
    return vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)layer->line_bytes);
}

static void spread_padding(const struct piece *piece, const struct ethosgen_depthwise *layer)
{
    uint16x8_t lines = lines_of(layer);
    int16x8_t values = vdupq_n_s16((int16_t)layer->zero_point);

    for (int32_t channel = 0; channel < piece->channels; channel += LANES / 2) {
        int8_t *to = piece->to + channel * layer->line_bytes;

        for (int32_t left = piece->columns; left > 0; left--, to += layer->height) {
            vstrbq_scatter_offset_s16(to, lines, values);
        }
    }
}

static void spread_copies(const struct piece *piece, const struct ethosgen_depthwise *layer)
{
    uint16x8_t lines = lines_of(layer);

    for (int32_t channel = 0; channel < piece->channels; channel += LANES / 2) {
        mve_pred16_t inside = vctp16q((uint32_t)(piece->channels - channel));
        int8_t *to = piece->to + channel * layer->line_bytes;
        const int8_t *from = piece->from;
        uint16_t sources[LANES / 2];

        for (int32_t lane = 0; lane < LANES / 2; lane++) {
            sources[lane] = (uint16_t)((piece->copy + channel + lane) / layer->copies);
        }
        uint16x8_t offsets = vldrhq_u16(sources);

        for (int32_t left = piece->columns; left > 0; left--, to += layer->height) {
            vstrbq_scatter_offset_s16(to, lines, vldrbq_gather_offset_z_s16(from, offsets, inside));
            from += piece->step;
        }
    }
}

/* Not inline, since it needs almost all registers. */
static __attribute__((noinline)) void spread(const struct piece *piece,
                                             const struct ethosgen_depthwise *layer, int32_t rows)
{
    int32_t height = layer->height, step = piece->step, columns = piece->columns;
    int32_t from_step = UNROLLED * step, to_step = UNROLLED * height;
    uint16x8_t line0 = lines_of(layer), line1 = vaddq_n_u16(line0, (uint16_t)height);
    uint16x8_t line2 = vaddq_n_u16(line1, (uint16_t)height);
    uint16x8_t line3 = vaddq_n_u16(line2, (uint16_t)height);

    for (int32_t channel = 0; channel < piece->channels; channel += LANES / 2) {
        uint32_t inside = vctp16q((uint32_t)(piece->channels - channel));
        const int8_t *row_from = piece->from + channel;
        int8_t *row_to = piece->to + channel * layer->line_bytes;

        for (int32_t row = rows; row > 0; row--) {
            const int8_t *from = row_from, *from1 = from + step, *from2 = from1 + step;
            const int8_t *from3 = from2 + step;
            register int32_t times __asm("lr") = columns >> 2;
            int8_t *to = row_to++;

            __asm volatile("vmsr p0, %[inside]\n\t"
                           "wls lr, lr, 2f\n"
                           "1:\n\t"
                           "vpstttt\n\t"
                           "vldrbt.s16 q0, [%[from]]\n\t"
                           "vldrbt.s16 q1, [%[from1]]\n\t"
                           "vldrbt.s16 q2, [%[from2]]\n\t"
                           "vldrbt.s16 q3, [%[from3]]\n\t"
                           "vstrb.16 q0, [%[to], %q[line0]]\n\t"
                           "add %[from], %[from_step]\n\t"
                           "vstrb.16 q1, [%[to], %q[line1]]\n\t"
                           "add %[from1], %[from_step]\n\t"
                           "vstrb.16 q2, [%[to], %q[line2]]\n\t"
                           "add %[from2], %[from_step]\n\t"
                           "vstrb.16 q3, [%[to], %q[line3]]\n\t"
                           "add %[from3], %[from_step]\n\t"
                           "add %[to], %[to_step]\n\t"
                           "le lr, 1b\n"
                           "2:"
                           : [to] "+r"(to), [from] "+l"(from), [from1] "+l"(from1),
                             [from2] "+l"(from2), [from3] "+l"(from3), "+r"(times)
                           : [from_step] "r"(from_step), [to_step] "r"(to_step),
                             [inside] "r"(inside), [line0] "w"(line0), [line1] "w"(line1),
                             [line2] "w"(line2), [line3] "w"(line3)
                           : "q0", "q1", "q2", "q3", "memory");
            for (int32_t left = columns & (UNROLLED - 1); left > 0; left--) {
                vstrbq_scatter_offset_s16(to, line0, vldrbq_z_s16(from, (mve_pred16_t)inside));
                to += height;
                from += step;
            }
            row_from += piece->row_step;
        }
    }
}

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
    register int32_t pixels __asm("lr") = strip->pixels

/* Compute outputs of 4 channels whose windows fit in one vector; not inline as `spread`. */
static __attribute__((noinline)) void run_one(const struct strip *strip, int32_t group,
                                              const struct ethosgen_depthwise *layer)
{
    const int8_t *weights = strip->weights + group * LANES;
    const int32_t *scales = strip->scales + group * (SCALES / GROUP);
    int32_t line_bytes = layer->line_bytes, step = layer->along.output_step * layer->phases;
    int32_t zero_point = layer->output.zero_point;
    int8x16_t weight0 = vldrbq_s8(weights), weight1 = vldrbq_s8(weights + LANES);
    int8x16_t weight2 = vldrbq_s8(weights + 2 * LANES), weight3 = vldrbq_s8(weights + 3 * LANES);
    int32x4_t mantissa = vldrwq_s32(scales + GROUP), shift = vldrwq_s32(scales + 2 * GROUP);
    const int8_t *lines = strip->lines + group * line_bytes;
    int8_t *outputs = strip->output + group;

#define CLOBBERED "q5"
    for (int32_t row = strip->rows; row > 0; row--) {
        ROW;

        switch (layer->window_step) {
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

/* The same for windows that need two vectors. */
static __attribute__((noinline)) void run_two(const struct strip *strip, int32_t group,
                                              const struct ethosgen_depthwise *layer)
{
    const int8_t *weights = strip->weights + group * 2 * LANES;
    const int32_t *scales = strip->scales + group * (SCALES / GROUP);
    int32_t line_bytes = layer->line_bytes, step = layer->along.output_step * layer->phases;
    int32_t zero_point = layer->output.zero_point;
    int32x4_t bias = vldrwq_s32(scales), mantissa = vldrwq_s32(scales + GROUP);
    int32x4_t shift = vldrwq_s32(scales + 2 * GROUP);
    const int8_t *lines = strip->lines + group * line_bytes;
    int8_t *outputs = strip->output + group;

#define CLOBBERED "q0", "q1", "q2", "q5"
    for (int32_t row = strip->rows; row > 0; row--) {
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

/* Compute rows of outputs of up to 4 channels, for windows of any size. */
static void run_any(const struct strip *strip, int32_t group,
                    const struct ethosgen_depthwise *layer)
{
    const int8_t *weights = strip->weights + group * layer->vectors * LANES;
    const int32_t *scales = strip->scales + group * (SCALES / GROUP);
    int32_t step = layer->along.output_step * layer->phases;
    int32x4_t bias = vldrwq_s32(scales), mantissa = vldrwq_s32(scales + GROUP);
    int32x4_t shift = vldrwq_s32(scales + 2 * GROUP);
    mve_pred16_t inside = vctp32q((uint32_t)(strip->channels - group));

    for (int32_t row = 0; row < strip->rows; row++) {
        const int8_t *line = strip->lines + group * layer->line_bytes + row * layer->across.stride;
        int8_t *output = strip->output + group + row * layer->across.output_step;

        for (int32_t left = strip->pixels; left > 0; left--) {
            int32x4_t sums = vaddq_s32(sums_of(line, weights, layer), bias);
            int32x4_t values = vaddq_n_s32(ethosgen_requantize_x4(sums, mantissa, shift),
                                           layer->output.zero_point);

            values = vminq_s32(vmaxq_s32(values, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
            vstrbq_p_s32(output, values, inside);
            output += step;
            line += layer->window_step;
        }
    }
}

static inline void run(const struct strip *strip, int32_t group,
                       const struct ethosgen_depthwise *layer)
{
    bool is_whole = strip->channels - group >= GROUP;

    if (layer->vectors == 1 && is_whole) {
        run_one(strip, group, layer);
    } else if (layer->vectors == 2 && is_whole) {
        run_two(strip, group, layer);
    } else {
        run_any(strip, group, layer);
    }
}
/*
 * Compute a few outputs from the input in place: windows are one row, inside the input. The weights of
 * 4 channels are gathered, tap by tap.
 */
static void run_in_place(int8_t *output, const int8_t *input, const struct strip *strip,
                         const struct ethosgen_depthwise *layer)
{
    const int32_t tap_step = layer->along.dilation * layer->along.input_step;
    const int32_t *scales = strip->scales;
    const int8_t *weights = strip->weights;
    uint32x4_t lanes = vmulq_n_u32(vidupq_n_u32(0, 1), LANES);

    for (int32_t channel = 0; channel < layer->channels; channel += GROUP, scales += SCALES) {
        mve_pred16_t inside = vctp32q((uint32_t)(layer->channels - channel));
        const int8_t *from = input + channel;
        int32x4_t sums = vldrwq_s32(scales);

        for (int32_t left = layer->taps; left > 0; weights += GROUP * LANES, left -= LANES) {
            const int8_t *weight = weights;

            for (int32_t tap = left < LANES ? left : LANES; tap > 0; tap--) {
                int32x4_t values = vldrbq_z_s32(from, inside);

                sums = vaddq_s32(sums,
                                 vmulq_s32(values, vldrbq_gather_offset_s32(weight, lanes)));
                weight++;
                from += tap_step;
            }
        }
        int32x4_t values = ethosgen_requantize_x4(sums, vldrwq_s32(scales + GROUP),
                                                  vldrwq_s32(scales + 2 * GROUP));

        values = vaddq_n_s32(values, layer->output.zero_point);
        values = vminq_s32(vmaxq_s32(values, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
        vstrbq_p_s32(output + channel, values, inside);
    }
}

static inline bool goes_in_place(const struct ethosgen_depthwise *layer)
{
    return layer->is_in_place != 0;
}
#else
static inline void fill(int8_t *to, int32_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) {
        to[i] = (int8_t)value;
    }
}

/* `run` has limited the outputs. */
static inline void limit(int8_t *output, int32_t bytes, const struct ethosgen_output *to)
{
    (void)output, (void)bytes, (void)to;
}

static void spread_padding(const struct piece *piece, const struct ethosgen_depthwise *layer)
{
    for (int32_t lane = 0; lane < piece->channels; lane++) {
        int8_t *to = piece->to + lane * layer->line_bytes;

        for (int32_t i = 0; i < piece->columns; i++) {
            to[i * layer->height] = (int8_t)layer->zero_point;
        }
    }
}

static void spread_copies(const struct piece *piece, const struct ethosgen_depthwise *layer)
{
    for (int32_t lane = 0; lane < piece->channels; lane++) {
        const int8_t *from = piece->from + (piece->copy + lane) / layer->copies;
        int8_t *to = piece->to + lane * layer->line_bytes;

        for (int32_t i = 0; i < piece->columns; i++, to += layer->height, from += piece->step) {
            *to = *from;
        }
    }
}

static inline void spread(const struct piece *piece, const struct ethosgen_depthwise *layer,
                          int32_t rows)
{
    struct piece one = *piece;

    for (; rows > 0; rows--, one.to++, one.from += piece->row_step) {
        spread_copies(&one, layer);
    }
}

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

/* Compute rows of outputs of up to 4 channels. */
static void run(const struct strip *strip, int32_t group, const struct ethosgen_depthwise *layer)
{
    int32_t left = strip->channels - group, channels = left < GROUP ? left : GROUP;
    int32_t step = layer->along.output_step * layer->phases;
    const int8_t *group_weights = strip->weights + group * layer->vectors * LANES;

    for (int32_t i = 0; i < strip->rows * channels; i++) {
        int32_t row = i / channels, lane = i % channels;
        const int8_t *window = strip->lines + (group + lane) * layer->line_bytes;
        const int8_t *weights = group_weights + lane * LANES;
        const int32_t *scales = strip->scales + group * (SCALES / GROUP) + lane;
        int8_t *output = strip->output + group + lane + row * layer->across.output_step;

        window += row * layer->across.stride;
        for (int32_t pixel = 0; pixel < strip->pixels; pixel++, window += layer->window_step) {
            int32_t sum = scales[0] + product(window, weights, layer->taps);

            output[pixel * step] = ethosgen_clamp(
                ethosgen_requantize(sum, scales[GROUP], scales[2 * GROUP]), &layer->output);
        }
    }
}

static inline bool goes_in_place(const struct ethosgen_depthwise *layer)
{
    (void)layer;
    return false;
}

static inline void run_in_place(int8_t *output, const int8_t *input, const struct strip *strip,
                                const struct ethosgen_depthwise *layer)
{
    (void)output, (void)input, (void)strip, (void)layer;
}
#endif

/* The columns of the lines for some outputs of a row. */
struct columns {
    int32_t origin; /* the input's column of the first one; it may be padding */
    int32_t first;  /* the first column inside the input */
    int32_t count;  /* columns inside the input */
};

/* Return x / y, rounded up, or 0 if x is negative. */
static inline int32_t up(int32_t x, int32_t y)
{
    return x <= 0 ? 0 : (x + y - 1) / y;
}

/* Return the columns for outputs from number `start` of a phase on. */
static struct columns columns_of(int32_t phase, int32_t start,
                                 const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    int32_t step = layer->phases * along->stride, origin = phase * along->stride - along->padding;
    struct columns columns = {.origin = origin + start * step};
    int32_t end = up(along->size - columns.origin, along->dilation);

    columns.first = up(-columns.origin, along->dilation);
    end = end < layer->columns ? end : layer->columns;
    columns.count = end > columns.first ? end - columns.first : 0;
    return columns;
}

/* Copy `rows` rows of the input, from row `row` on, to the lines. */
static void fill_lines(struct piece piece, int32_t row, int32_t rows,
                       const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *across = &layer->across;
    int32_t above = up(-row, across->dilation), end = up(across->size - row, across->dilation);

    end = end < rows ? end : rows;
    for (int32_t i = 0, count; i < rows; i += count) {
        count = 1;
        if (i < above || i >= end) {
            spread_padding(&piece, layer);
        } else if (layer->copies > 1) {
            spread_copies(&piece, layer);
        } else {
            count = end - i;
            spread(&piece, layer, count);
        }
        piece.from += count * piece.row_step;
        piece.to += count;
    }
}

/* Compute all outputs of a block of channels for the columns in the lines. */
static void run_block(struct strip strip, struct piece piece,
                      const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *across = &layer->across;
    int32_t row = -across->padding, rows_step = layer->shared * across->stride;

    piece.from += row * across->input_step;
    for (int32_t left = across->outputs; left > 0; left -= layer->shared, row += rows_step) {
        strip.rows = left < layer->shared ? left : layer->shared;
        fill_lines(piece, row, (strip.rows - 1) * across->stride + layer->rows, layer);
        for (int32_t group = 0; group < strip.channels; group += GROUP) {
            run(&strip, group, layer);
        }
        strip.output += strip.rows * across->output_step;
        piece.from += rows_step * across->input_step;
    }
}

/* Compute outputs of a phase, from number `start` on in each row. */
static void run_piece(int8_t *output, const int8_t *input, struct strip strip, int8_t *lines,
                      int32_t phase, int32_t start, const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    struct columns columns = columns_of(phase, start, layer);
    int32_t first = columns.origin + columns.first * along->dilation;
    struct piece piece = {
        .to = lines + columns.first * layer->height,
        .step = along->dilation * along->input_step,
        .row_step = layer->across.dilation * layer->across.input_step,
        .columns = columns.count,
    };

    if (columns.count < layer->columns) {
        fill(lines, layer->zero_point, layer->block * layer->line_bytes);
    }
    strip.output = output + (phase + start * layer->phases) * along->output_step;
    for (int32_t channel = 0; channel < layer->channels; channel += layer->block) {
        int32_t left = layer->channels - channel;

        strip.channels = piece.channels = left < layer->block ? left : layer->block;
        piece.from = input + first * along->input_step + channel / layer->copies;
        piece.copy = channel % layer->copies;
        run_block(strip, piece, layer);
        strip.output += layer->block;
        strip.weights += layer->block * layer->vectors * LANES;
        strip.scales += layer->block * (SCALES / GROUP);
    }
}

static void run_all_in_place(int8_t *output, const int8_t *input, const struct strip *strip,
                             const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along, *across = &layer->across;

    for (int32_t y = 0; y < across->outputs; y++) {
        for (int32_t x = 0; x < along->outputs; x++) {
            run_in_place(output + y * across->output_step + x * along->output_step,
                         input + y * across->stride * across->input_step
                             + x * along->stride * along->input_step,
                         strip, layer);
        }
    }
}

void ethosgen_depthwise_s8(int8_t *output, const int8_t *input, int8_t *lines,
                           const int8_t *weights, const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_depthwise *layer = (const struct ethosgen_depthwise *)shape;
    int32_t outputs = layer->along.outputs;
    struct strip strip = {.lines = lines, .weights = weights, .scales = scales};

    if (goes_in_place(layer)) {
        run_all_in_place(output, input, &strip, layer);
    }
    for (int32_t phase = 0; phase < layer->phases && !goes_in_place(layer); phase++) {
        int32_t pixels = up(outputs - phase, layer->phases);

        for (int32_t start = 0; start < pixels; start += layer->pixels) {
            int32_t left = pixels - start;

            strip.pixels = left < layer->pixels ? left : layer->pixels;
            run_piece(output, input, strip, lines, phase, start, layer);
        }
    }
    if (layer->output.low > INT8_MIN || layer->output.high < INT8_MAX) {
        limit(output, layer->across.outputs * outputs * layer->channels, &layer->output);
    }
}
