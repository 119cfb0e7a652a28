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
 */
typedef struct tally_python_arrays {
    uintptr_t context, plan, queue;
    tally_python_memory memory;
    uint32_t axis_count, inputs, masks, outputs;
} tally_python_arrays;

/* A reduction bound to its arrays: ready to run, many times. */
typedef struct tally_python_bound tally_python_bound;

/* Wraps the arrays. The caller ends *out with tally_python_unbind. The arrays' memory stays the
 * caller's and must outlive *out. Strides and offsets must be multiples of the items' bytes.
 * Errors: as tally_buffer_create and the wrapping functions. */
tally_status tally_python_bind(const tally_python_arrays *arrays, const int64_t *numbers, tally_python_bound **out);
/* Reduces. Blocks for host memory, enqueues for device memory. Errors: as tally_reduce_axes. */
tally_status tally_python_run(tally_python_bound *bound);
/* Ends what tally_python_bind made. Takes NULL. Waits for the queue of host memory. */
void tally_python_unbind(tally_python_bound *bound);

/* Binds, runs and unbinds. Errors: as the three. */
tally_status tally_python_reduce(uintptr_t context, uintptr_t plan, uintptr_t queue, int memory, uint32_t axis_count,
                                 uint32_t inputs, uint32_t masks, uint32_t outputs, const int64_t *numbers);

/* Reduces n neighbouring host items. Blocks. Errors: as tally_reduce_host. */
tally_status tally_python_whole(uintptr_t context, int op, int dtype, uintptr_t items, uint64_t n, uintptr_t result);

/* Makes memory a buffer: `address` is as in `numbers`. TALLY_PYTHON_COPIED allocates device memory
 * and leaves the copy to the caller. Errors: as the wrapping functions. */
tally_status tally_python_wrap(uintptr_t context, int memory, uintptr_t address, uint64_t bytes, tally_buffer **out);

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
