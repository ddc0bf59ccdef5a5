/*
 * A generated network as the application sees it that serves any of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ETHOSGEN_NETWORK_H
#define ETHOSGEN_NETWORK_H

#include <ethosgen_status.h>
#include <server.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ethosgen_network {
    const char *name;
    const char *digest; /* of what the network was generated from */
    const struct server_port *inputs;
    const struct server_port *outputs;
    uint8_t input_count;
    uint8_t output_count;
    ethosgen_status (*init)(void);
    void (*reset)(void);          /* forget earlier runs; NULL where nothing stays */
    ethosgen_status (*run)(void); /* from the inputs' buffers to the outputs' */
};

/* The network that the project was made for. */
extern const struct ethosgen_network ethosgen_network;

#ifdef __cplusplus
}
#endif

#endif /* ETHOSGEN_NETWORK_H */
