/* A plugin of QEMU that counts instructions, and bytes loaded and stored.
 *
 * Whenever the firmware loads the word at `mark`, it appends a line to the file `out`: what it
 * counted up to that load, without it. QEMU counts a vector's bytes as its lanes are accessed, so
 * those of lanes that are predicated off are not in the sum.
 *
 * The declarations are those of version 1 of QEMU's plugin interface (QEMU 4.2 to 8.2), whose
 * header Debian does not package.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { PLUGIN_VERSION = 1, INLINE_ADD_U64 = 0, NO_REGISTERS = 0, LOADS_AND_STORES = 3 };

typedef uint64_t plugin_id;
typedef uint32_t memory_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *counter,
                                                uint64_t amount);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*call)(unsigned, memory_info, uint64_t, void *), int flags,
                                      int accesses, void *data);
unsigned qemu_plugin_mem_size_shift(memory_info info);
bool qemu_plugin_mem_is_store(memory_info info);

EXPORT int qemu_plugin_version = PLUGIN_VERSION;

static uint64_t instructions;
static uint64_t loaded_bytes;
static uint64_t stored_bytes;
static uint64_t mark_addr;
static FILE *out;

static void count_access(unsigned cpu, memory_info info, uint64_t addr, void *data)
{
    uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);

    (void)cpu;
    (void)data;
    if (qemu_plugin_mem_is_store(info)) {
        stored_bytes += bytes;
        return;
    }
    if (addr == mark_addr) {
        (void)fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", instructions, loaded_bytes, stored_bytes);
    }
    loaded_bytes += bytes;
}

static void watch_block(plugin_id id, struct qemu_plugin_tb *block)
{
    size_t count = qemu_plugin_tb_n_insns(block);

    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);

        qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &instructions, 1);
        qemu_plugin_register_vcpu_mem_cb(insn, count_access, NO_REGISTERS, LOADS_AND_STORES, NULL);
    }
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    static const char mark_is[] = "mark=", out_is[] = "out=";

    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], mark_is, sizeof(mark_is) - 1) == 0) {
            mark_addr = strtoull(argv[i] + sizeof(mark_is) - 1, NULL, 0);
        } else if (strncmp(argv[i], out_is, sizeof(out_is) - 1) == 0) {
            out = fopen(argv[i] + sizeof(out_is) - 1, "w");
        }
    }
    if (out == NULL || mark_addr == 0) {
        return 1;
    }
    (void)setvbuf(out, NULL, _IOLBF, 0);
    qemu_plugin_register_vcpu_tb_trans_cb(id, watch_block);
    return 0;
}
