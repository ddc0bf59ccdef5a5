/* SPDX-FileCopyrightText: Whoever holds the rights in the network */
/* SPDX-License-Identifier: LicenseRef-ethosgen-no-claim */
#include <stddef.h>
#include <stdint.h>
int32_t plus_one_entry(int8_t *arena, const int8_t *read_only);
int32_t plus_one_npu_invoke(int32_t stream, const void *base0, const void *base1, const void *base2, const void *base3, const void *base4, const void *base5, const void *base6, const void *base7);
