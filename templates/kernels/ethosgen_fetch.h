/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of weights from flash into the arena, ahead of the layer that reads them.
 *
 * The library defines both functions as weak: the core copies at once, and there is nothing to await.
 * Define both to let a DMA controller copy while the layer before computes.
 */
#ifndef ETHOSGEN_FETCH_H
#define ETHOSGEN_FETCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins a copy of `bytes` bytes. More copies may begin before the next wait. `to` is aligned to 32
 * bytes, and nothing else reads or writes its cache lines until ethosgen_fetch_wait() returns.
 * `from` is in flash, aligned to 16 bytes.
 */
void ethosgen_fetch(void *to, const void *from, size_t bytes);

/*
 * Returns when all begun copies are complete and visible to the core. With a data cache, it invalidates
 * the lines that the controller wrote.
 */
void ethosgen_fetch_wait(void);

#ifdef __cplusplus
}
#endif

#endif
