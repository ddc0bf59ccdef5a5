/* Runs one command stream on a page that stands for an Ethos-U85, and prints what was written. */
#include "ethosgen_npu.h"

#include <stdio.h>
#include <stdlib.h>

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
    page[0x04 / 4] = (uint32_t)strtoul(getenv("STATUS"), NULL, 16);
    ethosgen_npu_irq_handler();
    return *finished;
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
