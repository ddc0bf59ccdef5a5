/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sensor: a stream of vectors of real values, in the unit that the network was trained on.
 *
 * Replace this part for a real sensor: write another sensor_host.c, for example one that waits for
 * a DMA transfer of an accelerometer's samples, and computes the vector from them.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SENSOR_H
#define SENSOR_H

#include "{{ names[0] }}.h"

#include <stdbool.h>

#define SENSOR_VALUES {{ networks[0].inputs[0].MACRO }}_ELEMENTS

/* Start the sensor; return false if it has no more data: the program ends. */
bool sensor_start(void);

/* Wait for the next vector; return false when the stream ends. A real sensor's never does. */
bool sensor_read(float vector[SENSOR_VALUES]);

#endif /* SENSOR_H */
