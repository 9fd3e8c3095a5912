/*
 * AVX-512 VNNI, the i8 kernel: as avx512.c, four dimensions at a time. vpdpbusd multiplies unsigned
 * by signed bytes: the document's are values + 128, and a sum that starts at the query's bias
 * (-128 times the sum of its values) ends exact.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include "avx512.h"
#include "x86.h"

#define VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

int avx512vnni_supported(void) { return x86_has(X86_AVX512VNNI); }

/* The first `rows` tokens of one tile. */
VNNI INLINE void tile(const int8_t *q, const int32_t *bias, int32_t dim, const uint8_t *d,
                      int32_t first, struct maximum top[2], const int rows, const int width,
                      const int track) {
    const int8_t *next = q + (int64_t)dim * BLOCK;
    const uint8_t *after = d + tile_bytes(MAXSIM_I8, dim);
    const float *scale = (const float *)(const void *)(d + (int64_t)dim * TILE);
    const __m512i bias0 = _mm512_load_si512(bias);
    const __m512i bias1 = width == 2 ? _mm512_load_si512(bias + BLOCK) : bias0;
    __m512i sum[TILE][2];
#pragma GCC unroll 8
    for (int j = 0; j < rows; j++) {
        sum[j][0] = bias0;
        sum[j][1] = bias1;
    }
    for (int32_t k = 0; k < dim; k += 4) {
        const __m512i q0 = _mm512_load_si512(q + k * BLOCK);
        const __m512i q1 = width == 2 ? _mm512_load_si512(next + k * BLOCK) : q0;
        _mm_prefetch((const char *)(after + k * TILE), _MM_HINT_T0);
#pragma GCC unroll 8
        for (int j = 0; j < rows; j++) {
            const __m512i token = broadcast_word(d + k * TILE + 4 * j);
            sum[j][0] = _mm512_dpbusd_epi32(sum[j][0], token, q0);
            if (width == 2) sum[j][1] = _mm512_dpbusd_epi32(sum[j][1], token, q1);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < rows; j++) {
        const __m512 factor = _mm512_set1_ps(scale[j]);
        for (int h = 0; h < width; h++)
            raise_maximum(&top[h], _mm512_mul_ps(_mm512_cvtepi32_ps(sum[j][h]), factor), first + j,
                          track);
    }
}

VNNI INLINE void blocks(const struct maxsim_query *query, int32_t b, const void *tiles,
                        int64_t count, int32_t first, float *best, int32_t *where,
                        const int width, const int track) {
    const int32_t dim = query->dim;
    const int64_t step = tile_bytes(MAXSIM_I8, dim), whole = whole_tiles(count);
    const int8_t *q = (const int8_t *)query_part(query, query->i8) + (int64_t)b * dim * BLOCK;
    const int32_t *bias = (const int32_t *)query_part(query, query->bias) + b * BLOCK;
    const uint8_t *d = tiles;
    struct maximum top[2];
    for (int h = 0; h < width; h++) top[h] = load_maximum(best, where, h, track);
    for (int64_t t = 0; t < whole; t++, d += step, first += TILE)
        tile(q, bias, dim, d, first, top, TILE, width, track);
    if (count > whole * TILE) tile(q, bias, dim, d, first, top, TILE / 2, width, track);
    for (int h = 0; h < width; h++) store_maximum(&top[h], best, where, h, track);
}

VNNI void avx512vnni_i8(const struct maxsim_query *query, const void *tiles, int64_t count,
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

int avx512vnni_supported(void) { return 0; }

void avx512vnni_i8(const struct maxsim_query *query, const void *tiles, int64_t count,
                   int32_t first, float *best, int32_t *where) {
    scalar_i8(query, tiles, count, first, best, where);
}

#endif
