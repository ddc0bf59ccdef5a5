/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% macro rows(values) %}
{% for row in values | batch(6) %}
    {{ row | join(', ') }},
{% endfor %}
{% endmacro %}
/*
 * Turns sound into features; see features.h. The steps are those of the benchmark's reference:
 * pre-emphasis, a Hamming window, a Fourier transform, and overlapping triangles on the mel scale.
 * Each float operation is rounded once, so that other implementations can repeat the results.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "features.h"

#include <math.h>
#include <string.h>

#define WINDOW (2u * FRAME_SAMPLES)
#define HALF FRAME_SAMPLES
#define QUARTER (FRAME_SAMPLES / 2u)
#define EMPHASIS 32          /* a sample counts 32, */
#define EMPHASIS_BEFORE 31   /* the one before it -31 */
#define FULL_SCALE 1048576.0f /* 32 times that of 16 bits */
#define HAMMING 0.54f
#define HAMMING_COSINE 0.46f
#define LEVELS {{ stream.levels | length }}u
#define LEAST {{ stream.least }} /* the feature below all levels */

/* Cosines of the first quarter of a turn. */
static const float cosines[QUARTER + 1u] = {
{{ rows(stream.cosines) }}};

/* Where each frequency of the transform is among the bands: 1.25 is a quarter of the way from the
 * middle of band 0 to the middle of band 1. */
static const float places[HALF] = {
{{ rows(stream.places) }}};

/* The least power of each feature above the least. */
static const float levels[LEVELS] = {
{{ rows(stream.levels) }}};

static int16_t window[WINDOW];
static int16_t before; /* the sample before the window */
static float real[WINDOW];
static float imaginary[WINDOW];

/* Return the cosine of a number of steps, of which a turn has WINDOW. */
static float cosine(uint32_t steps)
{
    uint32_t step = steps % WINDOW;
    uint32_t folded = step > HALF ? WINDOW - step : step;

    return folded > QUARTER ? -cosines[HALF - folded] : cosines[folded];
}

/* Return the index with its bits in reverse. */
static uint32_t reversed(uint32_t index)
{
    uint32_t result = 0u;

    for (uint32_t bit = 1u; bit < WINDOW; bit <<= 1u) {
        result = result << 1u | (index & 1u);
        index >>= 1u;
    }
    return result;
}

/* Write the window, with its high frequencies emphasized and its ends faded, as the transform takes it. */
static void prepare(void)
{
    int32_t last = before;

    for (uint32_t i = 0u; i < WINDOW; i++) {
        int32_t change = EMPHASIS * window[i] - EMPHASIS_BEFORE * last;
        float weight = HAMMING_COSINE * cosine(i);
        uint32_t place = reversed(i);

        weight = HAMMING - weight;
        real[place] = (float)change / FULL_SCALE * weight;
        imaginary[place] = 0.0f;
        last = window[i];
    }
}

/* Combine two values of the transform; `steps` is the angle by which the second is turned. */
static void combine(uint32_t first, uint32_t second, uint32_t steps)
{
    float turn_real = cosine(steps);
    float turn_imaginary = cosine(steps + QUARTER); /* minus the sine */
    float product_real = turn_real * real[second];
    float product_cross = turn_imaginary * imaginary[second];
    float cross_real = turn_real * imaginary[second];
    float cross = turn_imaginary * real[second];
    float turned_real = product_real - product_cross;
    float turned_imaginary = cross_real + cross;

    real[second] = real[first] - turned_real;
    imaginary[second] = imaginary[first] - turned_imaginary;
    real[first] = real[first] + turned_real;
    imaginary[first] = imaginary[first] + turned_imaginary;
}

static void transform(void)
{
    for (uint32_t size = 2u; size <= WINDOW; size *= 2u) {
        for (uint32_t start = 0u; start < WINDOW; start += size) {
            for (uint32_t i = start; i < start + size / 2u; i++) {
                combine(i, i + size / 2u, (i - start) * (WINDOW / size));
            }
        }
    }
}

/* Sum the power in each band. */
static void sum_bands(float bands[FEATURES])
{
    memset(bands, 0, FEATURES * sizeof bands[0]);
    for (uint32_t i = 1u; i < HALF; i++) {
        float square = real[i] * real[i];
        float square_imaginary = imaginary[i] * imaginary[i];
        float power = square + square_imaginary;
        uint32_t band = (uint32_t)places[i]; /* of the upper triangle, counted from 1 */
        float share = places[i] - (float)band;
        float upper = power * share;
        float lower = power * (1.0f - share);

        if (band < FEATURES) {
            bands[band] += upper;
        }
        if (band > 0u) {
            bands[band - 1u] += lower;
        }
    }
}

/* Return the feature for a power: of as many steps as there are levels up to it. */
static int8_t feature_of(float power)
{
    int32_t feature = LEAST;

    for (uint32_t i = 0u; i < LEVELS && power >= levels[i]; i++) {
        feature++;
    }
    return (int8_t)feature;
}

void features_take(const int16_t samples[FRAME_SAMPLES], int8_t features[FEATURES])
{
    float bands[FEATURES];

    memmove(window, window + FRAME_SAMPLES, (WINDOW - FRAME_SAMPLES) * sizeof window[0]);
    memcpy(window + WINDOW - FRAME_SAMPLES, samples, FRAME_SAMPLES * sizeof window[0]);
    prepare();
    before = window[FRAME_SAMPLES - 1u];
    transform();
    sum_bands(bands);
    for (uint32_t i = 0u; i < FEATURES; i++) {
        features[i] = feature_of(bands[i]);
    }
}
