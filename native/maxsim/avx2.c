/*
 * AVX2, FMA and F16C. A block of 16 query tokens is two registers of 8; four document tokens at a
 * time give 4 x 2 accumulators, enough to hide the latency of two FMA units.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "x86.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define INLINE static inline __attribute__((always_inline))

int avx2_supported(void) { return x86_has(X86_AVX2); }

/* best = max(best, similarity), and the token where it rose. */
AVX2 INLINE void raise_best(__m256 *best, __m256i *where, __m256 similarity, int32_t token,
                            int track) {
    if (track) {
        const __m256i higher = _mm256_castps_si256(_mm256_cmp_ps(similarity, *best, _CMP_GT_OQ));
        *where = _mm256_blendv_epi8(*where, _mm256_set1_epi32(token), higher);
    }
    *best = _mm256_max_ps(similarity, *best);
}

AVX2 INLINE void block_f32(const float *q, int32_t dim, const float *tile, int64_t count,
                           int32_t first, float *best, int32_t *where, int track) {
    __m256 top[2] = {_mm256_loadu_ps(best), _mm256_loadu_ps(best + 8)};
    __m256i place[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int h = 0; h < 2 && track; h++)
        place[h] = _mm256_loadu_si256((const __m256i *)(const void *)(where + 8 * h));

    for (int64_t t = 0; t < (count + 3) / 4; t++) { /* half a tile: four document tokens */
        const float *d = tile + t / 2 * dim * TILE + t % 2 * 4;
        __m256 sum[4][2];
        for (int j = 0; j < 4; j++) sum[j][0] = sum[j][1] = _mm256_setzero_ps();
        for (int32_t k = 0; k < dim; k++) {
            const __m256 q0 = _mm256_load_ps(q + k * BLOCK), q1 = _mm256_load_ps(q + k * BLOCK + 8);
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                const __m256 token = _mm256_broadcast_ss(d + k * TILE + j);
                sum[j][0] = _mm256_fmadd_ps(q0, token, sum[j][0]);
                sum[j][1] = _mm256_fmadd_ps(q1, token, sum[j][1]);
            }
        }
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++)
                raise_best(&top[h], &place[h], sum[j][h], first + (int32_t)(t * 4 + j), track);
    }
    for (int h = 0; h < 2; h++) {
        _mm256_storeu_ps(best + 8 * h, top[h]);
        if (track) _mm256_storeu_si256((__m256i *)(void *)(where + 8 * h), place[h]);
    }
}

AVX2 void avx2_f32(const struct maxsim_query *query, const void *tiles, int64_t count,
                   int32_t first, float *best, int32_t *where) {
    const float *q = query_part(query, query->f32);
    for (int32_t b = 0; b < query->blocks; b++, q += query->dim * BLOCK, best += BLOCK) {
        if (where)
            block_f32(q, query->dim, tiles, count, first, best, where + b * BLOCK, 1);
        else
            block_f32(q, query->dim, tiles, count, first, best, NULL, 0);
    }
}

/*
 * vpmaddubsw multiplies unsigned by signed bytes and adds pairs in 16 bits. |q| <= 127 is the
 * unsigned side and d with q's sign the signed one: 2 * 127 * 127 fits. The document's +128 is
 * taken off first, so the query's bias is not needed.
 */
AVX2 INLINE void block_i8(const int8_t *q, int32_t dim, const uint8_t *tile, int64_t count,
                          int32_t first, float *best, int32_t *where, int track) {
    const int64_t stride = tile_bytes(MAXSIM_I8, dim);
    const __m256i ones = _mm256_set1_epi16(1), offset = _mm256_set1_epi8(-128);
    __m256 top[2] = {_mm256_loadu_ps(best), _mm256_loadu_ps(best + 8)};
    __m256i place[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int h = 0; h < 2 && track; h++)
        place[h] = _mm256_loadu_si256((const __m256i *)(const void *)(where + 8 * h));

    for (int64_t t = 0; t < (count + 3) / 4; t++) {
        const uint8_t *d = tile + t / 2 * stride + t % 2 * 16;
        const float *scale = (const float *)(const void *)(tile + t / 2 * stride + dim * TILE);
        __m256i sum[4][2];
        for (int j = 0; j < 4; j++) sum[j][0] = sum[j][1] = _mm256_setzero_si256();
        for (int32_t k = 0; k < dim; k += 4) {
            const __m256i *pair = (const __m256i *)(const void *)(q + k * BLOCK);
            const __m256i q0 = _mm256_load_si256(pair), q1 = _mm256_load_si256(pair + 1);
            const __m256i m0 = _mm256_abs_epi8(q0), m1 = _mm256_abs_epi8(q1);
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                int32_t four;
                memcpy(&four, d + k * TILE + j * 4, sizeof four);
                const __m256i token = _mm256_xor_si256(_mm256_set1_epi32(four), offset);
                const __m256i p0 = _mm256_maddubs_epi16(m0, _mm256_sign_epi8(token, q0));
                const __m256i p1 = _mm256_maddubs_epi16(m1, _mm256_sign_epi8(token, q1));
                sum[j][0] = _mm256_add_epi32(sum[j][0], _mm256_madd_epi16(p0, ones));
                sum[j][1] = _mm256_add_epi32(sum[j][1], _mm256_madd_epi16(p1, ones));
            }
        }
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++)
                raise_best(&top[h], &place[h],
                           _mm256_mul_ps(_mm256_cvtepi32_ps(sum[j][h]),
                                         _mm256_broadcast_ss(scale + t % 2 * 4 + j)),
                           first + (int32_t)(t * 4 + j), track);
    }
    for (int h = 0; h < 2; h++) {
        _mm256_storeu_ps(best + 8 * h, top[h]);
        if (track) _mm256_storeu_si256((__m256i *)(void *)(where + 8 * h), place[h]);
    }
}

AVX2 void avx2_i8(const struct maxsim_query *query, const void *tiles, int64_t count,
                  int32_t first, float *best, int32_t *where) {
    const int8_t *q = query_part(query, query->i8);
    for (int32_t b = 0; b < query->blocks; b++, q += query->dim * BLOCK, best += BLOCK) {
        if (where)
            block_i8(q, query->dim, tiles, count, first, best, where + b * BLOCK, 1);
        else
            block_i8(q, query->dim, tiles, count, first, best, NULL, 0);
    }
}

AVX2 void avx2_widen_f16(const void *tile, int32_t dim, float *wide) {
    const __m128i *half = tile;
    for (int32_t k = 0; k < dim; k++)
        _mm256_storeu_ps(wide + k * TILE, _mm256_cvtph_ps(_mm_loadu_si128(half + k)));
}

/* A pair of dimensions is the low and the high half of 8 words. */
AVX2 void avx2_widen_bf16(const void *tile, int32_t dim, float *wide) {
    const __m256i *pairs = tile;
    for (int32_t k = 0; k < dim; k += 2) {
        const __m256i both = _mm256_loadu_si256(pairs + k / 2);
        const __m256i odd = _mm256_and_si256(both, _mm256_set1_epi32(-65536));
        _mm256_storeu_ps(wide + k * TILE, _mm256_castsi256_ps(_mm256_slli_epi32(both, 16)));
        _mm256_storeu_ps(wide + (k + 1) * TILE, _mm256_castsi256_ps(odd));
    }
}

/* Four dimensions of 8 tokens: two 4 x 4 transpositions side by side. */
AVX2 int avx2_interleave(const float *const rows[TILE], int32_t dim, float *tile) {
    const __m256 limit = _mm256_set1_ps(VALUE_LIMIT), sign = _mm256_set1_ps(-0.0f);
    __m256 wrong = _mm256_setzero_ps();
    for (int32_t k = 0; k < dim; k += 4) {
        __m256 r[4]; /* r[j]: token j's four dimensions, then token j + 4's */
        for (int j = 0; j < 4; j++) {
            r[j] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[j] + k)),
                                        _mm_loadu_ps(rows[j + 4] + k), 1);
            const __m256 magnitude = _mm256_andnot_ps(sign, r[j]);
            wrong = _mm256_or_ps(wrong, _mm256_cmp_ps(magnitude, limit, _CMP_NLE_UQ));
        }
        const __m256 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
        const __m256 c = _mm256_unpacklo_ps(r[2], r[3]), d = _mm256_unpackhi_ps(r[2], r[3]);
        float *out = tile + k * TILE;
        _mm256_storeu_ps(out, _mm256_shuffle_ps(a, c, 0x44));
        _mm256_storeu_ps(out + 8, _mm256_shuffle_ps(a, c, 0xee));
        _mm256_storeu_ps(out + 16, _mm256_shuffle_ps(b, d, 0x44));
        _mm256_storeu_ps(out + 24, _mm256_shuffle_ps(b, d, 0xee));
    }
    return _mm256_movemask_ps(wrong) == 0;
}

#else /* another processor: the table's row is there, and not supported */

int avx2_supported(void) { return 0; }

void avx2_f32(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
              float *best, int32_t *where) {
    scalar_f32(query, tiles, count, first, best, where);
}

void avx2_i8(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
             float *best, int32_t *where) {
    scalar_i8(query, tiles, count, first, best, where);
}

void avx2_widen_f16(const void *tile, int32_t dim, float *wide) {
    scalar_widen_f16(tile, dim, wide);
}

void avx2_widen_bf16(const void *tile, int32_t dim, float *wide) {
    scalar_widen_bf16(tile, dim, wide);
}

int avx2_interleave(const float *const rows[TILE], int32_t dim, float *tile) {
    return scalar_interleave(rows, dim, tile);
}

#endif
