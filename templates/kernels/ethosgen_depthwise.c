/*
 * Depthwise convolutions, a block of channels at a time. See ethosgen_kernels.h.
 *
 * The input's pixels under a row of windows are copied channel by channel, so that each window is one
 * piece of memory: one vector of it times one of weights are 16 products. ethosgen_depthwise_loops.c
 * has the products.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"
#include "ethosgen_depthwise.h"

enum { UNROLLED = 4 };

#if ETHOSGEN_MVE
/* The places of eight channels' lines. */
static inline uint16x8_t lines_of(const struct ethosgen_depthwise *layer)
{
    return vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)layer->line_bytes);
}

void ethosgen_spread_copies(const struct ethosgen_piece *piece,
                            const struct ethosgen_depthwise *layer)
{
    uint16x8_t lines = lines_of(layer);

    for (int32_t channel = 0; channel < piece->channels; channel += LANES / 2) {
        mve_pred16_t inside = vctp16q((uint32_t)(piece->channels - channel));
        const int8_t *row_from = piece->from;
        int8_t *row_to = piece->to + channel * layer->line_bytes;
        uint16_t sources[LANES / 2];

        for (int32_t lane = 0; lane < LANES / 2; lane++) {
            sources[lane] = (uint16_t)((piece->copy + channel + lane) / layer->copies);
        }
        uint16x8_t offsets = vldrhq_u16(sources);

        for (int32_t row = piece->rows; row > 0; row--, row_from += piece->row_step) {
            const int8_t *from = row_from;
            int8_t *to = row_to++;

            for (int32_t left = piece->columns; left > 0; left--, to += layer->height) {
                vstrbq_scatter_offset_s16(to, lines,
                                          vldrbq_gather_offset_z_s16(from, offsets, inside));
                from += piece->step;
            }
        }
    }
}

void ethosgen_spread(const struct ethosgen_piece *piece, const struct ethosgen_depthwise *layer)
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

        for (int32_t row = piece->rows; row > 0; row--) {
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
                           : "q0", "q1", "q2", "q3", "memory" ETHOSGEN_P0);
            for (int32_t left = columns & (UNROLLED - 1); left > 0; left--) {
                vstrbq_scatter_offset_s16(to, line0, vldrbq_z_s16(from, (mve_pred16_t)inside));
                to += height;
                from += step;
            }
            row_from += piece->row_step;
        }
    }
}
#else
void ethosgen_spread_copies(const struct ethosgen_piece *piece,
                            const struct ethosgen_depthwise *layer)
{
    for (int32_t lane = 0; lane < piece->channels; lane++) {
        const int8_t *from = piece->from + (piece->copy + lane) / layer->copies;
        int8_t *to = piece->to + lane * layer->line_bytes;

        for (int32_t row = 0; row < piece->rows; row++, from += piece->row_step, to++) {
            for (int32_t i = 0; i < piece->columns; i++) {
                to[i * layer->height] = from[i * piece->step];
            }
        }
    }
}

void ethosgen_spread(const struct ethosgen_piece *piece, const struct ethosgen_depthwise *layer)
{
    ethosgen_spread_copies(piece, layer);
}
#endif

static inline int32_t least(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

/* Return x / y, rounded up, or 0 if x is negative. Not inline, to save code; so is pad_lines. */
static __attribute__((noinline)) int32_t up(int32_t x, int32_t y)
{
    return x <= 0 ? 0 : (x + y - 1) / y;
}

static __attribute__((noinline)) void pad_lines(const struct ethosgen_lines *lines,
                                                const struct ethosgen_depthwise *layer)
{
    ethosgen_fill(lines->first, layer->zero_point, layer->block * layer->line_bytes);
}

/* Copy the rows of the input from row `row` on to the lines; `input` and `to` are those of row 0. */
static inline void fill_lines(int8_t *to, const int8_t *input, int32_t row,
                              struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *across = &layer->across;
    int32_t rows = (lines->windows.rows - 1) * across->stride + layer->rows;
    int32_t above = up(-row, across->dilation), end = up(across->size - row, across->dilation);

    if (above > 0 || end < rows) {
        pad_lines(lines, layer);
    }
    lines->piece.to = to + above;
    lines->piece.from = input + (row + above * across->dilation) * across->input_step;
    lines->piece.rows = least(end, rows) - above;
    lines->copy(&lines->piece, layer);
}

/* Compute 4 channels at a time, the last 4 together. `position` is that of the weights. */
static inline void run_groups(int8_t *output, int32_t position, struct ethosgen_lines *lines,
                              const struct ethosgen_depthwise *layer)
{
    struct ethosgen_windows *windows = &lines->windows;
    int32_t last = lines->piece.channels - GROUP;

    windows->weights = lines->weights + position * layer->vectors * LANES;
    windows->scales = lines->scales + position * (SCALES / GROUP);
    for (int32_t group = 0; group - GROUP < last; group += GROUP) {
        int32_t first = last < 0 ? 0 : least(group, last);

        windows->output = output + first;
        windows->lines = lines->first + first * layer->line_bytes;
        lines->loop(windows, layer);
        windows->weights += layer->vectors * LANES * GROUP;
        windows->scales += SCALES;
    }
}

/* Compute all outputs of a block of channels for the columns in the lines. */
static inline void run_block(int8_t *output, int8_t *to, const int8_t *input, int32_t position,
                             struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    int32_t row = -layer->across.padding;

    for (int32_t left = layer->across.outputs; left > 0; left -= layer->shared) {
        lines->windows.rows = least(left, layer->shared);
        fill_lines(to, input, row, lines, layer);
        run_groups(output, position, lines, layer);
        output += layer->shared * layer->across.output_step;
        row += layer->shared * layer->across.stride;
    }
}

/* Compute some outputs of each row, of which the input's column `column` is the first. */
static inline void run_piece(int8_t *output, const int8_t *input, int32_t column,
                             struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    struct ethosgen_piece *piece = &lines->piece;
    int32_t first = up(-column, along->dilation);
    int32_t end = least(up(along->size - column, along->dilation), layer->columns);

    piece->columns = end > first ? end - first : 0;
    if (piece->columns < layer->columns) {
        pad_lines(lines, layer);
    }
    input += (column + first * along->dilation) * along->input_step;
    for (int32_t position = 0; position < layer->channels; position += layer->block) {
        int32_t last = layer->channels - GROUP;
        int32_t channel = last < 0 ? 0 : least(position, last);

        piece->channels = least(layer->channels - channel, layer->block);
        piece->copy = channel % layer->copies;
        run_block(output + channel, lines->first + first * layer->height,
                  input + channel / layer->copies, position, lines, layer);
    }
}

void ethosgen_run_lines(int8_t *output, const int8_t *input, struct ethosgen_lines *lines,
                        const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    int32_t phases = layer->phases;

    lines->piece.step = along->dilation * along->input_step;
    lines->piece.row_step = layer->across.dilation * layer->across.input_step;
    for (int32_t phase = 0; phase < phases; phase++) {
        for (int32_t start = phase; start < along->outputs; start += layer->pixels * phases) {
            lines->windows.pixels = least(up(along->outputs - start, phases), layer->pixels);
            run_piece(output + start * along->output_step, input,
                      start * along->stride - along->padding, lines, layer);
        }
    }
}
