/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's RTL, compiled by Verilator, as a model in C (ethosgen_model.h): its clock and reset, writes
 * and reads of its registers by APB or AXI4-Lite, and the firmware's memory behind its AXI4 port.
 *
 * ethosgen_ports.h, which device/ports.py writes, connects the names that begin with P_ to the ports of
 * the top module. Optional ports that it lacks are variables with their default value.
 */
#include "ethosgen_model.h"
#include "ethosgen_ports.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" uint8_t *ethosgen_model_find(uint32_t address, uint32_t bytes, bool writes);
extern "C" bool ethosgen_model_replace(uint32_t offset, uint32_t expected, uint32_t value);

namespace {

constexpr uint32_t REGISTERS = REGISTER_BYTES / 4, RESET_CYCLES = 8, BUS_CYCLES = 1000;

uint64_t now;          /* the clock cycles since power-on */
uint64_t started_at;   /* the cycle after the last write of a register's data */
uint64_t ended_at;
bool has_ended, had_irq, had_busy;
uint32_t known[REGISTERS]; /* the registers as the firmware knows them: as it wrote them, or as they became */
uint32_t seen[REGISTERS];  /* the values that the device gave last */
char said[256];            /* what the RTL has printed last */

#if VM_TRACE
VerilatedVcdC *trace;
#endif

void flush_trace()
{
#if VM_TRACE
    trace->flush();
#endif
}

__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...)
{
    char text[512];
    va_list arguments;

    flush_trace();
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ethosgen_model_fail(text);
}

#include "ethosgen_memory.h"

void half_cycle(bool level)
{
    set_clock(level);
    top->eval();
#if VM_TRACE
    trace->dump(2 * now + !level);
#endif
}

void tick()
{
    top->eval();
    look_at_memory();
    half_cycle(true);
    drive_memory();
    half_cycle(false);
    now++;
    bool has_irq = P_irq != 0, is_busy = P_busy != 0;
    if (has_irq && !had_irq && HAS_INTERRUPT) {
        ethosgen_model_interrupt();
    }
    if (!has_ended && (HAS_BUSY ? had_busy && !is_busy : has_irq && !had_irq)) {
        has_ended = true;
        ended_at = now;
    }
    had_irq = has_irq;
    had_busy = is_busy;
}

/* Wait for an answer on the registers' port; `lines` are the signals that must become high. */
#define AWAIT(condition, does, offset, lines)                                                           \
    do {                                                                                                \
        uint32_t left = BUS_CYCLES;                                                                     \
        for (top->eval(); !(condition); top->eval()) {                                                  \
            if (left-- == 0) {                                                                          \
                fail("it did not answer the %s of register 0x%x within %u clock cycles: " lines " stays low", \
                     does, offset, BUS_CYCLES);                                                         \
            }                                                                                           \
            tick();                                                                                     \
        }                                                                                               \
    } while (0)

#if HAS_APB

bool transfer(uint32_t offset, bool writes, uint32_t &value)
{
    const char *does = writes ? "write" : "read";

    P_s_psel = 1;
    P_s_penable = 0;
    P_s_paddr = offset;
    P_s_pwrite = writes;
    P_s_pwdata = writes ? value : 0;
    P_s_pstrb = writes ? 0xF : 0;
    tick();
    P_s_penable = 1;
    AWAIT(P_s_pready != 0, does, offset, "pready");
    bool is_good = P_s_pslverr == 0;
    value = writes ? value : P_s_prdata;
    tick();
    if (writes) {
        started_at = now;
    }
    P_s_psel = 0;
    P_s_penable = 0;
    return is_good;
}

#else

bool write_by_axi(uint32_t offset, uint32_t value)
{
    P_s_awaddr = offset;
    P_s_wdata = value;
    P_s_wstrb = 0xF;
    P_s_awvalid = 1;
    P_s_wvalid = 1;
    for (uint32_t left = BUS_CYCLES; P_s_awvalid != 0 || P_s_wvalid != 0; left--) {
        top->eval();
        bool has_address = P_s_awready != 0, has_data = P_s_wready != 0;
        if (left == 0) {
            fail("it did not answer the write of register 0x%x within %u clock cycles: %s stays low", offset,
                 BUS_CYCLES, P_s_awvalid != 0 ? "awready" : "wready");
        }
        tick();
        P_s_awvalid = P_s_awvalid && !has_address;
        P_s_wvalid = P_s_wvalid && !has_data;
    }
    started_at = now;
    P_s_bready = 1;
    AWAIT(P_s_bvalid != 0, "write", offset, "bvalid");
    bool is_good = P_s_bresp == 0;
    tick();
    P_s_bready = 0;
    return is_good;
}

bool read_by_axi(uint32_t offset, uint32_t &value)
{
    P_s_araddr = offset;
    P_s_arvalid = 1;
    AWAIT(P_s_arready != 0, "read", offset, "arready");
    tick();
    P_s_arvalid = 0;
    P_s_rready = 1;
    AWAIT(P_s_rvalid != 0, "read", offset, "rvalid");
    bool is_good = P_s_rresp == 0;
    value = P_s_rdata;
    tick();
    P_s_rready = 0;
    return is_good;
}

bool transfer(uint32_t offset, bool writes, uint32_t &value)
{
    return writes ? write_by_axi(offset, value) : read_by_axi(offset, value);
}

#endif

void write_register(uint32_t offset, uint32_t value)
{
    if (!transfer(offset, true, value)) {
        fail("it answered the write of 0x%x to register 0x%x with an error (%s)", value, offset,
             HAS_APB ? "pslverr" : "bresp");
    }
}

/* Whether a register has the device's value after each write. Another one keeps what the firmware wrote until
 * the device changes it: it may be for writing only, and a later write of its value would not be noticed. */
bool is_command(uint32_t offset)
{
    bool is_listed = offset == DONE_REGISTER;

    for (uint32_t command : commands) {
        is_listed = is_listed || command == offset;
    }
    return is_listed;
}

/* Give the firmware a register's value, unless it has written the register meanwhile. */
void publish_register(uint32_t offset, uint32_t value)
{
    uint32_t i = offset / 4;

    if (value != known[i] && (value != seen[i] || is_command(offset))) {
        ethosgen_model_replace(offset, known[i], value);
        known[i] = value;
    }
    seen[i] = value;
}

/* Read the registers, and give the firmware the values; the one that announces the end comes last, with the
 * results of the job in memory before it. */
void publish()
{
    uint32_t values[REGISTERS];

    for (uint32_t i = 0; i < REGISTERS; i++) {
        if (!transfer(4 * i, false, values[i])) { /* reserved ones may answer with an error */
            values[i] = seen[i];
        }
    }
    for (uint32_t i = 0; i < REGISTERS; i++) {
        if (i != DONE_REGISTER / 4) {
            publish_register(4 * i, values[i]);
        }
    }
    publish_register(DONE_REGISTER, values[DONE_REGISTER / 4]);
    flush_trace();
}

/* Write to the device what the firmware has written, but not the register that starts it. */
bool forward()
{
    bool has_any = false;

    for (uint32_t i = 0; i < REGISTERS; i++) {
        uint32_t value = ethosgen_model_get(4 * i);
        if (i != START_REGISTER / 4 && value != known[i]) {
            known[i] = value;
            write_register(4 * i, value);
            has_any = true;
        }
    }
    return has_any;
}

void run(uint32_t number)
{
    bool was_high = had_irq;

    has_ended = false;
    known[START_REGISTER / 4] = number;
    write_register(START_REGISTER, number);
    uint64_t since = started_at;
    while (!has_ended) {
        tick();
        if (now - since > LIMIT) {
            fail("it did not end within %llu clock cycles of the write to register 0x%x: %s; correct it, or set "
                 "`limit` in [device.verilog]",
                 (unsigned long long)LIMIT, START_REGISTER,
                 HAS_BUSY              ? "busy does not fall"
                 : was_high && had_irq ? "irq is high since the job before, so the driver must clear it first; if a "
                                         "register that reads as 0 does so, `commands` must have it"
                                       : "irq does not rise");
        }
    }
    ethosgen_model_spend((uint32_t)(ended_at > since ? ended_at - since : 0));
    if (is_writing || must_answer) {
        fail("it announced its end while the memory had not yet answered a write to 0x%08llx, so the processor may "
             "read old bytes; wait for bvalid first",
             (unsigned long long)written.address);
    }
}

} // namespace

double sc_time_stamp()
{
    return (double)now;
}

void ethosgen_verilog_print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    fputs(said, stderr);
}

/* $finish, $stop, a failed assertion, and Verilator's own errors end the model. */
static void end(const char *what, const char *file, int line)
{
    const char *error = strstr(said, "%Error: ");

    if (error != nullptr) {
        fail("%.*s, in clock cycle %llu", (int)strcspn(error + 8, "\n"), error + 8, (unsigned long long)now);
    }
    fail("%s in %s, line %d, in clock cycle %llu", what, file, line, (unsigned long long)now);
}

void vl_finish(const char *file, int line, const char *)
{
    end("$finish", file, line);
}

void vl_stop(const char *file, int line, const char *)
{
    end("$stop", file, line);
}

void vl_fatal(const char *file, int line, const char *, const char *message)
{
    said[0] = '\0';
    end(message, file, line);
}

void ethosgen_model_reset(void)
{
    VerilatedContext *context = new VerilatedContext;

    context->randReset(2); /* what reset does not set has any value */
    context->randSeed(1);
#if VM_TRACE
    const char *path = getenv("ETHOSGEN_TRACE");
    context->traceEverOn(true);
#endif
    top = new Vmodel(context, "");
#if VM_TRACE
    trace = new VerilatedVcdC;
    top->trace(trace, 99);
    trace->open(path != nullptr ? path : "trace.vcd");
    if (!trace->isOpen()) {
        ethosgen_model_fail("its trace cannot be written; correct `trace` in [device.verilog]");
    }
#endif
    set_inputs();
    set_clock(false);
    set_reset(false);
    top->eval();
    context->assertOn(false); /* before its reset, a device has any state */
    set_reset(true);
    for (uint32_t i = 0; i < RESET_CYCLES; i++) {
        tick();
    }
    set_reset(false);
    context->assertOn(true);
    tick();
    has_ended = true;
    publish();
}

bool ethosgen_model_poll(void)
{
    uint32_t number = ethosgen_model_get(START_REGISTER); /* what was written before it is seen below */
    bool has_written = forward();
    bool is_started = number != known[START_REGISTER / 4];

    if (is_started) {
        run(number);
    }
    if (is_started || has_written) {
        publish();
    }
    return is_started;
}
