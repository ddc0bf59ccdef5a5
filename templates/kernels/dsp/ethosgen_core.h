/*
 * The shapes of int8 layers for processors without Helium, with DSP instructions and without.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_CORE_H
#define ETHOSGEN_CORE_H

#include <stdint.h>

/* How the sums of a channel become outputs. */
struct ethosgen_core_scale {
    int32_t bias; /* with DSP instructions doubled, except that of an even channel of a matrix */
    int32_t mantissa;
    int32_t addend; /* half a step of the shift, and the zero point shifted left */
    int32_t shift;  /* to the right */
};

/* A window over an input of `height` x `width` pixels, for each of `rows` x `columns` outputs. */
struct ethosgen_core_window {
    int32_t height;
    int32_t width;
    int32_t pixel;    /* bytes between a pixel of the input and the next */
    int32_t channels; /* bytes of a pixel under the window */
    int32_t taps_y;
    int32_t taps_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t stride_y;
    int32_t stride_x;
    int32_t before_y; /* padding */
    int32_t before_x;
    int32_t zero_point; /* of the input: the value of its padding */
    int32_t rows;
    int32_t columns;
    int32_t row_step; /* bytes between a row of outputs and the next */
};

/* A pool over pixels of `channels` bytes, and the bounds of its outputs. */
struct ethosgen_core_pool {
    int32_t row_bytes;
    int32_t channels;
    int32_t low;
    int32_t high;
};

#endif /* ETHOSGEN_CORE_H */
