/*
 * The half of Arm's ethos-u core driver that accesses registers, on the model in interleavings.c: like
 * the part of Arm's ethosu_device_u55_u65.c that controls a run. ethosu_driver.c itself is Arm's.
 */
#include "ethosu_device.h"
#include "ethosu_types.h"
#include "npu.h"

#include <stdbool.h>

enum { STATUS = 0x04, CMD = 0x08, RESET = 0x0C, QSIZE = 0x20, PROT = 0x24 };
enum { IN_RESET = 8, END = 0x20, FAULTS = 0x194, POWER = 0xC, CLEAR_IRQ = 2, RUN = 1 };

static uint32_t get(struct ethosu_device *dev, uint32_t offset)
{
    return npu_get((uintptr_t)dev->reg + offset);
}

static void put(struct ethosu_device *dev, uint32_t offset, uint32_t value)
{
    npu_put((uintptr_t)dev->reg + offset, value);
}

bool ethosu_dev_init(struct ethosu_device *dev, void *base_address, uint32_t secure_enable,
                     uint32_t privilege_enable)
{
    dev->reg = base_address;
    dev->secure = secure_enable;
    dev->privileged = privilege_enable;
    return ethosu_dev_soft_reset(dev) == ETHOSU_SUCCESS;
}

enum ethosu_error_codes ethosu_dev_soft_reset(struct ethosu_device *dev)
{
    put(dev, RESET, (dev->privileged ? 1u : 0u) | (dev->secure ? 0u : 2u));
    for (int i = 0; i < 5 && (get(dev, STATUS) & IN_RESET) != 0; i++) {
    }
    return (get(dev, STATUS) & IN_RESET) == 0 ? ETHOSU_SUCCESS : ETHOSU_GENERIC_FAILURE;
}

enum ethosu_error_codes ethosu_dev_set_clock_and_power(struct ethosu_device *dev,
                                                       enum ethosu_clock_q_request clock_q,
                                                       enum ethosu_power_q_request power_q)
{
    uint32_t command = (clock_q == ETHOSU_CLOCK_Q_ENABLE ? 4u : 0u) |
                       (power_q == ETHOSU_POWER_Q_ENABLE ? 8u : 0u);

    put(dev, CMD, command);
    return ETHOSU_SUCCESS;
}

void ethosu_dev_run_command_stream(struct ethosu_device *dev, const uint8_t *cmd_stream_ptr,
                                   uint32_t cms_length, const uint64_t *base_addr,
                                   int num_base_addr)
{
    (void)cmd_stream_ptr;
    (void)base_addr;
    (void)num_base_addr;
    put(dev, QSIZE, cms_length);
    put(dev, CMD, (get(dev, CMD) & POWER) | RUN);
}

bool ethosu_dev_handle_interrupt(struct ethosu_device *dev)
{
    put(dev, CMD, (get(dev, CMD) & POWER) | CLEAR_IRQ);
    return (get(dev, STATUS) & (FAULTS | END)) == END;
}

void ethosu_dev_print_err_status(struct ethosu_device *dev)
{
    (void)dev;
}

void ethosu_dev_get_hw_info(struct ethosu_device *dev, struct ethosu_hw_info *hwinfo)
{
    (void)dev;
    *hwinfo = (struct ethosu_hw_info){0};
}

bool ethosu_dev_verify_optimizer_config(struct ethosu_device *dev, uint32_t cfg_in, uint32_t id_in)
{
    (void)dev;
    (void)cfg_in;
    (void)id_in;
    return true;
}
