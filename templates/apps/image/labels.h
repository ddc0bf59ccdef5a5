/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the classes, in the order of the network's output. "ethosgen run" reads them here too.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef LABELS_H
#define LABELS_H

static const char *const labels[] = {
{% for label in labels %}
    "{{ label }}",
{% endfor %}
};

#endif /* LABELS_H */
