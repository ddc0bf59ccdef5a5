/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a depthwise convolution; a layer's function names those that it needs. See
 * ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DEPTHWISE_H
#define ETHOSGEN_DEPTHWISE_H

#include "ethosgen_requantize.h"

enum { GROUP = 4, LANES = 16, SCALES = 3 * GROUP };

/* Pixels of a block of channels, and their place in the lines. */
struct ethosgen_piece {
    int8_t *to;
    const int8_t *from;
    int32_t step;     /* bytes from a pixel to the next */
    int32_t row_step; /* bytes from a row to the next */
    int32_t rows;     /* if there are any */
    int32_t columns;  /* pixels in a row */
    int32_t channels;
    int32_t copy; /* the number of the first channel among the copies of the input's channel */
};

/*
 * Rows of windows of groups of 4 channels, if the layer has so many. A group's 4 channels have adjacent
 * lines, or the same one. Loops in assembly read it by offsets, and change the marked fields.
 */
struct ethosgen_windows {
    const int8_t *weights;   /* changed */
    const int8_t *lines;     /* changed */
    int8_t *output;          /* changed */
    int32_t line_bytes;      /* from a channel's line to the next; 0 if the 4 have the same */
    int32_t stride;          /* bytes from a row's windows to the next row's */
    int32_t row_step;        /* bytes from a row of outputs to the next */
    int32_t step;            /* bytes from an output to the next */
    int32_t by;              /* bytes from a window to the next */
    int32_t more;            /* windows in a row after the first */
    int32_t rows;
    const int32_t *scales;   /* changed */
    int32_t half;            /* - (zero point + half), times 2 */
    int32_t others;          /* vectors of a window after the first; this and the next: see run_more */
    int32_t back;            /* bytes from the end of a window's vectors to the next window */
    int32_t groups;          /* changed */
    int32_t group_bytes;     /* from a group's lines to the next one's */
    int32_t weight_bytes;    /* from a group's weights to the next one's */
};

typedef void ethosgen_filling(const struct ethosgen_piece *piece,
                              const struct ethosgen_depthwise *layer);
typedef void ethosgen_loop(struct ethosgen_windows *windows,
                           const struct ethosgen_depthwise *layer);

/*
 * Copy pixels to their lines; or several times, to the lines of adjacent channels, or to one line for 4
 * of them; or two rows at a time, to lines of an even number of rows; or to lines of 4 rows, with padding
 * for missing rows.
 */
ethosgen_filling ethosgen_spread, ethosgen_spread_copies, ethosgen_spread_shared;
ethosgen_filling ethosgen_spread_pairs, ethosgen_spread_words;

/* The lines of a layer, its constants, the functions that fill and read the lines, and their state. */
struct ethosgen_lines {
    int8_t *first;
    const int8_t *weights;
    const int32_t *scales;
    ethosgen_filling *copy;
    ethosgen_loop *loop;
    int32_t rows; /* of outputs in the lines */
    int32_t needs_padding; /* whether rows outside the input must be padded before the others are copied */
    struct ethosgen_piece piece;
    struct ethosgen_windows windows;
};

/* Compute a picture. The only state in `lines` so far is the distance of the lines. */
void ethosgen_run_lines(int8_t *output, const int8_t *input, struct ethosgen_lines *lines,
                        const struct ethosgen_depthwise *layer);

#endif /* ETHOSGEN_DEPTHWISE_H */
