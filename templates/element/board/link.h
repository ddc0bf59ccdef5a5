/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines to other elements.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef LINK_H
#define LINK_H
{% if handover.mesh %}

#include <stdint.h>
{% endif %}

/* Start the lines: from now on interrupts pass received bytes to ethosgen_handover_take(). */
void link_init(void);
{% if handover.mesh %}

/* The packets that were damaged or came without room: their frames are incomplete. For debuggers. */
extern volatile uint32_t link_damaged;
{% endif %}

#endif /* LINK_H */
