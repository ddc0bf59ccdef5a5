/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns sound into the features that the network of the streaming wake words takes: the logarithms
 * of the power in {{ stream.features | counted("band") }} of frequencies, of a window of two frames.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef FEATURES_H
#define FEATURES_H

#include <stdint.h>

#define FRAME_SAMPLES {{ stream.frame }}u /* at 16,000 a second */
#define FEATURES {{ stream.features }}u

/* Take the next frame of a stream, and write the features of this frame and the one before. */
void features_take(const int16_t samples[FRAME_SAMPLES], int8_t features[FEATURES]);

#endif /* FEATURES_H */
