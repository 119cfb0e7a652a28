/* SPDX-License-Identifier: MIT */
/* Progress lines on a pseudo-terminal. */
#include "cli.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t read_for(int fd, char *text, size_t used, size_t bytes, int milliseconds) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, milliseconds) <= 0) return used;
    const ssize_t n = read(fd, text + used, bytes - 1 - used);
    if (n > 0) used += (size_t)n;
    text[used] = 0;
    return used;
}

/* Runs `words` with stderr on a terminal. If asked to, interrupts it after the output `until`.
 * `text` gets the terminal's output. */
static void run_on_terminal(const setup *how, const char *words, const char *until, bool interrupt, char *text, size_t bytes,
                            result *r) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(side >= 0);
    setup with_terminal = *how;
    with_terminal.err_fd = side;
    const pid_t pid = start(&with_terminal, words);
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; until && i < 100 && !strstr(text, until); i++) used = read_for(terminal, text, used, bytes, 100);
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

static void expect_erased(const char *text, int code) {
    const char *last = strrchr(text, '\r');
    if (!last || strlen(last) != 1) fail_msg("not erased: '%s', exit code %d", last ? last : text, code);
    while (last > text && last[-1] == ' ') last--;
    assert_int_equal(last[-1], '\r');
    assert_null(strchr(text, '\n'));
}

/* A progress line is shown on a terminal only, and erased at the end, also after an error. */
void test_progress(void **unused) {
    (void)unused;
    static const float x[30 * 1024];
    char text[8192];
    result r;
    need_device();
    write_file("slow.raw", x, sizeof(x));
    /* 3 s. */
    const setup slow = {.in_file = "slow.raw", .in_piece = 4096, .in_pause = 100};
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        run_on_terminal(&slow, "reduce sum --dtype f32 -", "GB/s", interrupt, text, sizeof(text), &r);
        if (!strstr(text, "GB/s")) fail_msg("no progress: '%s', exit code %d", text, r.code);
        expect_erased(text, r.code);
        assert_int_equal(r.code, interrupt ? 1000 + SIGINT : 0);
    }
    r = run(&(setup){.in_file = "slow.raw", .in_piece = 4096, .in_pause = 50}, "reduce sum --dtype f32 -");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
}

/* Empty caches. */
static void make_caches(char caches[2][600]) {
    static int made;
    static const char *const names[] = {"TALLY_CACHE_DIR", "POCL_CACHE_DIR"};
    for (int i = 0; i < 2; i++) {
        snprintf(caches[i], 600, "%s=%s/fresh%d", names[i], folder_path(), made++);
        assert_int_equal(mkdir(strchr(caches[i], '=') + 1, 0700), 0);
    }
}

/* A terminal is told that kernels are compiled before the first result. A pipe is not. */
void test_compiling(void **unused) {
    (void)unused;
    static const float x[4] = {1, 2, 3, 4};
    static const struct {
        const char *words;
        int code;
        bool told;
    } rows[] = {
        {"reduce var,dot --dtype f32 x.raw x.raw", 2, false}, /* wrong usage */
        {"reduce var,logsumexp --dtype f32 x.raw", 0, true},
        {"reduce var,logsumexp --dtype f32 --quiet x.raw", 0, false},
        {"reduce var,logsumexp --dtype f32 --json x.raw", 0, false},
        /* Compilers' messages about one's own expressions are silenced. This message is not. */
        {"reduce --load exp(x)+sin(x) --combine a+b --identity 0 --dtype f32 x.raw", 0, true},
        {"scan logsumexp --dtype f32 x.raw -o out.npy", 0, true},
    };
    char text[8192], caches[2][600];
    result r;
    need_compiler();
    write_file("x.raw", x, sizeof(x));
    for (size_t i = 0; i < COUNT(rows); i++) {
        make_caches(caches);
        const setup how = {.env = {caches[0], caches[1]}};
        run_on_terminal(&how, rows[i].words, NULL, false, text, sizeof(text), &r);
        if (r.code != rows[i].code) fail_msg("%s: exit code %d: %s", rows[i].words, r.code, text);
        if (!rows[i].told) assert_null(strstr(text, "compiling"));
        if (rows[i].code || !rows[i].told) continue;
        if (!strstr(text, "\rcompiling ...")) fail_msg("%s: it does not say that it compiles: '%s'", rows[i].words, text);
        expect_erased(text, r.code);
    }
    /* A pipe is not told. An interrupt erases the line. */
    make_caches(caches);
    const setup how = {.env = {caches[0], caches[1]}};
    r = run(&how, rows[1].words);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    const char *const interrupted[] = {rows[1].words, "variants"};
    for (size_t i = 0; i < COUNT(interrupted); i++) {
        make_caches(caches);
        run_on_terminal(&how, interrupted[i], "compiling", true, text, sizeof(text), &r);
        if (r.code != 1000 + SIGINT) fail_msg("%s: exit code %d: '%s'", interrupted[i], r.code, text);
        expect_erased(text, r.code);
    }
}
