/*
 * AVX-512 BF16: as avx512.c, a pair of dimensions at a time. vdpbf16ps rounds each product's sum to
 * nearest and takes denormals for zero.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include "avx512.h"
#include "x86.h"

#define BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

int avx512bf16_supported(void) { return x86_has(X86_AVX512BF16); }

/* The first `rows` tokens of one tile. */
BF16 INLINE void tile(const uint16_t *q, int32_t dim, const uint16_t *d, int32_t first,
                      struct maximum top[2], const int rows, const int width, const int track) {
    const uint16_t *next = q + (int64_t)dim * BLOCK, *after = d + (int64_t)dim * TILE;
    __m512 sum[TILE][2];
#pragma GCC unroll 8
    for (int j = 0; j < rows; j++) sum[j][0] = sum[j][1] = _mm512_setzero_ps();
    for (int32_t k = 0; k < dim; k += 2) {
        const __m512bh q0 = (__m512bh)_mm512_load_si512(q + k * BLOCK);
        const __m512bh q1 = width == 2 ? (__m512bh)_mm512_load_si512(next + k * BLOCK) : q0;
        _mm_prefetch((const char *)(after + k * TILE), _MM_HINT_T0);
#pragma GCC unroll 8
        for (int j = 0; j < rows; j++) {
            const __m512bh token = (__m512bh)broadcast_word(d + k * TILE + 2 * j);
            sum[j][0] = _mm512_dpbf16_ps(sum[j][0], q0, token);
            if (width == 2) sum[j][1] = _mm512_dpbf16_ps(sum[j][1], q1, token);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < rows; j++)
        for (int h = 0; h < width; h++) raise_maximum(&top[h], sum[j][h], first + j, track);
}

BF16 INLINE void blocks(const struct maxsim_query *query, int32_t b, const void *tiles,
                        int64_t count, int32_t first, float *best, int32_t *where,
                        const int width, const int track) {
    const int32_t dim = query->dim;
    const int64_t step = (int64_t)dim * TILE, whole = whole_tiles(count);
    const uint16_t *q = (const uint16_t *)query_part(query, query->bf16) + (int64_t)b * dim * BLOCK;
    const uint16_t *d = tiles;
    struct maximum top[2];
    for (int h = 0; h < width; h++) top[h] = load_maximum(best, where, h, track);
    for (int64_t t = 0; t < whole; t++, d += step, first += TILE)
        tile(q, dim, d, first, top, TILE, width, track);
    if (count > whole * TILE) tile(q, dim, d, first, top, TILE / 2, width, track);
    for (int h = 0; h < width; h++) store_maximum(&top[h], best, where, h, track);
}

BF16 void avx512bf16_bf16(const struct maxsim_query *query, const void *tiles, int64_t count,
                          int32_t first, float *best, int32_t *where) {
    for (int32_t b = 0; b < query->blocks; b += 2, best += 2 * BLOCK) {
        int32_t *place = where ? where + b * BLOCK : NULL;
        if (query->blocks - b == 1 && place)
            blocks(query, b, tiles, count, first, best, place, 1, 1);
        else if (query->blocks - b == 1)
            blocks(query, b, tiles, count, first, best, NULL, 1, 0);
        else if (place)
            blocks(query, b, tiles, count, first, best, place, 2, 1);
        else
            blocks(query, b, tiles, count, first, best, NULL, 2, 0);
    }
}

#else

int avx512bf16_supported(void) { return 0; }

void avx512bf16_bf16(const struct maxsim_query *query, const void *tiles, int64_t count,
                     int32_t first, float *best, int32_t *where) {
    (void)tiles, (void)count; /* never called: bf16 is widened, then scored as f32 */
    scalar_f32(query, NULL, 0, first, best, where);
}

#endif
