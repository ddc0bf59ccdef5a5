/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set shape = networks[0].inputs[0].shape %}
{% set part = "line" if networks[0].feed else "frame" %}
/*
 * The camera: {{ "lines of frames" if networks[0].feed else "frames" }} of the network's size, which a DMA controller writes into two buffers in turn.
 * While the application works on one, the camera fills the other.
 *
 * camera.c has the parts that all cameras need: the two buffers, and the data cache. For a real camera,
 * replace camera_dma_host.c, which defines the functions in the second half of this file.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef CAMERA_H
#define CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#define CAMERA_WIDTH {{ shape[2] }}
#define CAMERA_HEIGHT {{ shape[1] }}
#define CAMERA_PIXEL_BYTES {{ shape[3] }} /* {{ "brightness" if shape[3] == 1 else "red, green, blue" }} */
{% if networks[0].feed %}
#define CAMERA_BUFFER_BYTES (CAMERA_WIDTH * CAMERA_PIXEL_BYTES) /* a line */
{% else %}
#define CAMERA_BUFFER_BYTES (CAMERA_WIDTH * CAMERA_HEIGHT * CAMERA_PIXEL_BYTES) /* a frame */
{% endif %}

/* Start to capture; return false if the camera has no more data: the program ends. */
bool camera_start(void);

/*
 * Wait for the next {{ part }}, and let the camera fill the other buffer.
 *
{% if networks[0].feed %}
 * Returns a frame's lines from the top, then those of the next, each pixel's bytes together. A line is
 * valid until the next call.
{% else %}
 * Returns the frame's rows from the top, each pixel's bytes together. They are valid until the next call.
{% endif %}
 * Returns NULL when the input ends. That of a real camera never does.
 */
const uint8_t *camera_next(void);

/* ---- what a camera's driver defines ----------------------------------------------------------- */

/* Power the sensor up, and set its size and format; return the result for camera_start(). */
bool camera_dma_init(void);

/* Begin to write the next {{ part }} to a buffer, which starts at a cache line. Return at once;
 * call camera_buffer_ready() when the {{ part }} is complete. */
void camera_dma_start(uint8_t *buffer);

/* Wait until *is_ready; return false if the input has ended. With interrupts, use board_wait(). */
bool camera_dma_wait(const volatile bool *is_ready);

/* For the driver: the {{ part }} is complete. The DMA controller's interrupt may call it. */
void camera_buffer_ready(void);

#endif /* CAMERA_H */
