/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: its clock, and the console on standard input and output.
 *
 * The other side of the console may be a pipe (qemu-user, ssh), or a terminal on a serial line.
 *
 * Generated once by ethosgen; yours from now on.
 */
#define _DEFAULT_SOURCE /* cfmakeraw() */

#include "board.h"

{% if devices %}
#include "ethosgen_devices.h"
{% endif %}
#include "frames.h"

#include <errno.h>
{% if devices %}
#include <fcntl.h>
#include <limits.h>
{% endif %}
#include <signal.h>
#include <stddef.h>
{% if devices %}
#include <stdio.h>
{% endif %}
#include <stdlib.h>
{% if devices %}
#include <string.h>
{% endif %}
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define BUFFER_BYTES 4096u

/* The exit status if the other side has gone. */
enum { EXIT_LOST = 3 };

static struct {
    uint8_t bytes[BUFFER_BYTES];
    size_t count;
    size_t next; /* the first byte that is not yet used */
} received;

static struct {
    uint8_t bytes[BUFFER_BYTES];
    size_t count;
} sending;

static struct termios usual; /* the terminal's mode before the program started */
static bool is_terminal;

static void restore_terminal(void)
{
    if (is_terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &usual);
    }
}

static void end_by_signal(int number)
{
    restore_terminal();
    _exit(128 + number);
}

{% if devices %}
/* The exit status if a device cannot be reached. */
enum { EXIT_NO_DEVICE = 4 };

static void refuse(const char *variable, const char *why)
{
    (void)fprintf(stderr, "the variable %s: %s\n", variable, why);
    exit(EXIT_NO_DEVICE);
}

/* Open the file that a variable names, as FILE or FILE@NUMBERS; `numbers` is what follows the @. */
static int open_named(const char *variable, const char **numbers)
{
    const char *place = getenv(variable);
    char path[PATH_MAX];

    if (place == NULL) {
        refuse(variable, "is not set; README.md says what it names");
    }
    *numbers = strrchr(place, '@');
    size_t length = *numbers != NULL ? (size_t)(*numbers - place) : strlen(place);
    if (length >= sizeof(path)) {
        refuse(variable, "the name is too long");
    }
    memcpy(path, place, length);
    path[length] = '\0';
    *numbers = *numbers != NULL ? *numbers + 1 : "";
    int file = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0) {
        refuse(variable, strerror(errno));
    }
    return file;
}

/* Map a device's registers: FILE or FILE@OFFSET. A file of UIO also has its interrupt. */
static void open_registers(struct ethosgen_device *device, const char *variable, size_t bytes)
{
    const char *offset;
    int file = open_named(variable, &offset);
    int interrupt = strncmp(getenv(variable), "/dev/uio", strlen("/dev/uio")) == 0 ? file : -1;
    int error = ethosgen_device_map(device, file, (off_t)strtoll(offset, NULL, 0), bytes, interrupt);

    if (error != 0) {
        refuse(variable, strerror(error));
    }
}

/* Move the program's tensors and weights into the devices' memory: FILE@OFFSET:ADDRESS:BYTES. */
static void open_memory(const char *variable)
{
    const char *numbers;
    int file = open_named(variable, &numbers);
    long long offset, bytes;
    unsigned int address;

    if (sscanf(numbers, "%lli:%x:%lli", &offset, &address, &bytes) != 3) {
        refuse(variable, "write FILE@OFFSET:ADDRESS:BYTES, as in /dev/udmabuf0@0:0x10000000:0x1000000");
    }
    int error = ethosgen_device_share(file, (off_t)offset, address, (size_t)bytes);
    if (error != 0) {
        refuse(variable, error == ENOMEM ? "the program does not fit into these bytes" : strerror(error));
    }
}

{% endif %}
void board_init(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* write() says it too */
{% for device in devices %}
    open_registers(&{{ device.symbol }}, "ETHOSGEN_DEVICE_{{ device.c_name|upper }}", {{ "0x%xu"|format(device.page_bytes) }});
{% endfor %}
{% if devices %}
    open_memory("ETHOSGEN_DEVICE_MEMORY");
{% endif %}
}

uint32_t board_ticks(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    return (uint32_t)(ns / BOARD_TICK_NS);
}

/* Let a terminal pass all bytes as they are; pipes do that anyway. */
void console_init(void)
{
    is_terminal = tcgetattr(STDIN_FILENO, &usual) == 0;
    if (is_terminal) {
        struct termios raw = usual;

        cfmakeraw(&raw);
        (void)signal(SIGHUP, end_by_signal);
        (void)signal(SIGTERM, end_by_signal);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
}

static void flush(void)
{
    size_t done = 0;

    while (done < sending.count) {
        ssize_t count = write(STDOUT_FILENO, &sending.bytes[done], sending.count - done);

        if (count > 0) {
            done += (size_t)count;
        } else if (errno != EINTR) {
            restore_terminal();
            exit(EXIT_LOST);
        }
    }
    sending.count = 0;
}

void console_put(uint8_t byte)
{
    if (sending.count == BUFFER_BYTES) {
        flush();
    }
    sending.bytes[sending.count++] = byte;
}

static void receive(void)
{
    ssize_t count = read(STDIN_FILENO, received.bytes, BUFFER_BYTES);

    if (count > 0) {
        received.count = (size_t)count;
        received.next = 0;
    } else if (count == 0 || errno != EINTR) {
        restore_terminal();
        exit(EXIT_LOST);
    }
}

/* No interrupt sets the event: a byte received here does. */
void board_wait(const volatile bool *event)
{
    flush();
    while (!*event) {
        if (received.next == received.count) {
            receive();
        } else {
            frames_take(received.bytes[received.next++]);
        }
    }
}

void board_exit(uint32_t status)
{
    flush();
    restore_terminal();
    exit(status == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Linux grows the stack as needed; its use is not counted. */
uint32_t board_stack_bytes(void)
{
    return 0;
}

void board_stack_mark(void)
{
}

uint32_t board_stack_since_mark(void)
{
    return 0;
}
