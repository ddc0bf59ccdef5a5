/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of {{ networks[words_index].name }}'s scores. "ethosgen run" reads the names here too.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef LABELS_H
#define LABELS_H

#include <stdbool.h>

#define LABELS {{ labels|length }}u
#define LABEL_WIDTH {{ labels|map("length")|max }}u

static const char *const label_names[LABELS] = {
{% for label in labels %}
    "{{ label }}",
{% endfor %}
};

/* Only words are reported; {{ no_words|join(", ") }} are not words. */
static const bool label_is_word[LABELS] = {
{% for label in labels %}
    {{ "false" if label.strip("_")|lower in no_words else "true" }}, /* {{ label }} */
{% endfor %}
};

#endif /* LABELS_H */
