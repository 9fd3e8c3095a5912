/*
 * NEON, with the dot-product extension for i8. A block of 16 query tokens is four registers; four
 * document tokens at a time, multiplied by lane, give 4 x 4 accumulators.
 */
#include "kernel.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>

#define DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#define INLINE static inline __attribute__((always_inline))

int neon_supported(void) { return 1; }

int neondot_supported(void) {
    enum { ASIMDDP = 1 << 20 };
    return (getauxval(AT_HWCAP) & ASIMDDP) != 0;
}

INLINE void raise_best(float *best, int32_t *where, float32x4_t similarity, int32_t token) {
    const float32x4_t top = vld1q_f32(best);
    const uint32x4_t higher = vcgtq_f32(similarity, top);
    vst1q_f32(best, vbslq_f32(higher, similarity, top));
    if (where) vst1q_s32(where, vbslq_s32(higher, vdupq_n_s32(token), vld1q_s32(where)));
}

INLINE void block_f32(const float *q, int32_t dim, const float *d, int32_t first, float *best,
                      int32_t *where) {
    float32x4_t sum[4][4];
    for (int j = 0; j < 4; j++)
        for (int h = 0; h < 4; h++) sum[j][h] = vdupq_n_f32(0);
    for (int32_t k = 0; k < dim; k++) {
        const float32x4_t tokens = vld1q_f32(d + k * TILE);
#pragma GCC unroll 4
        for (int h = 0; h < 4; h++) {
            const float32x4_t part = vld1q_f32(q + k * BLOCK + 4 * h);
            sum[0][h] = vfmaq_laneq_f32(sum[0][h], part, tokens, 0);
            sum[1][h] = vfmaq_laneq_f32(sum[1][h], part, tokens, 1);
            sum[2][h] = vfmaq_laneq_f32(sum[2][h], part, tokens, 2);
            sum[3][h] = vfmaq_laneq_f32(sum[3][h], part, tokens, 3);
        }
    }
    for (int j = 0; j < 4; j++)
        for (int h = 0; h < 4; h++)
            raise_best(best + 4 * h, where ? where + 4 * h : NULL, sum[j][h], first + j);
}

void neon_f32(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
              float *best, int32_t *where) {
    const int32_t dim = query->dim;
    for (int32_t b = 0; b < query->blocks; b++) {
        const float *q = (const float *)query_part(query, query->f32) + (int64_t)b * dim * BLOCK;
        for (int64_t t = 0; t < (count + 3) / 4; t++)
            block_f32(q, dim, (const float *)tiles + t / 2 * dim * TILE + t % 2 * 4,
                      first + (int32_t)t * 4, best + b * BLOCK, where ? where + b * BLOCK : NULL);
    }
}

DOT INLINE void block_i8(const int8_t *q, int32_t dim, const uint8_t *d, const float *scale,
                         int32_t first, float *best, int32_t *where) {
    int32x4_t sum[4][4];
    for (int j = 0; j < 4; j++)
        for (int h = 0; h < 4; h++) sum[j][h] = vdupq_n_s32(0);
    for (int32_t k = 0; k < dim; k += 4) {
        const uint8x16_t bytes = veorq_u8(vld1q_u8(d + k * TILE), vdupq_n_u8(0x80));
        const int8x16_t tokens = vreinterpretq_s8_u8(bytes); /* less the 128 */
#pragma GCC unroll 4
        for (int h = 0; h < 4; h++) {
            const int8x16_t part = vld1q_s8(q + k * BLOCK + 16 * h);
            sum[0][h] = vdotq_laneq_s32(sum[0][h], part, tokens, 0);
            sum[1][h] = vdotq_laneq_s32(sum[1][h], part, tokens, 1);
            sum[2][h] = vdotq_laneq_s32(sum[2][h], part, tokens, 2);
            sum[3][h] = vdotq_laneq_s32(sum[3][h], part, tokens, 3);
        }
    }
    for (int j = 0; j < 4; j++)
        for (int h = 0; h < 4; h++)
            raise_best(best + 4 * h, where ? where + 4 * h : NULL,
                       vmulq_n_f32(vcvtq_f32_s32(sum[j][h]), scale[j]), first + j);
}

DOT void neondot_i8(const struct maxsim_query *query, const void *tiles, int64_t count,
                    int32_t first, float *best, int32_t *where) {
    const int32_t dim = query->dim;
    const int64_t stride = tile_bytes(MAXSIM_I8, dim);
    for (int32_t b = 0; b < query->blocks; b++) {
        const int8_t *q = (const int8_t *)query_part(query, query->i8) + (int64_t)b * dim * BLOCK;
        for (int64_t t = 0; t < (count + 3) / 4; t++) {
            const uint8_t *tile = (const uint8_t *)tiles + t / 2 * stride;
            const float *scale = (const float *)(const void *)(tile + (int64_t)dim * TILE);
            block_i8(q, dim, tile + t % 2 * 16, scale + t % 2 * 4, first + (int32_t)t * 4,
                     best + b * BLOCK, where ? where + b * BLOCK : NULL);
        }
    }
}

void neon_widen_f16(const void *tile, int32_t dim, float *wide) {
    const float16_t *half = tile;
    for (int32_t k = 0; k < dim * TILE; k += 4)
        vst1q_f32(wide + k, vcvt_f32_f16(vld1_f16(half + k)));
}

/* A pair of dimensions is the low and the high half of 8 words. */
void neon_widen_bf16(const void *tile, int32_t dim, float *wide) {
    const uint16_t *half = tile;
    for (int32_t k = 0; k < dim; k += 2)
        for (int j = 0; j < TILE; j += 4) {
            const uint32x4_t both = vreinterpretq_u32_u16(vld1q_u16(half + k * TILE + j * 2));
            const uint32x4_t odd = vandq_u32(both, vdupq_n_u32(0xffff0000));
            vst1q_f32(wide + k * TILE + j, vreinterpretq_f32_u32(vshlq_n_u32(both, 16)));
            vst1q_f32(wide + (k + 1) * TILE + j, vreinterpretq_f32_u32(odd));
        }
}

#else

int neon_supported(void) { return 0; }

int neondot_supported(void) { return 0; }

void neon_f32(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
              float *best, int32_t *where) {
    scalar_f32(query, tiles, count, first, best, where);
}

void neondot_i8(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
                float *best, int32_t *where) {
    scalar_i8(query, tiles, count, first, best, where);
}

void neon_widen_f16(const void *tile, int32_t dim, float *wide) {
    scalar_widen_f16(tile, dim, wide);
}

void neon_widen_bf16(const void *tile, int32_t dim, float *wide) {
    scalar_widen_bf16(tile, dim, wide);
}

#endif
