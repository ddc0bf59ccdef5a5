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

/* Samples from one window of the front end to the next: 320 are 20 ms. Use the hop that the network
 * for words was trained with. */
#define HOP_SAMPLES 320

/* The network for words runs once every this many hops: a larger number saves energy, a smaller one
 * detects words earlier. */
#define INFERENCE_HOPS 2

/* Scores are averaged over this many inferences, and judged from this many on. */
#define AVERAGE_INFERENCES 12
#define LEAST_INFERENCES 6

/* A word is detected if its average, of at most 255, is above this; the same word again only after
 * this time, unless another label was best in between. */
#define THRESHOLD 150
#define SUPPRESSION_MS 1500

/* Once every this many hops, a line gives the CRC-32 of all features and scores since the last one,
 * so that "ethosgen run" finds a single wrong bit; 0: no such lines, and only the detections are
 * compared. */
#define CHECK_HOPS 50

#endif /* SETTINGS_H */
