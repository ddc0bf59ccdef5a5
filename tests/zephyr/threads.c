/*
 * Two threads run one network with inputs of their own, many times; every output must be that of
 * its input. Leaves with the number of wrong outputs as exit status.
 *
 * The test writes under_test.h: the network's header, and INIT, RUN, LOCK, UNLOCK, INPUT, OUTPUT.
 */
#include <string.h>
#include <zephyr/kernel.h>

#include "board.h"
#include "under_test.h"

#define ROUNDS 100
#define BYTES 64

static uint8_t expected[2][BYTES];
static atomic_t wrong;
static atomic_t failed;

static void run_once(uint8_t fill, uint8_t *output)
{
    LOCK();
    memset(INPUT(), fill, INPUT_BYTES);
    if (RUN() != ETHOSGEN_OK) {
        atomic_inc(&failed);
    }
    k_yield(); /* the other thread may try to spoil what is read next */
    memcpy(output, OUTPUT(), OUTPUT_BYTES);
    UNLOCK();
}

static void work(void *index, void *unused, void *unused_too)
{
    uint8_t output[BYTES];
    int mine = POINTER_TO_INT(index);

    ARG_UNUSED(unused);
    ARG_UNUSED(unused_too);
    for (int i = 0; i < ROUNDS; i++) {
        run_once(mine ? 100 : 3, output);
        if (memcmp(output, expected[mine], OUTPUT_BYTES) != 0) {
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

    if (ethosgen_npu_init(0, false, false) != ETHOSGEN_OK || INIT() != ETHOSGEN_OK) {
        board_exit(100);
    }
    run_once(3, expected[0]);
    run_once(100, expected[1]);
    if (memcmp(expected[0], expected[1], OUTPUT_BYTES) == 0) {
        board_exit(101); /* then the test proves nothing */
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
