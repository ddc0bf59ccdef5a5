/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side of native_sim: ethosgen's NPU model in another process behind a pipe, and the console
 * on stdin and stdout. Compiled with the host's C library, not with Zephyr's.
 *
 * The environment variable ETHOSGEN is the program to start; the default is ethosgen.
 */
#include "native_host.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int model = -1;

int ethosgen_host_start(void)
{
    int ends[2];
    const char *command = getenv("ETHOSGEN");

    if (model >= 0) {
        return 0;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return -1;
    }
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp(command != NULL ? command : "ethosgen", "ethosgen", "serve-npu", "ethos-u",
               (char *)NULL);
        perror("cannot start ethosgen as the NPU model; set ETHOSGEN to its path");
        _exit(127);
    }
    close(ends[1]);
    model = ends[0];
    return 0;
}

static int put(const void *bytes, size_t count)
{
    const char *from = bytes;

    while (count > 0u) {
        ssize_t done = send(model, from, count, MSG_NOSIGNAL);
        if (done <= 0) {
            return -1;
        }
        from = &from[done];
        count -= (size_t)done;
    }
    return 0;
}

static int get(void *bytes, size_t count)
{
    char *to = bytes;

    while (count > 0u) {
        ssize_t done = read(model, to, count);
        if (done <= 0) {
            return -1;
        }
        to = &to[done];
        count -= (size_t)done;
    }
    return 0;
}

int ethosgen_host_run(const struct ethosgen_host_run *run, const void *commands,
                      struct ethosgen_host_result *result)
{
    if (put(run, sizeof *run) != 0 || put(commands, run->command_bytes) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < run->range_count; i++) {
        if (put((const void *)(uintptr_t)run->ranges[i].addr, run->ranges[i].bytes) != 0) {
            return -1;
        }
    }
    if (get(result, sizeof *result) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < run->range_count; i++) {
        uint32_t is_changed; /* memory that the NPU did not write may be constant here */
        if (get(&is_changed, sizeof is_changed) != 0) {
            return -1;
        }
        if (is_changed && get((void *)(uintptr_t)run->ranges[i].addr, run->ranges[i].bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

void ethosgen_host_attend(const char *project, const char *build)
{
    const char *command = getenv("ETHOSGEN");

    if (getenv("ETHOSGEN_CONSOLE") != NULL) {
        return;
    }
    execlp(command != NULL ? command : "ethosgen", "ethosgen", "run", project, "--build", build,
           "--on", "native", (char *)NULL);
    perror("cannot start ethosgen; set ETHOSGEN to its path");
    _exit(127);
}

int ethosgen_host_read(uint8_t *byte)
{
    struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

    if (poll(&line, 1, 0) <= 0) {
        return 0;
    }
    return read(STDIN_FILENO, byte, 1) == 1 ? 1 : -1;
}

void ethosgen_host_write(uint8_t byte)
{
    if (write(STDOUT_FILENO, &byte, 1) != 1) {
        _exit(1); /* the other side has gone */
    }
}
