/* SPDX-License-Identifier: MIT */
/* The compiler: NVRTC, opened at run time. It compiles kernels to machine code. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvrtc.h> /* for its types and constants: nothing is linked */

#include "compiler.h"
#include "driver.h"

/* X(name): the calls that are used. CUDA 11.2 and later have all of them. */
#define CALLS(X)                                                                                                               \
    X(nvrtcVersion)                                                                                                            \
    X(nvrtcGetErrorString)                                                                                                     \
    X(nvrtcGetNumSupportedArchs)                                                                                               \
    X(nvrtcGetSupportedArchs)                                                                                                  \
    X(nvrtcCreateProgram)                                                                                                      \
    X(nvrtcDestroyProgram)                                                                                                     \
    X(nvrtcCompileProgram)                                                                                                     \
    X(nvrtcGetProgramLogSize)                                                                                                  \
    X(nvrtcGetProgramLog)                                                                                                      \
    X(nvrtcGetCUBINSize)                                                                                                       \
    X(nvrtcGetCUBIN)                                                                                                           \
    X(nvrtcGetPTXSize)                                                                                                         \
    X(nvrtcGetPTX)

typedef struct nvrtc_calls {
#define FIELD(name) __typeof__(name) *name;
    CALLS(FIELD)
#undef FIELD
} nvrtc_calls;

static const struct {
    const char *symbol;
    size_t offset;
} rows[] = {
#define ROW(name) {#name, offsetof(nvrtc_calls, name)},
    CALLS(ROW)
#undef ROW
};

static nvrtc_calls nvrtc;
static tally_cuda_compiler compiler;

/* ---- finding it ------------------------------------------------------------------------------ */

static const struct {
    const char *file;
    int cuda; /* the CUDA version that the file comes with; 0: any */
} libraries[] = {{"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {"libnvrtc.so.11.2", 11}, {"libnvrtc.so", 0}};

/* An empty folder is the loader's own search. */
#define PLACES "the loader's path, $CUDA_HOME/lib64, $CUDA_PATH/lib64, /usr/local/cuda/lib64"
static const struct {
    const char *variable, *folder;
} places[] = {{NULL, ""}, {"CUDA_HOME", "/lib64/"}, {"CUDA_PATH", "/lib64/"}, {NULL, "/usr/local/cuda/lib64/"}};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static bool find_calls(void *library) {
    for (size_t i = 0; i < LENGTH(rows); i++) {
        void *address = dlsym(library, rows[i].symbol);
        if (!address) return false;
        memcpy((char *)&nvrtc + rows[i].offset, &address, sizeof(address));
    }
    return true;
}

static int compare_archs(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static bool ask_archs(void) {
    int major = 0, minor = 0, count = 0;
    if (nvrtc.nvrtcVersion(&major, &minor) || nvrtc.nvrtcGetNumSupportedArchs(&count)) return false;
    if (count < 1 || count > (int)LENGTH(compiler.archs) || nvrtc.nvrtcGetSupportedArchs(compiler.archs)) return false;
    qsort(compiler.archs, (size_t)count, sizeof(compiler.archs[0]), compare_archs);
    compiler.count = count;
    compiler.version = 1000 * major + 10 * minor;
    return true;
}

static bool open_library(const char *folder_of, const char *folder, const char *file) {
    char path[600];
    const int length = snprintf(path, sizeof(path), "%s%s%s", folder_of, folder, file);
    if (length < 0 || (size_t)length >= sizeof(path)) return false;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    if (!find_calls(library) || !ask_archs()) return dlclose(library), false;
    /* NVRTC opens libnvrtc-builtins by name alone. The loader finds it in such a folder only if it
     * is loaded already. */
    if (folder[0]) {
        snprintf(path, sizeof(path), "%s%slibnvrtc-builtins.so.%d.%d", folder_of, folder, compiler.version / 1000,
                 compiler.version % 1000 / 10);
        dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return true;
}

static bool open_anywhere(size_t which) {
    for (size_t p = 0; p < LENGTH(places); p++) {
        const char *value = places[p].variable ? getenv(places[p].variable) : "";
        if (!value || (places[p].variable && !value[0])) continue;
        if (open_library(value, places[p].folder, libraries[which].file)) return true;
    }
    return false;
}

/* Opens the first NVRTC that is found. A driver may be unable to load what a newer NVRTC makes, so
 * libraries of the driver's CUDA version and below are tried first. */
static void open_nvrtc(void) {
    const int driver = tally_cuda.version / 1000;
    for (int newer = 0; newer < 2; newer++)
        for (size_t i = 0; i < LENGTH(libraries); i++) {
            const bool fits = libraries[i].cuda && (!driver || libraries[i].cuda <= driver);
            if (fits != newer && open_anywhere(i)) return;
        }
}

tally_status tally_cuda_compiler_get(const tally_cuda_compiler **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_nvrtc);
    if (!compiler.count) {
        char files[128] = "";
        for (size_t i = 0, used = 0; i < LENGTH(libraries) && used < sizeof(files); i++)
            used += (size_t)snprintf(files + used, sizeof(files) - used, "%s%s", i ? ", " : "", libraries[i].file);
        return tally_fail(TALLY_E_BUILD, "cuda: no NVRTC (of CUDA 11.2 or later) to compile kernels with: looked for %s in %s",
                          files, PLACES);
    }
    *out = &compiler;
    return TALLY_OK;
}

/* ---- compiling ------------------------------------------------------------------------------- */

#define LOG_HEAD 600 /* characters of a log that go into the error text */

/* The order and the rounding of every operation are part of the result. */
static const char *const constant_options[] = {"--std=c++17",     "--fmad=false",     "--ftz=false",
                                               "--prec-div=true", "--prec-sqrt=true", "--device-as-default-execution-space"};

void tally_cuda_build_options(int arch, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "--gpu-architecture=sm_%d", arch);
    for (size_t i = 0; i < LENGTH(constant_options) && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, " %s", constant_options[i]);
}

/* Chooses the option for the device: its own machine code, or else PTX for the newest architecture
 * below it. */
static tally_status choose_arch(int arch, char *option, size_t bytes, bool *ptx) {
    int newest = 0;
    for (int i = 0; i < compiler.count && compiler.archs[i] <= arch; i++) newest = compiler.archs[i];
    if (!newest)
        return tally_fail(TALLY_E_BUILD, "cuda: NVRTC %d.%d compiles for sm_%d and later: the device is sm_%d",
                          compiler.version / 1000, compiler.version % 1000 / 10, compiler.archs[0], arch);
    *ptx = newest != arch;
    snprintf(option, bytes, "--gpu-architecture=%s_%d", *ptx ? "compute" : "sm", newest);
    return TALLY_OK;
}

static tally_status fail(nvrtcResult result, const char *call) {
    return tally_fail(result == NVRTC_ERROR_OUT_OF_MEMORY ? TALLY_E_MEMORY : TALLY_E_BUILD, "%s: %s (%d)", call,
                      nvrtc.nvrtcGetErrorString(result), (int)result);
}

static char *get_log(nvrtcProgram program) {
    size_t bytes = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &bytes)) bytes = 0;
    char *log = calloc(1, bytes + 1);
    if (log && bytes && nvrtc.nvrtcGetProgramLog(program, log)) log[0] = 0;
    return log;
}

static tally_status get_image(nvrtcProgram program, bool ptx, tally_cuda_image *out) {
    nvrtcResult result = (ptx ? nvrtc.nvrtcGetPTXSize : nvrtc.nvrtcGetCUBINSize)(program, &out->bytes);
    if (result) return fail(result, ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize");
    out->data = malloc(out->bytes);
    if (!out->data) return tally_fail(TALLY_E_MEMORY, "cuda: out of memory");
    result = (ptx ? nvrtc.nvrtcGetPTX : nvrtc.nvrtcGetCUBIN)(program, out->data);
    return result ? fail(result, ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN") : TALLY_OK;
}

/* Copies the errors of a log, without the warnings between them, which are about text that is not
 * the user's. Each message ends with an empty line. */
static void find_errors(const char *log, char *errors, size_t bytes) {
    size_t used = 0;
    errors[0] = 0;
    for (const char *message = log, *next; *message && used < bytes; message = next) {
        const char *end = strstr(message, "\n\n"), *error = strstr(message, "error:");
        next = end ? end + 2 : message + strlen(message);
        if (!error || error > message + strcspn(message, "\n")) continue;
        used += (size_t)snprintf(errors + used, bytes - used, "%.*s", (int)(next - message), message);
    }
}

static tally_status compile_failed(nvrtcResult result, const char *log, const char *arch) {
    char errors[LOG_HEAD + 1];
    if (result != NVRTC_ERROR_COMPILATION && !log[0]) return fail(result, "nvrtcCompileProgram");
    find_errors(log, errors, sizeof(errors));
    return tally_fail(TALLY_E_BUILD, "nvrtcCompileProgram(%s): %s (%d): %.*s", arch, nvrtc.nvrtcGetErrorString(result),
                      (int)result, LOG_HEAD, errors[0] ? errors : log);
}

static tally_status compile(const char *source, const char *arch_option, bool ptx, const char *option, tally_cuda_image *out) {
    const char *options[LENGTH(constant_options) + 2] = {arch_option};
    int count = 1;
    for (size_t i = 0; i < LENGTH(constant_options); i++) options[count++] = constant_options[i];
    if (option) options[count++] = option;

    nvrtcProgram program;
    nvrtcResult result = nvrtc.nvrtcCreateProgram(&program, source, "tally.cu", 0, NULL, NULL);
    if (result) return fail(result, "nvrtcCreateProgram");
    tally_status status;
    tally_cuda_image image = {0};
    result = nvrtc.nvrtcCompileProgram(program, count, options);
    image.log = get_log(program);
    if (!image.log)
        status = tally_fail(TALLY_E_MEMORY, "cuda: out of memory");
    else if (result)
        status = compile_failed(result, image.log, arch_option);
    else
        status = get_image(program, ptx, &image);
    nvrtc.nvrtcDestroyProgram(&program);
    if (status)
        tally_cuda_image_free(&image);
    else
        *out = image;
    return status;
}

tally_status tally_cuda_compile(const char *source, int arch, const char *option, tally_cuda_image *out) {
    const tally_cuda_compiler *ready;
    char arch_option[64];
    bool ptx = false;
    tally_status status = tally_cuda_compiler_get(&ready);
    if (!status) status = choose_arch(arch, arch_option, sizeof(arch_option), &ptx);
    return status ? status : compile(source, arch_option, ptx, option, out);
}

tally_status tally_cuda_compile_ptx(const char *source, int arch, tally_cuda_image *out) {
    const tally_cuda_compiler *ready;
    char arch_option[64];
    const tally_status status = tally_cuda_compiler_get(&ready);
    snprintf(arch_option, sizeof(arch_option), "--gpu-architecture=compute_%d", arch);
    return status ? status : compile(source, arch_option, true, NULL, out);
}

void tally_cuda_image_free(tally_cuda_image *image) {
    free(image->data);
    free(image->log);
    *image = (tally_cuda_image){0};
}
