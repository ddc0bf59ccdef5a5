/* Semaphores and a tick count of this machine, from which rtos.c makes both RTOSes' functions. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000u
#define FOREVER 0xFFFFFFFFu

struct semaphore {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t count;
    uint32_t most;
};

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint32_t tick_count(void)
{
    return (uint32_t)(now_ns() / (NS_PER_S / TICKS_PER_S));
}

static inline void make_semaphore(struct semaphore *semaphore, uint32_t count)
{
    pthread_mutex_init(&semaphore->mutex, NULL);
    pthread_cond_init(&semaphore->changed, NULL);
    semaphore->count = count;
    semaphore->most = 1;
}

static inline bool give(struct semaphore *semaphore)
{
    pthread_mutex_lock(&semaphore->mutex);
    bool is_given = semaphore->count < semaphore->most;
    semaphore->count += is_given;
    pthread_cond_signal(&semaphore->changed);
    pthread_mutex_unlock(&semaphore->mutex);
    return is_given;
}

static inline bool take(struct semaphore *semaphore, uint32_t ticks)
{
    uint64_t end_ns = now_ns() + (uint64_t)ticks * (NS_PER_S / TICKS_PER_S);
    struct timespec end = {(time_t)(end_ns / NS_PER_S), (long)(end_ns % NS_PER_S)};
    int result = 0;

    pthread_mutex_lock(&semaphore->mutex);
    while (semaphore->count == 0 && result == 0) {
        result = ticks == FOREVER
                     ? pthread_cond_wait(&semaphore->changed, &semaphore->mutex)
                     : pthread_cond_timedwait(&semaphore->changed, &semaphore->mutex, &end);
    }
    bool is_taken = semaphore->count > 0;
    semaphore->count -= is_taken;
    pthread_mutex_unlock(&semaphore->mutex);
    return is_taken;
}

#endif /* THREADS_H */
