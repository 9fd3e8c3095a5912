/* Rows to tiles and back, and the query's packing. The layouts are drawn in maxsim.h, kernel.h. */
#include "kernel.h"

static uint32_t bits_from_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float f32_from_bf16(uint16_t half) { return f32_from_bits((uint32_t)half << 16); }

/* Round to nearest, ties to even. */
uint16_t bf16_from_f32(float value) {
    const uint32_t bits = bits_from_f32(value);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Round to nearest, ties to even; the caller has checked that |value| <= 65504. */
static uint16_t f16_from_f32(float value) {
    const uint32_t bits = bits_from_f32(value), sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude < 0x38800000) /* below 2^-14: a multiple of 2^-24, rounded by the addition */
        return (uint16_t)(sign | (bits_from_f32(f32_from_bits(magnitude) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

/* Infinity if a value is not valid. */
static float largest_magnitude(const float *values, int32_t dim) {
    float largest = 0;
    int valid = 1;
    for (int32_t k = 0; k < dim; k++) {
        const float magnitude = fabsf(values[k]);
        largest = magnitude > largest ? magnitude : largest;
        valid &= magnitude <= VALUE_LIMIT;
    }
    return valid ? largest : INFINITY;
}

/* Adding 1.5 * 2^23 rounds to nearest even and leaves the integer in the low bits. */
static int8_t round_to_i8(float value) {
    return (int8_t)(int32_t)(bits_from_f32(value + 0x1.8p23f) - 0x4b400000);
}

float quantise(const float *values, int32_t dim, int8_t *out) {
    const float largest = largest_magnitude(values, dim);
    if (largest > VALUE_LIMIT) return -1;
    if (largest < 0x1p-100f) { /* the scale's inverse would overflow */
        for (int32_t k = 0; k < dim; k++) out[k] = 0;
        return 0;
    }
    const float inverse = 127.0f / largest;
    for (int32_t k = 0; k < dim; k++) out[k] = round_to_i8(values[k] * inverse);
    return largest / 127.0f;
}

/* One tile from 1 to 8 rows; 0 if a value is not valid. */
int tile_rows(const struct target *target, int type, const float *rows, int64_t count, int32_t dim,
              void *tile) {
    const float *row[TILE];
    for (int j = 0; j < TILE; j++) row[j] = rows + (j < count ? j : count - 1) * dim;

    if (type == MAXSIM_F32) return target->interleave(row, dim, tile);
    if (type == MAXSIM_I8) {
        uint8_t *bytes = tile;
        float *scale = (float *)(void *)(bytes + (int64_t)dim * TILE);
        for (int j = 0; j < TILE; j++) {
            int8_t values[MAXSIM_MAX_DIM];
            if ((scale[j] = quantise(row[j], dim, values)) < 0) return 0;
            for (int32_t k = 0; k < dim; k++) values[k] ^= -128; /* + 128, as a byte */
            for (int32_t k = 0; k < dim; k += 4) memcpy(bytes + k * TILE + j * 4, values + k, 4);
        }
        return 1;
    }
    const int pair = type == MAXSIM_BF16 ? 2 : 1;
    const float limit = type == MAXSIM_BF16 ? VALUE_LIMIT : 65504;
    uint16_t *half = tile;
    for (int j = 0; j < TILE; j++)
        for (int32_t k = 0; k < dim; k++) {
            const float value = row[j][k];
            if (!(fabsf(value) <= limit)) return 0;
            half[k / pair * pair * TILE + j * pair + k % pair] =
                type == MAXSIM_BF16 ? bf16_from_f32(value) : f16_from_f32(value);
        }
    return 1;
}

static int is_shape(int type, int64_t tokens, int32_t dim) {
    return type >= MAXSIM_F32 && type <= MAXSIM_I8 && tokens >= 0 && tokens <= INT32_MAX - TILE &&
           dim >= 4 && dim <= MAXSIM_MAX_DIM && dim % 4 == 0;
}

int64_t maxsim_tiles_bytes(int type, int64_t tokens, int32_t dim) {
    return is_shape(type, tokens, dim) ? tile_count(tokens) * tile_bytes(type, dim) : -1;
}

/* The token in [first, first + count) at which tile_rows stopped. */
static int64_t first_invalid(int type, const float *rows, int64_t count, int32_t dim) {
    const float limit = type == MAXSIM_F16 ? 65504 : VALUE_LIMIT;
    for (int64_t j = 0; j < count; j++)
        for (int32_t k = 0; k < dim; k++)
            if (!(fabsf(rows[j * dim + k]) <= limit)) return j;
    return count - 1;
}

int64_t maxsim_tile(int type, const float *rows, int64_t tokens, int32_t dim, void *tiles) {
    const struct target *target = active_target();
    const int64_t stride = tile_bytes(type, dim);
    for (int64_t t = 0; t < tokens; t += TILE) {
        const int64_t count = tokens - t < TILE ? tokens - t : TILE;
        if (!tile_rows(target, type, rows + t * dim, count, dim, (char *)tiles + t / TILE * stride))
            return -1 - (t + first_invalid(type, rows + t * dim, count, dim));
    }
    return tile_count(tokens) * stride;
}

void maxsim_untile(int type, const void *tiles, int64_t tokens, int32_t dim, float *rows) {
    const int64_t stride = tile_bytes(type, dim);
    for (int64_t token = 0; token < tokens; token++) {
        const char *tile = (const char *)tiles + token / TILE * stride;
        const int64_t j = token % TILE;
        float wide[TILE * 4];
        for (int32_t k = 0; k < dim; k += 4) { /* four dimensions are contiguous in every layout */
            float *row = rows + token * dim + k;
            if (type == MAXSIM_I8) {
                const uint8_t *bytes = (const uint8_t *)tile + k * TILE + j * 4;
                float scale;
                memcpy(&scale, tile + (int64_t)dim * TILE + j * 4, sizeof scale);
                for (int l = 0; l < 4; l++) row[l] = (float)(bytes[l] - 128) * scale;
                continue;
            }
            if (type == MAXSIM_F32)
                memcpy(wide, tile + (int64_t)k * TILE * 4, sizeof wide);
            else if (type == MAXSIM_F16)
                scalar_widen_f16(tile + (int64_t)k * TILE * 2, 4, wide);
            else
                scalar_widen_bf16(tile + (int64_t)k * TILE * 2, 4, wide);
            for (int l = 0; l < 4; l++) row[l] = wide[l * TILE + j];
        }
    }
}

static int64_t round_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* Lay the parts of a query out; returns its size. */
static int64_t query_layout(struct maxsim_query *query) {
    const int64_t values = (int64_t)query->blocks * BLOCK * query->dim;
    const int64_t tokens = (int64_t)query->blocks * BLOCK;
    int64_t end = round_up(sizeof *query);
    query->f32 = end;
    if (query->type != MAXSIM_I8) end += round_up(values * 4);
    query->bf16 = end;
    if (query->type == MAXSIM_BF16) end += round_up(values * 2);
    query->i8 = end;
    if (query->type == MAXSIM_I8) end += round_up(values);
    query->bias = end;
    if (query->type == MAXSIM_I8) end += round_up(tokens * 4);
    query->scale = end;
    if (query->type == MAXSIM_I8) end += round_up(tokens * 4);
    return end;
}

static struct maxsim_query query_header(int type, int32_t tokens, int32_t dim) {
    return (struct maxsim_query){
        .type = type, .tokens = tokens, .dim = dim, .blocks = (tokens + BLOCK - 1) / BLOCK};
}

int64_t maxsim_query_bytes(int type, int32_t tokens, int32_t dim) {
    if (!is_shape(type, tokens, dim) || tokens < 1 || tokens > MAXSIM_MAX_QUERY_TOKENS) return -1;
    struct maxsim_query query = query_header(type, tokens, dim);
    return query_layout(&query);
}

int64_t maxsim_query_pack(int type, const float *rows, int32_t tokens, int32_t dim, void *buffer) {
    struct maxsim_query *query = buffer;
    *query = query_header(type, tokens, dim);
    const int64_t size = query_layout(query);
    memset((char *)buffer + sizeof *query, 0, (size_t)(size - (int64_t)sizeof *query));

    float *f32 = (float *)(void *)((char *)buffer + query->f32);
    uint16_t *bf16 = (uint16_t *)(void *)((char *)buffer + query->bf16);
    int8_t *i8 = (int8_t *)buffer + query->i8;
    int32_t *bias = (int32_t *)(void *)((char *)buffer + query->bias);
    float *scale = (float *)(void *)((char *)buffer + query->scale);

    for (int32_t token = 0; token < tokens; token++) {
        const float *row = rows + (int64_t)token * dim;
        const int64_t block = (int64_t)(token / BLOCK) * BLOCK * dim;
        const int32_t i = token % BLOCK;
        int valid = 1;
        for (int32_t k = 0; k < dim; k++) valid &= is_valid(row[k]);
        if (!valid) return -1 - token;
        if (type == MAXSIM_I8) {
            int8_t values[MAXSIM_MAX_DIM];
            scale[token] = quantise(row, dim, values);
            for (int32_t k = 0; k < dim; k++) bias[token] -= 128 * values[k];
            for (int32_t k = 0; k < dim; k += 4)
                memcpy(i8 + block + k * BLOCK + i * 4, values + k, 4);
            continue;
        }
        for (int32_t k = 0; k < dim; k++) {
            float value = row[k];
            if (type == MAXSIM_BF16) {
                const uint16_t half = bf16_from_f32(value);
                bf16[block + k / 2 * 2 * BLOCK + i * 2 + k % 2] = half;
                value = f32_from_bf16(half);
            }
            f32[block + (int64_t)k * BLOCK + i] = value;
        }
    }
    return size;
}
