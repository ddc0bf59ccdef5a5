/* Runs one command stream on a page in place of an Ethos-U85, and prints the written registers. */
#include <stdint.h>

/* Registers are words of memory here, and there is no interrupt to mask. */
#define ETHOSGEN_NPU_GET(addr) (*(const volatile uint32_t *)(addr))
#define ETHOSGEN_NPU_PUT(addr, value) ((void)(*(volatile uint32_t *)(addr) = (value)))
#define ETHOSGEN_NPU_MASK() 0u
#define ETHOSGEN_NPU_UNMASK(state) ((void)(state))
#define ETHOSGEN_NPU_BARRIER() ((void)0)
#include "ethosgen_npu_direct.c"

#include <stdio.h>
#include <stdlib.h>

#define STATUS_AT_END (STATUS_IRQ_RAISED | (uint32_t)strtoul(getenv("STATUS"), NULL, 16))

static uint32_t page[0x600];
static const uint32_t words[12] = {0};

/* The NPU's side of a run: its STATUS, then its interrupt. */
bool ethosgen_npu_wait(const volatile bool *finished)
{
    for (uint32_t offset = 0; offset < sizeof(page); offset += 4) {
        if (page[offset / 4] != 0) {
            printf("%x=%x\n", offset, page[offset / 4]);
        }
    }
    page[STATUS / 4] = STATUS_AT_END;
    page[QREAD / 4] = page[QSIZE / 4];
    ethosgen_npu_irq_handler();
    return *finished;
}

/* A reset is not served here; the driver's wait for it ends after its time limit. */
uint32_t ethosgen_npu_clock(uint32_t *per_ms)
{
    static uint32_t now;

    *per_ms = 1;
    return now++;
}

void ethosgen_npu_wait_begin(void)
{
}

void ethosgen_npu_wait_end(void)
{
}

void ethosgen_npu_resume(void)
{
}

void ethosgen_npu_reset_begin(void)
{
}

void ethosgen_npu_reset_end(void)
{
}

void ethosgen_npu_begin(uintptr_t base_addr)
{
    (void)base_addr;
}

void ethosgen_npu_end(uintptr_t base_addr)
{
    (void)base_addr;
}

void ethosgen_npu_clean_cache(const uintptr_t base[ETHOSGEN_NPU_BASES],
                              const uint32_t bytes[ETHOSGEN_NPU_BASES])
{
    (void)base;
    (void)bytes;
}

void ethosgen_npu_invalidate_cache(const uintptr_t base[ETHOSGEN_NPU_BASES],
                                   const uint32_t bytes[ETHOSGEN_NPU_BASES])
{
    (void)base;
    (void)bytes;
}

int main(void)
{
    const struct ethosgen_npu_stream stream = {words, sizeof(words), 2, 0x1213, {0}};
    const uintptr_t base[ETHOSGEN_NPU_BASES] = {0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700, 0x800};

    page[0x24 / 4] = 1; /* PROT: privileged, secure */
    page[0x28 / 4] = (uint32_t)strtoul(getenv("CONFIG"), NULL, 16);
    page[0x00 / 4] = 0x20007001;
    printf("init %d\n", ethosgen_npu_init((uintptr_t)page, true, true));
    printf("check %d\n", ethosgen_npu_check(0x20000118, 0x20007000));
    printf("run %d\n", ethosgen_npu_run(&stream, base));
    return 0;
}
