/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a matrix of float32 as weights. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include <math.h>

#include "ethosgen_floats_math.h"

enum { BLOCK = ETHOSGEN_BLOCK_F32 };

#if ETHOSGEN_MVE_F
/* Pack a column, or 4 of them. */
static inline void pack_block(float *to, const float *from, int32_t depth, int32_t step,
                              int32_t column_step, int32_t left)
{
    mve_pred16_t inside = vctp32q((uint32_t)left);
    uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)column_step);

    vstrwq_f32(to, vdupq_n_f32(0.0f));
    if (column_step == 1) {
        for (; depth > 0; depth--) {
            to += BLOCK;
            vstrwq_f32(to, vldrwq_z_f32(from, inside));
            from = &from[step];
        }
        return;
    }
    for (; depth > 0; depth--) {
        to += BLOCK;
        vstrwq_f32(to, vldrwq_gather_shifted_offset_z_f32(from, places, inside));
        from = &from[step];
    }
}
#else
static inline void pack_block(float *to, const float *from, int32_t depth, int32_t step,
                              int32_t column_step, int32_t left)
{
    ethosgen_zero_f32(to, BLOCK);
    for (; depth > 0; depth--) {
        to += BLOCK;
        if (left >= BLOCK) {
            to[0] = from[0];
            to[1] = from[column_step];
            to[2] = from[2 * column_step];
            to[3] = from[3 * column_step];
        } else {
            for (int32_t i = 0; i < BLOCK; i++) {
                to[i] = i < left ? from[i * column_step] : 0.0f;
            }
        }
        from = &from[step];
    }
}
#endif

void ethosgen_pack_f32(float *packed, const float *matrix, int32_t depth, int32_t columns,
                       int32_t row_step, int32_t column_step)
{
    packed[0] = -INFINITY;
    packed[1] = INFINITY;
    packed += ETHOSGEN_BOUNDS_F32;
    for (; columns > 0; columns -= BLOCK) {
        pack_block(packed, matrix, depth, row_step, column_step, columns);
        packed += BLOCK + BLOCK * depth;
        matrix += BLOCK * column_step;
    }
}
