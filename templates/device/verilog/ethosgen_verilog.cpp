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

constexpr uint32_t REGISTERS = REGISTER_BYTES / 4, RESET_CYCLES = 8, BUS_CYCLES = 1000, MOST_READS = 16;
constexpr uint32_t BOUNDARY = 4096, INCR = 1;
constexpr uint8_t GARBAGE = 0xA5; /* on lanes that a read does not use, or whose bytes are no memory */

uint64_t now;          /* the clock cycles since power-on */
uint64_t started_at;   /* the cycle after the last write of a register's data */
uint64_t ended_at;
bool has_ended, had_irq, had_busy;
uint32_t known[REGISTERS]; /* the registers' values when they were last equal here and in the device */
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

/* The memory behind the AXI4 port. Reads are answered in their order, LATENCY cycles after the address, then
 * a beat each cycle. One burst is written at a time. */
struct Burst {
    uint64_t address, due; /* of the first beat */
    uint32_t beats, beat, size, id;
};

Burst reads[MOST_READS], written;
uint32_t first_read, read_count;
bool is_writing, must_answer;
bool takes_read, takes_beat, takes_write, takes_data, takes_answer; /* at the next edge */

Burst make_burst(const char *what, uint64_t address, uint32_t length, uint32_t log2_size, uint32_t type, uint32_t id)
{
    Burst burst = {address, now + LATENCY, length + 1, 0, 1u << log2_size, id};
    uint64_t end = (address & ~(uint64_t)(burst.size - 1)) + (uint64_t)burst.size * burst.beats;

    if (end > UINT64_C(1) << 32) {
        fail("it %s 0x%llx by AXI4, but the processor's addresses have 32 bits", what, (unsigned long long)address);
    }
    if (burst.size > DATA_BYTES) {
        fail("it %s 0x%08llx in beats of %u bytes (AXI4's size), but its data port has %u", what,
             (unsigned long long)address, burst.size, DATA_BYTES);
    }
    if (length > 0 && type != INCR) {
        fail("it %s 0x%08llx in a burst of type %u; ethosgen's memory knows INCR (1)", what,
             (unsigned long long)address, type);
    }
    if (address / BOUNDARY != (end - 1) / BOUNDARY) {
        fail("it %s 0x%08llx in a burst of %u beats that crosses a boundary of 4 KiB, which AXI4 forbids", what,
             (unsigned long long)address, burst.beats);
    }
    return burst;
}

uint32_t beat_address(const Burst &burst)
{
    uint64_t aligned = burst.address & ~(uint64_t)(burst.size - 1);
    return (uint32_t)(burst.beat == 0 ? burst.address : aligned + (uint64_t)burst.beat * burst.size);
}

/* Fill the data port for a beat. Some of its bytes may be outside the memory: devices read whole words. */
void put_read_data(const Burst &burst)
{
    static uint8_t lanes[DATA_BYTES];
    uint32_t address = beat_address(burst);
    uint32_t base = address & ~(DATA_BYTES - 1), end = (address & ~(burst.size - 1)) + burst.size;
    uint32_t missing = 0;

    memset(lanes, GARBAGE, sizeof lanes);
    if (const uint8_t *all = ethosgen_model_find(address, end - address, false)) {
        memcpy(&lanes[address - base], all, end - address);
    } else {
        for (uint32_t at = address; at != end; at++) {
            const uint8_t *byte = ethosgen_model_find(at, 1, false);
            lanes[at - base] = byte != nullptr ? *byte : GARBAGE;
            missing += byte == nullptr;
        }
    }
    if (missing == end - address) {
        flush_trace();
        ethosgen_model_read(address, missing); /* it ends the model */
    }
    memcpy(&P_m_rdata, lanes, sizeof lanes);
}

void write_beat()
{
    static uint8_t lanes[DATA_BYTES], strobes[(DATA_BYTES + 7) / 8];
    uint32_t base = beat_address(written) & ~(DATA_BYTES - 1);

    memcpy(lanes, &P_m_wdata, sizeof lanes);
    memcpy(strobes, &P_m_wstrb, sizeof strobes);
    for (uint32_t lane = 0; lane < DATA_BYTES; lane++) {
        uint32_t first = lane;
        while (lane < DATA_BYTES && (strobes[lane / 8] >> lane % 8 & 1) != 0) {
            lane++;
        }
        if (lane > first) {
            if (ethosgen_model_find(base + first, lane - first, true) == nullptr) {
                flush_trace();
            }
            memcpy(ethosgen_model_write(base + first, lane - first), &lanes[first], lane - first);
        }
    }
    written.beat++;
    bool is_last = written.beat == written.beats;
    if (P_m_wlast != UNKNOWN && (P_m_wlast != 0) != is_last) {
        fail("its write to 0x%08llx has wlast %s in beat %u of %u", (unsigned long long)written.address,
             is_last ? "low" : "high", written.beat, written.beats);
    }
    if (is_last) {
        is_writing = false;
        must_answer = true;
        written.due = now + LATENCY;
    }
}

/* Which handshakes the next edge of the clock completes. */
void look_at_memory()
{
    takes_read = P_m_arvalid != 0 && P_m_arready != 0;
    takes_beat = P_m_rvalid != 0 && P_m_rready != 0;
    takes_write = P_m_awvalid != 0 && P_m_awready != 0;
    takes_data = P_m_wvalid != 0 && P_m_wready != 0;
    takes_answer = P_m_bvalid != 0 && P_m_bready != 0;
    if (takes_read) {
        uint32_t place = (first_read + read_count++) % MOST_READS;
        reads[place] = make_burst("reads", P_m_araddr, P_m_arlen, P_m_arsize, P_m_arburst, P_m_arid);
    }
    if (takes_beat && ++reads[first_read].beat == reads[first_read].beats) {
        first_read = (first_read + 1) % MOST_READS;
        read_count--;
    }
    if (takes_answer) {
        must_answer = false;
    }
    if (takes_data) {
        write_beat();
    }
    if (takes_write) {
        written = make_burst("writes", P_m_awaddr, P_m_awlen, P_m_awsize, P_m_awburst, P_m_awid);
        is_writing = true;
    }
}

/* The memory's outputs after the edge. */
void drive_memory()
{
    const Burst &read = reads[first_read];
    bool is_answering = P_m_rvalid != 0 && !takes_beat;

    P_m_arready = read_count < MOST_READS;
    P_m_rvalid = read_count > 0 && now + 1 >= read.due;
    if (P_m_rvalid && !is_answering) {
        put_read_data(read);
        P_m_rlast = read.beat + 1 == read.beats;
        P_m_rid = read.id;
    }
    P_m_awready = !is_writing && !must_answer;
    P_m_wready = is_writing;
    P_m_bvalid = must_answer && now + 1 >= written.due;
    P_m_bid = written.id;
}

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

/* Read the registers, and give the firmware the values; the one that announces the end comes last, with the
 * results of the job in memory before it. A register that the firmware has written meanwhile keeps its value. */
void publish()
{
    uint32_t values[REGISTERS];

    for (uint32_t i = 0; i < REGISTERS; i++) {
        values[i] = known[i];
        uint32_t value = 0;
        if (transfer(4 * i, false, value)) { /* reserved ones may answer with an error */
            values[i] = value;
        }
    }
    for (uint32_t i = 0; i <= REGISTERS; i++) {
        uint32_t at = i < REGISTERS ? i : DONE_REGISTER / 4;
        if (i == DONE_REGISTER / 4) {
            continue;
        }
        if (values[at] != known[at]) {
            ethosgen_model_replace(4 * at, known[at], values[at]);
            known[at] = values[at];
        }
    }
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
                 : was_high && had_irq ? "irq is high since the job before, so the driver must clear it first"
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
