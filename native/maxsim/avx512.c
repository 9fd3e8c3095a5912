/*
 * AVX-512. A block of 16 query tokens fills a register. Two blocks at a time and a tile of 8
 * document tokens give 8 x 2 accumulators; with 2 query registers, a broadcast and 2 running
 * maxima that is 21 of 32 registers, and nothing is written back inside a document.
 *
 *     for k:   q0, q1 = query[b][k][0..15], query[b + 1][k][0..15]
 *              for j in 0..7:   sum[j][0] += q0 * tile[k][j];   sum[j][1] += q1 * tile[k][j]
 */
#include "kernel.h"

#if defined(__x86_64__)
#include "avx512.h"
#include "x86.h"

int avx512_supported(void) { return x86_has(X86_AVX512); }

/* The first `rows` tokens of one tile. */
AVX512 INLINE void tile(const float *q, int32_t dim, const float *d, int32_t first,
                        struct maximum top[2], const int rows, const int width, const int track) {
    const float *next = q + (int64_t)dim * BLOCK, *after = d + (int64_t)dim * TILE;
    __m512 sum[TILE][2];
#pragma GCC unroll 8
    for (int j = 0; j < rows; j++) sum[j][0] = sum[j][1] = _mm512_setzero_ps();
    for (int32_t k = 0; k < dim; k++) {
        const __m512 q0 = _mm512_load_ps(q + k * BLOCK);
        const __m512 q1 = width == 2 ? _mm512_load_ps(next + k * BLOCK) : q0;
        _mm_prefetch((const char *)(after + k * TILE), _MM_HINT_T0);
#pragma GCC unroll 8
        for (int j = 0; j < rows; j++) {
            const __m512 token = _mm512_set1_ps(d[k * TILE + j]);
            sum[j][0] = _mm512_fmadd_ps(q0, token, sum[j][0]);
            if (width == 2) sum[j][1] = _mm512_fmadd_ps(q1, token, sum[j][1]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < rows; j++)
        for (int h = 0; h < width; h++) raise_maximum(&top[h], sum[j][h], first + j, track);
}

AVX512 INLINE void blocks(const struct maxsim_query *query, int32_t b, const void *tiles,
                          int64_t count, int32_t first, float *best, int32_t *where,
                          const int width, const int track) {
    const int32_t dim = query->dim;
    const int64_t step = (int64_t)dim * TILE, whole = whole_tiles(count);
    const float *q = (const float *)query_part(query, query->f32) + (int64_t)b * dim * BLOCK;
    const float *d = tiles;
    struct maximum top[2];
    for (int h = 0; h < width; h++) top[h] = load_maximum(best, where, h, track);
    for (int64_t t = 0; t < whole; t++, d += step, first += TILE)
        tile(q, dim, d, first, top, TILE, width, track);
    if (count > whole * TILE) tile(q, dim, d, first, top, TILE / 2, width, track);
    for (int h = 0; h < width; h++) store_maximum(&top[h], best, where, h, track);
}

AVX512 void avx512_f32(const struct maxsim_query *query, const void *tiles, int64_t count,
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

int avx512_supported(void) { return 0; }

void avx512_f32(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
                float *best, int32_t *where) {
    scalar_f32(query, tiles, count, first, best, where);
}

#endif
