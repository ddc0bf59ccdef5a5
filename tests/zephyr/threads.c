/*
 * Two threads run one network, or one network each, many times with their own inputs; every output
 * must match its input. The exit status is the number of wrong outputs.
 *
 * The test writes under_test.h: the networks' headers, and `subjects`, the networks of each thread.
 */
#include <string.h>
#include <zephyr/kernel.h>

#include "board.h"
#include "ethosgen_npu.h"
#include "ethosgen_status.h"

#define ROUNDS 100
#define BYTES 64

struct subject {
    ethosgen_status (*init)(void);
    ethosgen_status (*run)(void);
    void (*lock)(void);
    void (*unlock)(void);
    int8_t *(*input)(void);
    int8_t *(*output)(void);
    size_t input_bytes;
    size_t output_bytes;
};

#include "under_test.h"

BUILD_ASSERT(ARRAY_SIZE(subjects) == 2);

static uint8_t expected[2][BYTES];
static atomic_t wrong;
static atomic_t failed;

static const uint8_t fills[2] = {3, 100};

static void run_once(int mine, uint8_t *output)
{
    const struct subject *subject = &subjects[mine];

    subject->lock();
    memset(subject->input(), fills[mine], subject->input_bytes);
    if (subject->run() != ETHOSGEN_OK) {
        atomic_inc(&failed);
    }
    k_yield(); /* the other thread may try to overwrite the outputs */
    memcpy(output, subject->output(), subject->output_bytes);
    subject->unlock();
}

static void work(void *index, void *unused, void *unused_too)
{
    uint8_t output[BYTES];
    int mine = (int)POINTER_TO_INT(index);

    ARG_UNUSED(unused);
    ARG_UNUSED(unused_too);
    for (int i = 0; i < ROUNDS; i++) {
        run_once(mine, output);
        if (memcmp(output, expected[mine], subjects[mine].output_bytes) != 0) {
            atomic_inc(&wrong);
        }
        k_yield();
    }
}

K_THREAD_STACK_DEFINE(stack0, 2048);
K_THREAD_STACK_DEFINE(stack1, 2048);

int main(void)
{
    static struct k_thread threads[2];

    if (ethosgen_npu_init(0, false, false) != ETHOSGEN_OK ||
        subjects[0].init() != ETHOSGEN_OK || subjects[1].init() != ETHOSGEN_OK) {
        board_exit(100);
    }
    for (int i = 0; i < 2; i++) {
        if (subjects[i].output_bytes > BYTES) {
            board_exit(102);
        }
        run_once(i, expected[i]);
    }
    if (memcmp(expected[0], expected[1], BYTES) == 0) {
        board_exit(101); /* the test would prove nothing */
    }
    k_thread_create(&threads[0], stack0, K_THREAD_STACK_SIZEOF(stack0), work, INT_TO_POINTER(0),
                    NULL, NULL, 5, 0, K_NO_WAIT);
    k_thread_create(&threads[1], stack1, K_THREAD_STACK_SIZEOF(stack1), work, INT_TO_POINTER(1),
                    NULL, NULL, 5, 0, K_NO_WAIT);
    k_thread_join(&threads[0], K_FOREVER);
    k_thread_join(&threads[1], K_FOREVER);
    board_exit((uint32_t)(atomic_get(&wrong) + atomic_get(&failed)));
    return 0;
}
