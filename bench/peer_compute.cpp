/* SPDX-License-Identifier: MIT */
/* Boost.Compute on OpenCL devices. C++ because it is; called from C. */
#define CL_TARGET_OPENCL_VERSION 120
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

#include <boost/compute/algorithm/max_element.hpp>
#include <boost/compute/algorithm/min_element.hpp>
#include <boost/compute/algorithm/reduce.hpp>
#include <boost/compute/buffer.hpp>
#include <boost/compute/command_queue.hpp>
#include <boost/compute/container/vector.hpp>
#include <boost/compute/functional.hpp>
#include <boost/compute/iterator/buffer_iterator.hpp>

#include <tally/opencl.h>

#include "bench.h"

namespace compute = boost::compute;

namespace {

struct Engine {
    explicit Engine(tally_queue *owned) : queue(owned) {}
    virtual ~Engine() {
        tally_queue_destroy(queue);
    }
    virtual void enqueue() = 0;
    virtual double value() = 0;
    tally_queue *queue;
    compute::command_queue native;
};

template <typename T> struct Reduction : Engine {
    Reduction(const bench_input *in, tally_queue *owned, cl_command_queue handle, cl_mem memory)
        : Engine(owned), input(in), op(in->op), items(memory) {
        native = compute::command_queue(handle);
        result = compute::vector<T>(1, native.get_context());
    }

    void enqueue() override {
        const auto first = compute::make_buffer_iterator<T>(items, 0), last = first + input->n;
        if (op == TALLY_SUM) compute::reduce(first, last, result.begin(), compute::plus<T>(), native);
        if (op == TALLY_MIN) compute::reduce(first, last, result.begin(), compute::min<T>(), native);
        if (op == TALLY_MAX) compute::reduce(first, last, result.begin(), compute::max<T>(), native);
        if (op == TALLY_ARGMIN) place = static_cast<double>(compute::min_element(first, last, native) - first);
        if (op == TALLY_ARGMAX) place = static_cast<double>(compute::max_element(first, last, native) - first);
    }

    double value() override {
        if (op == TALLY_ARGMIN || op == TALLY_ARGMAX) return place;
        T host;
        compute::copy(result.begin(), result.end(), &host, native);
        return static_cast<double>(host);
    }

    const bench_input *input;
    tally_op op;
    compute::buffer items;
    compute::vector<T> result;
    double place = 0;
};

int complain(const char *why) {
    std::fprintf(stderr, "tally_bench: Boost.Compute: %s\n", why);
    return 1;
}

int run(void *pointer, int count) {
    Engine *engine = static_cast<Engine *>(pointer);
    try {
        for (int call = 0; call < count; call++) engine->enqueue();
        engine->native.finish();
    } catch (const std::exception &error) {
        return complain(error.what());
    }
    return 0;
}

double value(void *pointer) {
    try {
        return static_cast<Engine *>(pointer)->value();
    } catch (const std::exception &error) {
        complain(error.what());
        return NAN;
    }
}

void close_engine(void *pointer) {
    delete static_cast<Engine *>(pointer);
}

} // namespace

int compute_open(const bench_input *input, bench_engine *out) {
    const bool has_op = input->op == TALLY_SUM || input->op == TALLY_MIN || input->op == TALLY_MAX ||
                        input->op == TALLY_ARGMIN || input->op == TALLY_ARGMAX;
    /* It compiles an iterator's place into the kernel: other copies would be other programs. */
    const bool has_type = is_f32_or_f64(input->in) || input->in == TALLY_I32;
    if (!has_op || !has_type || input->copies > 1 || std::strcmp(input->device->backend, "opencl")) return BENCH_ABSENT;
    tally_queue *queue = nullptr;
    cl_command_queue native = nullptr;
    cl_mem memory = nullptr;
    if (tally_queue_create(input->context, &queue) || tally_queue_get_opencl(queue, &native) ||
        tally_buffer_get_opencl(input->buffer[0], &memory)) {
        complain(tally_last_error());
        tally_queue_destroy(queue);
        return 1;
    }
    try {
        Engine *engine = nullptr;
        if (input->in == TALLY_F32) engine = new Reduction<float>(input, queue, native, memory);
        if (input->in == TALLY_F64) engine = new Reduction<double>(input, queue, native, memory);
        if (input->in == TALLY_I32) engine = new Reduction<int32_t>(input, queue, native, memory);
        *out = bench_engine{nullptr, engine, run, value, nullptr, close_engine};
    } catch (const std::exception &error) { /* the engine has taken the queue along */
        return complain(error.what());
    }
    return 0;
}
