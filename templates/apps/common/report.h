/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports results as lines of text on the console, for any terminal. Replace report.c to send them
 * elsewhere.
 *
 * It does not use printf: these few functions need no heap and little stack.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

/* Add text to the line. */
void report_text(const char *text);

/* Add a number, with spaces in front up to `width` characters. */
void report_number(int32_t value, uint32_t width);

/* Add a number of thousandths as a decimal fraction, "12.345", with spaces in front up to `width`
 * characters. */
void report_thousandths(uint64_t thousandths, uint32_t width);

/* Add a number without spaces. */
void report_count(uint64_t count);

/* Add two hexadecimal digits. */
void report_hex(uint8_t byte);

/* Add a real number as printf() does with "%.3f"; from 2^53 on it is "inf". */
void report_real(float value);

/* End the line. */
void report_line(void);

/* Report a failure with its status, in a line of its own. */
void report_failure(const char *what, uint32_t status);

/* Forget the counts below: a new input begins. */
void report_restart(void);

/* Return the number of lines, and of those that report failures, since the input began. */
uint32_t report_lines(void);
uint32_t report_failures(void);

#endif /* REPORT_H */
