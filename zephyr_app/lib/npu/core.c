/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NPU interface, on top of Zephyr's Ethos-U device, which uses Arm's core driver.
 *
 * Zephyr initializes the device at boot. Several threads may run networks at once: Arm's driver gives
 * the NPU to one at a time, and the others sleep on Zephyr's semaphore.
 *
 * The end of a run is proved by our own code (ethosgen_npu_run.h): Arm's driver relies on a semaphore,
 * which the interrupt of another run may have given. So the linker wraps its interrupt handler.
 */
#include <stddef.h>
#include <zephyr/device.h>
#include <zephyr/devicetree.h>
#include <zephyr/irq.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/sys_io.h>

#define ETHOSGEN_NPU_GET(addr) sys_read32(addr)
#define ETHOSGEN_NPU_PUT(addr, value) sys_write32(value, addr)
#define ETHOSGEN_NPU_MASK() irq_lock()
#define ETHOSGEN_NPU_UNMASK(state) irq_unlock(state)
#include <ethosgen_npu_run.h>
#include <ethosgen_npu_arm.h>

#define NPU DT_COMPAT_GET_ANY_STATUS_OKAY(arm_ethos_u)

/* The driver's mutex and semaphores. ethosgen computes the same size from their usual sizes, which an
 * option may increase. */
#define CHUNK(bytes) ROUND_UP((bytes) + sizeof(void *) + 4, 8)
BUILD_ASSERT(CONFIG_HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN >=
                 48 + CHUNK(sizeof(struct k_mutex)) + 2 * CHUNK(sizeof(struct k_sem)),
             "raise CONFIG_HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN: the NPU's driver needs more heap");

BUILD_ASSERT(!DT_NODE_HAS_PROP(NPU, fast_memory_region),
             "delete the NPU's property fast-memory-region in an overlay: the network has its own "
             "fast memory, which the driver would replace with that region");

/* Given by each of the NPU's interrupts, so that the waiting thread checks again. */
K_SEM_DEFINE(npu_interrupts, 0, 1);

static struct ethosu_driver *driver; /* of the current run */

__weak bool ethosgen_npu_wait(const volatile bool *finished)
{
    ARG_UNUSED(finished);
    return k_sem_take(&npu_interrupts, K_MSEC(ETHOSGEN_NPU_TIMEOUT_MS)) == 0;
}

/* Names that the linker creates for its option --wrap. */
void __real_ethosu_irq_handler(struct ethosu_driver *drv);
void __wrap_ethosu_irq_handler(struct ethosu_driver *drv);

static void rest(void)
{
    __real_ethosu_irq_handler(driver);
}

void __wrap_ethosu_irq_handler(struct ethosu_driver *drv)
{
    if (!npu.is_running && drv->job.state == ETHOSU_JOB_RUNNING) {
        __real_ethosu_irq_handler(drv); /* the run is not ours, or was given up */
        return;
    }
    take_interrupt();
    k_sem_give(&npu_interrupts);
}

ethosgen_status ethosgen_npu_init(uintptr_t base_addr, bool secure, bool privileged)
{
    ARG_UNUSED(base_addr); /* the devicetree has all three */
    ARG_UNUSED(secure);
    ARG_UNUSED(privileged);
    if (!device_is_ready(DEVICE_DT_GET(NPU))) {
        return ETHOSGEN_NPU_NO_RESET;
    }
    take_over(DT_REG_ADDR(NPU), DT_PROP(NPU, secure_enable), DT_PROP(NPU, privilege_enable));
    return ETHOSGEN_OK;
}

/* Run a stream on the NPU, whose driver this thread has reserved. */
static ethosgen_status run(const struct ethosgen_npu_stream *stream, uint64_t *base,
                           const size_t *bytes, int used)
{
    ethosgen_status status = reset();

    if (status != ETHOSGEN_OK) {
        return status;
    }
    current = stream;
    prepare_run(stream);
    int result = ethosu_invoke_async(driver, stream->words, (int)stream->bytes, base, bytes, used,
                                     NULL);
    if (result == 0 && await_end()) {
        result = ethosu_wait(driver, true); /* does not sleep: rest() has given its semaphore */
    }
    return end_run(result);
}

ethosgen_status ethosgen_npu_run(const struct ethosgen_npu_stream *stream,
                                 const uintptr_t base[ETHOSGEN_NPU_BASES])
{
    uint64_t wide[ETHOSGEN_NPU_BASES];
    size_t bytes[ETHOSGEN_NPU_BASES];

    if (npu.base_addr == 0u) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    int used = 0; /* base pointers in use: to the cache hooks an unused one would mean all memory */

    for (int i = 0; i < ETHOSGEN_NPU_BASES; i++) {
        wide[i] = base[i];
        bytes[i] = stream->base_bytes[i];
        used = bytes[i] != 0u ? i + 1 : used;
    }
    driver = ethosu_reserve_driver(); /* sleeps until the NPU is free */
    ethosgen_status status = run(stream, wide, bytes, used);
    ethosu_release_driver(driver); /* resets the NPU if the run was given up */
    return status;
}
