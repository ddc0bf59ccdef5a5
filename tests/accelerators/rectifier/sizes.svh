// SPDX-FileCopyrightText: The ethosgen authors
// SPDX-License-Identifier: Apache-2.0
`define DATA_BITS 64
