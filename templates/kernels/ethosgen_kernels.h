/*
 * The inner loops of networks on the CPU: int8, and int16 with int8 weights; 32-bit sums.
 *
 * Each has two forms with the same results: Helium (MVE) where the processor has it, plain C
 * elsewhere. Weights and scales are packed in the order in which they are read; see ethosgen's
 * aot/packed/order.py. Zero points of inputs are folded into the biases: what lies outside of
 * an input must hold its zero point.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_KERNELS_H
#define ETHOSGEN_KERNELS_H

#include <stdint.h>

/* How a layer's sums become its outputs: zero point and bounds. */
struct ethosgen_output {
    int32_t zero_point;
    int32_t low;
    int32_t high;
};

/* Rows of `depth` bytes, each to be multiplied by `channels` vectors of weights. */
struct ethosgen_matrix {
    int32_t rows;
    int32_t depth;
    int32_t channels;
    struct ethosgen_output output;
};

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]).
 *
 * weights: for every 4 channels, for every 16 of depth, 16 bytes of each of the 4; zeros behind the
 * ends. scales: for every 4 channels 4 biases, 4 mantissas, 4 shifts (0 or negative).
 */
void ethosgen_matrix_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                        const int32_t *scales, const int32_t *shape);

/*
 * The same for int16 rows, without a zero point; 32 bits must hold the sums. weights: for every 4
 * channels, for every 8 of depth, 8 bytes of each of the 4; zeros behind the ends. scales: for each
 * channel the lower and the upper half of bias * mantissa + half, a mantissa of 15 bits, and a
 * shift to the right, whose half that is.
 */
void ethosgen_matrix_s16(int16_t *output, const void *rows, const int8_t *weights,
                         const int32_t *scales, const int32_t *shape);

/*
 * A window over an input of `height` x `width` pixels. Bytes of int16 will do: its zero point is 0.
 */
struct ethosgen_window {
    int32_t height;
    int32_t width;
    int32_t channels; /* bytes of a pixel that are copied */
    int32_t taps_y;
    int32_t taps_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t zero_point; /* of the input: what lies outside of it */
    int32_t pixel;      /* bytes of a pixel */
};

/* Copy what is under the window at row y, column x (which may be negative) into one vector. */
void ethosgen_patch_s8(void *patch, const void *input, int32_t y, int32_t x,
                       const int32_t *window);

/* The same where only some of a pixel's bytes are copied, from `input` on. */
void ethosgen_patch_part_s8(void *patch, const void *input, int32_t y, int32_t x,
                            const int32_t *window);

/* A depthwise convolution of int16; elements are numbers of int16_t. */
struct ethosgen_depthwise_s16 {
    int32_t channels;
    int32_t row_elements; /* from a tap to the one below */
    int32_t tap_elements; /* from a tap to the one beside it */
    int32_t weight_row;   /* weights from a tap to the one below */
    struct ethosgen_output output;
};

/*
 * All channels of a pixel, from `rows` x `columns` taps that are inside the input: `input` and
 * `weights` are those of the first. 32 bits must hold the sums. scales: as for ethosgen_matrix_s16.
 */
void ethosgen_depthwise_pixel_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                  int32_t rows, int32_t columns, const int32_t *scales,
                                  const int32_t *shape);

/* A depthwise convolution, and the ring of rows of its input that it works from. */
struct ethosgen_depthwise {
    int32_t height; /* of the input, in rows */
    int32_t row_bytes;
    int32_t channels;
    int32_t zero_point; /* of the input */
    int32_t before;     /* columns of zero point in front of the input's */
    int32_t width;      /* columns of the input that are used */
    int32_t columns;    /* all columns of a row in the ring */
    int32_t slots;      /* rows in the ring */
    int32_t pixels;     /* outputs in a row */
    int32_t stride_x;
    int32_t taps_y;
    int32_t taps_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t copies;    /* outputs for each channel of the input, which lie side by side */
    int32_t pairs_fit; /* whether two products always add up in 16 bits: no weight is -128 */
    struct ethosgen_output output;
};

/*
 * Copy row y of the input (which may be outside of it) into a slot of the ring: for every 8
 * channels, for every column, 8 bytes. So the taps of a window are next to each other.
 */
void ethosgen_ring_row_s8(int8_t *ring, const int8_t *input, int32_t y, int32_t slot,
                          const int32_t *shape);

/* The same where each channel of the input is copied several times. */
void ethosgen_ring_copies_s8(int8_t *ring, const int8_t *input, int32_t y, int32_t slot,
                             const int32_t *shape);

/*
 * output[p][c] = requantized(bias[c] + sum over taps of input * weight), for a row of pixels.
 *
 * Tap (y, x) of pixel p is in slot (first + y * dilation_y) modulo slots of the ring, at column
 * p * stride_x + x * dilation_x. weights: for every 8 channels, for every tap, 8 bytes. scales: for
 * every 8 channels 4 biases, mantissas and shifts of the even ones, then of the odd ones.
 */
void ethosgen_depthwise_row_s8(int8_t *output, const int8_t *ring, int32_t first,
                               const int8_t *weights, const int32_t *scales, const int32_t *shape);

/* A pool over pixels of `channels` bytes, and the bounds of its outputs. */
struct ethosgen_pool {
    int32_t row_bytes;
    int32_t channels;
    int32_t low;
    int32_t high;
};

/* The greatest of `rows` x `columns` pixels, of which `input` is the first. */
void ethosgen_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                          const int32_t *shape);

/* Their average, halves rounded away from zero, for at most 256 pixels. */
void ethosgen_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const int32_t *shape);

/* Averages of `count` pixels of `channels` bytes; halves are rounded away from zero. */
void ethosgen_mean_s8(int8_t *output, const int8_t *pixels, int32_t count, int32_t channels,
                      int32_t low, int32_t high);

/*
 * Softmax of rows of `depth` bytes. exponentials: exp(-d) for each distance d from a row's greatest
 * element, 256 of them, with 31 bits.
 */
void ethosgen_softmax_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t depth,
                         const int32_t *exponentials);

/* Bits by which both inputs of a sum are widened before they are rescaled. */
enum { ETHOSGEN_ADD_SHIFT = 20 };

/* An input of a sum: its zero point, and its scale over twice the larger one. */
struct ethosgen_scaled {
    int32_t zero_point;
    int32_t mantissa;
    int32_t shift; /* 0 or negative */
};

/* A sum, or a difference where `sign` is -1. */
struct ethosgen_add {
    struct ethosgen_scaled first;
    struct ethosgen_scaled second;
    int32_t sign;
    int32_t mantissa;
    int32_t shift; /* 0 or negative */
    struct ethosgen_output output;
};

/* output[i] = requantized(first[i] + sign * second[i]); output may be one of the inputs. */
void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape);

/* The same with one element of `second` for all. */
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
 * output[i] = table[input[i]], for bytes of either sign: the table is in the order of their bits.
 * The output may be the input.
 */
void ethosgen_table_8(void *output, const void *input, const void *table, int32_t count);

/* output[i] = input[i] * window[i] >> shift, saturated; the shift is from 0 to 31. */
void ethosgen_window_s16(int16_t *output, const int16_t *input, const int16_t *window,
                         int32_t count, int32_t shift);

/* Shifts left by as many bits as the greatest amplitude allows, and tells how many. */
void ethosgen_auto_scale_s16(int16_t *output, int32_t *bits, const int16_t *input, int32_t count);

/*
 * The first stage of a Fourier transform of `count` complex numbers, a power of 4 above 4: sums of 4
 * that lie count / 4 apart, in the order of reversed digits. The input ends after `length` int16,
 * and zeros follow.
 */
void ethosgen_fft_first_s16(int16_t *output, const int16_t *input, int32_t length, int32_t count,
                            int32_t inverse);

/*
 * A later one, in place: `groups` times `span` sums of 4 complex numbers that lie `span` apart,
 * which is a multiple of 4. twiddles: for the second, third and fourth of them, `span` factors.
 */
void ethosgen_fft_stage_s16(int16_t *data, const int16_t *twiddles, int32_t span, int32_t groups,
                            int32_t inverse);

/*
 * The spectrum of 2 count real numbers from that of `count` complex ones, in place, but for the bins
 * 0 and `count`; and back, into the output. factors: one for each bin from 1 to count / 2.
 */
void ethosgen_fft_split_s16(int16_t *bins, const int16_t *factors, int32_t count);
void ethosgen_fft_join_s16(int16_t *output, const int16_t *bins, const int16_t *factors,
                           int32_t count);

#endif /* ETHOSGEN_KERNELS_H */
