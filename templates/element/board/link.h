/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines to other elements.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef LINK_H
#define LINK_H

/* Start the lines: from now on interrupts pass received bytes to ethosgen_handover_take(). */
void link_init(void);

#endif /* LINK_H */
