/* A QEMU plugin that counts which block of code runs after which, and bytes loaded and stored.
 *
 * Whenever the firmware loads the word at `mark`, it appends to the file `out` the code that ran since
 * the last such load, including this one: a line "FROM-START FROM-END START END TIMES" for each pair of
 * blocks (FROM is 0 0 after a mark), and a line "mark INSTRUCTIONS LOADED STORED CONSTANT".
 * CONSTANT is the number of loaded bytes in the ranges `constant`. QEMU counts a vector's bytes as
 * its lanes are accessed, so the sum leaves out lanes that are predicated off.
 *
 * A block is the code that QEMU translates at once: it ends at a branch, sometimes before. Where
 * QEMU leaves one in its middle, after an access to a device, the part that ran counts as a block.
 *
 * With `look=START:END` only loads by the code there can be marks, and bytes are not counted, which is
 * faster.
 *
 * The declarations are those of versions 1 and 2 of QEMU's plugin interface, whose header Debian does not
 * package.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NO_REGISTERS = 0, LOADS_AND_STORES = 3, BUCKETS = 1 << 16, RANGES = 512 };

typedef uint64_t plugin_id;
typedef uint32_t memory_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*call)(unsigned, void *), int flags,
                                          void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*call)(unsigned, void *), int flags,
                                            void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*call)(unsigned, memory_info, uint64_t, void *), int flags,
                                      int accesses, void *data);
unsigned qemu_plugin_mem_size_shift(memory_info info);
bool qemu_plugin_mem_is_store(memory_info info);

EXPORT int qemu_plugin_version = PLUGIN_VERSION;

struct pair;

struct block {
    uint64_t start, end;
    size_t count;       /* of instructions */
    uint64_t *addrs;    /* of these */
    struct pair *pairs; /* with the blocks that ran after this one */
    struct block *next; /* of its bucket */
};

struct pair {
    struct block *after;
    uint64_t times;
    struct pair *next;
};

static struct block *buckets[BUCKETS];
static struct block nothing;

static struct block *before = &nothing; /* the block that ran last, the one before it, and their pair */
static struct block *current = &nothing;
static struct pair *last;
static bool has_ended = true; /* whether the current block has reached its last instruction */
static struct block *rest;    /* the code after a mark in its block */

static uint64_t instructions, loaded_bytes, stored_bytes, constant_bytes;
static uint64_t mark_addr;
static struct {
    uint64_t start, end;
} constants[RANGES];
static int ranges;
static uint64_t look_start, look_end; /* 0 and 0 if all code is watched */
static FILE *out;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

static struct block *find_block(const uint64_t *addrs, size_t count, uint64_t end)
{
    struct block **place = &buckets[(addrs[0] >> 1) % BUCKETS];

    for (; *place != NULL; place = &(*place)->next) {
        if ((*place)->start == addrs[0] && (*place)->end == end) {
            return *place;
        }
    }
    *place = allocate(1, sizeof **place);
    (*place)->start = addrs[0];
    (*place)->end = end;
    (*place)->count = count;
    (*place)->addrs = allocate(count, sizeof *addrs);
    memcpy((*place)->addrs, addrs, count * sizeof *addrs);
    return *place;
}

static struct pair *find_pair(struct block *first, struct block *second)
{
    struct pair **place = &first->pairs;

    for (; *place != NULL; place = &(*place)->next) {
        if ((*place)->after == second) {
            return *place;
        }
    }
    *place = allocate(1, sizeof **place);
    (*place)->after = second;
    return *place;
}

static void count_block(struct block *block)
{
    before = current;
    current = block;
    last = find_pair(before, current);
    last->times++;
    instructions += block->count;
}

/* Return the number of instructions before `addr` in the current block; 0 if it is not in its middle. */
static size_t part_before(uint64_t addr)
{
    size_t count = 0;

    if (has_ended || addr <= current->start || addr >= current->end) {
        return 0;
    }
    while (count < current->count && current->addrs[count] < addr) {
        count++;
    }
    return count;
}

/* End the current block at `addr`; return the rest of the block, NULL if there is none. */
static struct block *cut(uint64_t addr)
{
    struct block *whole = current;
    size_t count = part_before(addr);

    if (count == 0 || count == whole->count) {
        return NULL;
    }
    last->times--;
    instructions -= whole->count;
    current = before;
    count_block(find_block(whole->addrs, count, addr));
    return find_block(whole->addrs + count, whole->count - count, whole->end);
}

static void enter(unsigned cpu, void *data)
{
    struct block *block = data;

    (void)cpu;
    if (rest != NULL && rest->start != block->start) {
        count_block(rest);
    } else {
        (void)cut(block->start);
    }
    rest = NULL;
    count_block(block);
    has_ended = false;
}

static void end(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    has_ended = true;
}

static void print_pairs(const struct block *block)
{
    for (struct pair *pair = block->pairs; pair != NULL; pair = pair->next) {
        if (pair->times > 0) {
            (void)fprintf(out, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", block->start,
                          block->end, pair->after->start, pair->after->end, pair->times);
            pair->times = 0;
        }
    }
}

static void mark(uint64_t next_addr)
{
    struct block *following = cut(next_addr);

    print_pairs(&nothing);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct block *block = buckets[i]; block != NULL; block = block->next) {
            print_pairs(block);
        }
    }
    (void)fprintf(out, "mark %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", instructions, loaded_bytes,
                  stored_bytes, constant_bytes);
    (void)fflush(out);
    instructions = loaded_bytes = stored_bytes = constant_bytes = 0;
    current = &nothing;
    has_ended = true;
    rest = following;
}

static bool is_constant(uint64_t addr)
{
    for (int i = 0; i < ranges; i++) {
        if (addr >= constants[i].start && addr < constants[i].end) {
            return true;
        }
    }
    return false;
}

static void count_access(unsigned cpu, memory_info info, uint64_t addr, void *data)
{
    uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);

    (void)cpu;
    if (qemu_plugin_mem_is_store(info)) {
        stored_bytes += bytes;
        return;
    }
    loaded_bytes += bytes;
    constant_bytes += is_constant(addr) ? bytes : 0;
    if (addr == mark_addr) {
        mark((uintptr_t)data);
    }
}

/* Return an instruction's bytes, by its first halfword: QEMU's own size includes bytes that it has
 * read beyond the instruction, to check whether the next one crosses a page. */
static size_t size_of(const struct qemu_plugin_insn *insn)
{
    const uint8_t *bytes = qemu_plugin_insn_data(insn);

    return bytes[1] >> 3 >= 0x1D ? 4 : 2;
}

static bool is_watched(uint64_t addr)
{
    return look_end == 0 || (addr >= look_start && addr < look_end);
}

static void watch_block(plugin_id id, struct qemu_plugin_tb *translated)
{
    size_t count = qemu_plugin_tb_n_insns(translated);
    uint64_t *addrs = allocate(count, sizeof *addrs);
    uint64_t end_addr = 0;

    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(translated, i);

        addrs[i] = qemu_plugin_insn_vaddr(insn);
        end_addr = addrs[i] + size_of(insn);
        if (is_watched(addrs[i])) {
            qemu_plugin_register_vcpu_mem_cb(insn, count_access, NO_REGISTERS, LOADS_AND_STORES,
                                             (void *)(uintptr_t)end_addr);
        }
        if (i == count - 1) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, end, NO_REGISTERS, NULL);
        }
    }
    qemu_plugin_register_vcpu_tb_exec_cb(translated, enter, NO_REGISTERS, find_block(addrs, count, end_addr));
    free(addrs);
}

static bool take(const char *argument)
{
    if (ranges < RANGES &&
        sscanf(argument, "constant=%" SCNx64 ":%" SCNx64, &constants[ranges].start, &constants[ranges].end) == 2) {
        ranges++;
        return true;
    }
    if (sscanf(argument, "mark=%" SCNx64, &mark_addr) == 1) {
        return true;
    }
    if (sscanf(argument, "look=%" SCNx64 ":%" SCNx64, &look_start, &look_end) == 2) {
        return true;
    }
    if (strncmp(argument, "out=", 4) == 0) {
        out = fopen(argument + 4, "w");
        return out != NULL;
    }
    return false;
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!take(argv[i])) {
            (void)fprintf(stderr, "not understood: %s\n", argv[i]);
            return 1;
        }
    }
    if (out == NULL || mark_addr == 0) {
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, watch_block);
    return 0;
}
