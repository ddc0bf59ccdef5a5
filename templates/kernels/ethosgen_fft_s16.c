/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages of a Fourier transform of int16, four numbers at a time. See ethosgen_kernels.h.
 *
 * Each number is first divided by 4 or 2, so that sums fit: it is multiplied by 8191 / 32768 or
 * 16383 / 32768 and rounded.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum {
    QUARTER = 8191,
    HALF = 16383,
    ONE = 32767,
};

#if ETHOSGEN_MVE
/* Multiply complex numbers; each part is rounded once. */
static inline int16x8_t turned(int16x8_t value, int16x8_t factor)
{
    return vqrdmladhxq_s16(vqrdmlsdhq_s16(value, value, factor), value, factor);
}

/* Four butterflies: lane i of each vector belongs to butterfly i. */
struct four {
    int16x8_t a;
    int16x8_t b;
    int16x8_t c;
    int16x8_t d;
};

/* Compute butterflies of values that are already scaled and multiplied by their twiddle factors. */
static inline struct four combined(struct four x, int32_t inverse)
{
    int16x8_t even = vaddq_s16(x.a, x.c), odd = vsubq_s16(x.a, x.c);
    int16x8_t total = vaddq_s16(x.b, x.d), cross = vsubq_s16(x.b, x.d);
    int16x8_t left = vcaddq_rot90_s16(odd, cross), right = vcaddq_rot270_s16(odd, cross);

    return (struct four){
        vaddq_s16(even, total),
        inverse ? left : right,
        vsubq_s16(even, total),
        inverse ? right : left,
    };
}

static inline int16x8_t quarter(int16x8_t value)
{
    return vqrdmulhq_n_s16(value, QUARTER);
}

/* Load four complex numbers of an input that ends after `rest` int16; zeros follow. */
static inline int16x8_t loaded(const int16_t *from, int32_t rest)
{
    return rest > 0 ? vldrhq_z_s16(from, vctp16q((uint32_t)rest)) : vdupq_n_s16(0);
}

void ethosgen_fft_first_s16(int16_t *output, const int16_t *input, int32_t length, int32_t count,
                            int32_t inverse)
{
    uint16x8_t lane = vidupq_n_u16(0, 1);
    uint16x8_t part = vandq_u16(lane, vdupq_n_u16(1));
    uint16x8_t offset = vmlaq_n_u16(part, vshrq_n_u16(lane, 1), (uint16_t)(count / 2));

    for (int32_t i = 0; i < count / 4; i += 4) {
        int32_t place = 0, rest = i / 4, at = 2 * i, step = count / 2;
        struct four x;

        for (int32_t weight = count / 16; weight >= 4; weight /= 4) {
            place += rest % 4 * weight;
            rest /= 4;
        }
        x.a = quarter(loaded(input + at, length - at));
        at += step;
        x.b = vqrdmulhq_n_s16(quarter(loaded(input + at, length - at)), ONE);
        at += step;
        x.c = vqrdmulhq_n_s16(quarter(loaded(input + at, length - at)), ONE);
        at += step;
        x.d = vqrdmulhq_n_s16(quarter(loaded(input + at, length - at)), ONE);
        x = combined(x, inverse);
        vstrhq_scatter_shifted_offset_s16(output + 2 * place, offset, x.a);
        vstrhq_scatter_shifted_offset_s16(output + 2 * place + 2, offset, x.b);
        vstrhq_scatter_shifted_offset_s16(output + 2 * place + 4, offset, x.c);
        vstrhq_scatter_shifted_offset_s16(output + 2 * place + 6, offset, x.d);
    }
}

void ethosgen_fft_stage_s16(int16_t *data, const int16_t *twiddles, int32_t span, int32_t groups,
                            int32_t inverse)
{
    int32_t step = 2 * span;

    for (int32_t k = 0; k < step; k += 8) {
        int16x8_t first = vldrhq_s16(twiddles + k);
        int16x8_t second = vldrhq_s16(twiddles + step + k);
        int16x8_t third = vldrhq_s16(twiddles + 2 * step + k);
        int16_t *at = data + k;

        for (int32_t group = 0; group < groups; group++) {
            struct four x = {
                quarter(vldrhq_s16(at)),
                turned(quarter(vldrhq_s16(at + step)), first),
                turned(quarter(vldrhq_s16(at + 2 * step)), second),
                turned(quarter(vldrhq_s16(at + 3 * step)), third),
            };

            x = combined(x, inverse);
            vstrhq_s16(at, x.a);
            vstrhq_s16(at + step, x.b);
            vstrhq_s16(at + 2 * step, x.c);
            vstrhq_s16(at + 3 * step, x.d);
            at = &at[4 * step];
        }
    }
}

/* Real and imaginary parts of four complex numbers, in 32 bits. */
struct parts {
    int32x4_t re;
    int32x4_t im;
};

static inline struct parts gathered(const int16_t *from, uint32x4_t place, mve_pred16_t inside)
{
    return (struct parts){
        vldrhq_gather_shifted_offset_z_s32(from, place, inside),
        vldrhq_gather_shifted_offset_z_s32(from + 1, place, inside),
    };
}

static inline void scattered(int16_t *to, uint32x4_t place, struct parts x, mve_pred16_t inside)
{
    vstrhq_scatter_shifted_offset_p_s32(to, place, x.re, inside);
    vstrhq_scatter_shifted_offset_p_s32(to + 1, place, x.im, inside);
}

static inline int32x4_t halved(int32x4_t value)
{
    return vrshrq_n_s32(vmulq_n_s32(value, HALF), 15);
}

static inline int32x4_t wrapped(int32x4_t value)
{
    return vmovlbq_s16(vreinterpretq_s16_s32(value));
}

/* Halve bins from both ends and conjugate the far ones: return their sum, and their difference times
 * a factor. */
static inline void fold(const int16_t *bins, const int16_t *factors, uint32x4_t near,
                        uint32x4_t far, mve_pred16_t inside, struct parts *sum, struct parts *turn)
{
    struct parts a = gathered(bins, near, inside), b = gathered(bins, far, inside);
    struct parts by = gathered(factors, vsubq_n_u32(near, 2), inside), gap;

    a = (struct parts){halved(a.re), halved(a.im)};
    b = (struct parts){halved(b.re), halved(wrapped(vnegq_s32(b.im)))};
    *sum = (struct parts){vaddq_s32(a.re, b.re), vaddq_s32(a.im, b.im)};
    gap = (struct parts){vsubq_s32(a.re, b.re), vsubq_s32(a.im, b.im)};
    turn->re = vsubq_s32(vmulq_s32(gap.re, by.re), vmulq_s32(gap.im, by.im));
    turn->im = vaddq_s32(vmulq_s32(gap.re, by.im), vmulq_s32(gap.im, by.re));
    turn->re = wrapped(vrshrq_n_s32(turn->re, 15));
    turn->im = wrapped(vrshrq_n_s32(turn->im, 15));
}

void ethosgen_fft_split_s16(int16_t *bins, const int16_t *factors, int32_t count)
{
    for (int32_t k = 1; k <= count / 2; k += 4) {
        int32_t left = count / 2 + 1 - k;
        mve_pred16_t inside = vctp32q((uint32_t)left);
        uint32x4_t near = vidupq_n_u32(2u * (uint32_t)k, 2);
        uint32x4_t far = vsubq_u32(vdupq_n_u32(2u * (uint32_t)count), near);
        struct parts sum, turn;

        fold(bins, factors, near, far, inside, &sum, &turn);
        scattered(bins, near,
                  (struct parts){vhaddq_s32(sum.re, turn.re), vhaddq_s32(sum.im, turn.im)},
                  inside);
        scattered(bins, far,
                  (struct parts){vhsubq_s32(sum.re, turn.re), vhsubq_s32(turn.im, sum.im)},
                  inside);
    }
}

void ethosgen_fft_join_s16(int16_t *output, const int16_t *bins, const int16_t *factors,
                           int32_t count)
{
    for (int32_t k = 1; k <= count / 2; k += 4) {
        int32_t left = count / 2 + 1 - k;
        mve_pred16_t inside = vctp32q((uint32_t)left);
        uint32x4_t near = vidupq_n_u32(2u * (uint32_t)k, 2);
        uint32x4_t far = vsubq_u32(vdupq_n_u32(2u * (uint32_t)count), near);
        struct parts sum, turn;

        fold(bins, factors, near, far, inside, &sum, &turn);
        scattered(output, near,
                  (struct parts){vaddq_s32(sum.re, turn.re), vaddq_s32(sum.im, turn.im)}, inside);
        scattered(output, far,
                  (struct parts){vsubq_s32(sum.re, turn.re), vsubq_s32(turn.im, sum.im)}, inside);
    }
}
#else
struct number {
    int32_t re;
    int32_t im;
};

static inline int32_t rounded(int32_t product)
{
    return (product + ((int32_t)1 << 14)) >> 15;
}

static inline struct number scaled(const int16_t *from, int32_t rest)
{
    return (struct number){
        rest > 0 ? rounded(from[0] * QUARTER) : 0,
        rest > 1 ? rounded(from[1] * QUARTER) : 0,
    };
}

static inline struct number turned(struct number x, int32_t re, int32_t im)
{
    return (struct number){
        rounded(x.re * re - x.im * im),
        rounded(x.re * im + x.im * re),
    };
}

static inline void put(int16_t *to, int32_t re, int32_t im)
{
    to[0] = (int16_t)re;
    to[1] = (int16_t)im;
}

/* Compute one butterfly; its results are `span` complex numbers apart. */
static void combine(int16_t *to, int32_t span, const struct number x[4], int32_t inverse)
{
    struct number even = {x[0].re + x[2].re, x[0].im + x[2].im};
    struct number odd = {x[0].re - x[2].re, x[0].im - x[2].im};
    struct number total = {x[1].re + x[3].re, x[1].im + x[3].im};
    struct number cross = {x[1].re - x[3].re, x[1].im - x[3].im};
    int16_t *left = to + 2 * span * (inverse ? 1 : 3), *right = to + 2 * span * (inverse ? 3 : 1);

    put(to, even.re + total.re, even.im + total.im);
    put(left, odd.re - cross.im, odd.im + cross.re);
    put(to + 4 * span, even.re - total.re, even.im - total.im);
    put(right, odd.re + cross.im, odd.im - cross.re);
}

void ethosgen_fft_first_s16(int16_t *output, const int16_t *input, int32_t length, int32_t count,
                            int32_t inverse)
{
    for (int32_t i = 0; i < count / 4; i++) {
        int32_t place = 0, rest = i;
        struct number x[4];

        for (int32_t weight = count / 4; weight >= 4; weight /= 4) {
            place += rest % 4 * weight;
            rest /= 4;
        }
        for (int32_t q = 0; q < 4; q++) {
            int32_t at = 2 * i + q * (count / 2);

            x[q] = scaled(input + at, length - at);
            if (q != 0) {
                x[q] = turned(x[q], ONE, 0);
            }
        }
        combine(output + 2 * place, 1, x, inverse);
    }
}

void ethosgen_fft_stage_s16(int16_t *data, const int16_t *twiddles, int32_t span, int32_t groups,
                            int32_t inverse)
{
    for (int32_t group = 0; group < groups; group++) {
        for (int32_t k = 0; k < span; k++) {
            int16_t *at = data + 2 * (group * 4 * span + k);
            struct number x[4];

            for (int32_t q = 0; q < 4; q++) {
                const int16_t *factor = twiddles + 2 * ((q - 1) * span + k);

                x[q] = scaled(at + 2 * q * span, 2);
                if (q != 0) {
                    x[q] = turned(x[q], factor[0], factor[1]);
                }
            }
            combine(at, span, x, inverse);
        }
    }
}

static inline int32_t halved(int32_t value)
{
    return rounded(value * HALF);
}

/* Halve bins from both ends and conjugate the far one: return their sum, and their difference times a
 * factor. */
static void fold(const int16_t *near, const int16_t *far, const int16_t *factor,
                 struct number *sum, struct number *turn)
{
    struct number a = {halved(near[0]), halved(near[1])};
    struct number b = {halved(far[0]), halved((int16_t)-far[1])};
    struct number gap = {a.re - b.re, a.im - b.im};

    *sum = (struct number){a.re + b.re, a.im + b.im};
    *turn = turned(gap, factor[0], factor[1]);
    turn->re = (int16_t)turn->re;
    turn->im = (int16_t)turn->im;
}

void ethosgen_fft_split_s16(int16_t *bins, const int16_t *factors, int32_t count)
{
    for (int32_t k = 1; k <= count / 2; k++) {
        int16_t *near = bins + 2 * k, *far = bins + 2 * (count - k);
        struct number sum, turn;

        fold(near, far, factors + 2 * (k - 1), &sum, &turn);
        put(near, (sum.re + turn.re) >> 1, (sum.im + turn.im) >> 1);
        put(far, (sum.re - turn.re) >> 1, (turn.im - sum.im) >> 1);
    }
}

void ethosgen_fft_join_s16(int16_t *output, const int16_t *bins, const int16_t *factors,
                           int32_t count)
{
    for (int32_t k = 1; k <= count / 2; k++) {
        struct number sum, turn;

        fold(bins + 2 * k, bins + 2 * (count - k), factors + 2 * (k - 1), &sum, &turn);
        put(output + 2 * k, sum.re + turn.re, sum.im + turn.im);
        put(output + 2 * (count - k), sum.re - turn.re, turn.im - sum.im);
    }
}
#endif
