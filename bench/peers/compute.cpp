/* SPDX-License-Identifier: MIT */
/* compute.cpp: Boost.Compute on OpenCL devices. The file is C++ because Boost.Compute is; C
 * calls it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>

#include <boost/compute/algorithm/gather.hpp>
#include <boost/compute/algorithm/inclusive_scan.hpp>
#include <boost/compute/algorithm/max_element.hpp>
#include <boost/compute/algorithm/min_element.hpp>
#include <boost/compute/algorithm/reduce.hpp>
#include <boost/compute/algorithm/scatter.hpp>
#include <boost/compute/buffer.hpp>
#include <boost/compute/command_queue.hpp>
#include <boost/compute/container/vector.hpp>
#include <boost/compute/functional.hpp>
#include <boost/compute/iterator/buffer_iterator.hpp>

#include <tally/opencl.h>

#include "bench/bench.h"

namespace compute = boost::compute;

namespace {

struct QueueEnd {
    void operator()(tally_queue *queue) const {
        tally_queue_destroy(queue);
    }
};

struct Engine {
    Engine(const bench_input *in, tally_queue *owned) : queue(owned), input(in), op(in->task->op) {
        cl_command_queue handle = nullptr;
        if (tally_queue_get_opencl(owned, &handle)) throw std::runtime_error(tally_last_error());
        native = compute::command_queue(handle);
        for (int a = 0; a < ARRAYS; a++) {
            cl_mem memory = nullptr;
            if (!in->buffer[a]) continue;
            if (tally_buffer_get_opencl(in->buffer[a], &memory)) throw std::runtime_error(tally_last_error());
            arrays[a] = compute::buffer(memory);
        }
    }
    virtual ~Engine() = default;
    virtual void enqueue() = 0;
    virtual double value() {
        return NAN;
    }
    template <typename T> compute::buffer_iterator<T> begin(int array) const {
        return compute::make_buffer_iterator<T>(arrays[array], 0);
    }
    std::unique_ptr<tally_queue, QueueEnd> queue; /* freed too if the engine cannot be made */
    const bench_input *input;
    tally_op op;
    compute::command_queue native;
    compute::buffer arrays[ARRAYS];
};

template <typename T> struct Reduction : Engine {
    Reduction(const bench_input *in, tally_queue *owned) : Engine(in, owned) {
        result = compute::vector<T>(1, native.get_context());
    }

    void enqueue() override {
        const auto first = begin<T>(ARRAY_X), last = first + input->n;
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

    compute::vector<T> result;
    double place = 0;
};

template <typename T> struct Scan : Engine {
    using Engine::Engine;
    void enqueue() override {
        const auto first = begin<T>(ARRAY_X), last = first + input->n, out = begin<T>(ARRAY_OUT);
        if (op == TALLY_SUM) compute::inclusive_scan(first, last, out, compute::plus<T>(), native);
        if (op == TALLY_MIN) compute::inclusive_scan(first, last, out, compute::min<T>(), native);
        if (op == TALLY_MAX) compute::inclusive_scan(first, last, out, compute::max<T>(), native);
    }
};

struct Move : Engine {
    using Engine::Engine;
    void enqueue() override {
        const auto map = begin<uint32_t>(ARRAY_MAP);
        const auto x = begin<float>(ARRAY_X), out = begin<float>(ARRAY_OUT);
        if (input->task->primitive == BENCH_GATHER)
            compute::gather(map, map + input->n, x, out, native);
        else
            compute::scatter(x, x + input->n, map, out, native);
    }
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

/* Boost.Compute compiles an iterator's place into the kernel, so each copy would be another
 * program. */
bool has_case(const bench_input *input) {
    return input->copies == 1 && !std::strcmp(input->device->backend, "opencl");
}

template <typename E> int open_engine(const bench_input *input, bench_engine *out) {
    tally_queue *queue = nullptr;
    if (tally_queue_create(input->context, &queue)) return complain(tally_last_error());
    try {
        Engine *engine = new E(input, queue);
        *out =
            bench_engine{nullptr, engine, run, input->task->primitive == BENCH_REDUCE ? value : nullptr, nullptr, close_engine};
    } catch (const std::exception &error) {
        return complain(error.what());
    }
    return 0;
}

template <template <typename> class E> int open_typed(const bench_input *input, bench_engine *out) {
    switch (static_cast<int>(input->in)) {
    case TALLY_F32:
        return open_engine<E<float>>(input, out);
    case TALLY_F64:
        return open_engine<E<double>>(input, out);
    case TALLY_I32:
        return open_engine<E<int32_t>>(input, out);
    }
    return BENCH_ABSENT;
}

} // namespace

int compute_open(const bench_input *input, bench_engine *out) {
    const tally_op op = input->task->op;
    const bool has_op = op == TALLY_SUM || op == TALLY_MIN || op == TALLY_MAX || op == TALLY_ARGMIN || op == TALLY_ARGMAX;
    return has_op && has_case(input) ? open_typed<Reduction>(input, out) : BENCH_ABSENT;
}

int compute_scan_open(const bench_input *input, bench_engine *out) {
    return has_case(input) ? open_typed<Scan>(input, out) : BENCH_ABSENT;
}

int compute_move_open(const bench_input *input, bench_engine *out) {
    return has_case(input) ? open_engine<Move>(input, out) : BENCH_ABSENT;
}
