/*
 * Kernels for float32: lanes are output channels, so that each output's products are added in the
 * order of the network's reference kernels, and results equal theirs bit for bit.
 *
 * Each has three forms, chosen when it is compiled: for Helium with floating point, for the
 * floating-point unit of a Cortex-M, and plain C.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_FLOATS_H
#define ETHOSGEN_FLOATS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Weights of a matrix: the bounds of the outputs, low and high; then for every 4 channels their
 * biases, and for each product of a row 4 weights. Channels that do not exist have zeros.
 */
enum { ETHOSGEN_BOUNDS_F32 = 2, ETHOSGEN_BLOCK_F32 = 4 };

/* Rows times weights; the steps are numbers of floats from a row to the next. */
struct ethosgen_matrix_f32 {
    int32_t rows;
    int32_t depth;
    int32_t channels;
    int32_t input_step;
    int32_t output_step;
};

void ethosgen_matrix_f32(float *output, const float *input, const float *weights,
                         const int32_t *shape);

/*
 * Pack a matrix as weights without bounds and biases. An element's place is the number of its row
 * in `depth` times `row_step` and that of its column times `column_step`.
 */
void ethosgen_pack_f32(float *packed, const float *matrix, int32_t depth, int32_t columns,
                       int32_t row_step, int32_t column_step);

/* Windows along an axis. */
struct ethosgen_windows_f32 {
    int32_t source; /* elements of the input */
    int32_t source_step; /* floats from one of them to the next */
    int32_t taps;
    int32_t stride;
    int32_t dilation;
    int32_t padding;
    int32_t target; /* outputs */
    int32_t target_step; /* floats from one of them to the next */
};

/*
 * A convolution. A column of outputs is computed from a strip: the rows of the input below their
 * windows, as wide as one window, zeros where that leaves the input. There the products of a
 * window follow one another in their order.
 */
struct ethosgen_convolution_f32 {
    struct ethosgen_windows_f32 vertical;
    struct ethosgen_windows_f32 horizontal;
    int32_t depth; /* channels of the input in a group */
    int32_t groups;
    int32_t group_weights; /* floats of a group's weights */
    int32_t outputs; /* most outputs of a strip */
    int32_t is_shared; /* whether windows share rows of the strip; else each has its own */
    int32_t channels; /* channels of the output in a group */
};

void ethosgen_convolution_f32(float *output, const float *input, float *strip,
                              const float *weights, const int32_t *shape);

/* A depthwise convolution; the steps are numbers of floats. */
struct ethosgen_depthwise_f32 {
    int32_t channels; /* of the output */
    int32_t tap_floats; /* from a tap to the next in its row of the input */
    int32_t row_floats; /* from a tap to the one below */
    int32_t weight_row; /* the same for the weights, in which taps are `channels` apart */
};

/*
 * Compute all channels of an output pixel from `rows` times `columns` taps, those inside the input.
 * `biases` starts with the bounds of the outputs and ends with zeros for channels that do not exist,
 * up to a multiple of 4. If several outputs share a channel of the input, `places` has its number
 * for each output, also up to a multiple of 4.
 */
void ethosgen_depthwise_f32(float *output, const float *input, const float *weights, int32_t rows,
                            int32_t columns, const float *biases, const int32_t *shape);
void ethosgen_depthwise_copies_f32(float *output, const float *input, const float *weights,
                                   int32_t rows, int32_t columns, const float *biases,
                                   const uint32_t *places, const int32_t *shape);

/* A pool; the steps are numbers of floats. */
struct ethosgen_pool_f32 {
    int32_t channels;
    int32_t tap_floats; /* from an element of a window to the next in its row */
    int32_t row_floats; /* from an element of a window to the one below */
};

/* Compute all channels of an output pixel from a window inside the input; `bounds` are low, high. */
void ethosgen_max_pool_f32(float *output, const float *input, int32_t rows, int32_t columns,
                           const float *bounds, const int32_t *shape);
void ethosgen_average_pool_f32(float *output, const float *input, int32_t rows, int32_t columns,
                               const float *bounds, const int32_t *shape);

/* Compute `count` outputs, bounded by low and high; `_one`: from one second input for all. */
#define ETHOSGEN_BINARY_F32(name)                                                              \
    void ethosgen_##name##_f32(float *output, const float *first, const float *second,         \
                               int32_t count, const float *bounds)

ETHOSGEN_BINARY_F32(add);
ETHOSGEN_BINARY_F32(add_one);
ETHOSGEN_BINARY_F32(sub);
ETHOSGEN_BINARY_F32(sub_one);
ETHOSGEN_BINARY_F32(mul);
ETHOSGEN_BINARY_F32(mul_one);

/*
 * Shift the state of each filter by a time step, append its feature, and write its sum over time.
 * `weights` has 4 weights for each time step of every 4 filters, zeros for filters that do not exist.
 */
void ethosgen_svdf_f32(float *output, float *state, const float *features, const float *weights,
                       int32_t filters, int32_t memory);

/*
 * Compute all channels of a pixel between four; `down` and `across` are its distances from the top
 * left one, at most 1.
 */
void ethosgen_resize_f32(float *output, const float *top_left, const float *bottom_left,
                         const float *top_right, const float *bottom_right, float down,
                         float across, int32_t channels);

#ifdef __cplusplus
}
#endif

#endif /* ETHOSGEN_FLOATS_H */
