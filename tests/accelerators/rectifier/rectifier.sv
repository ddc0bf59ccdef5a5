// SPDX-FileCopyrightText: The ethosgen authors
// SPDX-License-Identifier: Apache-2.0
// Reads a burst into a buffer, and writes it back with the smaller bytes replaced by a bound.
`include "sizes.svh"

module rectifier #(
    parameter int Burst = 4
) (
    input  logic                    ap_clk, ap_rst_n,
    output logic                    busy,
    input  logic                    s_axi_control_AWVALID, s_axi_control_WVALID, s_axi_control_BREADY,
    input  logic                    s_axi_control_ARVALID, s_axi_control_RREADY,
    input  logic [4:0]              s_axi_control_AWADDR, s_axi_control_ARADDR,
    input  logic [31:0]             s_axi_control_WDATA,
    output logic                    s_axi_control_AWREADY, s_axi_control_WREADY, s_axi_control_BVALID,
    output logic                    s_axi_control_ARREADY, s_axi_control_RVALID,
    output logic [31:0]             s_axi_control_RDATA,
    output logic                    m_axi_gmem_ARVALID, m_axi_gmem_RREADY,
    input  logic                    m_axi_gmem_ARREADY, m_axi_gmem_RVALID, m_axi_gmem_RLAST,
    output logic [63:0]             m_axi_gmem_ARADDR, m_axi_gmem_AWADDR,
    output logic [7:0]              m_axi_gmem_ARLEN, m_axi_gmem_AWLEN,
    output logic [2:0]              m_axi_gmem_ARSIZE, m_axi_gmem_AWSIZE,
    output logic [1:0]              m_axi_gmem_ARBURST, m_axi_gmem_AWBURST,
    output logic [3:0]              m_axi_gmem_ARID, m_axi_gmem_AWID,
    input  logic [3:0]              m_axi_gmem_RID, m_axi_gmem_BID,
    input  logic [`DATA_BITS-1:0]   m_axi_gmem_RDATA,
    output logic                    m_axi_gmem_AWVALID, m_axi_gmem_WVALID, m_axi_gmem_WLAST,
    input  logic                    m_axi_gmem_AWREADY, m_axi_gmem_WREADY, m_axi_gmem_BVALID,
    output logic                    m_axi_gmem_BREADY,
    output logic [`DATA_BITS-1:0]   m_axi_gmem_WDATA,
    output logic [`DATA_BITS/8-1:0] m_axi_gmem_WSTRB
);
    localparam int Lanes = `DATA_BITS / 8;

    logic writes, has_ended;
    logic [4:0] write_offset, read_offset;
    logic [31:0] write_value, read_value, source, target, bytes;
    logic signed [7:0] bound;

    axi_lite registers (
        .clk(ap_clk), .rst_n(ap_rst_n),
        .awvalid(s_axi_control_AWVALID), .wvalid(s_axi_control_WVALID), .bready(s_axi_control_BREADY),
        .arvalid(s_axi_control_ARVALID), .rready(s_axi_control_RREADY),
        .awaddr(s_axi_control_AWADDR), .araddr(s_axi_control_ARADDR), .wdata(s_axi_control_WDATA),
        .awready(s_axi_control_AWREADY), .wready(s_axi_control_WREADY), .arready(s_axi_control_ARREADY),
        .bvalid(s_axi_control_BVALID), .rvalid(s_axi_control_RVALID), .rdata(s_axi_control_RDATA), .*
    );
    assign read_value = read_offset == 0 ? {30'd0, has_ended, 1'b0} : read_offset == 12 ? bytes : 0;

    enum logic [2:0] {Idle, Ask, Read, Announce, Write, Answer} state;
    logic [`DATA_BITS-1:0] buffer [Burst];
    logic [7:0] beats, beat;

    wire [31:0] words = (bytes + Lanes - 1) / Lanes;
    assign busy = state != Idle;
    assign m_axi_gmem_ARVALID = state == Ask;
    assign m_axi_gmem_ARADDR = 64'(source);
    assign m_axi_gmem_ARLEN = beats - 1;
    assign {m_axi_gmem_ARSIZE, m_axi_gmem_AWSIZE} = {2{3'($clog2(Lanes))}};
    assign {m_axi_gmem_ARBURST, m_axi_gmem_AWBURST} = {2{2'b01}};
    assign {m_axi_gmem_ARID, m_axi_gmem_AWID} = 8'h57;
    assign m_axi_gmem_RREADY = state == Read;
    assign m_axi_gmem_AWVALID = state == Announce;
    assign m_axi_gmem_AWADDR = 64'(target);
    assign m_axi_gmem_AWLEN = beats - 1;
    assign m_axi_gmem_WVALID = state == Write;
    assign m_axi_gmem_WLAST = beat == beats - 1;
    assign m_axi_gmem_BREADY = state == Answer;
    assign beats = 8'(words < Burst ? words : Burst);

    always_comb
        for (int i = 0; i < Lanes; i++) begin
            m_axi_gmem_WDATA[8*i +: 8] = $signed(buffer[beat][8*i +: 8]) < bound ? bound : buffer[beat][8*i +: 8];
            m_axi_gmem_WSTRB[i] = 32'(beat) * Lanes + i < bytes;
        end

    always_ff @(posedge ap_clk) begin
        if (!ap_rst_n) begin
            state <= Idle;
            has_ended <= 0;
            bytes <= 0;
        end else begin
            if (writes) begin
                case (write_offset)
                    0: if (write_value[0] && bytes != 0) begin
                        has_ended <= 0;
                        state <= Ask;
                    end
                    4: source <= write_value;
                    8: target <= write_value;
                    12: bytes <= write_value;
                    16: bound <= write_value[7:0];
                    default: ;
                endcase
            end
            case (state)
                Ask: if (m_axi_gmem_ARREADY) begin
                    state <= Read;
                    beat <= 0;
                end
                Read: if (m_axi_gmem_RVALID) begin
                    assert (m_axi_gmem_RID == 5 && m_axi_gmem_RLAST == (beat == beats - 1));
                    buffer[beat] <= m_axi_gmem_RDATA;
                    beat <= beat + 1;
                    if (m_axi_gmem_RLAST) state <= Announce;
                end
                Announce: if (m_axi_gmem_AWREADY) begin
                    state <= Write;
                    beat <= 0;
                end
                Write: if (m_axi_gmem_WREADY) begin
                    beat <= beat + 1;
                    if (m_axi_gmem_WLAST) state <= Answer;
                end
                Answer: if (m_axi_gmem_BVALID) begin
                    assert (m_axi_gmem_BID == 7);
                    source <= source + beats * Lanes;
                    target <= target + beats * Lanes;
                    bytes <= bytes < 32'(beats * Lanes) ? 0 : bytes - beats * Lanes;
                    has_ended <= words == 32'(beats);
                    state <= words == 32'(beats) ? Idle : Ask;
                end
                default: ;
            endcase
        end
    end
endmodule
