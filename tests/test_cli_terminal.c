/* SPDX-License-Identifier: MIT */
/* The progress line, on a pseudo-terminal. */
#include "test_cli.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t read_for(int fd, char *text, size_t used, size_t bytes, int milliseconds) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, milliseconds) <= 0) return used;
    const ssize_t n = read(fd, text + used, bytes - 1 - used);
    if (n > 0) used += (size_t)n;
    text[used] = 0;
    return used;
}

/* Runs a slow reduction with stderr on a terminal, interrupts it if asked to, and returns what the terminal was sent. */
static void run_on_terminal(bool interrupt, char *text, size_t bytes, result *r) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(side >= 0);
    /* 3 s. */
    const setup how = {.in_file = "slow.raw", .in_piece = 4096, .in_pause = 100, .err_fd = side};
    const pid_t pid = start(&how, "reduce sum --dtype f32 -");
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < 100 && !strstr(text, "GB/s"); i++) used = read_for(terminal, text, used, bytes, 100);
    if (interrupt) kill(pid, SIGINT);
    finish(pid, r);
    while (poll(&(struct pollfd){.fd = terminal, .events = POLLIN}, 1, 100) > 0 && used + 1 < bytes) {
        const size_t before = used;
        used = read_for(terminal, text, used, bytes, 0);
        if (used == before) break;
    }
    close(side);
    close(terminal);
}

/* Shown on a terminal, and gone at the end, be it a bad one; never in a pipe. */
void test_progress(void **unused) {
    (void)unused;
    static const float x[30 * 1024];
    char text[8192];
    result r;
    need_device();
    write_file("slow.raw", x, sizeof(x));
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        run_on_terminal(interrupt, text, sizeof(text), &r);
        if (!strstr(text, "GB/s")) fail_msg("no progress: '%s', exit code %d", text, r.code);
        const char *last = strrchr(text, '\r');
        if (strlen(last) != 1) fail_msg("interrupt %d: not erased: '%s', exit code %d", interrupt, last, r.code);
        while (last > text && last[-1] == ' ') last--;
        assert_int_equal(last[-1], '\r');
        assert_null(strchr(text, '\n'));
        assert_int_equal(r.code, interrupt ? 1000 + SIGINT : 0);
    }
    r = run(&(setup){.in_file = "slow.raw", .in_piece = 4096, .in_pause = 50}, "reduce sum --dtype f32 -");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
}
