/* What the library's own files share. maxsim.h is the interface. */
#ifndef MAXSIM_KERNEL_H
#define MAXSIM_KERNEL_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "maxsim.h"

enum {
    TILE = 8,   /* document tokens in a tile */
    BLOCK = 16, /* query tokens in a block: one register of AVX-512 */
};

/*
 * A packed query: this header, then, at the offsets in bytes that it names, for each block of 16
 * tokens (the last one filled up with zeros, whose results nobody reads)
 *
 *     f32   [block][dim][16]
 *     bf16  [block][dim / 2][16][2]           bf16 only, beside f32 of the same values
 *     i8    [block][dim / 4][16][4]           signed
 *     bias  [block][16]  int32, i8 only       -128 * sum of the token's values: a document's bytes
 *                                             are values + 128, so a sum that starts here is exact
 *     scale [block][16]  f32, i8 only
 */
struct maxsim_query {
    int32_t type, tokens, dim, blocks;
    int64_t f32, bf16, i8, bias, scale;
};

static inline const void *query_part(const struct maxsim_query *query, int64_t offset) {
    return (const char *)query + offset;
}

/*
 * Raise best[i] to the largest similarity of query token i with `count` tokens in tiles, in their
 * order. The last tile's filling may be scored or not. If `where` is given, where[i] becomes the
 * index of the token that raised it last, counted from `first`. Both hold blocks * 16 entries. An i8
 * similarity lacks the query's scale.
 */
typedef void kernel_function(const struct maxsim_query *query, const void *tiles, int64_t count,
                             int32_t first, float *best, int32_t *where);

/* One tile of f16 or bf16 as f32: [dim][8]. */
typedef void widen_function(const void *tile, int32_t dim, float *wide);

/* Interleave 8 rows as one f32 tile; 0 if a value is not valid. */
typedef int interleave_function(const float *const rows[TILE], int32_t dim, float *tile);

/* A kernel: one row of the table in dispatch.c. */
struct target {
    const char *name;
    int (*supported)(void);
    kernel_function *f32, *i8;
    kernel_function *bf16; /* NULL: widen to f32 */
    widen_function *widen_f16, *widen_bf16;
    interleave_function *interleave;
};

const struct target *active_target(void);

int scalar_supported(void), avx2_supported(void), avx512_supported(void);
int avx512vnni_supported(void), avx512bf16_supported(void), neon_supported(void);
int neondot_supported(void);

kernel_function scalar_f32, avx2_f32, avx512_f32, neon_f32;
kernel_function scalar_i8, avx2_i8, avx512vnni_i8, neondot_i8;
kernel_function avx512bf16_bf16;
widen_function scalar_widen_f16, avx2_widen_f16, neon_widen_f16;
widen_function scalar_widen_bf16, avx2_widen_bf16, neon_widen_bf16;
interleave_function scalar_interleave, avx2_interleave;

/* tiles.c */
int tile_rows(const struct target *target, int type, const float *rows, int64_t count, int32_t dim,
              void *tile);
uint16_t bf16_from_f32(float value);
float quantise(const float *values, int32_t dim, int8_t *out); /* the scale; negative: not valid */

/* threads.c: call work(argument) on up to `threads` threads, the caller's included; wait for all. */
void run_on_threads(int threads, void (*work)(void *), void *argument);

#define VALUE_LIMIT 0x1p52f

static inline int is_valid(float value) { return fabsf(value) <= VALUE_LIMIT; }

static inline float f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int64_t tile_bytes(int type, int32_t dim) {
    static const int32_t size[] = {4, 2, 2, 1};
    return (int64_t)TILE * dim * size[type] + (type == MAXSIM_I8 ? TILE * (int64_t)sizeof(float) : 0);
}

static inline int64_t tile_count(int64_t tokens) { return (tokens + TILE - 1) / TILE; }

#endif
