/* The part of the API of Arm's ethos-u core driver that ethosgen_npu_core.c uses, in our own words,
 * for machines without Arm's header. */
#ifndef STANDIN_ETHOSU_DRIVER_H
#define STANDIN_ETHOSU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ethosu_driver {
    uintptr_t base;
    uint32_t level;
    int state;  /* of the job: idle, running, done */
    int result; /* of it: good, out of time, faulty */
    struct ethosu_driver *next;
    void *semaphore;
};

void *ethosu_semaphore_create(void);
void ethosu_semaphore_destroy(void *semaphore);
int ethosu_semaphore_take(void *semaphore, uint64_t timeout);
int ethosu_semaphore_give(void *semaphore);
void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg);
void ethosu_flush_dcache(const uint64_t *base, const size_t *bytes, int count);
void ethosu_invalidate_dcache(const uint64_t *base, const size_t *bytes, int count);
unsigned int ethosu_config_select(uint64_t address, int index);

int ethosu_init(struct ethosu_driver *drv, void *base, const void *fast, size_t fast_bytes,
                uint32_t secure, uint32_t privileged);
void ethosu_deinit(struct ethosu_driver *drv);
void ethosu_irq_handler(struct ethosu_driver *drv);
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *words, int bytes, uint64_t *base,
                     const size_t *base_bytes, int bases, void *user_arg);

#endif /* STANDIN_ETHOSU_DRIVER_H */
