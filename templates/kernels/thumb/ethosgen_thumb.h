/*
 * The inner loops of int8 layers for processors without DSP instructions: Cortex-M0+ and M3.
 *
 * Weights are packed in the order in which they are read; see ethosgen's aot/thumb/order.py. Zero
 * points of inputs are folded into the biases, so padding must contain the zero point. What is in
 * assembly has a twin in C with equal results.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_THUMB_H
#define ETHOSGEN_THUMB_H

#include "ethosgen_core.h"

/* Rows times weights. */
struct ethosgen_thumb_matrix {
    int32_t depth;
    int32_t channels;
    int32_t stride; /* between the outputs of a row and those of the next */
    int32_t low;    /* the bounds of the outputs */
    int32_t high;
    int32_t words; /* of temporary memory that the product needs: none on Armv7-M */
};

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]), for `count` rows.
 *
 * weights: for each 4 channels (the last may be fewer), for each place of the depth, theirs.
 */
void ethosgen_thumb_matrix_s8(int8_t *output, const int8_t *rows, int32_t count,
                              const int8_t *weights, const int32_t *scales, const int32_t *shape);

/*
 * The same for Armv6-M. 128 is added to the weights, and 128 times a channel's weights is taken off
 * its bias. room: a word for each place of the depth.
 */
void ethosgen_thumb_pairs_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                             const int8_t *weights, const int32_t *scales, const int32_t *shape);

/* The same for rows that are the pixels under a window. room: the words, and twice the depth. */
void ethosgen_thumb_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                   const int8_t *weights, const int32_t *scales,
                                   const int32_t *shape, const int32_t *window);

/*
 * The same for one channel, on either architecture. Nothing is added to weights. The pixels under
 * a row of the window are contiguous: `pixel` equals `channels`, and `dilation_x` is 1.
 */
void ethosgen_thumb_single_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                              const int32_t *scales, const int32_t *shape, const int32_t *window);

/* A depthwise convolution; rows and columns may be exchanged. */
struct ethosgen_thumb_depthwise {
    int32_t height; /* of the input, in rows */
    int32_t width;  /* columns of the input that are used */
    int32_t channels;
    int32_t copies; /* adjacent outputs for each channel of the input */
    int32_t row_bytes;
    int32_t column_bytes;
    int32_t zero_point; /* of the input: the value of its padding */
    int32_t taps_y;
    int32_t taps_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t stride_y;
    int32_t stride_x;
    int32_t before_y; /* padding */
    int32_t before_x;
    int32_t plane_row; /* bytes between a plane's row and the next */
    int32_t plane;     /* bytes of a plane */
    int32_t rows;      /* of outputs */
    int32_t pixels;    /* outputs in a row */
    int32_t strip;     /* rows of outputs whose inputs the plane holds */
    int32_t output_row;
    int32_t output_step;
    int32_t low;
    int32_t high;
};

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight).
 *
 * weights: for each channel its taps. room: a plane, and twice stride_x. 128 is added to the values
 * of the input, and 128 times a channel's weights is taken off its bias.
 */
void ethosgen_thumb_depthwise_s8(int8_t *output, const int8_t *input, int8_t *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const int32_t *shape);

/* The same if `copies` is a multiple of 4. weights: for each 4 outputs, for each tap, theirs. */
void ethosgen_thumb_copies_s8(int8_t *output, const int8_t *input, int8_t *room,
                              const int8_t *weights, const int32_t *scales, const int32_t *shape);

/*
 * The same as the first for 3 x 3 adjacent pixels, one output for each channel, rows and columns
 * not exchanged; for Armv7-M. `width` is that of the input. Values and biases are as in a matrix.
 * room: 4 times 3 pixels.
 */
void ethosgen_thumb_depthwise_3x3_s8(int8_t *output, const int8_t *input, int8_t *room,
                                     const int8_t *weights, const int32_t *scales,
                                     const int32_t *shape);

/* Compute the average of the pixels of a window; halves are rounded away from zero. */
void ethosgen_thumb_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows,
                                    int32_t columns, const int32_t *shape);

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_thumb_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                                const int32_t *shape);

/* SVDF and LSTM: the C for DSP instructions, see ethosgen_dsp.h, with this library's sums. */
void ethosgen_dsp_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, void *room,
                          const int8_t *weights, const int32_t *biases, const int16_t *time,
                          const int32_t *units, const int32_t *shape);
void ethosgen_dsp_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                          void *room, const int8_t *weights, const int32_t *biases,
                          const int16_t *lines, const int32_t *shape);

/* PAD: the C for DSP instructions too. */
void ethosgen_dsp_pad_s8(void *output, const void *input, const int32_t *shape);

#endif /* ETHOSGEN_THUMB_H */
