/*
 * The inner loops of operators on the CPU: int8, and int16 with int8 weights; 32-bit sums.
 *
 * Each has two versions with equal results: Helium (MVE) if the processor has it, otherwise plain C.
 * Weights and scales are packed in the order in which they are read; see ethosgen's
 * aot/packed/order.py. Zero points of inputs are folded into the biases, so padding must contain
 * the zero point.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_KERNELS_H
#define ETHOSGEN_KERNELS_H

#include <stdint.h>

/* The zero point and the bounds of a layer's outputs. */
struct ethosgen_output {
    int32_t zero_point;
    int32_t low;
    int32_t high;
};

/* Rows of `depth` bytes; each is multiplied by `channels` weight vectors. */
struct ethosgen_matrix {
    int32_t rows;
    int32_t depth;
    int32_t channels;
    struct ethosgen_output output;
};

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]).
 *
 * weights: for every 4 channels, for every 16 of depth, 16 bytes of each of the 4, padded with zeros.
 * scales: for every 4 channels 4 biases, 4 mantissas, 4 shifts (0 or negative).
 */
void ethosgen_matrix_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                        const int32_t *scales, const int32_t *shape);

/* The same for rows of at most 16 bytes, and outputs without bounds. */
void ethosgen_matrix_short_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                              const int32_t *scales, const int32_t *shape);

/* The same for one row. */
void ethosgen_row_s8(int8_t *output, const int8_t *row, const int8_t *weights,
                     const int32_t *scales, const int32_t *shape);

/* Rows of bytes, which may overlap, and the place of what is computed from them. */
struct ethosgen_rows {
    const int8_t *first;
    int32_t count;
    int32_t step;  /* bytes from a row to the next */
    int32_t bytes; /* that may be read */
    int8_t *output;
    int32_t output_step;
};

/* The same as ethosgen_matrix_s8 and its short form for rows at any distance; `rows` is unused. */
void ethosgen_rows_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *matrix);
void ethosgen_rows_short_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix);

/* One axis of a convolution's input and output. */
struct ethosgen_axis {
    int32_t size;        /* of the input, in pixels */
    int32_t input_step;  /* bytes from a pixel of the input to the next */
    int32_t padding;     /* before the input */
    int32_t stride;
    int32_t dilation;
    int32_t outputs;
    int32_t output_step; /* bytes from an output to the next */
};

/*
 * A convolution, and its strip: a copy of some rows of the input, as columns. Pixel x of row y is at
 * (x * height + y) * depth, so that each window is one piece of the strip: a row of the matrix. The
 * axis `along` the strip may be the height or the width of the picture; `across` is the other. Phases
 * are those of struct ethosgen_depthwise. In place there is no strip, and windows are in the input.
 */
struct ethosgen_convolution {
    int32_t depth;       /* bytes of a pixel */
    int32_t zero_point;  /* of the input */
    struct ethosgen_axis along;
    struct ethosgen_axis across;
    int32_t phases;
    int32_t pixels;      /* at most, outputs of a row that are computed from the same strip */
    int32_t columns;     /* of the strip */
    int32_t height;      /* rows of a window */
    int32_t window_step; /* bytes from a window to the next */
    int32_t bytes;       /* of the strip, or of the input in place */
    struct ethosgen_matrix matrix;
};

/* Compute all outputs of a picture. weights: as in ethosgen_matrix_s8, taps in a strip's order. */
void ethosgen_convolution_s8(int8_t *output, const int8_t *input, int8_t *strip,
                             const int8_t *weights, const int32_t *scales, const int32_t *shape);
void ethosgen_convolution_in_place_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                      const int32_t *scales, const int32_t *shape);

/* The same for windows of at most 16 bytes, and outputs without bounds. */
void ethosgen_convolution_short_s8(int8_t *output, const int8_t *input, int8_t *strip,
                                   const int8_t *weights, const int32_t *scales,
                                   const int32_t *shape);
void ethosgen_convolution_in_place_short_s8(int8_t *output, const int8_t *input,
                                            const int8_t *weights, const int32_t *scales,
                                            const int32_t *shape);

/* A convolution to one or two channels, whose windows are inside the input; steps are in bytes. */
struct ethosgen_two {
    int32_t rows;       /* of outputs */
    int32_t pixels;     /* of a row of outputs */
    int32_t row_step;   /* from the first window of a row to that of the next */
    int32_t pixel_step; /* from a window to the next in its row */
    int32_t taps;       /* rows of a window, each one piece of the input */
    int32_t tap_step;   /* from a row of a window to the next */
    int32_t tap_bytes;
    int32_t channels;
    struct ethosgen_output output;
};

/*
 * Compute all outputs of a picture. weights: for every row of a window, for every 16 of its bytes, 16
 * bytes of each of 2 channels, padded with zeros. scales: 4 biases, 4 mantissas, 4 shifts: those of the
 * 2 channels twice.
 */
void ethosgen_convolution_two_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                 const int32_t *scales, const int32_t *shape);

/*
 * The product of two matrices from run time: `rows` times `columns` vectors of `depth` bytes. Byte k
 * of column c of the second is at c * column_step + k * step.
 */
struct ethosgen_product {
    int32_t rows;
    int32_t depth;
    int32_t columns;
    int32_t column_step;
    int32_t step; /* at most 8192 */
    int32_t first_zero_point;
    int32_t second_zero_point;
    int32_t mantissa;
    int32_t shift; /* 0 or negative */
    struct ethosgen_output output;
};

/*
 * output[r][c] = requantized(sum over k of rows[r][k] * column c[k]), with the zero points subtracted
 * from both. terms: room for a number for each row. turned: room for 4 columns unless `step` is 1.
 */
void ethosgen_product_s8(int8_t *output, const int8_t *rows, const int8_t *second, int32_t *terms,
                         int8_t *turned, const int32_t *shape);

/* to[c][r] = from[r][c]; at most 8192 columns. */
void ethosgen_turn_s8(int8_t *to, const int8_t *from, int32_t rows, int32_t columns);

/*
 * A window over an input of `height` x `width` pixels. It also works on the bytes of int16 values,
 * whose zero point is 0.
 */
struct ethosgen_window {
    int32_t height;
    int32_t width;
    int32_t channels; /* bytes that are copied of each pixel */
    int32_t taps_y;
    int32_t taps_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t zero_point; /* of the input: the value of its padding */
    int32_t pixel;      /* bytes in a pixel */
};

/* Copy the input under the window at row y, column x (which may be negative) into one vector. */
void ethosgen_patch_s8(void *patch, const void *input, int32_t y, int32_t x,
                       const int32_t *window);

/* The same, if only some bytes of each pixel are copied, starting at `input`. */
void ethosgen_patch_part_s8(void *patch, const void *input, int32_t y, int32_t x,
                            const int32_t *window);

/*
 * A depthwise convolution, and its lines. A line has one channel of some rows of the input, as columns:
 * byte (x * height + y) is pixel x of row y. So a window is one piece of it. The axis `along` the
 * lines may be the height or the width of the picture; `across` is the other.
 *
 * If the windows are dilated along the lines, the outputs are computed in phases: those of a phase
 * read every so many columns of the input, and the lines have only these. Long rows are computed
 * piece by piece.
 */
struct ethosgen_depthwise {
    int32_t channels;
    int32_t copies;      /* adjacent outputs for each channel of the input */
    int32_t zero_point;  /* of the input */
    struct ethosgen_axis along;
    struct ethosgen_axis across;
    int32_t phases;
    int32_t pixels;      /* at most, outputs of a row that are computed from the same lines */
    int32_t block;       /* channels that have a line; a multiple of 8 */
    int32_t columns;     /* of a line */
    int32_t height;      /* bytes of a column */
    int32_t line_bytes;
    int32_t rows;        /* rows of a window */
    int32_t shared;      /* rows of outputs that are computed from the same lines */
    int32_t window_step; /* bytes from a window to the next in its line */
    int32_t taps;        /* bytes of a window, of which some have weight 0 */
    int32_t vectors;     /* vectors of 16 bytes in a window */
    struct ethosgen_output output;
};

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight), for a picture.
 *
 * lines: room for a block of lines. weights: for every 4 channels, for every 16 taps in a line's order, 16
 * bytes of each of the 4, padded with zeros. scales: as in ethosgen_matrix_s8. The last 4 channels are
 * together, so some may be there twice; if there are fewer than 4 channels, zeros follow.
 *
 * Each function is named for what it assumes: windows of at most 16 bytes that are 1, 2, 4 or 8 bytes
 * apart (by_1 to by_8), or at any distance (short); windows of 17 to 32 bytes (two), all with at least
 * 4 channels; or any. The outputs have no bounds: see ethosgen_limit_s8.
 */
#define ETHOSGEN_DEPTHWISE(name)                                                               \
    void ethosgen_depthwise_##name##_s8(int8_t *output, const int8_t *input, int8_t *lines,    \
                                        const int8_t *weights, const int32_t *scales,          \
                                        const int32_t *shape)
ETHOSGEN_DEPTHWISE(by_1);
ETHOSGEN_DEPTHWISE(by_2);
ETHOSGEN_DEPTHWISE(by_4);
ETHOSGEN_DEPTHWISE(by_8);
ETHOSGEN_DEPTHWISE(short);
ETHOSGEN_DEPTHWISE(two);
ETHOSGEN_DEPTHWISE(any);

/* The same for layers with several outputs for each channel of the input. */
ETHOSGEN_DEPTHWISE(by_1_copies);
ETHOSGEN_DEPTHWISE(by_2_copies);
ETHOSGEN_DEPTHWISE(by_4_copies);
ETHOSGEN_DEPTHWISE(by_8_copies);
ETHOSGEN_DEPTHWISE(short_copies);
ETHOSGEN_DEPTHWISE(two_copies);
ETHOSGEN_DEPTHWISE(any_copies);

/* The same without lines: windows are one row inside the input. */
void ethosgen_depthwise_in_place_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                    const int32_t *scales, const int32_t *shape);

/* Limit the outputs of a depthwise convolution to their bounds. */
void ethosgen_limit_s8(int8_t *output, int32_t bytes, int32_t low, int32_t high);

/* Rows of an input, and the padding around them, in bytes; all of it has one value. */
struct ethosgen_pad {
    int32_t rows;
    int32_t row_bytes;
    int32_t before;  /* the first row */
    int32_t between; /* two rows */
    int32_t after;   /* the last row */
    int32_t value;
};

/* Copy rows into an output, and fill what is around them. */
void ethosgen_pad_s8(void *output, const void *input, const int32_t *shape);

/* A matrix, whose elements are those of a tensor: a part of it, if steps are longer than rows. */
struct ethosgen_transpose {
    int32_t rows;
    int32_t columns;
    int32_t input_step;  /* bytes from a row of the input to the next */
    int32_t output_step; /* bytes from a row of the output to the next */
};

/* output[c][r] = input[r][c], for elements of some bits; steps are at most 9362 bytes below 32. */
void ethosgen_transpose_8(void *output, const void *input, const int32_t *shape);
void ethosgen_transpose_16(void *output, const void *input, const int32_t *shape);
void ethosgen_transpose_32(void *output, const void *input, const int32_t *shape);

/* A pool over pixels of `channels` bytes, and the bounds of its outputs. */
struct ethosgen_pool {
    int32_t row_bytes;
    int32_t channels;
    int32_t low;
    int32_t high;
};

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                          const int32_t *shape);

/* Compute the average of at most 256 pixels; halves are rounded away from zero. */
void ethosgen_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const int32_t *shape);

/* Compute the averages of `count` pixels of `channels` bytes; halves are rounded away from zero. */
void ethosgen_mean_s8(int8_t *output, const int8_t *pixels, int32_t count, int32_t channels,
                      int32_t low, int32_t high);

/*
 * Compute softmax of rows of `depth` bytes. exponentials: 256 values with 31 bits, exp(-d) for each
 * distance d from a row's largest element.
 */
void ethosgen_softmax_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t depth,
                         const int32_t *exponentials);

/* Both inputs of a sum are shifted left by this many bits before they are rescaled. */
enum { ETHOSGEN_ADD_SHIFT = 20 };

/* An input of a sum: its zero point, and its scale divided by twice the larger scale. */
struct ethosgen_scaled {
    int32_t zero_point;
    int32_t mantissa;
    int32_t shift; /* 0 or negative */
};

/* A sum or a difference; each sign is 1 or -1. */
struct ethosgen_add {
    struct ethosgen_scaled first;
    struct ethosgen_scaled second;
    int32_t first_sign;
    int32_t second_sign;
    int32_t mantissa;
    int32_t shift; /* 0 or negative */
    struct ethosgen_output output;
};

/*
 * output[i] = requantized(sign * first[i] + sign * second[i]); output may be one of the inputs.
 *
 * The first has the larger scale, so its mantissa is 2^30 and its shift 0: half, which needs no
 * rounding. The first function is for a second_sign of 1, the other one for -1.
 */
void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape);
void ethosgen_sub_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape);

/* The same for any scales and signs, with one element of `second` for all. */
void ethosgen_add_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const int32_t *shape);

struct ethosgen_mul {
    int32_t first_zero_point;
    int32_t second_zero_point;
    int32_t mantissa;
    int32_t shift; /* 0 or negative */
    struct ethosgen_output output;
};

/* output[i] = requantized(first[i] * second[i]); output may be one of the inputs. */
void ethosgen_mul_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape);

/* The same with one element of `second` for all. */
void ethosgen_mul_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const int32_t *shape);

/*
 * output[i] = table[input[i]], for signed and unsigned bytes: the index is the byte's bit pattern.
 * The output may be the input.
 */
void ethosgen_table_8(void *output, const void *input, const void *table, int32_t count);

/* A factor of any size: value * 2^left * mantissa / 2^31 * 2^right, rounded twice. */
struct ethosgen_multiplier {
    int32_t mantissa;
    int32_t left;
    int32_t right; /* 0 or negative */
};

/* An SVDF: the filters of a unit are adjacent, `rank` for each. */
struct ethosgen_svdf {
    int32_t depth;
    int32_t units;
    int32_t rank;
    int32_t memory; /* time steps in the state of each filter */
    struct ethosgen_multiplier into; /* from sums of features to the state */
    struct ethosgen_multiplier out;
    struct ethosgen_output output;
};

/*
 * Compute all units of one row of features, and move the state on by a time step.
 *
 * weights: as in ethosgen_matrix_s8, with filters as channels. biases: for every 4 filters the sums'
 * first values. time: `memory` weights of each filter. units: the biases of the units, padded to 4.
 */
void ethosgen_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, const int8_t *weights,
                      const int32_t *biases, const int16_t *time, const int32_t *units,
                      const int32_t *shape);

/* An LSTM. Its gates are in the order input, forget, cell, output. */
struct ethosgen_lstm {
    int32_t steps;
    int32_t row_step; /* rows from a time step to the next, in the input and in the output */
    int32_t features;
    int32_t units;
    struct ethosgen_multiplier forward[4]; /* from the sums of each gate with the input to 2^-12 */
    struct ethosgen_multiplier back[4];    /* the same with the hidden state */
    struct ethosgen_multiplier kept;
    struct ethosgen_multiplier added;
    struct ethosgen_multiplier made;
    int32_t cell_low;
    int32_t cell_high;
    int32_t cell_factor; /* with the right shift, from the cell state to the argument of tanh */
    int32_t cell_shift;
    struct ethosgen_output output;
};

/*
 * Compute all time steps of one batch, and leave both states as they are after the last one.
 *
 * weights: for every 4 units, for each gate those of the input and those of the hidden state, as in
 * ethosgen_matrix_s8. biases: in the same order the sums' first values, 4 each time. lines: the curve
 * 32768 * (2 * sigmoid(x / 24) - 1) from each of 256 whole numbers to the next, as 256 heights at 0
 * and 256 slopes.
 */
void ethosgen_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                      const int8_t *weights, const int32_t *biases, const int16_t *lines,
                      const int32_t *shape);

/* output[i] = input[i] * window[i] >> shift, saturated; shift is from 0 to 31. */
void ethosgen_window_s16(int16_t *output, const int16_t *input, const int16_t *window,
                         int32_t count, int32_t shift);

/* Shift left by as many bits as the largest amplitude allows, and report their number. */
void ethosgen_auto_scale_s16(int16_t *output, int32_t *bits, const int16_t *input, int32_t count);

/*
 * The first stage of a Fourier transform of `count` complex numbers, a power of 4 above 4: sums of 4
 * numbers that are count / 4 apart, in digit-reversed order. The input ends after `length` int16, and
 * zeros follow.
 */
void ethosgen_fft_first_s16(int16_t *output, const int16_t *input, int32_t length, int32_t count,
                            int32_t inverse);

/*
 * A later stage, in place: `groups` times `span` sums of 4 complex numbers that are `span` apart.
 * span is a multiple of 4. twiddles: `span` factors each for the second, third and fourth number.
 */
void ethosgen_fft_stage_s16(int16_t *data, const int16_t *twiddles, int32_t span, int32_t groups,
                            int32_t inverse);

/*
 * Convert the spectrum of `count` complex numbers to that of 2 * count real numbers, in place, except
 * bins 0 and `count`; and back, into the output. factors: one for each bin from 1 to count / 2.
 */
void ethosgen_fft_split_s16(int16_t *bins, const int16_t *factors, int32_t count);
void ethosgen_fft_join_s16(int16_t *output, const int16_t *bins, const int16_t *factors,
                           int32_t count);

#include "ethosgen_kernels_s16.h"

#endif /* ETHOSGEN_KERNELS_H */
