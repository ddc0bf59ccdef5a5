/*
 * Reports results on the console; see report.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "report.h"

#include "services.h"

#define DECIMAL 10u
#define THOUSANDTHS 3u
#define DIGITS_MAX 20u /* of 64 bits */

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
