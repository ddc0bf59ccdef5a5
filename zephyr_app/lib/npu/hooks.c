/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks of ethosgen_npu.h that Zephyr leaves to the application; define a function of the same
 * name to replace one.
 */
#include <ethosgen_npu.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/util.h>
#include <zephyr/toolchain.h>

__weak uint32_t ethosgen_npu_clock(uint32_t *per_ms)
{
    *per_ms = 1;
    return k_uptime_get_32();
}

__weak void ethosgen_npu_reset_begin(void)
{
}

__weak void ethosgen_npu_reset_end(void)
{
}

__weak void ethosgen_npu_wait_begin(void)
{
}

__weak void ethosgen_npu_wait_end(void)
{
}

__weak void ethosgen_npu_resume(void)
{
}

__weak void ethosgen_npu_begin(uintptr_t base_addr)
{
    ARG_UNUSED(base_addr);
}

__weak void ethosgen_npu_end(uintptr_t base_addr)
{
    ARG_UNUSED(base_addr);
}
