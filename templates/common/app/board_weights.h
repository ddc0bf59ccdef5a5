/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the networks' weights are: in files apart from the firmware, one for each network.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BOARD_WEIGHTS_H
#define BOARD_WEIGHTS_H

#include "ethosgen_networks.h"

/* The memory for each file: a slot, which may be longer. The build for a board puts the files into
 * the firmware's image, unless you pass -DETHOSGEN_WEIGHTS_INSIDE=OFF; for QEMU they are loaded
 * separately. */
{% for network in networks %}
#define {{ network.NAME }}_SLOT_BYTES {{ network.slot_bytes }}
{% endfor %}

struct board_weights {
    const uint8_t *start;
    const uint8_t *end;
};

/* For each network of ethosgen_networks. */
extern const struct board_weights board_weights[ETHOSGEN_NETWORKS];

#endif /* BOARD_WEIGHTS_H */
