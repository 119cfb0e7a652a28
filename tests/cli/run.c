/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/folders.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define PATIENCE_SECONDS 600 /* `check` compiles everything, perhaps under a sanitizer */

const char *program, *nile;
char device[64];
const char *default_backend;
static char folder[256];

/* ---- the folder ------------------------------------------------------------------------------ */

void folder_open(void) {
    folder_make(folder, sizeof(folder));
}

void folder_close(void) {
    folder_remove(folder);
}

const char *folder_path(void) {
    return folder;
}

static void path_of(char *path, size_t bytes, const char *name) {
    snprintf(path, bytes, "%s/%s", folder, name);
}

void write_file(const char *name, const void *data, size_t bytes) {
    char path[512];
    path_of(path, sizeof(path), name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (bytes) assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

void write_npy_dictionary(const char *name, unsigned major, const char *dictionary, const void *data, size_t bytes) {
    const size_t length = strlen(dictionary), prefix = major == 1 ? 10 : 12, size = prefix + length + bytes;
    unsigned char *all = calloc(1, size);
    assert_non_null(all);
    memcpy(all, "\x93NUMPY", 6);
    all[6] = (unsigned char)major;
    for (size_t i = 0; i < prefix - 8; i++) all[8 + i] = (unsigned char)(length >> 8 * i);
    memcpy(all + prefix, dictionary, length);
    if (bytes) memcpy(all + prefix + length, data, bytes);
    write_file(name, all, size);
    free(all);
}

void write_npy(const char *name, unsigned major, const char *descr, const char *shape, const void *data, size_t bytes) {
    char text[512];
    const size_t prefix = major == 1 ? 10 : 12;
    size_t n = (size_t)snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    for (; (prefix + n + 1) % 64; n++) text[n] = ' ';
    text[n++] = '\n';
    text[n] = 0;
    write_npy_dictionary(name, major, text, data, bytes);
}

const char *own_descr(char letter, int bytes) {
    static char text[16];
    const uint16_t one = 1;
    snprintf(text, sizeof(text), "%c%c%d", *(const unsigned char *)&one ? '<' : '>', letter, bytes);
    return text;
}

static void read_back(const char *name, char *text, size_t bytes) {
    char path[512];
    path_of(path, sizeof(path), name);
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(text, 1, bytes - 1, f) : 0;
    text[n] = 0;
    if (f) fclose(f);
}

/* ---- running --------------------------------------------------------------------------------- */

static void send_to(int fd, const char *path, size_t piece, unsigned pause) {
    static char buffer[1 << 16];
    const struct timespec wait = {.tv_sec = pause / 1000, .tv_nsec = pause % 1000 * 1000000L};
    const int in = open(path, O_RDONLY);
    const size_t most = piece && piece < sizeof(buffer) ? piece : sizeof(buffer);
    for (ssize_t n; in >= 0 && (n = read(in, buffer, most)) > 0;) {
        for (ssize_t sent = 0, now; sent < n; sent += now)
            if ((now = write(fd, buffer + sent, (size_t)(n - sent))) < 0) _exit(0); /* the program has stopped reading */
        if (pause) nanosleep(&wait, NULL);
    }
    _exit(in < 0);
}

/* Starts a process that sends the file into a pipe. Returns the end to read. */
static int open_input(const setup *how) {
    int ends[2];
    char path[512];
    if (!how->in_file) return open("/dev/null", O_RDONLY);
    path_of(path, sizeof(path), how->in_file);
    if (pipe(ends)) return -1;
    const pid_t feeder = fork();
    if (feeder == 0) {
        close(ends[0]);
        alarm(PATIENCE_SECONDS);
        send_to(ends[1], path, how->in_piece, how->in_pause);
    }
    close(ends[1]);
    return ends[0];
}

static void set_environment(const setup *how) {
    char cache[512];
    path_of(cache, sizeof(cache), "cache");
    setenv("TALLY_CACHE_DIR", cache, 0);
    unsetenv("TALLY_BACKEND");
    if (default_backend) setenv("TALLY_BACKEND", default_backend, 1);
    for (size_t i = 0; i < COUNT(how->env) && how->env[i]; i++) putenv((char *)(uintptr_t)how->env[i]);
}

static void move_fd(int from, int to) {
    if (dup2(from, to) < 0) _exit(99);
    if (from != to) close(from);
}

static void become_program(const setup *how, const char *words) {
    char copy[1024], *args[32], *rest = NULL;
    int count = 0, out;
    set_environment(how);
    alarm(PATIENCE_SECONDS);
    move_fd(open_input(how), STDIN_FILENO);
    if (chdir(folder)) _exit(99);
    out = open(how->out && strcmp(how->out, "-") ? how->out : "stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    move_fd(how->err_fd ? how->err_fd : open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    move_fd(out, STDOUT_FILENO);
    if (how->out && strcmp(how->out, "-") == 0) close(STDOUT_FILENO);
    snprintf(copy, sizeof(copy), "%s", words);
    args[count++] = (char *)(uintptr_t)program;
    for (char *word = strtok_r(copy, " ", &rest); word && count < 31; word = strtok_r(NULL, " ", &rest)) args[count++] = word;
    args[count] = NULL;
    signal(SIGINT, SIG_DFL); /* a shell ignores both for what runs in the background */
    signal(SIGQUIT, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    execv(program, args);
    _exit(99);
}

pid_t start(const setup *how, const char *words) {
    static const setup plain = {0};
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) become_program(how ? how : &plain, words);
    return pid;
}

void finish(pid_t pid, result *r) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    read_back("stdout", r->out, sizeof(r->out));
    read_back("stderr", r->err, sizeof(r->err));
}

result run(const setup *how, const char *words) {
    static result r;
    finish(start(how, words), &r);
    return r;
}

/* ---- checking -------------------------------------------------------------------------------- */

unsigned count_lines(const char *text) {
    unsigned lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

json_object *parse_line(const result *r, unsigned index) {
    char line[16384];
    const char *from = r->out;
    for (unsigned i = 0; i < index && *from; i++) from += strcspn(from, "\n") + (strchr(from, '\n') != NULL);
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(from, "\n"), from);
    json_object *o = json_tokener_parse(line);
    if (!o) fail_msg("line %u is no JSON: '%s' (stderr: %s)", index, line, r->err);
    return o;
}

json_object *member(json_object *o, const char *name) {
    json_object *found = NULL;
    if (!json_object_object_get_ex(o, name, &found)) fail_msg("no member '%s' in %s", name, json_object_to_json_string(o));
    return found;
}

const char *text_member(json_object *o, const char *name) {
    json_object *found = member(o, name);
    return found ? json_object_get_string(found) : "null";
}

void must_give(const setup *how, const char *words, const char *value) {
    char all[1024];
    snprintf(all, sizeof(all), "%s --json", words);
    const result r = run(how, all);
    if (r.code != 0) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    if (*r.err) fail_msg("%s: stderr: %s", words, r.err);
    if (count_lines(r.out) != 1) fail_msg("%s: %u lines: %s", words, count_lines(r.out), r.out);
    json_object *o = parse_line(&r, 0);
    if (strcmp(text_member(o, "value"), value)) fail_msg("%s: the value is %s, not %s", words, text_member(o, "value"), value);
    json_object_put(o);
}

void must_refuse(const setup *how, const char *words, int code, const char *const *says, size_t count) {
    const result r = run(how, words);
    if (r.code != code) fail_msg("'%s': exit code %d, not %d; stderr: %s", words, r.code, code, r.err);
    if (!(how && how->out) && *r.out) fail_msg("'%s': stdout: %s", words, r.out);
    if (count_lines(r.err) != 1 || r.err[strlen(r.err) - 1] != '\n') fail_msg("'%s': not one line: %s", words, r.err);
    if (strncmp(r.err, "tally: ", 7)) fail_msg("'%s': stderr: %s", words, r.err);
    for (size_t i = 0; i < count && says[i]; i++)
        if (!strstr(r.err, says[i])) fail_msg("'%s': stderr does not say '%s': %s", words, says[i], r.err);
}

void must_refuse_rows(const bad_row *rows, size_t count, int code) {
    for (size_t i = 0; i < count; i++) {
        const setup how = {.env = {rows[i].env}, .in_file = rows[i].in};
        must_refuse(&how, rows[i].words, code, rows[i].says, COUNT(rows[i].says));
    }
}

void need_device(void) {
    const char *required = getenv("TALLY_TEST_REQUIRE");
    if (*device) return;
    if (required && *required) fail_msg("TALLY_TEST_REQUIRE=%s, but there is no device", required);
    test_skip("there is no device");
}

void need_compiler(void) {
    const char *required = getenv("TALLY_TEST_REQUIRE");
    need_device();
    if (strncmp(device, "host", 4)) return;
    if (required && *required) fail_msg("TALLY_TEST_REQUIRE=%s, but there is only %s", required, device);
    test_skip("%s compiles nothing: it needs OpenCL or CUDA", device);
}

bool is_quick(void) {
    const char *quick = getenv("TALLY_TEST_QUICK");
    return (quick && *quick) || sample_parts() > 1;
}
