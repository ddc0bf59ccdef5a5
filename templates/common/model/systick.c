{# SysTick as a clock and as an alarm, for the hooks of the NPU and of devices. `unit` is NPU or DEVICE. #}
{% macro definitions(unit) %}
/* SysTick and ICSR, in the System Control Space. */
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define ICSR (*(volatile uint32_t *)0xE000ED04u)
#define SYST_CSR_ENABLE (1u << 0)
#define SYST_CSR_TICKINT (1u << 1)
#define SYST_CSR_CLKSOURCE (1u << 2)
#define SYST_CSR_COUNTFLAG 0x10000u /* the count has reached 0 since the last read of SYST_CSR */
#define SYST_RVR_MAX 0xFFFFFFu
#define ICSR_PENDSTCLR 0x02000000u

/* SysTick's clock. If the processor runs at another clock, define the macro on the command line. */
#ifndef ETHOSGEN_{{ unit }}_CLOCK_HZ
{% if board.cpu.clock_hz is none %}
/* The clock of this processor is unknown. On a slower one, a wait times out later, never too early. */
{% endif %}
#define ETHOSGEN_{{ unit }}_CLOCK_HZ {{ board.cpu.clock_hz or 1000000000 }}u
#endif

/* SysTick has wrapped since the clock was last read. SYST_CSR reports this once. The count alone
 * does not show it: an RTOS's ticks may wake the wait at the same count each time. */
static bool has_gone_round;

/* Start SysTick without its interrupt, if it is not in use; return the old value of SYST_CSR. No other
 * function reads SYST_CSR. */
static uint32_t start_systick(void)
{
    uint32_t control = SYST_CSR;

    if ((control & SYST_CSR_COUNTFLAG) != 0u) {
        has_gone_round = true;
    }
    if ((control & SYST_CSR_ENABLE) == 0u) {
        SYST_RVR = SYST_RVR_MAX;
        SYST_CVR = 0u;
        SYST_CSR = SYST_CSR_ENABLE | SYST_CSR_CLKSOURCE;
    }
    return control;
}
{% endmacro %}
{# Sleep until an interrupt or SysTick's alarm; interrupts are masked. If SysTick's interrupt is ours, it
   is cleared before they are unmasked. #}
{% macro sleep() %}
uint32_t control = start_systick();
SYST_CSR = start_systick() | SYST_CSR_TICKINT;
__asm volatile("dsb\n\twfi" ::: "memory");
if ((control & SYST_CSR_TICKINT) == 0u) {
    SYST_CSR = control;
    ICSR = ICSR_PENDSTCLR;
    __asm volatile("dsb" ::: "memory");
}
{%- endmacro %}
{% macro clock(unit) %}
WEAK uint32_t ethosgen_{{ unit|lower }}_clock(uint32_t *per_ms)
{
    static uint32_t last; /* ticks since SysTick was at 0, like `now` */
    static uint32_t ticks;

    (void)start_systick();
    uint32_t left;
    do {
        left = SYST_CVR;
    } while ((start_systick() & SYST_CSR_COUNTFLAG) != 0u); /* it wrapped just now */
    uint32_t period = SYST_RVR + 1u;
    uint32_t now = (left == 0u) ? 0u : (period - left);
    ticks += now - last;
    if (has_gone_round || now < last) {
        ticks += period;
        has_gone_round = false;
    }
    last = now;
    *per_ms = ETHOSGEN_{{ unit }}_CLOCK_HZ / 1000u;
    return ticks;
}
{% endmacro %}
