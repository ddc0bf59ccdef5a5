/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports results on the console; see report.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "report.h"

#include "services.h"

#include <string.h>

#define DECIMAL 10u
#define THOUSANDTHS 3u
#define DIGITS_MAX 20u /* of 64 bits */
#define THOUSAND 1000u

/* The parts of a float: the mantissa has a leading 1, unless the exponent is the least. */
#define MANTISSA_BITS 23u
#define MANTISSA_ONE (1u << MANTISSA_BITS)
#define EXPONENT_MASK 0xFFu
#define EXPONENT_OF_ONE 150u /* the unit of the mantissa */
#define EXPONENT_END (EXPONENT_OF_ONE + 30u) /* thousandths of larger numbers exceed 64 bits */

static uint32_t lines;
static uint32_t failures;

static void put(char character)
{
    console_put((uint8_t)character);
}

static void pad(uint32_t length, uint32_t width)
{
    while (length++ < width) {
        put(' ');
    }
}

/* Write at least `least` digits to the end of the array; return their number. */
static uint32_t spell(char digits[DIGITS_MAX], uint64_t value, uint32_t least)
{
    uint32_t count = 0;

    while (value != 0 || count < least) {
        digits[DIGITS_MAX - ++count] = (char)('0' + (char)(value % DECIMAL));
        value /= DECIMAL;
    }
    return count;
}

void report_text(const char *text)
{
    while (*text != '\0') {
        put(*text++);
    }
}

void report_number(int32_t value, uint32_t width)
{
    char digits[DIGITS_MAX];
    uint32_t size = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    uint32_t count = spell(digits, size, 1);

    pad(count + (value < 0), width);
    if (value < 0) {
        put('-');
    }
    for (uint32_t i = DIGITS_MAX - count; i < DIGITS_MAX; i++) {
        put(digits[i]);
    }
}

void report_thousandths(uint64_t thousandths, uint32_t width)
{
    char digits[DIGITS_MAX];
    uint32_t count = spell(digits, thousandths, THOUSANDTHS + 1u);

    pad(count + 1u, width);
    for (uint32_t i = DIGITS_MAX - count; i < DIGITS_MAX; i++) {
        if (i == DIGITS_MAX - THOUSANDTHS) {
            put('.');
        }
        put(digits[i]);
    }
}

void report_count(uint64_t count)
{
    char digits[DIGITS_MAX];

    for (uint32_t i = DIGITS_MAX - spell(digits, count, 1); i < DIGITS_MAX; i++) {
        put(digits[i]);
    }
}

void report_hex(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";

    put(digits[byte >> 4]);
    put(digits[byte & 0xFu]);
}

/* Divide by 2 to the power of `bits`, and round half to even. */
static uint64_t round_off(uint64_t value, uint32_t bits)
{
    if (bits >= 64u) {
        return 0;
    }
    uint64_t whole = value >> bits;
    uint64_t rest = value - (whole << bits);
    uint64_t half = 1ull << bits >> 1;

    return whole + (rest > half || (rest == half && bits != 0u && whole % 2u != 0u));
}

void report_real(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = bits >> MANTISSA_BITS & EXPONENT_MASK;
    uint64_t mantissa = bits & (MANTISSA_ONE - 1u);

    if (bits >> 31 != 0u) {
        put('-');
    }
    if (exponent >= EXPONENT_END) {
        report_text("inf");
        return;
    }
    if (exponent != 0u) {
        mantissa |= MANTISSA_ONE;
    } else {
        exponent = 1u;
    }
    mantissa *= THOUSAND;
    report_thousandths(exponent >= EXPONENT_OF_ONE
                           ? mantissa << (exponent - EXPONENT_OF_ONE)
                           : round_off(mantissa, EXPONENT_OF_ONE - exponent),
                       0);
}

void report_line(void)
{
    put('\r');
    put('\n');
    lines++;
}

void report_failure(const char *what, uint32_t status)
{
    report_text("FAILED: ");
    report_text(what);
    report_text(", with status ");
    report_number((int32_t)status, 0);
    failures++;
    report_line();
}

void report_restart(void)
{
    lines = 0;
    failures = 0;
}

uint32_t report_lines(void)
{
    return lines;
}

uint32_t report_failures(void)
{
    return failures;
}
