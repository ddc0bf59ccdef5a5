/* A QEMU plug-in that adds an FVP's memory and devices to QEMU's machine.

   QEMU calls qemu_plugin_install() before it creates the machine; the memory is added when the machine
   is complete, and before firmware is loaded. Arguments: ram=ADDRESS:SIZE makes memory,
   alias=ADDRESS:SIZE:OF repeats memory from elsewhere. The declarations are those of QEMU's
   exec/memory.h and qemu/notify.h; QEMU's program exports these functions for its modules. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, REGION_BYTES = 4096 };

typedef struct MemoryRegion MemoryRegion;
typedef struct Notifier Notifier;
struct Notifier {
    void (*notify)(Notifier *notifier, void *data);
    void *node[2];
};

extern MemoryRegion *get_system_memory(void);
extern void memory_region_init_ram(MemoryRegion *region, void *owner, const char *name, uint64_t size,
                                   void **error);
extern void memory_region_init_alias(MemoryRegion *region, void *owner, const char *name,
                                     MemoryRegion *of, uint64_t offset, uint64_t size);
extern void memory_region_add_subregion(MemoryRegion *above, uint64_t offset, MemoryRegion *region);
extern void qemu_add_machine_init_done_notifier(Notifier *notifier);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_VERSION;

static struct {
    uint64_t addr, size, of;
    int is_alias;
} parts[MOST];
static int count;

static void add_parts(Notifier *notifier, void *data)
{
    (void)notifier;
    (void)data;
    for (int i = 0; i < count; i++) {
        /* QEMU's own structure is smaller; it is never freed, as the machine is not. */
        MemoryRegion *region = calloc(1, REGION_BYTES);
        char name[32];
        void *error = NULL;

        if (region == NULL) {
            abort();
        }
        snprintf(name, sizeof name, "fvp-%" PRIx64, parts[i].addr);
        if (parts[i].is_alias) {
            memory_region_init_alias(region, NULL, name, get_system_memory(), parts[i].of, parts[i].size);
        } else {
            memory_region_init_ram(region, NULL, name, parts[i].size, &error);
        }
        if (error != NULL) {
            fprintf(stderr, "QEMU cannot make %s\n", name);
            exit(1);
        }
        memory_region_add_subregion(get_system_memory(), parts[i].addr, region);
    }
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int argc,
                                                               char **argv)
{
    static Notifier notifier = {add_parts, {NULL, NULL}};

    (void)id;
    (void)info;
    for (int i = 0; i < argc && count < MOST; i++) {
        int is_ram = sscanf(argv[i], "ram=%" SCNi64 ":%" SCNi64, (int64_t *)&parts[count].addr,
                            (int64_t *)&parts[count].size) == 2;

        parts[count].is_alias =
            sscanf(argv[i], "alias=%" SCNi64 ":%" SCNi64 ":%" SCNi64, (int64_t *)&parts[count].addr,
                   (int64_t *)&parts[count].size, (int64_t *)&parts[count].of) == 3;
        if (!is_ram && !parts[count].is_alias) {
            fprintf(stderr, "not understood: %s\n", argv[i]);
            return 1;
        }
        count++;
    }
    qemu_add_machine_init_done_notifier(&notifier);
    return 0;
}
