/*
 * The NPU interface on Zephyr's Ethos-U device, that is, on Arm's core driver.
 *
 * Zephyr initializes the device at boot. Several threads may run networks at once: Arm's driver
 * lets one of them at a time have the NPU, and the others sleep on Zephyr's semaphore.
 *
 * What proves the end of a run is ours (ethosgen_npu_run.h): Arm's driver takes a semaphore for it,
 * which an interrupt of another run may have given. So its interrupt handler is wrapped by the linker.
 *
 * SPDX-License-Identifier: Apache-2.0
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

/* The driver's mutex and semaphores; ethosgen computes the same from the sizes that they have unless
 * an option makes them larger. */
#define CHUNK(bytes) ROUND_UP((bytes) + sizeof(void *) + 4, 8)
BUILD_ASSERT(CONFIG_HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN >=
                 48 + CHUNK(sizeof(struct k_mutex)) + 2 * CHUNK(sizeof(struct k_sem)),
             "raise CONFIG_HEAP_MEM_POOL_ADD_SIZE_ETHOSGEN: the NPU's driver needs more heap");

BUILD_ASSERT(!DT_NODE_HAS_PROP(NPU, fast_memory_region),
             "delete the NPU's property fast-memory-region in an overlay: the network brings its own "
             "fast memory, which the driver would replace by that one");

/* Given by each of the NPU's interrupts: a reason to look. */
K_SEM_DEFINE(npu_interrupts, 0, 1);

static struct ethosu_driver *driver; /* of the run under way */

__weak bool ethosgen_npu_wait(const volatile bool *finished)
{
    ARG_UNUSED(finished);
    return k_sem_take(&npu_interrupts, K_MSEC(ETHOSGEN_NPU_TIMEOUT_MS)) == 0;
}

/* Names that the linker makes by its option --wrap. */
void __real_ethosu_irq_handler(struct ethosu_driver *drv);
void __wrap_ethosu_irq_handler(struct ethosu_driver *drv);

static void rest(void)
{
    __real_ethosu_irq_handler(driver);
}

void __wrap_ethosu_irq_handler(struct ethosu_driver *drv)
{
    if (!npu.is_running && drv->job.state == ETHOSU_JOB_RUNNING) {
        __real_ethosu_irq_handler(drv); /* of a run that is not ours, or that we gave up */
        return;
    }
    take_interrupt();
    k_sem_give(&npu_interrupts);
}

ethosgen_status ethosgen_npu_init(uintptr_t base_addr, bool secure, bool privileged)
{
    ARG_UNUSED(base_addr); /* all three are the devicetree's here */
    ARG_UNUSED(secure);
    ARG_UNUSED(privileged);
    if (!device_is_ready(DEVICE_DT_GET(NPU))) {
        return ETHOSGEN_NPU_NO_RESET;
    }
    take_over(DT_REG_ADDR(NPU), DT_PROP(NPU, secure_enable), DT_PROP(NPU, privilege_enable));
    return ETHOSGEN_OK;
}

/* Run a stream on the NPU, which is ours until its driver is released. */
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

    if (npu.base_addr == 0) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    int used = 0; /* base pointers: an unused one would read as "all memory" in the cache hooks */

    for (int i = 0; i < ETHOSGEN_NPU_BASES; i++) {
        wide[i] = base[i];
        bytes[i] = stream->base_bytes[i];
        used = bytes[i] != 0 ? i + 1 : used;
    }
    driver = ethosu_reserve_driver(); /* sleeps until the NPU is free */
    ethosgen_status status = run(stream, wide, bytes, used);
    ethosu_release_driver(driver); /* resets an NPU that was given up */
    return status;
}
