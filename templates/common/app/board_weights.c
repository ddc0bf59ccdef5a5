/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots for the networks' weights: see board_weights.h.
 *
 * They are defined in assembly, because the compiler must not know their content.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "board_weights.h"

#define ALIGNMENT {{ networks|map(attribute="weights_alignment")|max }}

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define SLOT(name, section, content) \
    __asm__(".pushsection " section "." #name ",\"a\"," content "\n" \
            ".global board_slot_end_" #name "\nboard_slot_end_" #name ":\n" \
            ".popsection"); \
    extern const uint8_t board_slot_##name[], board_slot_end_##name[]
#define START(name, kind) kind "\n.balign " TEXT(ALIGNMENT) "\n.global board_slot_" #name "\nboard_slot_" #name ":\n"

#ifdef ETHOSGEN_WEIGHTS_INSIDE /* the folder model/ */
#define PLACE(name, file, bytes) \
    SLOT(name, ".ethosgen_weights", START(name, "%progbits") ".incbin \"" ETHOSGEN_WEIGHTS_INSIDE "/" file "\"")
#else
#define PLACE(name, file, bytes) \
    SLOT(name, ".ethosgen_slot", START(name, "%nobits") ".space " TEXT(bytes))
#endif

{% for network in networks %}
PLACE({{ network.name }}, "{{ network.folder }}{{ network.name }}.weights", {{ network.NAME }}_SLOT_BYTES);
{% endfor %}

const struct board_weights board_weights[ETHOSGEN_NETWORKS] = {
{% for network in networks %}
    {board_slot_{{ network.name }}, board_slot_end_{{ network.name }}},
{% endfor %}
};
