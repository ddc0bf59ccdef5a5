/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives commands; see commands.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "commands.h"

#include "frames.h"
#include "services.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define END '%'
#define DECIMAL 10u
#define DIGIT_BITS 4u /* of a hexadecimal digit */

/* The console's interrupt writes here until a command is complete; then the program reads it. */
static struct {
    char text[COMMAND_MAX + 1u];
    uint32_t count;
} received;

/* Take a byte; return whether a command is complete. Only terminals send line ends: no runner does. */
static bool take(uint8_t byte)
{
    if (byte == END) {
        received.text[received.count] = '\0';
        atomic_signal_fence(memory_order_seq_cst); /* write the command before the flag */
        return true;
    }
    if (byte >= ' ' && received.count < COMMAND_MAX) {
        received.text[received.count++] = (char)byte;
    }
    return false;
}

void commands_start(void)
{
    frames_reader = take;
}

void commands_wait(struct command *command)
{
    board_wait(&frames_waiting);
    memcpy(command->text, received.text, sizeof command->text);
    command->next = command->text;
    received.count = 0;
    atomic_signal_fence(memory_order_seq_cst);
    frames_waiting = false;
}

const char *command_word(struct command *command)
{
    char *word = command->next;

    while (*word == ' ') {
        word++;
    }
    char *end = word;

    while (*end != ' ' && *end != '\0') {
        end++;
    }
    command->next = *end == '\0' ? end : end + 1;
    *end = '\0';
    return end == word ? NULL : word;
}

bool command_number(struct command *command, uint32_t *number)
{
    const char *word = command_word(command);
    uint32_t value = 0;

    if (word == NULL) {
        return false;
    }
    for (; *word >= '0' && *word <= '9'; word++) {
        value = value * DECIMAL + (uint32_t)(*word - '0');
    }
    *number = value;
    return true;
}

static int32_t digit(char character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    if (character >= 'a' && character <= 'f') {
        return character - 'a' + (int32_t)DECIMAL;
    }
    if (character >= 'A' && character <= 'F') {
        return character - 'A' + (int32_t)DECIMAL;
    }
    return -1;
}

bool command_hex(const char digits[2], uint8_t *byte)
{
    int32_t high = digit(digits[0]);
    int32_t low = digit(digits[1]);

    if (high < 0 || low < 0) {
        return false;
    }
    *byte = (uint8_t)((uint32_t)high << DIGIT_BITS | (uint32_t)low);
    return true;
}
