/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the hand-over of memories, peripherals and interrupts.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "trustzone.h"

{% if npu %}
#include "board.h"
{% endif %}
#include "partition.h"
#include "registers.h"
#include "startup.h"

#include <arm_cmse.h>
#include <stddef.h>

/* Security attribution unit. */
#define SAU_CTRL REGISTER(0xE000EDD0u)
#define SAU_TYPE REGISTER(0xE000EDD4u)
#define SAU_RNR REGISTER(0xE000EDD8u)
#define SAU_RBAR REGISTER(0xE000EDDCu)
#define SAU_RLAR REGISTER(0xE000EDE0u)
enum { SAU_CTRL_ENABLE = 1u << 0, SAU_TYPE_SREGION = 0xFFu };
enum { SAU_RLAR_ENABLE = 1u << 0, SAU_RLAR_NSC = 1u << 1 };

/* System control; the address of a register's non-secure bank is _NS. */
#define AIRCR REGISTER(0xE000ED0Cu)
#define AIRCR_KEY (0x05FAu << 16)
#define AIRCR_KEY_MASK (0xFFFFu << 16)
#define SHCSR REGISTER(0xE000ED24u)
#define NSACR REGISTER(0xE000ED8Cu)
#define VTOR_NS REGISTER(0xE002ED08u)
#define NVIC_ITNS(irq) REGISTER(0xE000E380u + (irq) / 32u * 4u)
enum { AIRCR_BFHFNMINS = 1u << 13, AIRCR_PRIS = 1u << 14 };
enum { SHCSR_MEMFAULTENA = 1u << 16, SHCSR_BUSFAULTENA = 1u << 17, SHCSR_USGFAULTENA = 1u << 18,
       SHCSR_SECUREFAULTENA = 1u << 19 };
enum { NSACR_CP10 = 1u << 10, NSACR_CP11 = 1u << 11 };
{% if board.cpu.has_fpu or board.cpu.has_mve %}
#define FPCCR REGISTER(0xE000EF34u)
enum { FPCCR_TS = 1u << 26, FPCCR_CLRONRETS = 1u << 27, FPCCR_CLRONRET = 1u << 28 };
{% endif %}
{% if board.counter.kind == "sse300" %}

/* System counter of the SSE-300: its control frame is secure. */
#define COUNTER_CNTCR REGISTER(0x{{ "%08x"|format(secure.counter_control_addr) }}u)
enum { COUNTER_CNTCR_EN = 1u << 0 };
{% endif %}
{% if secure.mpcs %}

/* Memory protection controller, by the offsets of its registers. A bit of its table for each block:
 * only non-secure accesses pass a 1, only secure ones a 0. */
#define MPC_CTRL(base) REGISTER((base) + 0x00u)
#define MPC_BLK_CFG(base) REGISTER((base) + 0x14u)
#define MPC_BLK_IDX(base) REGISTER((base) + 0x18u)
#define MPC_BLK_LUT(base) REGISTER((base) + 0x1Cu)
enum { MPC_CTRL_SEC_RESP = 1u << 4, MPC_CTRL_AUTOINC = 1u << 8 };
#define MPC_CTRL_LOCKDOWN (1u << 31)
#define MPC_BLK_CFG_INITIALIZING (1u << 31)
{% endif %}
{% if secure.tgus %}

/* TCM security gate, with a table like that of an MPC. QEMU has none. */
#define TGU_CTRL(base) REGISTER((base) + 0x00u)
#define TGU_CFG(base) REGISTER((base) + 0x04u)
#define TGU_LUT(base, word) REGISTER((base) + 0x10u + 4u * (word))
enum { TGU_CTRL_DBFEN = 1u << 0, TGU_CTRL_DEREN = 1u << 1 };
#define TGU_CFG_PRESENT (1u << 31)
{% endif %}
{% if secure.mpcs or secure.tgus %}
#define BLOCK_BYTES(cfg) (1u << (((cfg) & 0xFu) + 5u))
#define BITS 32u

/* A memory's guard, and the part of the memory that becomes non-secure. */
struct guard {
    uint32_t base;  /* of its registers */
    uint32_t first; /* the address of its first block */
    uint32_t start;
    uint32_t last;
};
{% endif %}
{% if secure.mpcs %}

static const struct guard mpcs[] = {
{% for one in secure.mpcs %}
    {0x{{ "%08x"|format(one.base_addr) }}u, 0x{{ "%08x"|format(one.first_addr) }}u, {{ one.start }}, {{ one.last }}},
{% endfor %}
};
{% endif %}
{% if secure.tgus %}

static const struct guard tgus[] = {
{% for one in secure.tgus %}
    {0x{{ "%08x"|format(one.base_addr) }}u, 0x{{ "%08x"|format(one.first_addr) }}u, {{ one.start }}, {{ one.last }}},
{% endfor %}
};
{% endif %}
{% if npu %}

/* The NPU's registers: RESET and PROT share their layout. */
#define NPU_STATUS REGISTER(SECURE_NPU_BASE + 0x04u)
#define NPU_RESET REGISTER(SECURE_NPU_BASE + 0x0Cu)
#define NPU_PROT REGISTER(BOARD_NPU_BASE + 0x24u)
enum { NPU_STATUS_RESET = 1u << 3 };
enum { NPU_CPL_PRIVILEGED = 1u << 0, NPU_CSL_NON_SECURE = 1u << 1 };
/* A reset takes fewer accesses; the non-secure driver waits and checks again. */
#define NPU_RESET_POLLS 1000u
{% endif %}

extern uint32_t __veneers_start[], __veneers_end[];

static const struct {
    uint32_t start;
    uint32_t last;
} regions[] = {
{% for region in secure.regions %}
    {NS_{{ region.name }}_START, NS_{{ region.name }}_LAST},
{% endfor %}
};

_Static_assert(sizeof regions / sizeof regions[0] + 1u == SAU_REGIONS, "the veneers are one region more");

/* The interrupts that the firmware uses. */
static const uint16_t irqs[] = {
    IRQ_CONSOLE_RX,
{% if npu %}
    IRQ_NPU,
{% endif %}
{% for device in devices if device.irq is not none %}
    IRQ_{{ device.c_name|upper }},
{% endfor %}
{% if bell %}
#ifdef BOARD_ON_QEMU
    IRQ_BELL,
#endif
{% endif %}
};

static void add_region(uint32_t number, uint32_t start, uint32_t last, uint32_t flags)
{
    SAU_RNR = number;
    SAU_RBAR = start;
    SAU_RLAR = (last & ~(SAU_ALIGNMENT - 1u)) | flags | SAU_RLAR_ENABLE;
}

static enum secure_cause set_up_sau(void)
{
    uint32_t number = 0;

    for (; number < SAU_REGIONS - 1u; number++) {
        add_region(number, regions[number].start, regions[number].last, 0);
    }
    add_region(number, (uint32_t)(uintptr_t)__veneers_start, (uint32_t)(uintptr_t)__veneers_end - 1u,
               SAU_RLAR_NSC);
    SAU_CTRL = SAU_CTRL_ENABLE;
    __asm volatile("dsb\n\tisb" ::: "memory");
    return (SAU_TYPE & SAU_TYPE_SREGION) < SAU_REGIONS ? SECURE_FEW_SAU_REGIONS : SECURE_FAULT;
}
{% if secure.mpcs or secure.tgus %}

/* Return whether a guard can split its memory there. */
static bool is_divisible(const struct guard *guard, uint32_t block_bytes)
{
    uint32_t behind = guard->last - guard->first + 1u; /* 0 for the whole address space */

    return (guard->start - guard->first) % block_bytes == 0 && behind % block_bytes == 0;
}

/* Return the bits of one word of a guard's table from one block to another, both included. */
static uint32_t bits_of(uint32_t word, uint32_t from, uint32_t last)
{
    uint32_t bits = UINT32_MAX;

    if (word == from / BITS) {
        bits &= UINT32_MAX << from % BITS;
    }
    if (word == last / BITS) {
        bits &= UINT32_MAX >> (BITS - 1u - last % BITS);
    }
    return bits;
}
{% endif %}
{% if secure.mpcs %}

static bool open_mpc(const struct guard *mpc)
{
    while ((MPC_BLK_CFG(mpc->base) & MPC_BLK_CFG_INITIALIZING) != 0) {
    }
    uint32_t block_bytes = BLOCK_BYTES(MPC_BLK_CFG(mpc->base));
    if (!is_divisible(mpc, block_bytes)) {
        return false;
    }
    uint32_t from = (mpc->start - mpc->first) / block_bytes;
    uint32_t last = (mpc->last - mpc->first) / block_bytes;
    MPC_CTRL(mpc->base) = (MPC_CTRL(mpc->base) & ~(uint32_t)MPC_CTRL_AUTOINC) | MPC_CTRL_SEC_RESP;
    for (uint32_t word = from / BITS; word <= last / BITS; word++) {
        MPC_BLK_IDX(mpc->base) = word;
        MPC_BLK_LUT(mpc->base) |= bits_of(word, from, last);
    }
    MPC_CTRL(mpc->base) |= MPC_CTRL_LOCKDOWN; /* until the next reset */
    return true;
}
{% endif %}
{% if secure.tgus %}

static bool open_tgu(const struct guard *tgu)
{
    if ((TGU_CFG(tgu->base) & TGU_CFG_PRESENT) == 0) {
        return true;
    }
    uint32_t block_bytes = BLOCK_BYTES(TGU_CFG(tgu->base));
    if (!is_divisible(tgu, block_bytes)) {
        return false;
    }
    uint32_t from = (tgu->start - tgu->first) / block_bytes;
    uint32_t last = (tgu->last - tgu->first) / block_bytes;
    for (uint32_t word = from / BITS; word <= last / BITS; word++) {
        TGU_LUT(tgu->base, word) |= bits_of(word, from, last);
    }
    TGU_CTRL(tgu->base) |= TGU_CTRL_DBFEN | TGU_CTRL_DEREN; /* a fault, not a silent zero */
    return true;
}
{% endif %}

static enum secure_cause open_memories(void)
{
    bool is_open = true;

{% if secure.mpcs %}
    for (size_t i = 0; i < sizeof mpcs / sizeof mpcs[0]; i++) {
        is_open &= open_mpc(&mpcs[i]);
    }
{% endif %}
{% if secure.tgus %}
    for (size_t i = 0; i < sizeof tgus / sizeof tgus[0]; i++) {
        is_open &= open_tgu(&tgus[i]);
    }
{% endif %}
    __asm volatile("dsb\n\tisb" ::: "memory");
    return is_open ? SECURE_FAULT : SECURE_GUARD_MISMATCH;
}
{% if npu %}

/* Only a secure access can make a secure NPU non-secure, so this comes before its registers change hands. */
static void release_npu(void)
{
    NPU_RESET = NPU_CSL_NON_SECURE | {{ "NPU_CPL_PRIVILEGED" if board.npu.privileged else "0u" }};
    for (uint32_t polls = 0; polls < NPU_RESET_POLLS && (NPU_STATUS & NPU_STATUS_RESET) != 0; polls++) {
    }
}

bool trustzone_npu_is_open(void)
{
    return cmse_TTA((void *)BOARD_NPU_BASE).flags.nonsecure_readwrite_ok && (NPU_PROT & NPU_CSL_NON_SECURE) != 0;
}

bool trustzone_npu_irq_is_open(void)
{
    return (NVIC_ITNS(IRQ_NPU) & NVIC_BIT(IRQ_NPU)) != 0;
}
{% endif %}

static void open_peripherals(void)
{
{% if board.counter.kind == "sse300" %}
    COUNTER_CNTCR |= COUNTER_CNTCR_EN;
{% endif %}
{% set writes = secure.setup %}
{% include "board/setup.c" %}
}

static void open_interrupts(void)
{
    for (size_t i = 0; i < sizeof irqs / sizeof irqs[0]; i++) {
        uint32_t irq = irqs[i];

        NVIC_ITNS(irq) |= NVIC_BIT(irq);
    }
}

enum secure_cause trustzone_init(void)
{
    /* Hard faults, bus faults and NMI stay secure, and secure exceptions go first. */
    AIRCR = AIRCR_KEY | (AIRCR & ~(AIRCR_KEY_MASK | AIRCR_BFHFNMINS)) | AIRCR_PRIS;
    SHCSR |= SHCSR_MEMFAULTENA | SHCSR_BUSFAULTENA | SHCSR_USGFAULTENA | SHCSR_SECUREFAULTENA;
    NSACR |= NSACR_CP10 | NSACR_CP11; /* floating-point{{ " and vector" if board.cpu.has_mve }} registers */
{% if board.cpu.has_fpu or board.cpu.has_mve %}
    /* So no interrupt finds the secure side's values in them. */
    FPCCR |= FPCCR_TS | FPCCR_CLRONRETS | FPCCR_CLRONRET;
{% endif %}

    enum secure_cause memories = open_memories();
    enum secure_cause sau = set_up_sau();
{% if npu %}
    release_npu();
{% endif %}
    open_peripherals();
    open_interrupts();
    __asm volatile("dsb\n\tisb" ::: "memory"); /* all of it before the first non-secure access */
    return sau != SECURE_FAULT ? sau : memories;
}

typedef void (*non_secure_function)(void) __attribute__((cmse_nonsecure_call));

enum secure_cause trustzone_start(void)
{
    const volatile uint32_t *vectors = (const volatile uint32_t *)NON_SECURE_VECTORS;
    uint32_t stack = vectors[0];
    uint32_t reset = vectors[1];

    if (!cmse_TTA((void *)(uintptr_t)(stack - 1u)).flags.nonsecure_readwrite_ok ||
        !cmse_TTA((void *)(uintptr_t)reset).flags.nonsecure_read_ok || (reset & 1u) == 0) {
        return SECURE_NO_IMAGE;
    }
    VTOR_NS = NON_SECURE_VECTORS;
    __asm volatile("msr msp_ns, %0" ::"r"(stack));
    non_secure_function start = (non_secure_function)cmse_nsfptr_create((non_secure_function)(uintptr_t)reset);
    start();
    return SECURE_IMAGE_RETURNED;
}
