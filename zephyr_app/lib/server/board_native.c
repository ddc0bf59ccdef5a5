/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's console, clock and exit on native_sim, with stdin and stdout; see board.h.
 */
#include "board.h"

#include "../npu/native_host.h"
#include "frames.h"

#include <posix_board_if.h>

void board_init(void)
{
    ethosgen_host_attend(ETHOSGEN_PROJECT, ETHOSGEN_BUILD);
}

uint32_t board_ticks(void)
{
    return k_cycle_get_32();
}

void console_init(void)
{
}

void console_put(uint8_t byte)
{
    ethosgen_host_write(byte);
}

void board_wait(const volatile bool *event)
{
    uint8_t byte;

    while (!*event) {
        int count = ethosgen_host_read(&byte);
        if (count < 0) {
            board_exit(1); /* the other side has gone */
        }
        if (count == 0) {
            k_sleep(K_MSEC(1));
        } else {
            frames_take(byte);
        }
    }
}

/* The stack is the host's, not the board's: its use is not counted. */
uint32_t board_stack_bytes(void)
{
    return 0;
}

void board_stack_mark(void)
{
}

uint32_t board_stack_since_mark(void)
{
    return 0;
}

void board_exit(uint32_t status)
{
    posix_exit((int)status);
}
