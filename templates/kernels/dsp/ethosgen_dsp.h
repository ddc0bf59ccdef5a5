/*
 * The inner loops of int8 layers and pools for processors with DSP instructions (Cortex-M4, M7, M33).
 *
 * Each has two versions with equal results: DSP instructions if the processor has them, otherwise
 * plain C. Weights are packed in the order in which they are read; see ethosgen's aot/dsp/order.py.
 * Zero points of inputs are folded into the biases, so padding must contain the zero point.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_H
#define ETHOSGEN_DSP_H

#include "ethosgen_core.h"
#include "ethosgen_dsp_s16.h"

/* Rows times weights. */
struct ethosgen_dsp_matrix {
    int32_t depth;
    int32_t first; /* steps of 4 in the first part of the depth: those that the others leave */
    int32_t part;  /* steps in each other part, a multiple of 4; 0 if there is none */
    int32_t channels;
    int32_t stride; /* between the outputs of a row and those of the next */
    int32_t low;    /* the bounds of the outputs */
    int32_t high;
};

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]), for `count` rows.
 *
 * weights: for each pair of channels, for every 4 of depth, 8 bytes, padded with zeros: the weights of
 * both at places 0, 2, 1 and 3. 128 is added to the weights of even channels. A part's sum of an odd
 * channel fits in 24 bits. room: 8 bytes for each of depth, rounded up to 4; a convolution needs 9.
 */
void ethosgen_dsp_matrix_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                            const int8_t *weights, const int32_t *scales, const int32_t *shape);

/* The same for rows that are the pixels under a window, which moves over the input. */
void ethosgen_dsp_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const int32_t *shape, const int32_t *window);

/*
 * The same two for 1, 2 and 3 channels. weights: those of each channel, padded with zeros to a multiple
 * of 4. scales: with doubled biases. room: a byte for each of depth.
 */
#define ETHOSGEN_DSP_FEW(channels)                                                               \
    void ethosgen_dsp_few_##channels##_s8(int8_t *output, const int8_t *rows, int32_t count,     \
                                          const int8_t *weights, const int32_t *scales,          \
                                          const int32_t *shape);                                 \
    void ethosgen_dsp_few_windows_##channels##_s8(                                               \
        int8_t *output, const int8_t *input, void *room, const int8_t *weights,                  \
        const int32_t *scales, const int32_t *shape, const int32_t *window)

ETHOSGEN_DSP_FEW(1);
ETHOSGEN_DSP_FEW(2);
ETHOSGEN_DSP_FEW(3);

/* A depthwise convolution; rows and columns may be exchanged. */
struct ethosgen_dsp_depthwise {
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
    int32_t plane_row; /* values between a plane's row and the next, even */
    int32_t plane;     /* values in a plane */
    int32_t rows;      /* of outputs */
    int32_t pixels;    /* outputs in a row */
    int32_t strip;     /* rows of outputs whose inputs the planes hold */
    int32_t output_row;
    int32_t output_step;
    int32_t is_3x3; /* steps of 1 or 2 columns, adjacent taps, rows and columns not exchanged */
    int32_t low;
    int32_t high;
};

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight).
 *
 * weights: for each channel, for each row of the window, its taps, padded with zeros to 4. room: 4
 * bytes for each pair of a row's taps, and 4 planes of 16-bit values.
 */
void ethosgen_dsp_depthwise_s8(int8_t *output, const int8_t *input, void *room,
                               const int8_t *weights, const int32_t *scales, const int32_t *shape);

/* A depthwise convolution whose outputs are computed 4 channels at a time, in blocks. */
struct ethosgen_dsp_lanes {
    int32_t height; /* of the input */
    int32_t width;
    int32_t channels;
    int32_t zero_point; /* of the input: the value of its padding */
    int32_t taps_y;
    int32_t taps_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t stride_y;
    int32_t stride_x;
    int32_t before_y; /* padding */
    int32_t before_x;
    int32_t rows; /* of outputs */
    int32_t columns;
    int32_t outputs; /* channels of the output */
    int32_t blocks;
    int32_t low;
    int32_t high;
};

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight).
 *
 * weights: for each block, for every 2 taps, 8 bytes: the weights of channels 0, 2, 0, 2, 1, 3, 1, 3 for
 * the taps 0, 0, 1, 1, 0, 0, 1, 1. The last tap of an odd number is followed by zeros. blocks: for
 * each its first channel in the input and in the output, and 4 scales. room: 4 bytes for each tap, of
 * an even number, 8, and a byte for each channel of the input.
 */
void ethosgen_dsp_depthwise_lanes_s8(int8_t *output, const int8_t *input, void *room,
                                     const int8_t *weights, const int32_t *blocks,
                                     const int32_t *shape);

/* The same for blocks that have one channel of the input. */
void ethosgen_dsp_depthwise_copies_s8(int8_t *output, const int8_t *input, void *room,
                                      const int8_t *weights, const int32_t *blocks,
                                      const int32_t *shape);

/*
 * Compute the average of at most 255 pixels, which have at least 4 channels; halves are rounded away
 * from zero.
 */
void ethosgen_dsp_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows,
                                  int32_t columns, const int32_t *shape);

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_dsp_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const int32_t *shape);

/* The product of two matrices. A part of the depth has a place more if the second has a zero point. */
struct ethosgen_dsp_product {
    int32_t rows;
    int32_t depth;
    int32_t columns;
    int32_t first_step; /* between places of the depth in the first matrix */
    int32_t first_next; /* between its rows */
    int32_t first_zero;
    int32_t second_step; /* between places of the depth in the second matrix */
    int32_t second_next; /* between its columns */
    int32_t second_zero;
    int32_t panel;      /* columns that are packed at a time, even */
    int32_t parts;      /* of the depth */
    int32_t part_depth; /* places in each part but the last */
    int32_t part;       /* steps of 4 places in each part */
    struct ethosgen_core_scale scales[2]; /* of an even column, and of an odd one */
};

/*
 * Compute the products without zero points, requantized.
 *
 * room: for all steps 32 bytes; for each column of a panel 16 bytes, and 4 for all steps.
 */
void ethosgen_dsp_product_s8(int8_t *output, const int8_t *first, const int8_t *second, void *room,
                             const int32_t *shape);

/* The same for columns that are contiguous; room: 2 bytes for each of depth, rounded up to 4. */
void ethosgen_dsp_vector_s8(int8_t *output, const int8_t *first, const int8_t *second, void *room,
                            const int32_t *shape);

/* Rows with padding around them, in bytes. */
struct ethosgen_dsp_pad {
    int32_t rows;
    int32_t row_bytes;
    int32_t before;
    int32_t between; /* a row and the next */
    int32_t after;
    int32_t value; /* of each byte of the padding */
};

/* Copy the rows, and fill the padding. */
void ethosgen_dsp_pad_s8(void *output, const void *input, const int32_t *shape);

/* A multiplier for sums: 2^(left - 1) * mantissa / 2^31, and a right shift that rounds. */
struct ethosgen_dsp_multiplier {
    int32_t left;
    int32_t mantissa;
    int32_t sign; /* -1 if there is a right shift, else 0 */
    int32_t half; /* of a step of the right shift */
    int32_t right;
};

/* Rows of a SOFTMAX of int16; `scale` is from distances to the argument of exp. */
struct ethosgen_dsp_softmax_s16 {
    int32_t depth;
    struct ethosgen_dsp_multiplier scale;
};

/* An SVDF: the filters of a unit are adjacent, `rank` for each. */
struct ethosgen_dsp_svdf {
    int32_t depth;
    int32_t filters;
    int32_t rank;
    int32_t memory; /* time steps in the state of each filter */
    struct ethosgen_dsp_multiplier into; /* from sums of features to the state */
    struct ethosgen_dsp_multiplier out;  /* its `left` is that of the totals, not doubled */
    int32_t zero_point;
};

/*
 * Compute all units of one row of features, and move the state on by a time step.
 *
 * weights: for every 8 filters, the last of which may be fewer, those of a matrix with filters as
 * channels, apart for every 508 places of depth. biases: the first values of the sums, padded to 8.
 * time: `memory` weights of each filter. units: the biases of the units. room: 2 bytes for each of
 * depth, rounded up to 4.
 */
void ethosgen_dsp_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, void *room,
                          const int8_t *weights, const int32_t *biases, const int16_t *time,
                          const int32_t *units, const int32_t *shape);

/* How the gates of an LSTM change its cell's state, and make its output. */
struct ethosgen_dsp_cell {
    struct ethosgen_dsp_multiplier kept;
    struct ethosgen_dsp_multiplier added;
    struct ethosgen_dsp_multiplier made;
    int32_t low; /* the bounds of the state */
    int32_t high;
    int32_t factor; /* with the right shift, from the state to the argument of tanh */
    int32_t half;   /* of a step of the shift */
    int32_t shift;
    int32_t zero_point;
};

/* An LSTM. Its gates are in the order input, forget, cell, output. */
struct ethosgen_dsp_lstm {
    int32_t steps;
    int32_t row_step; /* rows from a time step to the next, in the input and in the output */
    int32_t features;
    int32_t units;
    struct ethosgen_dsp_multiplier forward[4]; /* from the sums of each gate with the input to 2^-12 */
    struct ethosgen_dsp_multiplier back[4];    /* the same with the hidden state */
    struct ethosgen_dsp_cell cell;
};

/*
 * Compute all time steps of one batch, and leave both states as they are after the last one.
 *
 * weights: for every 8 units, the last of which may be fewer, those of the input and those of the
 * hidden state, each as the weights of an SVDF with the units of a gate, gate by gate, as filters.
 * biases: in the same order the first values of the sums. lines: the curve 32768 * (2 * sigmoid(x / 24)
 * - 1) from each of 256 whole numbers to the next, as 256 heights at 0 and 256 slopes. room: 2 bytes
 * for each feature and unit, both rounded up to 4.
 */
void ethosgen_dsp_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                          void *room, const int8_t *weights, const int32_t *biases,
                          const int16_t *lines, const int32_t *shape);

#endif /* ETHOSGEN_DSP_H */
