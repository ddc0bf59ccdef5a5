/*
 * Arm Corstone-300 (MPS3 AN547): what the application needs to know of it.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

#if defined(BOARD_ON_QEMU) /* on QEMU, with the NPU's model in another process */
#define BOARD_NPU_BASE 0x7ffff000u
#elif defined(BOARD_ON_BOARD) /* on the board, or on Arm's FVP of it */
#define BOARD_NPU_BASE 0x58102000u
#else
#error "define BOARD_ON_QEMU or BOARD_ON_BOARD"
#endif
#define BOARD_NPU_SECURE true
#define BOARD_NPU_PRIVILEGED true

/* Rate of board_ticks(). */
#define BOARD_TICKS_HZ 32000000u

/* Turn the processor's caches on, where it has them. */
void board_enable_caches(void);

/* Start the clock and let the NPU interrupt. */
void board_init(void);

/* A free running counter; differences are good for 134 seconds. */
uint32_t board_ticks(void);

/* Start the console: from here on received bytes go to frames_take(), from an interrupt. */
void console_init(void);

/* Send one byte. */
void console_put(uint8_t byte);

/* Sleep until *event is set by an interrupt. */
void board_wait(const volatile bool *event);

/* Leave, where there is somewhere to go: a simulator ends with this status. */
void board_exit(uint32_t status);

/* Bytes of stack that were used since the start, at most. */
uint32_t board_stack_bytes(void);

#endif /* BOARD_H */
