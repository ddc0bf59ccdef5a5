/*
 * The NPU interface on Zephyr's Ethos-U device, that is, on Arm's core driver.
 *
 * Zephyr initializes the device at boot. Several threads may run networks at once: Arm's driver
 * lets one of them at a time have the NPU, and the others sleep on Zephyr's semaphore.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <ethosgen_npu.h>
#include <ethosu_driver.h>
#include <stddef.h>
#include <zephyr/device.h>
#include <zephyr/devicetree.h>
#include <zephyr/kernel.h>

#define NPU DT_COMPAT_GET_ANY_STATUS_OKAY(arm_ethos_u)

/* The driver's mutex and semaphores; ethosgen computes the same from the sizes that they have unless
 * an option makes them larger. */
#define CHUNK(bytes) ROUND_UP((bytes) + sizeof(void *) + 4, 8)
BUILD_ASSERT(CONFIG_HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN >=
                 48 + CHUNK(sizeof(struct k_mutex)) + 2 * CHUNK(sizeof(struct k_sem)),
             "raise CONFIG_HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN: the NPU's driver needs more heap");

BUILD_ASSERT(!DT_NODE_HAS_PROP(NPU, fast_memory_region),
             "delete the NPU's property fast-memory-region in an overlay: the network brings its own "
             "fast memory, which the driver would replace by that one");

/* Registers by index, for what the core driver does not tell. */
enum { ID = 0, STATUS = 1, QREAD = 6, CONFIG = 10 };

static const struct ethosgen_npu_stream *current;
static struct ethosgen_npu_registers last;
static bool is_initialized;

static uint32_t npu_register(uint32_t index)
{
    return ((volatile uint32_t *)DT_REG_ADDR(NPU))[index];
}

/* Arm's driver asks here for each region's AXI port; -1 stands for the command stream. */
unsigned int ethosu_config_select(uint64_t address, int index)
{
    ARG_UNUSED(address);
    return index < 0 ? current->qconfig : current->regioncfg >> (2 * index) & 3u;
}

void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg)
{
    ARG_UNUSED(drv);
    ARG_UNUSED(user_arg);
    ethosgen_npu_begin(DT_REG_ADDR(NPU));
    ethosgen_npu_wait_begin();
}

/* Called before the driver gives up the NPU's power, with the registers as the run left them. */
void ethosu_inference_end(struct ethosu_driver *drv, void *user_arg)
{
    ARG_UNUSED(drv);
    ARG_UNUSED(user_arg);
    ethosgen_npu_end(DT_REG_ADDR(NPU));
    ethosgen_npu_wait_end();
    last.status = npu_register(STATUS);
    last.qread = npu_register(QREAD);
}

ethosgen_status ethosgen_npu_init(uintptr_t base_addr, bool secure, bool privileged)
{
    ARG_UNUSED(base_addr); /* all three are the devicetree's here */
    ARG_UNUSED(secure);
    ARG_UNUSED(privileged);
    is_initialized = device_is_ready(DEVICE_DT_GET(NPU));
    return is_initialized ? ETHOSGEN_OK : ETHOSGEN_NPU_NO_RESET;
}

ethosgen_status ethosgen_npu_check(uint32_t config, uint32_t id)
{
    if (!is_initialized) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    return ethosgen_npu_compare(npu_register(CONFIG), npu_register(ID), config, id);
}

ethosgen_status ethosgen_npu_run(const struct ethosgen_npu_stream *stream,
                                 const uintptr_t base[ETHOSGEN_NPU_BASES])
{
    uint64_t wide[ETHOSGEN_NPU_BASES];
    size_t bytes[ETHOSGEN_NPU_BASES];

    if (!is_initialized) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    int used = 0; /* base pointers: an unused one would read as "all memory" in the cache hooks */

    for (int i = 0; i < ETHOSGEN_NPU_BASES; i++) {
        wide[i] = base[i];
        bytes[i] = stream->base_bytes[i];
        used = bytes[i] != 0 ? i + 1 : used;
    }
    struct ethosu_driver *driver = ethosu_reserve_driver(); /* sleeps until the NPU is free */

    current = stream;
    int result = ethosu_invoke_v3(driver, stream->words, (int)stream->bytes, wide, bytes, used,
                                  NULL);
    ethosu_release_driver(driver);
    return result == 0 ? ETHOSGEN_OK : ETHOSGEN_NPU_DRIVER;
}

struct ethosgen_npu_registers ethosgen_npu_last(void)
{
    return last;
}
