/*
 * Convolutions, a row of outputs at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum { LANES = 16 };

/* Pixels of one row of the input, and their places in the strip. */
struct piece {
    int8_t *to;
    const int8_t *from;
    int32_t to_step;   /* bytes from a pixel to the next */
    int32_t from_step;
    int32_t pixels;
    int32_t depth;
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

/* Copy up to 16 bytes of each pixel, two pixels at a time. */
static inline void copy_slice(int8_t *to, const int8_t *from, const struct piece *piece,
                              mve_pred16_t inside)
{
    int8_t *to1 = to + piece->to_step;
    const int8_t *from1 = from + piece->from_step;
    int32_t to_step = 2 * piece->to_step, from_step = 2 * piece->from_step;

    __asm volatile("vmsr p0, %[inside]\n\t"
                   "wls lr, %[times], 2f\n"
                   "1:\n\t"
                   "vpstttt\n\t"
                   "vldrbt.8 q0, [%[from]]\n\t"
                   "vldrbt.8 q1, [%[from1]]\n\t"
                   "vstrbt.8 q0, [%[to]]\n\t"
                   "vstrbt.8 q1, [%[to1]]\n\t"
                   "add %[from], %[from_step]\n\t"
                   "add %[from1], %[from_step]\n\t"
                   "add %[to], %[to_step]\n\t"
                   "add %[to1], %[to_step]\n\t"
                   "le lr, 1b\n"
                   "2:"
                   : [to] "+r"(to), [to1] "+r"(to1), [from] "+r"(from), [from1] "+r"(from1)
                   : [to_step] "r"(to_step), [from_step] "r"(from_step),
                     [times] "r"(piece->pixels >> 1), [inside] "r"((uint32_t)inside)
                   : "q0", "q1", "lr", "memory");
    if (piece->pixels & 1) {
        vstrbq_p_s8(to, vldrbq_z_s8(from, inside), inside);
    }
}

static void copy_pixels(const struct piece *piece)
{
    for (int32_t byte = 0; byte < piece->depth; byte += LANES) {
        copy_slice(piece->to + byte, piece->from + byte, piece,
                   vctp8q((uint32_t)(piece->depth - byte)));
    }
}
#else
static inline void fill(int8_t *to, int32_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) {
        to[i] = (int8_t)value;
    }
}

static void copy_pixels(const struct piece *piece)
{
    for (int32_t pixel = 0; pixel < piece->pixels; pixel++) {
        for (int32_t i = 0; i < piece->depth; i++) {
            piece->to[pixel * piece->to_step + i] = piece->from[pixel * piece->from_step + i];
        }
    }
}
#endif

static inline int32_t least(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

/* Return x / y, rounded up, or 0 if x is negative. */
static inline int32_t up(int32_t x, int32_t y)
{
    return x <= 0 ? 0 : (x + y - 1) / y;
}

/* Copy the rows under a row of windows to the strip; `origin` is the input's column of its first. */
static void fill_strip(int8_t *strip, const int8_t *input, int32_t row, int32_t origin,
                       const struct ethosgen_convolution *layer)
{
    const struct ethosgen_axis *along = &layer->along, *across = &layer->across;
    int32_t first = up(-origin, along->dilation);
    int32_t end = least(up(along->size - origin, along->dilation), layer->columns);
    struct piece piece = {
        .to_step = layer->height * layer->depth,
        .from_step = along->dilation * along->input_step,
        .pixels = end > first ? end - first : 0,
        .depth = layer->depth,
    };
    int32_t last = row + (layer->height - 1) * across->dilation;

    if (row < 0 || last >= across->size || piece.pixels < layer->columns) {
        fill(strip, layer->zero_point, layer->columns * piece.to_step);
    }
    piece.to = strip + first * piece.to_step;
    input += (origin + first * along->dilation) * along->input_step;
    for (; row <= last; row += across->dilation, piece.to += layer->depth) {
        if (row >= 0 && row < across->size) {
            piece.from = input + row * across->input_step;
            copy_pixels(&piece);
        }
    }
}

/* Compute outputs of a phase, from number `start` on in each row. */
static void run_piece(struct ethosgen_rows rows, const int8_t *input, int8_t *strip, int32_t origin,
                      const int8_t *weights, const int32_t *scales,
                      const struct ethosgen_convolution *layer)
{
    const struct ethosgen_axis *across = &layer->across;
    int32_t row = -across->padding;

    rows.first = strip;
    rows.bytes = layer->bytes;
    for (int32_t left = across->outputs; left > 0; left--, row += across->stride) {
        if (layer->is_in_place) {
            int32_t offset = row * across->input_step + origin * layer->along.input_step;

            rows.first = input + offset;
            rows.bytes = layer->bytes - offset;
        } else {
            fill_strip(strip, input, row, origin, layer);
        }
        ethosgen_rows_s8(&rows, weights, scales, &layer->matrix);
        rows.output += across->output_step;
    }
}

void ethosgen_convolution_s8(int8_t *output, const int8_t *input, int8_t *strip,
                             const int8_t *weights, const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_convolution *layer = (const struct ethosgen_convolution *)shape;
    const struct ethosgen_axis *along = &layer->along;
    struct ethosgen_rows rows = {
        .step = layer->window_step,
        .output_step = along->output_step * layer->phases,
    };

    for (int32_t phase = 0; phase < layer->phases; phase++) {
        for (int32_t start = phase; start < along->outputs; start += layer->pixels * layer->phases) {
            rows.count = least(up(along->outputs - start, layer->phases), layer->pixels);
            rows.output = output + start * along->output_step;
            run_piece(rows, input, strip, start * along->stride - along->padding, weights, scales,
                      layer);
        }
    }
}
