/* SPDX-License-Identifier: MIT */
/* bits.h: the words of the preludes for the bits of floats, in C. It follows the types' names and
 * INLINE. */
#define BITS_AS(name, to, from)                                                                                                \
    INLINE to name(from v) {                                                                                                   \
        to bits;                                                                                                               \
        memcpy(&bits, &v, sizeof(bits));                                                                                       \
        return bits;                                                                                                           \
    }
BITS_AS(f32_BITS, u32, f32)
BITS_AS(f32_OF_BITS, f32, u32)
BITS_AS(f64_BITS, u64, f64)
BITS_AS(f64_OF_BITS, f64, u64)
#undef BITS_AS
