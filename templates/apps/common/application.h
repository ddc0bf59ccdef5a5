/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application: what this firmware does with its network{{ "s" if is_shared }}.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef APPLICATION_H
#define APPLICATION_H

/* Work until the input ends; a real device's never does. */
void application_run(void);

#endif /* APPLICATION_H */
