/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A part of ethosgen_verilog.cpp: the firmware's memory behind the device's AXI4 port. */
#ifndef ETHOSGEN_MEMORY_H
#define ETHOSGEN_MEMORY_H

constexpr uint32_t MOST_READS = 16, BOUNDARY = 4096, INCR = 1;
constexpr uint8_t GARBAGE = 0xA5; /* on lanes that a read does not use, or whose bytes are no memory */

/* Reads are answered in their order, LATENCY cycles after the address, then
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

#endif /* ETHOSGEN_MEMORY_H */
