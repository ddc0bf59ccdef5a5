/* Writes the values of GCC's counters in a firmware to a file on the computer that runs QEMU.
 *
 * It is linked into a build for coverage instead of the end of the program: the linker renames
 * board_exit() to __real_board_exit(), and calls of it go to __wrap_board_exit() here.
 *
 * The file is a sequence of records: a letter, a length of four bytes, and that many bytes. 'F' has
 * the name of a file of counters as the compiler chose it, each 'D' after it a part of its contents.
 */
#include <gcov.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SYS_OPEN = 0x01, SYS_CLOSE = 0x02, SYS_WRITE = 0x05, MODE_WRITE = 5, PART_BYTES = 2048, HEADER_BYTES = 5 };

/* The linker names the ends of the section that has a pointer for each file of C. */
extern const struct gcov_info *const __start_ethosgen_coverage[];
extern const struct gcov_info *const __stop_ethosgen_coverage[];

void __real_board_exit(uint32_t status);
void __wrap_board_exit(uint32_t status);

static uint8_t part[HEADER_BYTES + PART_BYTES];
static size_t filled;
static int32_t out;

static int32_t ask(uint32_t number, const uint32_t *values)
{
    register uint32_t operation __asm("r0") = number;
    register const uint32_t *parameters __asm("r1") = values;

    __asm volatile("bkpt 0xab" : "+r"(operation) : "r"(parameters) : "memory");
    return (int32_t)operation;
}

static void write_record(uint8_t letter)
{
    uint32_t size = (uint32_t)filled;
    uint32_t values[3] = {(uint32_t)out, (uint32_t)(uintptr_t)part, HEADER_BYTES + size};

    part[0] = letter;
    memcpy(&part[1], &size, sizeof size);
    filled = 0;
    if (size > 0) {
        (void)ask(SYS_WRITE, values);
    }
}

static void add(const void *data, unsigned size, void *letter)
{
    const uint8_t *bytes = data;

    for (unsigned i = 0; i < size; i++) {
        if (filled == PART_BYTES) {
            write_record(*(const uint8_t *)letter);
        }
        part[HEADER_BYTES + filled++] = bytes[i];
    }
}

static void add_name(const char *name, void *unused)
{
    uint8_t letter = 'F';

    (void)unused;
    write_record('D');
    add(name, (unsigned)strlen(name), &letter);
    write_record(letter);
}

/* Only counters of values need memory, and this build has none. */
static void *allocate(unsigned size, void *unused)
{
    (void)size;
    (void)unused;
    return NULL;
}

void __wrap_board_exit(uint32_t status)
{
    static const char path[] = ETHOSGEN_COVERAGE_FILE;
    static uint8_t letter = 'D';
    uint32_t opened[3] = {(uint32_t)(uintptr_t)path, MODE_WRITE, sizeof path - 1};
    uint32_t closed[1];

    out = ask(SYS_OPEN, opened);
    for (const struct gcov_info *const *each = __start_ethosgen_coverage; each < __stop_ethosgen_coverage; each++) {
        __gcov_info_to_gcda(*each, add_name, add, allocate, &letter);
    }
    write_record(letter);
    closed[0] = (uint32_t)out;
    (void)ask(SYS_CLOSE, closed);
    __real_board_exit(status);
}
