/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor whose vectors come from a file on the host; see sensor.h and feed.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "feed.h"
#include "sensor.h"

bool sensor_start(void)
{
    return feed_start(SENSOR_VALUES * sizeof(float));
}

bool sensor_read(float vector[SENSOR_VALUES])
{
    return feed_receive(vector);
}
