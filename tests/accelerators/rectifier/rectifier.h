/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECTIFIER_H
#define RECTIFIER_H

#include <stdint.h>

int32_t rectifier_run(const int8_t *input, int8_t *output, int32_t bytes, int32_t bound);

#endif
