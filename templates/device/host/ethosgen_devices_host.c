/*
 * Devices on the machine that ethosgen runs on: an accelerator's driver with the device's model, or with
 * software in its place. `backend/wrapped/host_device.py` compiles this file with the driver.
 */
#include "ethosgen_devices.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 2000, NAP_US = 20 };

int ethosgen_host_map(int handle, uintptr_t start, size_t bytes);

/* Map a file at a fixed address, so that addresses fit into 32 bits. */
int ethosgen_host_map(int handle, uintptr_t start, size_t bytes)
{
    void *wanted = (void *)start;

    return mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, handle, 0) !=
           wanted;
}

void ethosgen_device_init(struct ethosgen_device *device, uintptr_t base_addr)
{
    device->base_addr = base_addr;
}

void ethosgen_device_irq_handler(const struct ethosgen_device *device)
{
    (void)device;
}

static uint32_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

int32_t ethosgen_device_await(const struct ethosgen_device *device, uint32_t offset, uint32_t mask,
                              uint32_t value)
{
    if (device->base_addr == 0) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    uint32_t since = now_ms();
    for (int i = 0; (*ethosgen_device_register(device, offset) & mask) != value; i++) {
        if (i < SPINS) {
            sched_yield();
        } else if (now_ms() - since < ETHOSGEN_DEVICE_TIMEOUT_MS) {
            usleep(NAP_US);
        } else {
            return ETHOSGEN_DEVICE_TIMEOUT;
        }
    }
    __sync_synchronize();
    return ETHOSGEN_OK;
}

void ethosgen_device_flush(const void *start, uint32_t bytes)
{
    (void)start;
    (void)bytes;
}
