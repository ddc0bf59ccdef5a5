// SPDX-FileCopyrightText: The ethosgen authors
// SPDX-License-Identifier: Apache-2.0
//
// The device: registers by APB, memory by AXI4, an interrupt. new_accelerator.h describes its registers.
// For each vector it keeps the vector in a buffer, streams each row of the matrix past it, four products in a
// clock cycle, and writes one byte.
`default_nettype none

module new_accelerator #(
    parameter int VectorWords = 1024 // of the buffer; accelerator.toml has the limit, too
) (
    input  wire         clk,
    input  wire         rst_n,
    output logic        irq,

    // Registers: APB
    input  wire         psel,
    input  wire         penable,
    input  wire         pwrite,
    input  wire  [6:0]  paddr,
    input  wire  [31:0] pwdata,
    output logic [31:0] prdata,
    output wire         pready,

    // Memory: AXI4, bursts of up to 16 words
    output wire         m_axi_arvalid,
    input  wire         m_axi_arready,
    output wire  [31:0] m_axi_araddr,
    output wire  [7:0]  m_axi_arlen,
    input  wire         m_axi_rvalid,
    output wire         m_axi_rready,
    input  wire  [31:0] m_axi_rdata,
    input  wire         m_axi_rlast,
    output logic        m_axi_awvalid,
    input  wire         m_axi_awready,
    output wire  [31:0] m_axi_awaddr,
    output logic        m_axi_wvalid,
    input  wire         m_axi_wready,
    output wire  [31:0] m_axi_wdata,
    output wire  [3:0]  m_axi_wstrb,
    input  wire         m_axi_bvalid,
    output wire         m_axi_bready
);
    // The registers, as numbers of words.
    localparam logic [4:0] Identity = 0, Start = 1, Done = 2, Status = 3, Input = 4, Weights = 5, Bias = 6,
        Multipliers = 7, Shifts = 8, Output = 9, Vectors = 10, Inputs = 11, Outputs = 12, InputOffset = 13,
        OutputOffset = 14, OutputMin = 15, OutputMax = 16;
    localparam logic [31:0] IdentityValue = 32'h4E45_0001;

    logic [31:0] operands [Input:OutputMax];
    logic [31:0] started, done;
    logic        is_refused;
    wire  [4:0]  register = paddr[6:2];

    assign pready = 1'b1;

    always_comb begin
        case (register)
            Identity: prdata = IdentityValue;
            Start: prdata = started;
            Done: prdata = done;
            Status: prdata = {31'd0, is_refused};
            default: prdata = register <= OutputMax ? operands[register] : 32'd0;
        endcase
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            started <= 0;
            operands <= '{default: 0};
        end else if (psel && penable && pwrite) begin
            if (register == Start) started <= pwdata;
            if (register >= Input && register <= OutputMax) operands[register] <= pwdata;
        end
    end

    // The job: for each vector LoadVector, and for each output the states from LoadBias to Answer.
    typedef enum logic [2:0] {
        Idle, LoadVector, LoadBias, LoadMultiplier, LoadShift, Multiply, Write, Answer
    } state_e;
    state_e state;

    logic [31:0] vector_left, output_left;
    logic [31:0] vector_address, row_address, output_address, constant_offset;
    logic signed [31:0] sum, multiplier, shift;
    logic [31:0] vector [VectorWords];
    logic [31:0] word_index;

    // Words from memory, wherever they begin.
    logic        is_fetching;
    logic [31:0] fetch_address, fetch_bytes;
    wire         has_word, is_last;
    wire  [31:0] word;
    wire         loads = state inside {LoadVector, LoadBias, LoadMultiplier, LoadShift, Multiply};
    wire         fetches = loads && !is_fetching;

    always_comb begin
        fetch_bytes = 4;
        case (state)
            LoadVector: begin
                fetch_address = vector_address;
                fetch_bytes = operands[Inputs];
            end
            LoadBias: fetch_address = operands[Bias] + constant_offset;
            LoadMultiplier: fetch_address = operands[Multipliers] + constant_offset;
            LoadShift: fetch_address = operands[Shifts] + constant_offset;
            default: begin
                fetch_address = row_address;
                fetch_bytes = operands[Inputs];
            end
        endcase
    end

    new_accelerator_reader reader (
        .clk, .rst_n, .fetches, .address(fetch_address), .bytes(fetch_bytes), .has_word, .word, .is_last,
        .arvalid(m_axi_arvalid), .arready(m_axi_arready), .araddr(m_axi_araddr), .arlen(m_axi_arlen),
        .rvalid(m_axi_rvalid), .rready(m_axi_rready), .rdata(m_axi_rdata), .rlast(m_axi_rlast)
    );

    // Four products; a row's last word may have fewer bytes.
    function automatic logic signed [31:0] products(logic [31:0] inputs, logic [31:0] weights, logic [31:0] left);
        products = 0;
        for (int i = 0; i < 4; i++) begin
            if (i < left) begin
                products += (32'(signed'(inputs[8*i +: 8])) + signed'(operands[InputOffset]))
                    * 32'(signed'(weights[8*i +: 8]));
            end
        end
    endfunction

    // A high multiplication and a shift to the right, each with its own rounding, as in TensorFlow Lite.
    function automatic logic signed [31:0] rescale(
        logic signed [31:0] value, logic signed [31:0] factor, logic signed [31:0] exponent
    );
        logic signed [31:0] shifted;
        logic signed [63:0] total, high, mask, rest;
        logic [5:0] right;
        shifted = exponent > 0 ? value <<< exponent : value;
        right = exponent < 0 ? 6'(-exponent) : 6'd0;
        total = 64'(shifted) * 64'(factor);
        total += total >= 0 ? 64'sd1 <<< 30 : 64'sd1 - (64'sd1 <<< 30);
        high = (total + (total < 0 ? (64'sd1 <<< 31) - 64'sd1 : 64'sd0)) >>> 31; // it rounds towards 0
        if (high > 64'sh7FFF_FFFF) high = 64'sh7FFF_FFFF;
        mask = (64'sd1 <<< right) - 64'sd1;
        rest = high & mask;
        return 32'((high >>> right) + (rest > (mask >>> 1) + (high < 0 ? 64'sd1 : 64'sd0) ? 64'sd1 : 64'sd0));
    endfunction

    wire signed [31:0] scaled = rescale(sum, multiplier, shift) + signed'(operands[OutputOffset]);
    wire signed [31:0] least = signed'(operands[OutputMin]), most = signed'(operands[OutputMax]);
    wire [31:0] result = scaled < least ? least : scaled > most ? most : scaled;

    assign m_axi_awaddr = output_address;
    assign m_axi_wdata = {4{result[7:0]}};
    assign m_axi_wstrb = 4'd1 << output_address[1:0];
    assign m_axi_bready = state == Answer;

    always_ff @(posedge clk) begin
        if (state == LoadVector && has_word) vector[word_index[$clog2(VectorWords)-1:0]] <= word;
        if (fetches) word_index <= 0;
        else if (has_word) word_index <= word_index + 1;
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            {state, done, is_refused, irq, is_fetching} <= 0;
            {m_axi_awvalid, m_axi_wvalid} <= 0;
        end else begin
            irq <= 0;
            if (fetches) is_fetching <= 1;
            else if (has_word && is_last) is_fetching <= 0;
            if (m_axi_awready) m_axi_awvalid <= 0;
            if (m_axi_wready) m_axi_wvalid <= 0;

            case (state)
                Idle: if (started != done) begin
                    is_refused <= 0;
                    vector_left <= operands[Vectors];
                    vector_address <= operands[Input];
                    output_address <= operands[Output];
                    if (operands[Vectors] == 0 || operands[Inputs] == 0 || operands[Outputs] == 0
                        || operands[Inputs] > 4 * VectorWords) begin
                        is_refused <= 1;
                        done <= started;
                        irq <= 1;
                    end else state <= LoadVector;
                end
                LoadVector: if (has_word && is_last) begin
                    output_left <= operands[Outputs];
                    row_address <= operands[Weights];
                    constant_offset <= 0;
                    sum <= 0;
                    state <= operands[Bias] != 0 ? LoadBias : LoadMultiplier;
                end
                LoadBias: if (has_word) begin
                    sum <= word;
                    state <= LoadMultiplier;
                end
                LoadMultiplier: if (has_word) begin
                    multiplier <= word;
                    state <= LoadShift;
                end
                LoadShift: if (has_word) begin
                    shift <= word;
                    state <= Multiply;
                end
                Multiply: if (has_word) begin
                    sum <= sum + products(
                        vector[word_index[$clog2(VectorWords)-1:0]], word, operands[Inputs] - 4 * word_index
                    );
                    if (is_last) state <= Write;
                end
                Write: begin
                    m_axi_awvalid <= 1;
                    m_axi_wvalid <= 1;
                    state <= Answer;
                end
                Answer: if (m_axi_bvalid) begin // the byte is in memory
                    output_address <= output_address + 1;
                    row_address <= row_address + operands[Inputs];
                    constant_offset <= constant_offset + 4;
                    output_left <= output_left - 1;
                    sum <= 0;
                    if (output_left > 1) state <= operands[Bias] != 0 ? LoadBias : LoadMultiplier;
                    else if (vector_left > 1) begin
                        vector_left <= vector_left - 1;
                        vector_address <= vector_address + operands[Inputs];
                        state <= LoadVector;
                    end else begin
                        done <= started;
                        irq <= 1;
                        state <= Idle;
                    end
                end
            endcase
        end
    end
endmodule

// Reads bytes from any address by bursts of aligned words, and passes them on as words; the last word may have
// bytes behind the last one that was asked for. `fetches` begins; a word is there in a cycle with `has_word`.
module new_accelerator_reader (
    input  wire         clk,
    input  wire         rst_n,
    input  wire         fetches,
    input  wire  [31:0] address,
    input  wire  [31:0] bytes,
    output wire         has_word,
    output wire  [31:0] word,
    output wire         is_last,

    output logic        arvalid,
    input  wire         arready,
    output wire  [31:0] araddr,
    output wire  [7:0]  arlen,
    input  wire         rvalid,
    output wire         rready,
    input  wire  [31:0] rdata,
    input  wire         rlast
);
    logic [29:0] next_word;        // the first aligned word that has not been asked for
    logic [29:0] asked_left, words_left;
    logic [1:0]  skipped;          // the bytes of the first aligned word before the address
    logic [31:0] held;             // the aligned word before
    logic        has_held, is_flush, is_open;

    // A burst has at most 16 words, and ends at a boundary of 64 bytes, so it crosses none of 4 KiB.
    wire [4:0] room = 5'd16 - {1'b0, next_word[3:0]};
    wire [4:0] beats = asked_left < 30'(room) ? asked_left[4:0] : room;

    assign araddr = {next_word, 2'b00};
    assign arlen = {3'd0, beats} - 8'd1;
    assign rready = 1'b1;

    // A word is joined from an aligned word and the next one; behind the last there is none.
    assign has_word = (rvalid && has_held) || is_flush;
    assign word = 32'({rdata, held} >> {skipped, 3'b000});
    assign is_last = words_left == 1;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            {arvalid, has_held, is_flush, is_open} <= 0;
            {asked_left, words_left} <= 0;
        end else begin
            is_flush <= 0;
            if (fetches) begin
                next_word <= address[31:2];
                skipped <= address[1:0];
                words_left <= 30'((bytes + 3) >> 2);
                asked_left <= 30'((bytes + 32'(address[1:0]) + 3) >> 2);
                has_held <= 0;
                is_open <= 1;
            end else if (is_open && !arvalid) begin
                arvalid <= 1;
                is_open <= 0;
            end
            if (arvalid && arready) begin
                arvalid <= 0;
                next_word <= next_word + 30'(beats);
                asked_left <= asked_left - 30'(beats);
            end
            if (rvalid) begin
                held <= rdata;
                has_held <= 1;
                is_open <= rlast && asked_left != 0;
                is_flush <= rlast && asked_left == 0 && words_left > 30'(has_held);
            end
            if (has_word) words_left <= words_left - 1;
        end
    end
endmodule

`default_nettype wire
