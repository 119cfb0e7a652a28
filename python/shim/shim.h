/* SPDX-License-Identifier: MIT */
/*
 * shim.h: what the Python package calls besides the library's own functions. Handles and addresses
 * come as uintptr_t, since a cast in Python costs more than the call.
 */
#ifndef TALLY_PYTHON_SHIM_H
#define TALLY_PYTHON_SHIM_H

#include <tally/tally.h>

/* The memory of a call's arrays. */
typedef enum tally_python_memory {
    TALLY_PYTHON_IN_PLACE = 0, /* host memory that the device uses as it is */
    TALLY_PYTHON_COPIED = 1,   /* host memory that is copied to the device; outputs in C order */
    TALLY_PYTHON_CUDA = 2,     /* CUDA device memory */
    TALLY_PYTHON_OPENCL = 3    /* cl_mem */
} tally_python_memory;

/*
 * Arrays of a reduction along axes. `numbers` has axis_count extents, then axis_count flags (1:
 * reduced). The arrays follow: the inputs, the mask if `masks` is 1, the outputs. Each has its
 * address (a cl_mem for TALLY_PYTHON_OPENCL), the byte offset of the item whose indices are all 0,
 * the bytes of an item, and axis_count strides in bytes. An output's strides along reduced axes are
 * ignored.
 * `whole` tells that the plan is one of tally_plan_create. There is then one output, of one result,
 * and no mask, and the items of each input lie side by side, in C order.
 */
typedef struct tally_python_arrays {
    uintptr_t context, plan, queue;
    tally_python_memory memory;
    uint32_t axis_count, inputs, masks, outputs, whole;
} tally_python_arrays;

/* A reduction bound to its arrays: ready to run, many times. */
typedef struct tally_python_bound tally_python_bound;

/* Wraps the arrays. The caller ends *out with tally_python_unbind. The arrays' memory stays the
 * caller's and must outlive *out. Strides and offsets must be multiples of the items' bytes.
 * Errors: as tally_buffer_create and the wrapping functions. */
tally_status tally_python_bind(const tally_python_arrays *arrays, const int64_t *numbers, tally_python_bound **out);
/* Reduces. Blocks for host memory, enqueues for device memory. Errors: as tally_reduce_axes
 * and, with `whole`, tally_reduce_with. */
tally_status tally_python_run(tally_python_bound *bound);
/* Ends what tally_python_bind made. Takes NULL. Its plan and its queue may have ended before. */
void tally_python_unbind(tally_python_bound *bound);

/* Binds, runs and unbinds. Errors: as the three. */
tally_status tally_python_reduce(uintptr_t context, uintptr_t plan, uintptr_t queue, int memory, uint32_t axis_count,
                                 uint32_t inputs, uint32_t masks, uint32_t outputs, uint32_t whole, const int64_t *numbers);

/*
 * The form of a call of one input, one mask or none, and one output: extents, strides and places,
 * without addresses. A later call of the same form needs the addresses alone.
 */
typedef struct tally_python_form tally_python_form;

/* Makes a form of the arrays of a call, whose addresses are ignored. The caller ends *out with
 * tally_python_form_end. Errors: E_MEMORY. */
tally_status tally_python_form_make(const tally_python_arrays *arrays, const int64_t *numbers, tally_python_form **out);
/* Ends a form. Takes NULL. */
void tally_python_form_end(tally_python_form *form);
/* Reduces as tally_python_reduce does. `in`, `where` and `out` are the addresses of the items whose
 * indices are all 0, multiples of what an item needs; without a mask `where` is ignored. A form may
 * run in several threads, each with a plan and a queue of its own. It keeps the last call's buffers
 * of device memory, so that the driver is not asked about them again. Errors: as
 * tally_python_reduce. */
tally_status tally_python_form_run(tally_python_form *form, uintptr_t plan, uintptr_t queue, uintptr_t in, uintptr_t where,
                                   uintptr_t out);

/* Reduces n neighbouring host items. Blocks. Errors: as tally_reduce_host. */
tally_status tally_python_whole(uintptr_t context, int op, int dtype, uintptr_t items, uint64_t n, uintptr_t result);

/* Converts a host array to another item type, or copies it to memory of other strides. Each value
 * is rounded once, to nearest even; an integer becomes another modulo its range; a float becomes an
 * integer without its fraction; the values of a bool are 0 and 1. `numbers` has axis_count extents,
 * then as many strides of the items and of the values, in bytes. No address needs an alignment.
 * Errors: E_ARGUMENT for a float beyond the range of an integer, with which it ends. */
tally_status tally_python_convert(int from, uintptr_t items, int to, uintptr_t values, uint32_t axis_count,
                                  const int64_t *numbers);

/* Wraps memory in a buffer. `address` is as in `numbers`. TALLY_PYTHON_COPIED allocates device
 * memory and leaves the copy to the caller. Errors: as the wrapping functions. */
tally_status tally_python_wrap(uintptr_t context, int memory, uintptr_t address, uint64_t bytes, tally_buffer **out);

/* Destroy the object of a handle and set the handle to NULL. A binding passes the address of a
 * handle that it owns, so the handle has an owner from the call on that makes it. */
void tally_python_end_plan(tally_plan **plan);
void tally_python_end_queue(tally_queue **queue);
void tally_python_end_buffer(tally_buffer **buffer);

/* Returns TALLY_NO_INDEX, a macro that a binding cannot see. */
uint64_t tally_python_no_index(void);

/* ---- DLPack ---------------------------------------------------------------------------------- */

/* The layouts of DLPack 1.x, by its specification. */
typedef struct tally_dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in items; strides may be NULL in capsules without a version */
    uint64_t byte_offset;
} tally_dl_tensor;

/* The content of a capsule "dltensor". */
typedef struct tally_dl_managed {
    tally_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct tally_dl_managed *self);
} tally_dl_managed;

/* The content of a capsule "dltensor_versioned". */
typedef struct tally_dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct tally_dl_versioned *self);
    uint64_t flags; /* 1: read-only; 2: a copy */
    tally_dl_tensor tensor;
} tally_dl_versioned;

/* Most axes of an array that can be read. */
#define TALLY_DL_AXES 64

/* An array that a producer gave, read. */
typedef struct tally_dl_read {
    uintptr_t content; /* what tally_python_dl_end deletes; 0: nothing */
    uintptr_t data;    /* the address of the first item, byte_offset added */
    uintptr_t stream;  /* of tally_python_dl_exchange, on CUDA: the producer's current stream */
    int32_t versioned; /* 1: the capsule was "dltensor_versioned" */
    uint32_t major, minor;
    int32_t readonly;
    int32_t device_type, device_id;
    int32_t code, bits, lanes;
    int32_t ndim;
    int64_t numbers[128]; /* the ndim extents, then the ndim strides in items */
} tally_dl_read;

/* The readers return one of these. */
typedef enum tally_dl_status {
    TALLY_DL_READ = 0,
    TALLY_DL_NO_CAPSULE = 1, /* neither name, or consumed before */
    TALLY_DL_VERSION = 2,    /* another major version: `content` is to be ended, nothing else is read */
    TALLY_DL_TOO_MANY = 3,   /* more than TALLY_DL_AXES axes: `content` is to be ended */
    TALLY_DL_REFUSED = 4     /* the producer could not; ask it by __dlpack__, which says why */
} tally_dl_status;

/* Consumes a capsule, a PyObject's address: renames it and reads it. Takes the global lock. */
tally_dl_status tally_python_dl_take(uintptr_t capsule, tally_dl_read *to);
/* Calls the deleter of a content that was taken, once. Takes the global lock. */
void tally_python_dl_end(tally_dl_read *of);
/* Returns the table of DLPack's C exchange interface in a capsule "dlpack_exchange_api", which is
 * the attribute __dlpack_c_exchange_api__ of a type. Returns 0 for another capsule and for a table
 * without version 1. Takes the global lock. */
uintptr_t tally_python_dl_table(uintptr_t capsule);
/* Reads an array of a type that has the table. The caller ends *to, which keeps the array's memory,
 * as after tally_python_dl_take. On CUDA `stream` is the producer's current one: work on it is in
 * order, so nothing has to wait. Takes the global lock. */
tally_dl_status tally_python_dl_exchange(uintptr_t table, uintptr_t object, tally_dl_read *to);

/*
 * Makes a Python function of one argument, an array of a type that has the table. It returns a
 * tuple of four: bytes, equal for two arrays of one type of items, shape, strides, device and
 * stream; on CUDA the producer's current stream and the device's number, else None twice; the
 * address of the first item. All four are None for an array on another device, for one that is a
 * negated or conjugated view, as PyTorch has them, and for one that the producer refuses. Returns a
 * new reference; 0 where the table cannot do it or memory ran out. Takes the global lock.
 */
uintptr_t tally_python_dl_looker(uintptr_t table);

/*
 * Makes the content of a capsule for the memory of `buffer`. tensor->shape and ->strides are
 * copied. The content owns the buffer from then on: the deleter destroys it. `versioned` chooses
 * the layout. Returns NULL where memory ran out; the buffer then stays the caller's.
 */
void *tally_python_export(tally_buffer *buffer, const tally_dl_tensor *tensor, int versioned);
/* A capsule's destructor: frees the content of one that nobody has consumed. */
void tally_python_capsule_end(void *capsule);
/* The number of contents that tally_python_export made and no deleter has freed, for tests. */
int64_t tally_python_exports(void);

#endif
