/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two networks' quantized inputs of each round.
 *
 * Replace this part for real sensors: write another inputs_host.c, for example with a camera's frame for
 * one network and a microphone's spectrogram for the other.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef INPUTS_H
#define INPUTS_H

{% for name in names %}
#include "{{ name }}.h"
{% endfor %}

#include <stdbool.h>

struct inputs {
{% for network in networks %}
    {{ network.inputs[0].ctype }} {{ network.name }}[{{ network.inputs[0].MACRO }}_ELEMENTS];
{% endfor %}
};

/* Start the sensors; return false if they have no more data: the program ends. */
bool inputs_start(void);

/* Wait for the next round's inputs; return false when the input ends. Real sensors' input never does. */
bool inputs_read(struct inputs *inputs);

#endif /* INPUTS_H */
