/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that come from files on the host; see inputs.h and feed.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "feed.h"
#include "inputs.h"

#include <assert.h>

static_assert(sizeof(struct inputs) == {{ networks[0].inputs[0].MACRO }}_BYTES + {{ networks[1].inputs[0].MACRO }}_BYTES,
              "the host sends no padding");

bool inputs_start(void)
{
    return feed_start(sizeof(struct inputs));
}

bool inputs_read(struct inputs *inputs)
{
    return feed_receive(inputs);
}
