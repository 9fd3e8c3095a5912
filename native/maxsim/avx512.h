/* What the AVX-512 kernels share: the running maximum of 16 query tokens, in registers. */
#ifndef MAXSIM_AVX512_H
#define MAXSIM_AVX512_H

#include <immintrin.h>

#include "kernel.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define INLINE static inline __attribute__((always_inline))

/* Tiles to score in full; a rest of up to four tokens is scored as half a tile. */
INLINE int64_t whole_tiles(int64_t tokens) { return (tokens + 3) / TILE; }

struct maximum {
    __m512 value;
    __m512i where;
};

AVX512 INLINE struct maximum load_maximum(const float *best, const int32_t *where, int half,
                                          int track) {
    struct maximum top = {_mm512_loadu_ps(best + half * BLOCK), _mm512_setzero_si512()};
    if (track) top.where = _mm512_loadu_si512(where + half * BLOCK);
    return top;
}

AVX512 INLINE void store_maximum(const struct maximum *top, float *best, int32_t *where, int half,
                                 int track) {
    _mm512_storeu_ps(best + half * BLOCK, top->value);
    if (track) _mm512_storeu_si512(where + half * BLOCK, top->where);
}

AVX512 INLINE void raise_maximum(struct maximum *top, __m512 similarity, int32_t token, int track) {
    if (track) {
        const __mmask16 higher = _mm512_cmp_ps_mask(similarity, top->value, _CMP_GT_OQ);
        top->where = _mm512_mask_mov_epi32(top->where, higher, _mm512_set1_epi32(token));
    }
    top->value = _mm512_max_ps(similarity, top->value);
}

/* Four bytes of a document, a pair of bf16 or four of i8, in all 16 places. */
AVX512 INLINE __m512i broadcast_word(const void *word) {
    int32_t value;
    memcpy(&value, word, sizeof value);
    return _mm512_set1_epi32(value);
}

#endif
