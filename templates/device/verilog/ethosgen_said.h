/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Included before each of Verilator's own files: what the RTL prints goes through this function. */
#ifndef ETHOSGEN_SAID_H
#define ETHOSGEN_SAID_H

void ethosgen_verilog_print(const char *format, ...);
#define VL_PRINTF ethosgen_verilog_print

#endif /* ETHOSGEN_SAID_H */
