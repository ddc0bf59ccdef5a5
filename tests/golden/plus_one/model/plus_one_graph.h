/* SPDX-FileCopyrightText: Whoever holds the rights in the network */
/* SPDX-License-Identifier: LicenseRef-ethosgen-no-claim */
#include <stddef.h>
#include <stdint.h>
int32_t plus_one_entry(int8_t *arena, const int8_t *read_only);
int32_t plus_one_npu_invoke(int32_t stream, void *base0, void *base1, void *base2, void *base3, void *base4, void *base5, void *base6, void *base7);
