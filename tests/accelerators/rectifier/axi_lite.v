// SPDX-FileCopyrightText: The ethosgen authors
// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite to a strobe for each access. It takes the data of a write before its address.
module axi_lite (
    input             clk, rst_n,
    input             awvalid, wvalid, bready, arvalid, rready,
    input      [4:0]  awaddr, araddr,
    input      [31:0] wdata,
    output            awready, wready, arready,
    output reg        bvalid, rvalid,
    output reg [31:0] rdata,
    output            writes,
    output     [4:0]  write_offset, read_offset,
    output     [31:0] write_value,
    input      [31:0] read_value
);
    reg has_data;
    reg [31:0] held;

    assign wready = !has_data && !bvalid;
    assign awready = has_data;
    assign arready = !rvalid;
    assign writes = awvalid && awready;
    assign write_offset = awaddr;
    assign write_value = held;
    assign read_offset = araddr;

    always @(posedge clk) begin
        if (!rst_n) begin
            has_data <= #1 0;
            bvalid <= #1 0;
            rvalid <= #1 0;
        end else begin
            if (wvalid && wready) begin
                has_data <= #1 1;
                held <= #1 wdata;
            end
            if (writes) begin
                has_data <= #1 0;
                bvalid <= #1 1;
            end else if (bready) bvalid <= #1 0;
            if (arvalid && arready) begin
                rvalid <= #1 1;
                rdata <= #1 read_value;
            end else if (rready) rvalid <= #1 0;
        end
    end
endmodule
