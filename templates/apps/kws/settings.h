/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the keyword spotter. "ethosgen run" reads them here too, to compute what to expect:
 * keep them plain numbers.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

/* Samples from one window of the front end to the next: 320 are 20 ms. The network for words was
 * trained with a certain hop. */
#define HOP_SAMPLES 320

/* The network for words runs each so many hops: fewer runs save energy, more hear earlier. */
#define INFERENCE_HOPS 2

/* Scores are averaged over so many inferences, and judged when there are at least so many. */
#define AVERAGE_INFERENCES 12
#define LEAST_INFERENCES 6

/* A word is detected if its average is above this, of 255; the same word again only after this time,
 * unless another label was best meanwhile. */
#define THRESHOLD 150
#define SUPPRESSION_MS 1500

/* Each so many hops a line tells the CRC-32 of all features and scores since the last one, so that
 * "ethosgen run" finds one wrong bit; 0: no such lines, and only the detections are compared. */
#define CHECK_HOPS 50

#endif /* SETTINGS_H */
