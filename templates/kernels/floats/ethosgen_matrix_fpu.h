/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights, for the floating-point unit of a Cortex-M: the sums of 4 rows with 4 channels
 * stay in registers. Only ethosgen_matrix_f32.c includes this file.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */

/* ISO C guarantees strings of 4095 characters; the compilers of this assembly accept more. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* Two products of a row with 4 channels, whose weights are in s16 to s23. */
#define TWO_OF_FOUR(row, a, b, c, d)      \
    "vldmia %[" row "]!, {s24, s25}\n\t"  \
    "vmul.f32 s26, s16, s24\n\t"          \
    "vmul.f32 s27, s17, s24\n\t"          \
    "vmul.f32 s28, s18, s24\n\t"          \
    "vmul.f32 s29, s19, s24\n\t"          \
    "vadd.f32 " a ", " a ", s26\n\t"      \
    "vmul.f32 s26, s20, s25\n\t"          \
    "vadd.f32 " b ", " b ", s27\n\t"      \
    "vmul.f32 s27, s21, s25\n\t"          \
    "vadd.f32 " c ", " c ", s28\n\t"      \
    "vmul.f32 s28, s22, s25\n\t"          \
    "vadd.f32 " d ", " d ", s29\n\t"      \
    "vmul.f32 s29, s23, s25\n\t"          \
    "vadd.f32 " a ", " a ", s26\n\t"      \
    "vadd.f32 " b ", " b ", s27\n\t"      \
    "vadd.f32 " c ", " c ", s28\n\t"      \
    "vadd.f32 " d ", " d ", s29\n\t"

/* One product of a row, with the weights in s16 to s19. */
#define ONE_OF_FOUR(row, a, b, c, d)      \
    "vldr s24, [%[" row "]]\n\t"          \
    "vmul.f32 s26, s16, s24\n\t"          \
    "vmul.f32 s27, s17, s24\n\t"          \
    "vmul.f32 s28, s18, s24\n\t"          \
    "vmul.f32 s29, s19, s24\n\t"          \
    "vadd.f32 " a ", " a ", s26\n\t"      \
    "vadd.f32 " b ", " b ", s27\n\t"      \
    "vadd.f32 " c ", " c ", s28\n\t"      \
    "vadd.f32 " d ", " d ", s29\n\t"

/* The same for only the first two channels. */
#define TWO_OF_TWO(row, a, b, c, d)       \
    "vldmia %[" row "]!, {s24, s25}\n\t"  \
    "vmul.f32 s26, s16, s24\n\t"          \
    "vmul.f32 s27, s17, s24\n\t"          \
    "vmul.f32 s28, s20, s25\n\t"          \
    "vmul.f32 s29, s21, s25\n\t"          \
    "vadd.f32 " a ", " a ", s26\n\t"      \
    "vadd.f32 " b ", " b ", s27\n\t"      \
    "vadd.f32 " a ", " a ", s28\n\t"      \
    "vadd.f32 " b ", " b ", s29\n\t"

#define ONE_OF_TWO(row, a, b, c, d)       \
    "vldr s24, [%[" row "]]\n\t"          \
    "vmul.f32 s26, s16, s24\n\t"          \
    "vmul.f32 s27, s17, s24\n\t"          \
    "vadd.f32 " a ", " a ", s26\n\t"      \
    "vadd.f32 " b ", " b ", s27\n\t"

/* Like C++'s min(max(x, low), high), with low in s20 and high in s21: NaN and -0 stay. */
#if ETHOSGEN_VSEL
#define LIMIT(x)                          \
    "vcmp.f32 s20, " x "\n\t"             \
    "vmrs APSR_nzcv, fpscr\n\t"           \
    "vselgt.f32 " x ", s20, " x "\n\t"    \
    "vcmp.f32 " x ", s21\n\t"             \
    "vmrs APSR_nzcv, fpscr\n\t"           \
    "vselgt.f32 " x ", s21, " x "\n\t"
#else
#define LIMIT(x)                          \
    "vcmp.f32 s20, " x "\n\t"             \
    "vmrs APSR_nzcv, fpscr\n\t"           \
    "it gt\n\t"                           \
    "vmovgt.f32 " x ", s20\n\t"           \
    "vcmp.f32 " x ", s21\n\t"             \
    "vmrs APSR_nzcv, fpscr\n\t"           \
    "it gt\n\t"                           \
    "vmovgt.f32 " x ", s21\n\t"
#endif

/* Add the biases in s16 to s19 to the sums of a row. */
#define FINISH_FOUR(a, b, c, d)           \
    "vadd.f32 " a ", " a ", s16\n\t"      \
    "vadd.f32 " b ", " b ", s17\n\t"      \
    "vadd.f32 " c ", " c ", s18\n\t"      \
    "vadd.f32 " d ", " d ", s19\n\t"      \
    LIMIT(a) LIMIT(b) LIMIT(c) LIMIT(d)

#define FINISH_TWO(a, b, c, d)            \
    "vadd.f32 " a ", " a ", s16\n\t"      \
    "vadd.f32 " b ", " b ", s17\n\t"      \
    LIMIT(a) LIMIT(b)

#define FIRST "s0", "s1", "s2", "s3"
#define SECOND "s4", "s5", "s6", "s7"
#define THIRD "s8", "s9", "s10", "s11"
#define FOURTH "s12", "s13", "s14", "s15"
#define OTHERS                                                                                     \
    "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29"
#define WITH(macro, ...) macro(__VA_ARGS__)

/*
 * The outputs of 4 rows; TWO and ONE are their products, FINISH ends a row.
 *
 * s0 to s15: sums, 4 of each row. s16 to s23: weights of two places. s24, s25: two values of a row.
 * s26 to s29: products. pairs: pairs of places left. At the end, s16 to s19: biases. s20, s21:
 * bounds.
 */
#define OF_ROWS(TWO, ONE, FINISH)                                                               \
    __asm volatile("vldmia %[to], {s0-s15}\n\t"                                                 \
                   "asrs %[pairs], %[depth], #1\n\t"                                            \
                   "beq 2f\n"                                                                   \
                   "1:\n\t"                                                                     \
                   "vldmia %[weights]!, {s16-s23}\n\t"                                          \
                   WITH(TWO, "row0", FIRST)                                                     \
                   WITH(TWO, "row1", SECOND)                                                    \
                   WITH(TWO, "row2", THIRD)                                                     \
                   WITH(TWO, "row3", FOURTH)                                                    \
                   "subs %[pairs], #1\n\t"                                                      \
                   "bne 1b\n"                                                                   \
                   "2:\n\t"                                                                     \
                   "lsls %[pairs], %[depth], #31\n\t"                                           \
                   "beq 3f\n\t"                                                                 \
                   "vldmia %[weights], {s16-s19}\n\t"                                           \
                   WITH(ONE, "row0", FIRST)                                                     \
                   WITH(ONE, "row1", SECOND)                                                    \
                   WITH(ONE, "row2", THIRD)                                                     \
                   WITH(ONE, "row3", FOURTH)                                                    \
                   "3:\n\t"                                                                     \
                   "vldmia %[biases], {s16-s19}\n\t"                                            \
                   "vldmia %[bounds], {s20, s21}\n\t"                                           \
                   WITH(FINISH, FIRST)                                                          \
                   WITH(FINISH, SECOND)                                                         \
                   WITH(FINISH, THIRD)                                                          \
                   WITH(FINISH, FOURTH)                                                         \
                   "vstmia %[to], {s0-s15}"                                                     \
                   : [row0] "+r"(row), [row1] "+r"(row1), [row2] "+r"(row2), [row3] "+r"(row3), \
                     [weights] "+r"(weights), [pairs] "=&r"(pairs)                              \
                   : [depth] "r"(depth), [to] "r"(to), [biases] "r"(block),                     \
                     [bounds] "r"(&bounds)                                                      \
                   : FIRST, SECOND, THIRD, FOURTH, OTHERS, "cc", "memory")

static inline void put(float *output, const float *values, int32_t left)
{
    if (left >= BLOCK) {
        *(struct ethosgen_four *)output = *(const struct ethosgen_four *)values;
        return;
    }
    for (int32_t i = 0; i < left; i++) {
        output[i] = values[i];
    }
}

static inline void multiply_rows(float *output, int32_t output_step, const float *row,
                                 int32_t step, const float *block, int32_t depth,
                                 struct bounds bounds, int32_t left)
{
    const float *row1 = row + step, *row2 = row1 + step, *row3 = row2 + step;
    const float *weights = block + BLOCK;
    float values[ROWS * BLOCK] = {0}, *to = values;
    int32_t pairs;

    if (left > BLOCK / 2) {
        OF_ROWS(TWO_OF_FOUR, ONE_OF_FOUR, FINISH_FOUR);
    } else {
        OF_ROWS(TWO_OF_TWO, ONE_OF_TWO, FINISH_TWO);
    }
    for (int32_t i = 0; i < ROWS; i++) {
        put(output + i * output_step, values + i * BLOCK, left);
    }
}

/*
 * The outputs of a row.
 *
 * s0 to s3: sums. s16 to s23: weights of two places. s24, s25: two values of the row. s26 to s29:
 * products. pairs: pairs of places left. At the end, s16 to s19: biases. s20, s21: bounds.
 */
#define OF_ROW(TWO, ONE, FINISH)                                                            \
    __asm volatile("vldmia %[to], {s0-s3}\n\t"                                              \
                   "asrs %[pairs], %[depth], #1\n\t"                                        \
                   "beq 2f\n"                                                               \
                   "1:\n\t"                                                                 \
                   "vldmia %[weights]!, {s16-s23}\n\t"                                      \
                   WITH(TWO, "row", FIRST)                                                  \
                   "subs %[pairs], #1\n\t"                                                  \
                   "bne 1b\n"                                                               \
                   "2:\n\t"                                                                 \
                   "lsls %[pairs], %[depth], #31\n\t"                                       \
                   "beq 3f\n\t"                                                             \
                   "vldmia %[weights], {s16-s19}\n\t"                                       \
                   WITH(ONE, "row", FIRST)                                                  \
                   "3:\n\t"                                                                 \
                   "vldmia %[biases], {s16-s19}\n\t"                                        \
                   "vldmia %[bounds], {s20, s21}\n\t"                                       \
                   WITH(FINISH, FIRST)                                                      \
                   "vstmia %[to], {s0-s3}"                                                  \
                   : [row] "+r"(row), [weights] "+r"(weights), [pairs] "=&r"(pairs)         \
                   : [depth] "r"(depth), [to] "r"(to), [biases] "r"(block),                 \
                     [bounds] "r"(&bounds)                                                  \
                   : FIRST, OTHERS, "cc", "memory")

static inline void multiply_row(float *output, const float *row, const float *block, int32_t depth,
                                struct bounds bounds, int32_t left)
{
    const float *weights = block + BLOCK;
    float values[BLOCK] = {0}, *to = values;
    int32_t pairs;

    if (left > BLOCK / 2) {
        OF_ROW(TWO_OF_FOUR, ONE_OF_FOUR, FINISH_FOUR);
    } else {
        OF_ROW(TWO_OF_TWO, ONE_OF_TWO, FINISH_TWO);
    }
    put(output, values, left);
}
