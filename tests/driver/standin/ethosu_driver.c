/*
 * Replaces Arm's ethos-u core driver if its sources are missing. It has the same weaknesses: any
 * interrupt ends the current job, a semaphore represents the job's end, and drivers are in a list.
 */
#include "ethosu_driver.h"
#include "npu.h"

enum { STATUS = 0x04, CMD = 0x08, RESET = 0x0C, QSIZE = 0x20 };
enum { IDLE, RUNNING, DONE };
enum { GOOD, OUT_OF_TIME, FAULTY };
enum { HEADER_BYTES = 32, IN_RESET = 8, END = 0x20, FAULTS = 0x194 };

static struct ethosu_driver *drivers;
static void *free_drivers;

__attribute__((weak)) void ethosu_flush_dcache(const uint64_t *base, const size_t *bytes, int count)
{
    (void)base;
    (void)bytes;
    (void)count;
}

__attribute__((weak)) void ethosu_invalidate_dcache(const uint64_t *base, const size_t *bytes,
                                                    int count)
{
    (void)base;
    (void)bytes;
    (void)count;
}

static int reset(struct ethosu_driver *drv)
{
    npu_put(drv->base + RESET, drv->level);
    for (int i = 0; i < 5 && (npu_get(drv->base + STATUS) & IN_RESET) != 0; i++) {
    }
    return (npu_get(drv->base + STATUS) & IN_RESET) == 0 ? 0 : -1;
}

int ethosu_init(struct ethosu_driver *drv, void *base, const void *fast, size_t fast_bytes,
                uint32_t secure, uint32_t privileged)
{
    (void)fast;
    (void)fast_bytes;
    if (free_drivers == NULL && (free_drivers = ethosu_semaphore_create()) == NULL) {
        return -1;
    }
    drv->base = (uintptr_t)base;
    drv->level = (privileged ? 1u : 0u) | (secure ? 0u : 2u);
    drv->state = IDLE;
    drv->result = GOOD;
    if (reset(drv) != 0 || (drv->semaphore = ethosu_semaphore_create()) == NULL) {
        return -1;
    }
    drv->next = drivers;
    drivers = drv;
    return ethosu_semaphore_give(free_drivers);
}

void ethosu_deinit(struct ethosu_driver *drv)
{
    for (struct ethosu_driver **at = &drivers; *at != NULL; at = &(*at)->next) {
        if (*at == drv) {
            *at = drv->next;
            (void)ethosu_semaphore_take(free_drivers, UINT64_MAX);
            break;
        }
    }
    ethosu_semaphore_destroy(drv->semaphore);
}

static int has_ended_well(struct ethosu_driver *drv)
{
    npu_put(drv->base + CMD, 2);
    return (npu_get(drv->base + STATUS) & (FAULTS | END)) == END;
}

void ethosu_irq_handler(struct ethosu_driver *drv)
{
    if (drv->result == OUT_OF_TIME) {
        (void)has_ended_well(drv);
        return;
    }
    drv->state = DONE;
    drv->result = has_ended_well(drv) ? GOOD : FAULTY;
    (void)ethosu_semaphore_give(drv->semaphore);
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *words, int bytes, uint64_t *base,
                     const size_t *base_bytes, int bases, void *user_arg)
{
    (void)words;
    if (drv->state != IDLE) {
        return -1;
    }
    ethosu_flush_dcache(base, base_bytes, bases);
    if (reset(drv) != 0) {
        return -1;
    }
    npu_put(drv->base + CMD, 0); /* the NPU must not lose power */
    drv->state = RUNNING;
    ethosu_inference_begin(drv, user_arg);
    npu_put(drv->base + QSIZE, (uint32_t)bytes - HEADER_BYTES);
    npu_put(drv->base + CMD, 1);
    if (ethosu_semaphore_take(drv->semaphore, UINT64_MAX) < 0) {
        drv->result = OUT_OF_TIME;
        if (drv->state == DONE) {
            (void)ethosu_semaphore_take(drv->semaphore, UINT64_MAX);
        }
    }
    ethosu_invalidate_dcache(base, base_bytes, bases);
    npu_put(drv->base + CMD, 0xC);
    int result = drv->result == GOOD ? 0 : -1;
    if (result != 0) {
        (void)reset(drv);
    }
    drv->state = IDLE;
    drv->result = GOOD;
    return result;
}
