/*
 * Tests a driver, and a network's functions on it, with every order of a few events, one after the
 * other.
 *
 * A scenario is: interrupts and runs before and after an init that fails, and after inits of the network
 * on other NPUs; an init; two runs with events, and a run without. Before each access to a register that controls a run, and in each call of the wait
 * hook, one of the possible events may happen: the NPU finishes, faults, stops early, or reports the
 * end before the whole stream is read; its interrupt comes, stays pending, is lost, or is spurious;
 * another run begins, in another thread or in an interrupt handler, and must be refused. While CMD allows
 * it, a power controller turns the NPU off, and what is written to its other registers is lost.
 * The hook returns true or false. All choices up to a number of events are tried, the last one first,
 * by running the scenario again.
 *
 * Usage: interleavings EVENTS LAZY; LAZY is 1 for registers that are served a moment later, as in
 * ethosgen's simulator. Prints counts, or a driver's error and the choices that led to it.
 */
#include "ethosgen_npu.h"
#include "npu.h"
#include "plus_one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID = 0x00, CONFIG = 0x28 };
enum { STATUS = 0x04, CMD = 0x08, RESET = 0x0C, QREAD = 0x18, QSIZE = 0x20, PROT = 0x24 };
enum { RUNNING = 1, RAISED = 2, BUS = 4, IN_RESET = 8, END = 0x20 };
enum { CMD_RUN = 1, CMD_CLEAR = 2, CMD_GATES = 0xC };
enum event { NOTHING, FINISH, FAULT, STOP, FALSE_END, COME, COME_TWICE, LOSE, SPURIOUS, AGAIN, EVENTS };

#define BASE 0x58102000u
#define LEVEL 1u
#define RUNS 3
#define CHOICES 400
#define QUEUE_BYTES 16u
#define TICKS_PER_LOOK (ETHOSGEN_NPU_TIMEOUT_MS / 3)

/* The order that is tried: the choices made so far, and the number of options for each. */
static struct {
    int choice[CHOICES];
    int count[CHOICES];
    int made;
} script;

/* The NPU, and the processor's side of its interrupt. */
static struct {
    uint32_t word[0x400];
    uint32_t command; /* written and not yet served, like `level` */
    uint32_t level;
    int has_command, has_level, reads;
    int is_dead; /* never leaves reset */
    int may_lose; /* clock and power may be off: registers that are written now are lost */
    int is_pending, masked, in_interrupt;
} npu_model;

/* The true state, independent of the driver. */
static struct {
    int run; /* of ethosgen_npu_run(), from 1 */
    int job; /* the run that started the NPU last */
    int is_done, is_faulty, is_stopped; /* the NPU, in this run */
    int was_done, was_faulty, was_stopped; /* when the hook returned last */
    int is_quiet; /* only the NPU's normal work happens */
    int may_touch, in_reset, begins, ends, resumes, cleans, invalidates;
} truth;

static int budget, is_lazy;
static uint32_t output;
static long scenarios, verdicts[17];

/* NPUs that the network was not compiled for: bits of CONFIG and ID that differ, and the verdict. */
static const struct {
    uint32_t config, id;
    ethosgen_status status;
} others[] = {
    {1u << 0, 0, ETHOSGEN_NPU_OTHER_MACS},
    {1u << 28, 0, ETHOSGEN_NPU_OTHER_PRODUCT},
    {1u << 4, 0, ETHOSGEN_NPU_OTHER_VERSION},
    {0, 1u << 28, ETHOSGEN_NPU_OTHER_VERSION},
};

static void fail(const char *what)
{
    printf("wrong: %s; in run %d, after the choices", what, truth.run);
    for (int i = 0; i < script.made; i++) {
        printf(" %d", script.choice[i]);
    }
    printf("\n");
    exit(1);
}

static int choose(int count)
{
    if (script.made == CHOICES) {
        fail("it does not end");
    }
    int at = script.made++;
    if (script.count[at] == 0) {
        script.count[at] = count;
        script.choice[at] = 0;
    }
    return script.choice[at];
}

/* Go on to the next order; 0 if there is none. */
static int next_script(void)
{
    while (script.made > 0) {
        int at = script.made - 1;
        if (++script.choice[at] < script.count[at]) {
            script.made = 0;
            return 1;
        }
        script.count[at] = 0;
        script.made--;
    }
    return 0;
}

static uint32_t *reg(uint32_t offset)
{
    return &npu_model.word[offset / 4];
}

/* Serve the written registers in the simulator's order: a reset comes before a command. */
static void serve(void)
{
    int has_command = npu_model.has_command;
    uint32_t command = npu_model.command;

    npu_model.has_command = 0;
    npu_model.reads = 0;
    if (npu_model.has_level) {
        npu_model.has_level = 0;
        *reg(STATUS) = npu_model.is_dead ? IN_RESET : 0;
        *reg(PROT) = npu_model.level;
        *reg(QREAD) = 0;
    }
    if (has_command && (command & CMD_CLEAR) != 0) {
        *reg(STATUS) &= ~(uint32_t)RAISED;
    }
    if (has_command && (command & CMD_RUN) != 0) {
        *reg(STATUS) = RUNNING;
        *reg(QREAD) = 0;
        truth.job = truth.run;
        if (*reg(QSIZE) != QUEUE_BYTES) {
            fail("the NPU starts with registers that it lost");
        }
    }
}

static void end_job(uint32_t status, uint32_t qread)
{
    *reg(STATUS) = status | RAISED;
    *reg(QREAD) = qread;
    npu_model.is_pending = 1;
}

static void interrupt(void)
{
    npu_model.in_interrupt++;
    ethosgen_npu_irq_handler();
    npu_model.in_interrupt--;
}

static int is_possible(enum event event)
{
    switch (event) {
    case FINISH:
    case FAULT:
    case STOP:
    case FALSE_END:
        return (*reg(STATUS) & RUNNING) != 0;
    case COME:
    case COME_TWICE:
        return npu_model.is_pending && !npu_model.masked && !npu_model.in_interrupt;
    case LOSE:
        return npu_model.is_pending;
    case SPURIOUS:
        return !npu_model.masked && !npu_model.in_interrupt;
    default:
        return 1;
    }
}

static void happen(enum event event)
{
    switch (event) {
    case FINISH:
        output = (uint32_t)truth.job;
        truth.is_done = truth.job == truth.run;
        end_job(END, QUEUE_BYTES);
        break;
    case FAULT:
        truth.is_faulty = truth.job == truth.run;
        end_job(BUS, QUEUE_BYTES / 2);
        break;
    case STOP:
        truth.is_stopped = truth.job == truth.run;
        end_job(0, QUEUE_BYTES / 2);
        break;
    case FALSE_END: /* reports the end before the whole stream is read */
        truth.is_stopped = truth.job == truth.run;
        end_job(END, QUEUE_BYTES / 2);
        break;
    case COME:
        npu_model.is_pending = 0;
        interrupt();
        break;
    case COME_TWICE:
        interrupt();
        break;
    case LOSE:
        npu_model.is_pending = 0;
        break;
    case SPURIOUS:
        interrupt();
        break;
    case AGAIN:
        if (plus_one_run() != ETHOSGEN_BUSY) {
            fail("a run begins inside another one");
        }
        break;
    default:
        break;
    }
}

/* Let one of the possible events happen, or none. */
static void let_happen(void)
{
    enum event possible[EVENTS];
    int count = 0;

    if (truth.is_quiet || budget == 0) {
        return;
    }
    for (int event = NOTHING; event < EVENTS; event++) {
        if (is_possible((enum event)event)) {
            possible[count++] = (enum event)event;
        }
    }
    enum event event = possible[choose(count)];
    if (event != NOTHING) {
        budget--;
        happen(event);
    }
}

static uint32_t offset_of(uintptr_t addr)
{
    if (!truth.may_touch || addr < BASE || addr >= BASE + sizeof npu_model.word) {
        fail("a register is touched where there is none");
    }
    return (uint32_t)(addr - BASE);
}

uint32_t npu_get(uintptr_t addr)
{
    uint32_t offset = offset_of(addr);

    if (offset == STATUS || offset == QREAD) {
        let_happen();
    }
    if (offset == STATUS && is_lazy && ++npu_model.reads == 3) {
        serve();
    }
    return *reg(offset);
}

void npu_put(uintptr_t addr, uint32_t value)
{
    uint32_t offset = offset_of(addr);

    if (offset != CMD && offset != RESET) {
        *reg(offset) = npu_model.may_lose ? 0 : value;
        return;
    }
    let_happen();
    npu_model.may_lose = offset == RESET || (value & CMD_GATES) != 0;
    if (offset == CMD) {
        if ((value & CMD_RUN) != 0 && truth.cleans != 1) {
            fail("the NPU starts without a clean cache");
        }
        npu_model.command = value;
        npu_model.has_command = 1;
    } else {
        npu_model.level = value;
        npu_model.has_level = 1;
    }
    if (!is_lazy) {
        serve();
    }
}

uint32_t npu_mask(void)
{
    return (uint32_t)npu_model.masked++;
}

void npu_unmask(uint32_t state)
{
    npu_model.masked = (int)state;
    let_happen();
}

uint32_t ethosgen_npu_clock(uint32_t *per_ms)
{
    static uint32_t now;

    *per_ms = 1;
    return now += is_lazy && truth.in_reset ? 1 : TICKS_PER_LOOK;
}

bool ethosgen_npu_wait(const volatile bool *finished)
{
    bool goes_on = true;

    if (npu_model.in_interrupt || truth.in_reset) {
        fail("the wait hook is called without a wait");
    }
    serve();
    if (truth.is_quiet) {
        happen(FINISH);
        happen(COME);
    } else {
        let_happen();
        let_happen();
        goes_on = choose(2) == 0;
    }
    truth.was_done = truth.is_done;
    truth.was_faulty = truth.is_faulty;
    truth.was_stopped = truth.is_stopped;
    return *finished || goes_on;
}

void ethosgen_npu_wait_begin(void)
{
    if (npu_model.in_interrupt || truth.in_reset) {
        fail("wait_begin is called outside a run's thread");
    }
    truth.begins++;
}

void ethosgen_npu_wait_end(void)
{
    if (!npu_model.in_interrupt || truth.in_reset) {
        fail("wait_end is called outside the interrupt");
    }
    if (++truth.ends > 1) {
        fail("wait_end is called twice for a run");
    }
}

void ethosgen_npu_resume(void)
{
    if (npu_model.in_interrupt || truth.in_reset) {
        fail("resume is called outside a run's thread");
    }
    truth.resumes++;
}

void ethosgen_npu_reset_begin(void)
{
    truth.in_reset = 1;
}

void ethosgen_npu_reset_end(void)
{
    truth.in_reset = 0;
}

void ethosgen_npu_begin(uintptr_t base_addr)
{
    (void)base_addr;
}

void ethosgen_npu_end(uintptr_t base_addr)
{
    (void)base_addr;
    if (!npu_model.in_interrupt && !npu_model.masked) {
        fail("end is called with interrupts that may come");
    }
}

void ethosgen_npu_clean_cache(const uintptr_t base[ETHOSGEN_NPU_BASES],
                              const uint32_t bytes[ETHOSGEN_NPU_BASES])
{
    (void)base;
    (void)bytes;
    truth.cleans++;
}

void ethosgen_npu_invalidate_cache(const uintptr_t base[ETHOSGEN_NPU_BASES],
                                   const uint32_t bytes[ETHOSGEN_NPU_BASES])
{
    (void)base;
    (void)bytes;
    if (truth.resumes != 1) {
        fail("the cache is invalidated before the NPU has written");
    }
    truth.invalidates++;
}

static void check(ethosgen_status status)
{
    int is_right = truth.is_done && truth.job == truth.run && output == (uint32_t)truth.run;

    verdicts[status]++;
    if (status == ETHOSGEN_OK && !is_right) {
        fail("a run is OK that the NPU did not finish");
    }
    if (status != ETHOSGEN_OK && truth.was_done) {
        fail("a run is lost that the NPU finished in time");
    }
    if (truth.was_faulty && status != ETHOSGEN_NPU_BUS_FAULT) {
        fail("a fault is told as something else");
    }
    if (truth.was_stopped && status != ETHOSGEN_NPU_STOPPED) {
        fail("an early stop is told as something else");
    }
    if (status == ETHOSGEN_NPU_DRIVER || status == ETHOSGEN_NPU_NO_RESET) {
        fail("a run does not start");
    }
}

static void run(void)
{
    truth.run++;
    truth.is_done = truth.is_faulty = truth.is_stopped = 0;
    truth.was_done = truth.was_faulty = truth.was_stopped = 0;
    truth.begins = truth.ends = truth.resumes = truth.cleans = truth.invalidates = 0;
    truth.is_quiet = truth.run == RUNS;
    ethosgen_status status = plus_one_run();
    check(status);
    if (truth.begins != 1 || truth.resumes != 1) {
        fail("a run waits or goes on other than once");
    }
    if (truth.invalidates != 1) {
        fail("the cache is not invalidated once");
    }
    if (truth.is_quiet && status != ETHOSGEN_OK) {
        fail("a run fails after the trouble is over");
    }
}

/* A run of a network that is not initialized keeps to the verdict, and touches no register. */
static void expect(ethosgen_status init, const char *what)
{
    int could_touch = truth.may_touch;

    if (plus_one_init() != init) {
        fail(what);
    }
    truth.may_touch = 0;
    if (plus_one_run() != init || plus_one_run() != init) {
        fail("a run does not return the verdict of init");
    }
    truth.may_touch = could_touch;
}

static void scenario(int events)
{
    memset(&npu_model, 0, sizeof npu_model);
    memset(&truth, 0, sizeof truth);
    output = 0xFFFFFFFF;
    *reg(STATUS) = IN_RESET;
    truth.is_quiet = 1;

    npu_model.is_dead = 1;
    truth.may_touch = 1;
    if (ethosgen_npu_init(BASE, true, true) != ETHOSGEN_NPU_NO_RESET) {
        fail("init succeeds without an NPU");
    }
    truth.may_touch = 0;
    interrupt();
    expect(ETHOSGEN_NOT_INITIALIZED, "a network finds an NPU where there is none");

    npu_model.is_dead = 0;
    truth.may_touch = 1;
    if (ethosgen_npu_init(BASE, true, true) != ETHOSGEN_OK) {
        fail("init fails");
    }
    interrupt();
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        *reg(CONFIG) = PLUS_ONE_NPU_CONFIG ^ others[i].config;
        *reg(ID) = PLUS_ONE_NPU_ID ^ others[i].id;
        expect(others[i].status, "a network takes another NPU for its own");
    }
    *reg(CONFIG) = PLUS_ONE_NPU_CONFIG;
    *reg(ID) = PLUS_ONE_NPU_ID;
    if (plus_one_init() != ETHOSGEN_OK) {
        fail("a network refuses its NPU");
    }
    budget = events;
    for (int i = 0; i < RUNS; i++) {
        run();
    }
    scenarios++;
}

int main(int count, char **argument)
{
    if (count != 3) {
        return 2;
    }
    is_lazy = atoi(argument[2]);
    interrupt(); /* before any init */
    if (plus_one_run() != ETHOSGEN_NOT_INITIALIZED) {
        fail("a network runs before its init");
    }
    do {
        scenario(atoi(argument[1]));
    } while (next_script());
    printf("scenarios %ld\n", scenarios);
    for (int i = 0; i < 17; i++) {
        if (verdicts[i] != 0) {
            printf("status %d %ld\n", i, verdicts[i]);
        }
    }
    return 0;
}
