/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives commands: words of text on the console, separated by spaces. A '%' ends a command.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#define COMMAND_MAX {{ 1028 if benchmark.is_stream else 80 }}u /* characters; the rest of a longer one is lost */

struct command {
    char text[COMMAND_MAX + 1u];
    char *next; /* the rest of the text, whose words have not been taken yet */
};

/* Take what the console receives from now on. */
void commands_start(void);

/* Wait for a command, and copy it. The next one may arrive meanwhile. */
void commands_wait(struct command *command);

/* Take the command's next word; NULL if there is none. */
const char *command_word(struct command *command);

/* Take the next word as a decimal number; return false, and leave *number as it is, if there is none. */
bool command_number(struct command *command, uint32_t *number);

/* Convert two hexadecimal digits; return false if they are not digits. */
bool command_hex(const char digits[2], uint8_t *byte);

#endif /* COMMANDS_H */
