#include <stdint.h>
int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count);
int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int total = a[i] + b[i];
        sum[i] = (int8_t)(total > 127 ? 127 : total < -128 ? -128 : total);
    }
    return 0;
}
