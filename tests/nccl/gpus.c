/* SPDX-License-Identifier: MIT */
/*
 * libtally_nccl on the GPUs of this machine: 1, 2, 4 and 8 of them, as far as they are here, a
 * thread each. The bits are those of tally_reduce of the whole on one GPU, by plain calls and by a
 * captured graph that is launched again. Calls on two sets of items take turns, so that a fold that
 * took the packets of another call would be seen. Then it measures: a call for 2^20 f32 a rank,
 * eight in a graph, one in a graph and one without, against tally_reduce of the share and
 * ncclAllGather of as many bytes; and 2^32 f32 in all against one GPU. Exit status: 77 without NCCL
 * or a GPU, 1 if bits differ or a call fails. The bars are printed, and with the argument --bars
 * they count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>

#include <tally/cuda.h>

#include "oracle/patterns.h"
#include "ranks/nccl/library.h"

#define MOST 8
#define FEW_N UINT64_C(3000011)
#define SETS 2 /* of items: the second begins SHIFT items later */
#define SHIFT 7919
#define SHARE (UINT64_C(1) << 20)
#define MANY (UINT64_C(1) << 32)
#define RESULT 64
#define ROUNDS 15

static struct {
    int (*init_all)(struct ncclComm **comms, int count, const int *devices);
    int (*destroy)(struct ncclComm *comm);
    CUresult (*begin)(CUstream stream, CUstreamCaptureMode mode);
    CUresult (*end)(CUstream stream, CUgraph *graph);
    CUresult (*instantiate)(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
    CUresult (*launch)(CUgraphExec exec, CUstream stream);
    CUresult (*drop)(CUgraphExec exec);
    CUresult (*drop_graph)(CUgraph graph);
    CUresult (*retain)(CUcontext *context, CUdevice device);
    CUresult (*release)(CUdevice device);
    CUresult (*set_current)(CUcontext context);
} calls;

static const nccl_library *library;
static pthread_barrier_t barrier;
static float *items;
static unsigned char expected[SETS][RESULT];

typedef struct gpu {
    int index, count;
    struct ncclComm *comm;
    tally_context *context;
    tally_queue *queue;
    CUstream stream;
    tally_nccl *nccl;
    tally_buffer *in[SETS], *out[SETS], *send, *receive;
    tally_plan *plan; /* of the share alone */
    uint64_t first, n, total, bytes;
    double ours, theirs; /* seconds of a call */
    int failed;
} gpu;

#define MUST(g, call)                                                                                                          \
    do {                                                                                                                       \
        const tally_status did = (call);                                                                                       \
        if (did) fprintf(stderr, "gpu %d: %s\n", (g)->index, tally_last_error()), exit(1);                                     \
    } while (0)
#define CU(g, call)                                                                                                            \
    do {                                                                                                                       \
        const int did = (int)(call);                                                                                           \
        if (did) fprintf(stderr, "gpu %d: %s: %d\n", (g)->index, #call, did), exit(1);                                         \
    } while (0)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void find(void *handle, const char *name, void *to) {
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address) printf("skipped: no %s\n", name), exit(77);
    memcpy(to, &address, sizeof address);
}

static void open_calls(void) {
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW), *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    find(nccl, "ncclCommInitAll", &calls.init_all);
    find(nccl, "ncclCommDestroy", &calls.destroy);
    find(cuda, "cuStreamBeginCapture_v2", &calls.begin);
    find(cuda, "cuStreamEndCapture", &calls.end);
    find(cuda, "cuGraphInstantiateWithFlags", &calls.instantiate);
    find(cuda, "cuGraphLaunch", &calls.launch);
    find(cuda, "cuGraphExecDestroy", &calls.drop);
    find(cuda, "cuGraphDestroy", &calls.drop_graph);
    find(cuda, "cuDevicePrimaryCtxRetain", &calls.retain);
    find(cuda, "cuDevicePrimaryCtxRelease_v2", &calls.release);
    find(cuda, "cuCtxSetCurrent", &calls.set_current);
    library = nccl_open();
    if (!library) printf("skipped: %s\n", tally_last_error()), exit(77);
}

static const tally_op ops[] = {TALLY_SUM, TALLY_VAR, TALLY_ARGMAX, TALLY_LOGSUMEXP, TALLY_NRM2};
static const uint64_t lengths[] = {FEW_N, 5, 4096 * 7};
static tally_reduce_desc desc;
static uint64_t length;
static int launches;       /* 0: bits */
static int calls_of_graph; /* 0: calls without a graph */
static int sets;           /* that the calls take in turn */

/* ---- a rank's work --------------------------------------------------------------------------- */

static void reduce(gpu *g, int set) {
    const tally_nccl_args args = {.size = sizeof args,
                                  .in = {g->in[set]},
                                  .first = g->first,
                                  .n = g->n,
                                  .total = g->total,
                                  .out = g->out[set],
                                  .verdict = g->out[set],
                                  .verdict_offset = RESULT};
    MUST(g, tally_nccl_allreduce(g->nccl, g->queue, &args));
}

/* Enqueues the share's reduction and a gather of as many bytes. A call is measured against both. */
static void reduce_and_gather(gpu *g, int set) {
    unsigned long long send, receive;
    MUST(g, tally_reduce(g->plan, g->queue, g->in[set], g->n, g->out[set]));
    MUST(g, tally_buffer_get_cuda(g->send, &send));
    MUST(g, tally_buffer_get_cuda(g->receive, &receive));
    CU(g, library->AllGather((const void *)(uintptr_t)send, (void *)(uintptr_t)receive, g->bytes, NCCL_UINT8, g->comm,
                             (struct CUstream_st *)g->stream));
}

/* Captures `calls_of_graph` calls, one after the other, on the sets in turn. */
static CUgraphExec capture(gpu *g, void (*call)(gpu *, int)) {
    CUgraph graph;
    CUgraphExec exec;
    CU(g, calls.begin(g->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < calls_of_graph; i++) call(g, i % sets);
    CU(g, calls.end(g->stream, &graph));
    CU(g, calls.instantiate(&exec, graph, 0));
    CU(g, calls.drop_graph(graph));
    return exec;
}

/* A graph, or a call without one, and its times. */
typedef struct launch {
    void (*call)(gpu *, int);
    CUgraphExec exec;
    double seconds[ROUNDS]; /* of a call */
} launch;

static void run_round(gpu *g, launch *of, int round) {
    pthread_barrier_wait(&barrier);
    const double begin = now();
    for (int i = 0; i < launches; i++)
        if (of->exec)
            CU(g, calls.launch(of->exec, g->stream));
        else
            of->call(g, 0);
    MUST(g, tally_queue_wait(g->queue));
    of->seconds[round] = (now() - begin) / launches / (calls_of_graph ? calls_of_graph : 1);
}

static int compare_seconds(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Measures both kinds of calls, in turn. Each one's seconds are the median round's. */
static void measure(gpu *g) {
    launch of[] = {{.call = reduce}, {.call = reduce_and_gather}};
    for (int k = 0; k < 2; k++) of[k].exec = calls_of_graph ? capture(g, of[k].call) : NULL;
    for (int round = -1; round < ROUNDS; round++) /* the first one counts no more */
        for (int k = 0; k < 2; k++) run_round(g, &of[k], round < 0 ? 0 : round);
    pthread_barrier_wait(&barrier);
    for (int k = 0; k < 2; k++) {
        qsort(of[k].seconds, ROUNDS, sizeof(double), compare_seconds);
        if (of[k].exec) CU(g, calls.drop(of[k].exec));
    }
    g->ours = of[0].seconds[ROUNDS / 2];
    g->theirs = of[1].seconds[ROUNDS / 2];
}

static void expect_bits(gpu *g, const char *how) {
    unsigned char got[RESULT + sizeof(tally_packet_verdict)];
    tally_packet_verdict verdict;
    const uint64_t bytes = tally_plan_result_bytes(g->plan);
    for (int set = 0; set < sets; set++) {
        MUST(g, tally_buffer_read(g->queue, g->out[set], 0, got, sizeof got));
        MUST(g, tally_queue_wait(g->queue));
        memcpy(&verdict, got + RESULT, sizeof verdict);
        if (!verdict.status && !memcmp(got, expected[set], bytes)) continue;
        printf("gpu %d of %d, %s, set %d: verdict %u of rank %u, %s bits\n", g->index, g->count, how, set, verdict.status,
               verdict.packet, memcmp(got, expected[set], bytes) ? "other" : "the same");
        g->failed = 1;
    }
}

static void clear_out(gpu *g) {
    static const unsigned char junk[RESULT + sizeof(tally_packet_verdict)] = {0xee};
    for (int set = 0; set < sets; set++) MUST(g, tally_buffer_write(g->queue, g->out[set], 0, junk, sizeof junk));
    MUST(g, tally_queue_wait(g->queue));
}

/* Makes a set of items: the pattern of FEW_N items, again and again from the whole's begin. */
static void open_set(gpu *g, int set) {
    MUST(g, tally_buffer_create(g->context, (g->n + 1) * sizeof(float), &g->in[set]));
    MUST(g, tally_buffer_create(g->context, RESULT + sizeof(tally_packet_verdict), &g->out[set]));
    for (uint64_t at = 0; at < g->n;) {
        const uint64_t from = (g->first + at) % FEW_N, left = g->n - at, n = left < FEW_N - from ? left : FEW_N - from;
        const float *of = items + (size_t)set * SHIFT + from;
        MUST(g, tally_buffer_write(g->queue, g->in[set], at * sizeof(float), of, n * sizeof(float)));
        at += n;
    }
}

static void open_rank(gpu *g) {
    g->total = length;
    MUST(g, tally_share(length, (uint64_t)g->count, (uint64_t)g->index, &g->first, &g->n));
    tally_reduce_desc own = desc;
    own.size = sizeof own;
    own.max_n = g->n ? g->n : 1;
    MUST(g, tally_nccl_create(g->comm, g->context, &own, &g->nccl));
    MUST(g, tally_plan_create(g->context, &own, &g->plan));
    MUST(g, tally_packet_bytes(g->plan, &g->bytes));
    MUST(g, tally_buffer_create(g->context, g->bytes, &g->send));
    MUST(g, tally_buffer_create(g->context, g->bytes * (uint64_t)g->count, &g->receive));
    for (int set = 0; set < sets; set++) open_set(g, set);
    MUST(g, tally_queue_wait(g->queue));
}

static void close_rank(gpu *g) {
    MUST(g, tally_queue_wait(g->queue));
    pthread_barrier_wait(&barrier);
    tally_nccl_destroy(g->nccl);
    tally_plan_destroy(g->plan);
    for (int set = 0; set < sets; set++) tally_buffer_destroy(g->in[set]), tally_buffer_destroy(g->out[set]);
    tally_buffer_destroy(g->send);
    tally_buffer_destroy(g->receive);
}

/* ---- what is run ----------------------------------------------------------------------------- */

static void work(gpu *g) {
    open_rank(g);
    if (launches) {
        measure(g);
        close_rank(g);
        return;
    }
    for (int i = 0; i < 20; i++) {
        clear_out(g);
        for (int k = 0; k < calls_of_graph; k++) reduce(g, k % sets);
        expect_bits(g, "a call");
    }
    CUgraphExec exec = capture(g, reduce);
    for (int i = 0; i < 20; i++) {
        clear_out(g);
        CU(g, calls.launch(exec, g->stream));
        expect_bits(g, "a graph");
    }
    CU(g, calls.drop(exec));
    close_rank(g);
}

/* Graphs are made in the thread's current context: the device's primary one, as tally's is. */
static void *run(void *of) {
    gpu *g = of;
    CUcontext context;
    CU(g, calls.retain(&context, g->index));
    CU(g, calls.set_current(context));
    work(g);
    CU(g, calls.set_current(NULL));
    CU(g, calls.release(g->index));
    return NULL;
}

/* Runs a thread for each GPU, and gives the slowest one's seconds. Returns the failures. */
static int run_all(gpu *gpus, int count, double *ours, double *theirs) {
    pthread_t threads[MOST];
    int failed = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, run, &gpus[i]);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    *ours = *theirs = 0;
    for (int i = 0; i < count; i++) {
        *ours = gpus[i].ours > *ours ? gpus[i].ours : *ours;
        *theirs = gpus[i].theirs > *theirs ? gpus[i].theirs : *theirs;
        failed += gpus[i].failed;
    }
    return failed;
}

/* Reduces `length` items on the first GPU, for the expected bits. */
static void reduce_whole(gpu *g) {
    tally_reduce_desc own = desc;
    tally_plan *plan;
    tally_buffer *in, *out;
    own.size = sizeof own;
    own.max_n = length;
    MUST(g, tally_plan_create(g->context, &own, &plan));
    MUST(g, tally_buffer_create(g->context, length * sizeof(float), &in));
    MUST(g, tally_buffer_create(g->context, RESULT, &out));
    for (int set = 0; set < sets; set++) {
        MUST(g, tally_buffer_write(g->queue, in, 0, items + (size_t)set * SHIFT, length * sizeof(float)));
        MUST(g, tally_reduce(plan, g->queue, in, length, out));
        MUST(g, tally_buffer_read(g->queue, out, 0, expected[set], tally_plan_result_bytes(plan)));
        MUST(g, tally_queue_wait(g->queue));
    }
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
}

static void open_gpus(gpu *gpus, int count) {
    struct ncclComm *comms[MOST];
    for (int i = 0; i < count; i++) {
        char name[24];
        struct CUstream_st *stream;
        snprintf(name, sizeof name, "cuda:%d", i);
        gpus[i] = (gpu){.index = i, .count = count};
        MUST(&gpus[i], tally_context_create(name, &gpus[i].context));
        MUST(&gpus[i], tally_queue_create(gpus[i].context, &gpus[i].queue));
        MUST(&gpus[i], tally_queue_get_cuda(gpus[i].queue, &stream));
        gpus[i].stream = (CUstream)stream;
    }
    CU(&gpus[0], calls.init_all(comms, count, NULL));
    for (int i = 0; i < count; i++) gpus[i].comm = comms[i];
}

static int check_bits(gpu *gpus, int count) {
    double ours, theirs;
    int failed = 0;
    launches = 0;
    calls_of_graph = 8;
    sets = SETS;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            desc = (tally_reduce_desc){.op = ops[o], .in = TALLY_F32};
            length = lengths[l];
            reduce_whole(&gpus[0]);
            failed += run_all(gpus, count, &ours, &theirs);
        }
    printf("%d GPUs: bits of %d cases, %d failed\n", count,
           (int)(sizeof ops / sizeof ops[0] * sizeof lengths / sizeof lengths[0]), failed);
    return failed;
}

/* Two lengths of many items: with shares of 2^k items, and with others. */
static const struct {
    uint64_t n;
    const char *text;
} many[] = {{MANY, "2^32"}, {1000000000, "10^9"}};

/* Measures, and returns how many bars do not hold. `alone` is one GPU's times for `many`. */
static int check_bars(gpu *gpus, int count, double alone[2]) {
    double ours, theirs;
    int below = 0;
    desc = (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32};
    length = SHARE * (uint64_t)count;
    launches = 200;
    sets = 1;
    for (int i = 0; i < 3; i++) {
        calls_of_graph = (int[]){8, 1, 0}[i];
        run_all(gpus, count, &ours, &theirs);
        printf("%d GPUs, 2^20 f32 each, graphs of %d: %.2f us, reduction and gathering alone %.2f us: %.2f x%s\n", count,
               calls_of_graph, 1e6 * ours, 1e6 * theirs, ours / theirs, calls_of_graph ? " (bar: 1.2)" : " (no graph)");
        below += calls_of_graph && ours > 1.2 * theirs;
    }
    calls_of_graph = 1;
    launches = 5;
    for (int i = 0; i < 2; i++) {
        length = many[i].n;
        run_all(gpus, count, &ours, &theirs);
        if (count == 1) alone[i] = theirs;
        const double times = alone[i] / ours;
        printf("%d GPUs, %s f32 in all: %.3f ms, one GPU's tally_reduce %.3f ms: %.2f x\n", count, many[i].text, 1e3 * ours,
               1e3 * alone[i], times);
        if (count != 4 || i) continue;
        printf("the bar for 4 GPUs is 3.9 x\n");
        below += times < 3.9;
    }
    return below;
}

int main(int argc, char **argv) {
    tally_device_info info;
    int devices = 0, failed = 0, below = 0;
    double alone[2] = {0};
    while (devices < MOST && tally_device_get("cuda", devices, &info) == TALLY_OK) devices++;
    if (!devices) return printf("skipped: no GPU: %s\n", tally_last_error()), 77;
    open_calls();
    if (!(items = malloc((FEW_N + SHIFT) * sizeof *items))) return 1;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, FEW_N + SHIFT);
    for (int count = 1; count <= devices; count *= 2) {
        gpu gpus[MOST];
        open_gpus(gpus, count);
        failed += check_bits(gpus, count);
        below += check_bars(gpus, count, alone);
        for (int i = 0; i < count; i++) {
            calls.destroy(gpus[i].comm);
            tally_queue_destroy(gpus[i].queue);
            tally_context_destroy(gpus[i].context);
        }
    }
    free(items);
    printf("%d failures, %d bars that do not hold\n", failed, below);
    return failed || (below && argc > 1 && !strcmp(argv[1], "--bars"));
}
