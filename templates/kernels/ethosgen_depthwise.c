/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions, a block of channels at a time. See ethosgen_kernels.h.
 *
 * The input's pixels under a row of windows are copied channel by channel, so that each window is
 * contiguous: one vector of it times one of weights are 16 products. ethosgen_depthwise_loops.c computes
 * the products.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"
#include "ethosgen_depthwise.h"

#include <stdbool.h>

enum { UNROLLED = 4, HEIGHT = 4, HALF = LANES / 2 };

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

    for (int32_t channel = 0; channel < piece->channels; channel += HALF) {
        mve_pred16_t inside = vctp16q((uint32_t)piece->channels - (uint32_t)channel);
        const int8_t *row_from = piece->from;
        int8_t *row_to = piece->to + channel * layer->line_bytes;
        uint16_t sources[HALF];

        for (int32_t lane = 0; lane < HALF; lane++) {
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

/* Copy two rows of 8 channels, the second one `row_step` bytes after the first, as 16-bit numbers. */
static inline void spread_two(int8_t *to, const int8_t *from, uint32_t inside, uint16x8_t lines,
                              const struct ethosgen_piece *piece, int32_t height)
{
    register int32_t times __asm("lr") = piece->columns;
    const int8_t *next = from + piece->row_step;

    /* q0, q1: vectors of both rows. lr: columns left, which are `times`. */
    __asm volatile("vmsr p0, %[inside]\n\t"
                   "wls lr, lr, 2f\n"
                   "1:\n\t"
                   "vpstt\n\t"
                   "vldrbt.u16 q1, [%[next]]\n\t"
                   "vldrbt.u16 q0, [%[from]]\n\t"
                   "add %[next], %[step]\n\t"
                   "vsli.16 q0, q1, #8\n\t"
                   "add %[from], %[step]\n\t"
                   "vstrh.16 q0, [%[to], %q[lines]]\n\t"
                   "add %[to], %[height]\n\t"
                   "le lr, 1b\n"
                   "2:"
                   : [to] "+r"(to), [from] "+l"(from), [next] "+l"(next), "+r"(times)
                   : [step] "r"(piece->step), [height] "r"(height), [inside] "r"(inside),
                     [lines] "w"(lines)
                   : "q0", "q1", "memory" ETHOSGEN_P0);
}

/* Copy a row of 8 channels. */
static inline void spread_one(int8_t *to, const int8_t *from, uint32_t inside, uint16x8_t lines,
                              const struct ethosgen_piece *piece, int32_t height)
{
    register int32_t times __asm("lr") = piece->columns;

    /* q0: a vector. lr: columns left, which are `times`. */
    __asm volatile("vmsr p0, %[inside]\n\t"
                   "wls lr, lr, 2f\n"
                   "1:\n\t"
                   "vpst\n\t"
                   "vldrbt.u16 q0, [%[from]]\n\t"
                   "add %[from], %[step]\n\t"
                   "vstrb.16 q0, [%[to], %q[lines]]\n\t"
                   "add %[to], %[height]\n\t"
                   "le lr, 1b\n"
                   "2:"
                   : [to] "+r"(to), [from] "+l"(from), "+r"(times)
                   : [step] "r"(piece->step), [height] "r"(height), [inside] "r"(inside),
                     [lines] "w"(lines)
                   : "q0", "memory" ETHOSGEN_P0);
}

/* Copy rows to lines whose columns are pairs of rows; rows before and behind all pairs are single. */
void ethosgen_spread_pairs(const struct ethosgen_piece *piece,
                           const struct ethosgen_depthwise *layer)
{
    uint16x8_t lines = lines_of(layer);

    for (int32_t channel = 0; channel < piece->channels; channel += HALF) {
        uint32_t inside = vctp16q((uint32_t)piece->channels - (uint32_t)channel);
        const int8_t *from = piece->from + channel;
        int8_t *to = piece->to + channel * layer->line_bytes;
        int32_t rows = piece->rows;

        while (rows > 0) {
            int32_t taken = (uintptr_t)to % 2u == 0u && rows > 1 ? 2 : 1;

            if (taken == 2) {
                spread_two(to, from, inside, lines, piece, layer->height);
            } else {
                spread_one(to, from, inside, lines, piece, layer->height);
            }
            from = &from[taken * piece->row_step];
            to = &to[taken];
            rows -= taken;
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

    for (int32_t channel = 0; channel < piece->channels; channel += HALF) {
        uint32_t inside = vctp16q((uint32_t)piece->channels - (uint32_t)channel);
        const int8_t *row_from = piece->from + channel;
        int8_t *row_to = piece->to + channel * layer->line_bytes;

        for (int32_t row = piece->rows; row > 0; row--) {
            const int8_t *from = row_from, *from1 = from + step, *from2 = from1 + step;
            const int8_t *from3 = from2 + step;
            register int32_t times __asm("lr") = columns >> 2;
            int8_t *to = row_to++;

            /* q0 to q3: vectors of 4 pixels. lr: rounds left, which are `times`. */
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
                to = &to[height];
                from = &from[step];
            }
            row_from += piece->row_step;
        }
    }
}
/*
 * Four rows of vectors, each of up to 16 channels, or of 8 channels of two pixels; and the lines
 * that get each column's 4 bytes as a word.
 */
struct words {
    uint32_t from[HEIGHT]; /* addresses */
    uint32_t step[HEIGHT]; /* 0 if the row is a vector of padding */
    int8_t *to;
    int32_t line_bytes;
    int32_t columns;
    uint32_t inside; /* predicate: the bytes that exist */
    int32_t high;    /* bytes from the lines of a vector's first half to those of the second half */
    int32_t advance; /* bytes from a vector's words to those of the next */
};

/*
 * Interleave the rows of each column on the stack, and scatter the words from there.
 *
 * r0 to r3, r4 to r7: rows, their steps. r8: the stack. r9, r10: lines of both halves; if the second has
 * none, the first's, which are written last. r11: advance. q4, q5: places of lines.
 *
 * q0 to q3: vectors of the rows, then words. lr: columns left. r12: the predicate.
 */
static ETHOSGEN_ASSEMBLY void copy_words(const struct words *words __attribute__((unused)))
{
    __asm volatile(
        "push {r3-r11, lr}\n\t"
        "vpush {d8-d11}\n\t"
        "sub sp, #64\n\t"
        "ldrd r9, r10, [r0, #32]\n\t"
        "ldrd lr, r12, [r0, #40]\n\t"
        "vmsr p0, r12\n\t"
        "movs r2, #0\n\t"
        "vidup.u32 q4, r2, #1\n\t"
        "mul r2, r10, r2\n\t"
        "vmul.i32 q4, q4, r10\n\t"
        "vadd.i32 q5, q4, r2\n\t"
        "ldrd r10, r11, [r0, #48]\n\t"
        "add r10, r9\n\t"
        "mov r8, sp\n\t"
        "ldm r0, {r0-r7}\n\t"
        "wls lr, lr, 2f\n"
        "1:\n\t"
        "vpstttt\n\t"
        "vldrbt.8 q0, [r0]\n\t"
        "vldrbt.8 q1, [r1]\n\t"
        "vldrbt.8 q2, [r2]\n\t"
        "vldrbt.8 q3, [r3]\n\t"
        "add r0, r4\n\t"
        "vst40.8 {q0, q1, q2, q3}, [r8]\n\t"
        "add r1, r5\n\t"
        "vst41.8 {q0, q1, q2, q3}, [r8]\n\t"
        "add r2, r6\n\t"
        "vst42.8 {q0, q1, q2, q3}, [r8]\n\t"
        "add r3, r7\n\t"
        "vst43.8 {q0, q1, q2, q3}, [r8]\n\t"
        "vldrw.32 q2, [sp, #32]\n\t"
        "vldrw.32 q3, [sp, #48]\n\t"
        "vstrw.32 q2, [r10, q4]\n\t"
        "vldrw.32 q0, [sp]\n\t"
        "vstrw.32 q3, [r10, q5]\n\t"
        "add r10, r11\n\t"
        "vldrw.32 q1, [sp, #16]\n\t"
        "vstrw.32 q0, [r9, q4]\n\t"
        "vstrw.32 q1, [r9, q5]\n\t"
        "add r9, r11\n\t"
        "le lr, 1b\n"
        "2:\n\t"
        "add sp, #64\n\t"
        "vpop {d8-d11}\n\t"
        "pop {r3-r11, pc}");
}

ETHOSGEN_RARE void ethosgen_spread_words(const struct ethosgen_piece *piece,
                                         const struct ethosgen_depthwise *layer)
{
    uint32_t above = (uintptr_t)piece->to % HEIGHT, rows = piece->rows < 0 ? 0u : (uint32_t)piece->rows;
    int are_two =
        (piece->channels == HALF && piece->step == HALF && piece->columns % 2 == 0) ? 1 : 0;
    uint32x4_t row = vsubq_n_u32(vidupq_n_u32(0, 1), above), none = vdupq_n_u32(0);
    uint32x4_t from = vaddq_n_u32(vmulq_n_u32(row, (uint32_t)piece->row_step),
                                  (uint32_t)(uintptr_t)piece->from);
    mve_pred16_t is_there = vcmphiq_u32(vdupq_n_u32(rows), row);
    uint32x4_t ahead = vdupq_m_n_u32(none, LANES, is_there);
    int8_t padding[LANES];
    struct words words;

    vstrbq_s8(padding, vdupq_n_s8((int8_t)layer->zero_point));
    from = vpselq_u32(from, vdupq_n_u32((uint32_t)(uintptr_t)padding), is_there);
    vstrwq_u32(words.step, vdupq_m_n_u32(none, (uint32_t)piece->step << are_two, is_there));
    words.to = piece->to - above;
    words.line_bytes = layer->line_bytes;
    words.columns = piece->columns >> are_two;
    words.advance = HEIGHT << are_two;
    for (int32_t left = are_two != 0 ? LANES : piece->channels; left > 0; left -= LANES) {
        vstrwq_u32(words.from, from);
        words.inside = vctp8q((uint32_t)left);
        words.high = are_two != 0 ? HEIGHT : left > HALF ? HALF * layer->line_bytes : 0;
        copy_words(&words);
        words.to += LANES * layer->line_bytes;
        from = vaddq_u32(from, ahead);
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

void ethosgen_spread_pairs(const struct ethosgen_piece *piece,
                           const struct ethosgen_depthwise *layer)
{
    ethosgen_spread_copies(piece, layer);
}

void ethosgen_spread_words(const struct ethosgen_piece *piece,
                           const struct ethosgen_depthwise *layer)
{
    int32_t above = (int32_t)((uintptr_t)piece->to % HEIGHT);

    for (int32_t i = 0; i < piece->channels * HEIGHT; i++) {
        int32_t row = i % HEIGHT - above;
        const int8_t *from = piece->from + row * piece->row_step + i / HEIGHT;
        int8_t *to = piece->to + i / HEIGHT * layer->line_bytes + row;

        for (int32_t column = 0; column < piece->columns; column++, to += HEIGHT) {
            bool is_inside = row >= 0 && row < piece->rows;

            *to = is_inside ? from[column * piece->step] : (int8_t)layer->zero_point;
        }
    }
}
#endif

void ethosgen_spread_shared(const struct ethosgen_piece *piece,
                            const struct ethosgen_depthwise *layer)
{
    struct ethosgen_piece input = *piece;
    struct ethosgen_depthwise lines = *layer;

    input.channels /= GROUP;
    lines.line_bytes *= GROUP;
    lines.copies /= GROUP;
    if (lines.copies == 1) {
        ethosgen_spread(&input, &lines);
    } else {
        ethosgen_spread_copies(&input, &lines);
    }
}

static inline int32_t least(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

/* Return x / y, rounded up, or 0 if x is negative. Not inline, to save code, like pad_lines. */
static __attribute__((noinline)) int32_t up(int32_t x, int32_t y)
{
    return x <= 0 ? 0 : (x + y - 1) / y;
}

static __attribute__((noinline)) void pad_lines(const struct ethosgen_lines *lines, int32_t more,
                                                const struct ethosgen_depthwise *layer)
{
    ethosgen_fill(lines->first, layer->zero_point, layer->block * layer->line_bytes + more);
}

/* Copy the rows under some rows of outputs to the lines; `input` and `to` are at row 0. */
static inline void fill_lines(int8_t *to, const int8_t *input, int32_t output_row,
                              struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *across = &layer->across;
    int32_t row = output_row * across->stride - across->padding;
    int32_t rows = (lines->rows - 1) * across->stride + layer->rows;
    int32_t above = up(-row, across->dilation), end = up(across->size - row, across->dilation);

    if (lines->needs_padding && (above > 0 || end < rows)) {
        pad_lines(lines, 0, layer);
    }
    lines->piece.to = to + above;
    lines->piece.from = input + (row + above * across->dilation) * across->input_step;
    lines->piece.rows = least(end, rows) - above;
    lines->copy(&lines->piece, layer);
}

/* Compute groups of 4 channels, the first at `channel`. `place` is that of its weights. */
static inline void run_groups(int8_t *output, int32_t channel, int32_t place, int32_t groups,
                              struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    struct ethosgen_windows *windows = &lines->windows;

    windows->weights = lines->weights + place * layer->vectors * LANES;
    windows->scales = lines->scales + place * (SCALES / GROUP);
    windows->lines = lines->first + channel * layer->line_bytes;
    windows->output = output + channel;
    windows->rows = lines->rows;
    windows->groups = groups;
    lines->loop(windows, layer);
}

/* Compute a block of channels, the last 4 together. `position` is the place of its weights. */
static inline void run_channels(int8_t *output, int32_t position, struct ethosgen_lines *lines,
                                const struct ethosgen_depthwise *layer)
{
    int32_t channels = lines->piece.channels;
    int32_t whole = channels < GROUP ? GROUP : channels & -GROUP;

    run_groups(output, 0, position, whole / GROUP, lines, layer);
    if (channels > whole) {
        run_groups(output, channels - GROUP, position + whole, 1, lines, layer);
    }
}

/*
 * Compute all outputs of a block of channels for the columns in the lines, from column `first` on. With
 * two sets of lines, the next rows are in one before the outputs of the other are written over them.
 */
static inline void run_block(int8_t *output, int32_t first, const int8_t *input, int32_t position,
                             struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    int32_t shared = layer->shared, outputs = layer->across.outputs;
    int32_t behind = layer->second != 0 ? shared : 0, filled = 0, used = 0;
    int8_t *set = lines->first;

    for (int32_t row = 0; row < outputs + behind; row += shared) {
        if (row < outputs) {
            lines->first = set + filled;
            lines->rows = least(outputs - row, shared);
            fill_lines(lines->first + first * layer->height, input, row, lines, layer);
            filled = layer->second - filled;
        }
        if (row >= behind) {
            lines->first = set + used;
            lines->rows = least(outputs + behind - row, shared);
            run_channels(output, position, lines, layer);
            output += shared * layer->across.output_step;
            used = layer->second - used;
        }
    }
    lines->first = set;
}

/* Compute some outputs of each row, the first at the input's column `column`. */
static inline void run_piece(int8_t *output, const int8_t *input, int32_t column,
                             struct ethosgen_lines *lines, const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    struct ethosgen_piece *piece = &lines->piece;
    int32_t first = up(-column, along->dilation);
    int32_t end = least(up(along->size - column, along->dilation), layer->columns);

    piece->columns = end > first ? end - first : 0;
    if (piece->columns < layer->columns) {
        pad_lines(lines, layer->second, layer);
    }
    input += (column + first * along->dilation) * along->input_step;
    for (int32_t position = 0; position < layer->channels; position += layer->block) {
        int32_t last = layer->channels - GROUP;
        int32_t channel = last < 0 ? 0 : least(position, last);

        piece->channels = least(layer->channels - channel, layer->block);
        piece->copy = channel % layer->copies;
        run_block(output + channel, first, input + channel / layer->copies, position, lines, layer);
    }
}

ETHOSGEN_RARE void ethosgen_run_lines(int8_t *output, const int8_t *input,
                                      struct ethosgen_lines *lines,
                                      const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along;
    struct ethosgen_windows *windows = &lines->windows;
    int32_t phases = layer->phases;

    windows->stride = layer->across.stride;
    windows->row_step = layer->across.output_step;
    windows->step = along->output_step * phases;
    windows->by = layer->window_step;
    windows->half = -2 * layer->output.zero_point - 1;
    windows->group_bytes = GROUP * layer->line_bytes;
    windows->weight_bytes = layer->vectors * LANES * GROUP;
    lines->piece.step = along->dilation * along->input_step;
    lines->piece.row_step = layer->across.dilation * layer->across.input_step;
    for (int32_t phase = 0; phase < phases; phase++) {
        for (int32_t start = phase; start < along->outputs; start += layer->pixels * phases) {
            windows->more = least(up(along->outputs - start, phases), layer->pixels) - 1;
            run_piece(output + start * along->output_step, input,
                      start * along->stride - along->padding, lines, layer);
        }
    }
}
