/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with padding around them, and rows that get other places. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_math.h"

enum { BLOCK = 32, WORD = 4 };

/* Words at any address, one by one, and the bytes after them. */
static inline void copy_words(int8_t *to, const int8_t *from, int32_t bytes)
{
    for (; bytes >= WORD; bytes -= WORD) {
        uint32_t word = ethosgen_dsp_word(from);

        (void)memcpy((uint8_t *)to, (const uint8_t *)&word, sizeof word);
        to += WORD;
        from += WORD;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

static inline void fill_words(int8_t *to, uint32_t value, int32_t bytes)
{
    for (; bytes >= WORD; bytes -= WORD) {
        (void)memcpy((uint8_t *)to, (const uint8_t *)&value, sizeof value);
        to += WORD;
    }
    for (; bytes > 0; bytes--) {
        *to++ = (int8_t)value;
    }
}

#if (ETHOSGEN_DSP || defined(__thumb2__)) && !defined(ETHOSGEN_PLAIN_C)
/* Copy or fill in blocks of 8 words, at addresses aligned to words. */
static void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    if (bytes >= BLOCK && ((uintptr_t)to | (uintptr_t)from) % WORD == 0) {
        const int8_t *end = from + bytes / BLOCK * BLOCK;

        /* r3 to r6, r8 to r10, r12: words. */
        __asm volatile("1:\n\t"
                       "ldm %[from]!, {r3-r6, r8-r10, r12}\n\t"
                       "cmp %[from], %[end]\n\t"
                       "stm %[to]!, {r3-r6, r8-r10, r12}\n\t"
                       "bne 1b"
                       : [to] "+&r"(to), [from] "+&r"(from)
                       : [end] "r"(end)
                       : "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "cc", "memory");
        bytes %= BLOCK;
    }
    copy_words(to, from, bytes);
}

static void fill(int8_t *to, uint32_t value, int32_t bytes)
{
    if (bytes >= BLOCK && (uintptr_t)to % WORD == 0) {
        int8_t *end = to + bytes / BLOCK * BLOCK;

        /* r3 to r6: the value. */
        __asm volatile("mov r3, %[value]\n\t"
                       "mov r4, r3\n\t"
                       "mov r5, r3\n\t"
                       "mov r6, r3\n"
                       "1:\n\t"
                       "stm %[to]!, {r3-r6}\n\t"
                       "stm %[to]!, {r3-r6}\n\t"
                       "cmp %[to], %[end]\n\t"
                       "bne 1b"
                       : [to] "+&r"(to)
                       : [end] "r"(end), [value] "r"(value)
                       : "r3", "r4", "r5", "r6", "cc", "memory");
        bytes %= BLOCK;
    }
    fill_words(to, value, bytes);
}

enum { UNIT = BLOCK };

/* Copy `blocks` bytes in units, for which both addresses are aligned to words, and `rest` bytes. */
static inline void copy_row(int8_t *to, const int8_t *from, int32_t blocks, int32_t rest)
{
    /* r3 to r6: words. `rest` has a high register where r7 is the frame pointer. */
    __asm volatile("cbz %[blocks], 2f\n"
                   "1:\n\t"
                   "ldm %[from]!, {r3-r6}\n\t"
                   "stm %[to]!, {r3-r6}\n\t"
                   "ldm %[from]!, {r3-r6}\n\t"
                   "subs %[blocks], #32\n\t"
                   "stm %[to]!, {r3-r6}\n\t"
                   "bne 1b\n"
                   "2:\n\t"
                   "subs %[rest], #16\n\t"
                   "blo 4f\n"
                   "3:\n\t"
                   "ldr r3, [%[from]]\n\t"
                   "ldr r4, [%[from], #4]\n\t"
                   "ldr r5, [%[from], #8]\n\t"
                   "ldr r6, [%[from], #12]\n\t"
                   "adds %[from], #16\n\t"
                   "str r3, [%[to]]\n\t"
                   "str r4, [%[to], #4]\n\t"
                   "str r5, [%[to], #8]\n\t"
                   "str r6, [%[to], #12]\n\t"
                   "adds %[to], #16\n\t"
                   "subs %[rest], #16\n\t"
                   "bhs 3b\n"
                   "4:\n\t"
                   "adds %[rest], #12\n\t"
                   "blo 6f\n"
                   "5:\n\t"
                   "ldr r3, [%[from]], #4\n\t"
                   "subs %[rest], #4\n\t"
                   "str r3, [%[to]], #4\n\t"
                   "bhs 5b\n"
                   "6:\n\t"
                   "adds %[rest], #4\n\t"
                   "beq 8f\n"
                   "7:\n\t"
                   "ldrb r3, [%[from]], #1\n\t"
                   "subs %[rest], #1\n\t"
                   "strb r3, [%[to]], #1\n\t"
                   "bne 7b\n"
                   "8:"
                   : [to] "+&l"(to), [from] "+&l"(from), [blocks] "+&l"(blocks), [rest] "+&r"(rest)
                   :
                   : "r3", "r4", "r5", "r6", "cc", "memory");
}
#elif defined(__thumb__) && !defined(ETHOSGEN_PLAIN_C)
/* Armv6-M loads and stores only low registers, and only aligned words. */
static void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    if (((uintptr_t)to | (uintptr_t)from) % WORD == 0) {
        if (bytes >= BLOCK) {
            const int8_t *end = from + bytes / BLOCK * BLOCK;

            /* r3 to r6: words. */
            __asm volatile("1:\n\t"
                           "ldm %[from]!, {r3-r6}\n\t"
                           "stm %[to]!, {r3-r6}\n\t"
                           "ldm %[from]!, {r3-r6}\n\t"
                           "stm %[to]!, {r3-r6}\n\t"
                           "cmp %[from], %[end]\n\t"
                           "bne 1b"
                           : [to] "+&l"(to), [from] "+&l"(from)
                           : [end] "l"(end)
                           : "r3", "r4", "r5", "r6", "cc", "memory");
            bytes %= BLOCK;
        }
        int32_t rest = bytes % WORD;

        copy_words(__builtin_assume_aligned(to, WORD), __builtin_assume_aligned(from, WORD),
                   bytes - rest);
        to += bytes - rest;
        from += bytes - rest;
        bytes = rest;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

enum { UNIT = WORD };

static inline void copy_row(int8_t *to, const int8_t *from, int32_t blocks, int32_t rest)
{
    /* r3 to r6: words. */
    __asm volatile(".syntax unified\n\t"
                   "subs %[blocks], #16\n\t"
                   "blo 2f\n"
                   "1:\n\t"
                   "ldm %[from]!, {r3-r6}\n\t"
                   "stm %[to]!, {r3-r6}\n\t"
                   "subs %[blocks], #16\n\t"
                   "bhs 1b\n"
                   "2:\n\t"
                   "adds %[blocks], #12\n\t"
                   "blo 4f\n"
                   "3:\n\t"
                   "ldm %[from]!, {r3}\n\t"
                   "stm %[to]!, {r3}\n\t"
                   "subs %[blocks], #4\n\t"
                   "bhs 3b\n"
                   "4:\n\t"
                   "subs %[rest], #1\n\t"
                   "blo 6f\n"
                   "5:\n\t"
                   "ldrb r3, [%[from], %[rest]]\n\t"
                   "strb r3, [%[to], %[rest]]\n\t"
                   "subs %[rest], #1\n\t"
                   "bhs 5b\n"
                   "6:"
                   : [to] "+&l"(to), [from] "+&l"(from), [blocks] "+&l"(blocks), [rest] "+&l"(rest)
                   :
                   : "r3", "r4", "r5", "r6", "cc", "memory");
}

static void fill(int8_t *to, uint32_t value, int32_t bytes)
{
    for (; bytes > 0 && (uintptr_t)to % WORD != 0; bytes--) {
        *to++ = (int8_t)value;
    }
    fill_words(__builtin_assume_aligned(to, WORD), value, bytes);
}
#else
enum { UNIT = WORD };

static void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    copy_words(to, from, bytes);
}

static inline void copy_row(int8_t *to, const int8_t *from, int32_t blocks, int32_t rest)
{
    copy_words(to, from, blocks + rest);
}

static void fill(int8_t *to, uint32_t value, int32_t bytes)
{
    fill_words(to, value, bytes);
}
#endif

void ethosgen_dsp_pad_s8(void *output, const void *input, const struct ethosgen_dsp_pad *pad)
{
    uint32_t value = (uint8_t)pad->value * 0x01010101u;
    const int8_t *from = input;
    int8_t *to = output;

    fill(to, value, pad->before);
    to += pad->before;
    for (int32_t left = pad->rows; left > 0; left--) {
        copy(to, from, pad->row_bytes);
        to += pad->row_bytes;
        from += pad->row_bytes;
        if (left > 1) {
            fill(to, value, pad->between);
            to += pad->between;
        }
    }
    fill(to, value, pad->after);
}

void ethosgen_dsp_copy_rows(void *output, const void *input, const struct ethosgen_dsp_rows *block)
{
    const int8_t *from = input;
    int8_t *to = output;
    int32_t bytes = block->columns, in = block->input_step, out = block->output_step;
    uintptr_t places = (uintptr_t)to | (uintptr_t)from | (uintptr_t)in | (uintptr_t)out;
    int32_t blocks = places % WORD == 0 ? bytes / UNIT * UNIT : 0;

    for (int32_t left = block->rows; left > 0; left--) {
        copy_row(to, from, blocks, bytes - blocks);
        to = &to[out];
        from = &from[in];
    }
}
