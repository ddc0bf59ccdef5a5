{# The data cache's registers, and the loop that cleans and invalidates lines, for the hooks of the NPU
   and of devices. #}
{% macro definitions() %}
/* Caches, in the System Control Space. Without a data cache, CCR_DC reads as 0. */
#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define DCCIMVAC (*(volatile uint32_t *)0xE000EF70u)
#define CCR_DC 0x10000u
#define CACHE_LINE_BYTES 32u
#ifndef ETHOSGEN_NPU_FLUSH_LINE /* a test on QEMU, which has no cache, replaces it with a model */
#define ETHOSGEN_NPU_FLUSH_LINE(addr) (DCCIMVAC = (addr))
#define ETHOSGEN_NPU_HAS_CACHE() ((CCR & CCR_DC) != 0u)
#endif
{% endmacro %}
{# Clean and invalidate the lines from `start` up to the variable `end`. #}
{% macro flush_lines(start) %}
for (uintptr_t line = {{ start }} & ~((uintptr_t)CACHE_LINE_BYTES - 1u); line < end;
     line += CACHE_LINE_BYTES) {
    ETHOSGEN_NPU_FLUSH_LINE((uint32_t)line);
}
{%- endmacro %}
