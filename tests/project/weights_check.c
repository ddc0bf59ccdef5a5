/*
 * Calls ethosgen_weights_check() with files from the command line, each so that its end is the end of
 * readable memory: a read behind it ends the program.
 */
#include "ethosgen_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t *place(const uint8_t *data, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (bytes + page - 1) / page + 1;
    uint8_t *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *end = memory + (pages - 1) * page;

    if (memory == MAP_FAILED || mprotect(end, page, PROT_NONE) != 0) {
        abort();
    }
    memcpy(end - bytes, data, bytes);
    return end - bytes;
}

/* Usage: weights_check CODE FILE... where CODE is the content of struct ethosgen_weights_code. A line
 * for each file: its status at its own length; the most common status of all shorter lengths. */
int main(int count, char **names)
{
    static uint8_t data[1 << 16];
    struct ethosgen_weights_code code;
    FILE *file = fopen(names[1], "rb");

    if (file == NULL || fread(&code, sizeof code, 1, file) != 1) {
        return 1;
    }
    fclose(file);
    for (int i = 2; i < count; i++) {
        file = fopen(names[i], "rb");
        if (file == NULL) {
            return 1;
        }
        size_t bytes = fread(data, 1, sizeof data, file);
        fclose(file);
        size_t padded = bytes & ~(size_t)15;
        ethosgen_status whole = ethosgen_weights_check(place(data, padded), (uint32_t)padded, &code);
        int others = 0;
        for (size_t shorter = 0; shorter < padded; shorter += 16) {
            others += ethosgen_weights_check(place(data, shorter), (uint32_t)shorter, &code) !=
                      ETHOSGEN_WEIGHTS_TRUNCATED;
        }
        /* The alignment, and lengths that are not multiples of it. */
        uint8_t *aligned = aligned_alloc(64, 1 << 16);
        memcpy(aligned, data, bytes);
        int misaligned = 0;
        for (size_t by = 1; by < 16; by++) {
            misaligned += ethosgen_weights_check(aligned + by, (uint32_t)padded, &code) ==
                          ETHOSGEN_WEIGHTS_MISALIGNED;
        }
        ethosgen_status none = ethosgen_weights_check(NULL, (uint32_t)padded, &code);
        ethosgen_status slot = ethosgen_weights_check(aligned, 1 << 16, &code);
        printf("%d %d %d %d %d\n", (int)whole, others, misaligned, (int)none, (int)slot);
    }
    uint8_t text[] = "123456789";
    printf("%08x\n", (unsigned)ethosgen_weights_crc(ethosgen_weights_crc(0, text, 4), text + 4, 5));
    return 0;
}
