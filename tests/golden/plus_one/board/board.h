/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm Corstone-300 (MPS3 AN547): the facts that the application needs.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BOARD_H
#define BOARD_H

#include "services.h"

#if defined(BOARD_ON_QEMU) /* on QEMU, with the NPU model in another process */
#define BOARD_NPU_BASE 0x7fffe000u
#elif defined(BOARD_ON_BOARD) /* on the board, or on Arm's FVP of it */
#define BOARD_NPU_BASE 0x58102000u
#else
#error "define BOARD_ON_QEMU or BOARD_ON_BOARD"
#endif
#define BOARD_NPU_SECURE true
#define BOARD_NPU_PRIVILEGED true

#ifdef BOARD_ON_QEMU
/* The rate of board_ticks(), which counts QEMU's instructions. */
#define BOARD_TICKS_HZ 15625000u
#else
/* The rate of board_ticks(), which wraps after 134 seconds. */
#define BOARD_TICKS_HZ 32000000u
#endif

/* Turn on the processor's caches, if it has any. */
void board_enable_caches(void);

#endif /* BOARD_H */
