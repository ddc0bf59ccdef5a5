/*
 * Rows with padding around them. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"

void ethosgen_pad_s8(void *output, const void *input, const int32_t *shape)
{
    const struct ethosgen_pad *pad = (const struct ethosgen_pad *)shape;
    int32_t row_bytes = pad->row_bytes, between = pad->between, value = pad->value;
    const int8_t *from = (const int8_t *)input;
    int8_t *to = (int8_t *)output;

    ethosgen_fill(to, value, pad->before);
    to += pad->before;
    for (int32_t left = pad->rows; left > 0; left--) {
        ethosgen_copy(to, from, row_bytes);
        to += row_bytes;
        from += row_bytes;
        if (left > 1) {
            ethosgen_fill(to, value, between);
            to += between;
        }
    }
    ethosgen_fill(to, value, pad->after);
}
