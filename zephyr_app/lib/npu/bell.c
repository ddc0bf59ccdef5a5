/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU has neither an NPU nor devices of a user's own. Their models run in other processes, use pages of
 * shared memory as registers, and signal with a byte on an unused UART, which names the interrupt to
 * pend.
 */
#include <cmsis_core.h>
#include <zephyr/devicetree.h>
#include <zephyr/init.h>
#include <zephyr/irq.h>
#include <zephyr/sys/sys_io.h>

#define BELL DT_COMPAT_GET_ANY_STATUS_OKAY(ethosgen_npu_bell)
#define UART DT_PHANDLE(BELL, uart)
#define NPU DT_PHANDLE(BELL, npu)
#define UART_IRQ DT_IRQ_BY_NAME(UART, rx, irq)

/* CMSDK UART. */
#define UART_DATA (DT_REG_ADDR(UART) + 0x00)
#define UART_CTRL (DT_REG_ADDR(UART) + 0x08)
#define UART_INTCLEAR (DT_REG_ADDR(UART) + 0x0C)
#define UART_BAUDDIV (DT_REG_ADDR(UART) + 0x10)
#define UART_BAUDDIV_MIN 16u
#define UART_CTRL_RX_ENABLE BIT(1)
#define UART_CTRL_RX_IRQ BIT(3)
#define UART_INT_RX BIT(1)

/* The interrupt of each byte from FIRST_BYTE on: the NPU's, then those of the devices. */
#define FIRST_BYTE ((uint32_t)'!')
#define NO_IRQ (-1)
#define DEVICE_IRQ(node, property, index)                                                              \
    COND_CODE_1(DT_NODE_HAS_PROP(DT_PHANDLE_BY_IDX(node, property, index), interrupts),                \
                (DT_IRQN(DT_PHANDLE_BY_IDX(node, property, index))), (NO_IRQ)),

static const int irqs[] = {
    COND_CODE_1(DT_NODE_HAS_PROP(BELL, npu), (DT_IRQN(NPU)), (NO_IRQ)),
#if DT_NODE_HAS_PROP(BELL, devices)
    DT_FOREACH_PROP_ELEM(BELL, devices, DEVICE_IRQ)
#endif
};

static void ring(const void *unused)
{
    ARG_UNUSED(unused);
    /* Acknowledge first: a byte that arrives after DATA was read must raise its own interrupt. */
    sys_write32(UART_INT_RX, UART_INTCLEAR);
    uint32_t index = sys_read32(UART_DATA) - FIRST_BYTE;
    if (index < ARRAY_SIZE(irqs) && irqs[index] != NO_IRQ) {
        NVIC_SetPendingIRQ((IRQn_Type)irqs[index]);
    }
}

#if DT_NODE_HAS_PROP(BELL, npu)
#define NPU_STATUS (DT_REG_ADDR(NPU) + 0x04)
#define NPU_RESET (DT_REG_ADDR(NPU) + 0x0C)
#define STATUS_RESET_STATUS BIT(3)
#define RESET_POLLS 0x04000000u /* no clock runs yet; if this is not enough, the driver reports it */
#define RESET_CPL_PRIVILEGED BIT(0)
#define RESET_CSL_NON_SECURE BIT(1)

/* Runs before the NPU's driver, which polls 100000 times for the end of a reset: that is too short if
 * the NPU model's process is not scheduled at the moment. */
static void reset_npu(void)
{
    uint32_t level = (DT_PROP(NPU, secure_enable) ? 0 : RESET_CSL_NON_SECURE) |
                     (DT_PROP(NPU, privilege_enable) ? RESET_CPL_PRIVILEGED : 0);
    uint32_t polls = RESET_POLLS;

    sys_write32(level, NPU_RESET);
    while ((sys_read32(NPU_STATUS) & STATUS_RESET_STATUS) != 0 && polls != 0u) {
        polls--;
    }
}
#else
static void reset_npu(void)
{
}
#endif

static int bell_init(void)
{
    sys_write32(UART_BAUDDIV_MIN, UART_BAUDDIV);
    sys_write32(UART_CTRL_RX_ENABLE | UART_CTRL_RX_IRQ, UART_CTRL);
    IRQ_CONNECT(UART_IRQ, DT_IRQ_BY_NAME(UART, rx, priority), ring, NULL, 0);
    irq_enable(UART_IRQ);
    reset_npu();
    return 0;
}

SYS_INIT(bell_init, PRE_KERNEL_2, 0);
