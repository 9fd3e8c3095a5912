/* The reference: what every other kernel must compute, in portable C. */
#include "kernel.h"

int scalar_supported(void) { return 1; }

static void raise_best(float *best, int32_t *where, const float *similarity, int32_t token) {
    for (int i = 0; i < BLOCK; i++)
        if (similarity[i] > best[i]) {
            best[i] = similarity[i];
            if (where) where[i] = token;
        }
}

void scalar_f32(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
                float *best, int32_t *where) {
    const int32_t dim = query->dim;
    for (int32_t b = 0; b < query->blocks; b++) {
        const float *q = (const float *)query_part(query, query->f32) + (int64_t)b * dim * BLOCK;
        for (int64_t t = 0; t < tile_count(count); t++) {
            const float *tile = (const float *)tiles + t * dim * TILE;
            for (int j = 0; j < TILE; j++) {
                float sum[BLOCK] = {0};
                for (int32_t k = 0; k < dim; k++)
                    for (int i = 0; i < BLOCK; i++) sum[i] += q[k * BLOCK + i] * tile[k * TILE + j];
                raise_best(best + b * BLOCK, where ? where + b * BLOCK : NULL, sum,
                           first + (int32_t)(t * TILE + j));
            }
        }
    }
}

void scalar_i8(const struct maxsim_query *query, const void *tiles, int64_t count, int32_t first,
               float *best, int32_t *where) {
    const int32_t dim = query->dim;
    const int64_t stride = tile_bytes(MAXSIM_I8, dim);
    for (int32_t b = 0; b < query->blocks; b++) {
        const int8_t *q = (const int8_t *)query_part(query, query->i8) + (int64_t)b * dim * BLOCK;
        const int32_t *bias = (const int32_t *)query_part(query, query->bias) + b * BLOCK;
        for (int64_t t = 0; t < tile_count(count); t++) {
            const uint8_t *tile = (const uint8_t *)tiles + t * stride;
            const float *scale = (const float *)(const void *)(tile + (int64_t)dim * TILE);
            for (int j = 0; j < TILE; j++) {
                int32_t sum[BLOCK];
                float similarity[BLOCK];
                memcpy(sum, bias, sizeof sum);
                for (int32_t k = 0; k < dim; k += 4)
                    for (int i = 0; i < BLOCK; i++)
                        for (int l = 0; l < 4; l++)
                            sum[i] += q[k * BLOCK + i * 4 + l] * tile[k * TILE + j * 4 + l];
                for (int i = 0; i < BLOCK; i++) similarity[i] = (float)sum[i] * scale[j];
                raise_best(best + b * BLOCK, where ? where + b * BLOCK : NULL, similarity,
                           first + (int32_t)(t * TILE + j));
            }
        }
    }
}

static float f32_from_f16(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    const uint32_t mantissa = half & 0x3ff;
    if (exponent == 31) return f32_from_bits(sign | 0x7f800000 | mantissa << 13);
    if (exponent == 0) {
        const float tiny = (float)mantissa * 0x1p-24f;
        return sign ? -tiny : tiny;
    }
    return f32_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

void scalar_widen_f16(const void *tile, int32_t dim, float *wide) {
    const uint16_t *half = tile;
    for (int32_t k = 0; k < dim * TILE; k++) wide[k] = f32_from_f16(half[k]);
}

/* [dim / 2][8][2] to [dim][8]. */
void scalar_widen_bf16(const void *tile, int32_t dim, float *wide) {
    const uint16_t *half = tile;
    for (int32_t k = 0; k < dim; k++)
        for (int j = 0; j < TILE; j++)
            wide[k * TILE + j] =
                f32_from_bits((uint32_t)half[k / 2 * 2 * TILE + j * 2 + k % 2] << 16);
}

int scalar_interleave(const float *const rows[TILE], int32_t dim, float *tile) {
    int valid = 1;
    for (int32_t k = 0; k < dim; k++)
        for (int j = 0; j < TILE; j++) {
            tile[k * TILE + j] = rows[j][k];
            valid &= is_valid(rows[j][k]);
        }
    return valid;
}
