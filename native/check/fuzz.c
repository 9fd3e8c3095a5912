/*
 * libFuzzer: anything as tiles, as rows and as a query. Nothing may be read out of bounds, no score
 * may be NaN, no place outside its document, and what maxsim_tile wrote scores as the rows do.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../maxsim/maxsim.h"

enum { MAX_DOCUMENTS = 4 };

struct input {
    const uint8_t *data;
    size_t left;
};

static uint32_t take(struct input *input, uint32_t below) {
    if (!input->left) return 0;
    input->left--;
    return *input->data++ % below;
}

/* A buffer of exactly `bytes`, filled with what is left of the input, over and over. */
static void *fill(struct input *input, int64_t bytes) {
    uint8_t *buffer = malloc((size_t)bytes + (bytes == 0));
    if (!buffer) abort();
    for (int64_t i = 0; i < bytes; i++)
        buffer[i] = input->left ? input->data[(size_t)i % input->left] : (uint8_t)i;
    if (input->left) input->data++, input->left--;
    return buffer;
}

static void demand(int condition) {
    if (!condition) abort();
}

static int is_written_by_us(const void *rows, int type, int64_t tokens, int32_t dim, void *tiles) {
    return maxsim_tile(type, rows, tokens, dim, tiles) == maxsim_tiles_bytes(type, tokens, dim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    int kernels = 0, chosen = 0;
    while (maxsim_kernel_name(kernels)) kernels++;
    chosen = (int)take(&input, (uint32_t)kernels);
    if (maxsim_select(maxsim_kernel_name(chosen)) != MAXSIM_OK) return 0;

    const int type = (int)take(&input, 4), threads = 1 + (int)take(&input, 3);
    const int32_t dim = 4 * (1 + (int32_t)take(&input, 40)), nq = 1 + (int32_t)take(&input, 70);
    const int64_t n = take(&input, MAX_DOCUMENTS + 1);

    float *query_rows = fill(&input, (int64_t)nq * dim * 4);
    void *query = aligned_alloc(64, (size_t)maxsim_query_bytes(type, nq, dim));
    demand(query != NULL);
    if (maxsim_query_pack(type, query_rows, nq, dim, query) < 0) {
        for (int64_t i = 0; i < (int64_t)nq * dim; i++) query_rows[i] = (float)(i % 7) - 3;
        demand(maxsim_query_pack(type, query_rows, nq, dim, query) > 0);
    }

    void *tiles[MAX_DOCUMENTS], *rows[MAX_DOCUMENTS];
    int32_t tokens[MAX_DOCUMENTS];
    for (int64_t d = 0; d < n; d++) {
        tokens[d] = (int32_t)take(&input, 200);
        rows[d] = fill(&input, (int64_t)tokens[d] * dim * 4);
        tiles[d] = fill(&input, maxsim_tiles_bytes(type, tokens[d], dim));
    }
    const void *queries[] = {query};
    float scores[MAX_DOCUMENTS], from_rows[MAX_DOCUMENTS];
    uint8_t status[MAX_DOCUMENTS], row_status[MAX_DOCUMENTS];
    float *similarities = malloc(sizeof *similarities * (size_t)(n * nq + 1));
    int32_t *where = malloc(sizeof *where * (size_t)(n * nq + 1));
    demand(similarities && where);

    demand(maxsim_align(query, (const void *const *)tiles, tokens, n, MAXSIM_TILES, threads, NULL,
                        scores, status, similarities, where) == MAXSIM_OK);
    for (int64_t d = 0; d < n; d++) {
        demand(!isnan(scores[d]) && scores[d] < INFINITY);
        for (int64_t i = d * nq; i < (d + 1) * nq; i++)
            demand(!isnan(similarities[i]) && where[i] < tokens[d] && where[i] >= -1);
    }
    demand(maxsim_score(queries, 1, (const void *const *)rows, tokens, n, MAXSIM_ROWS, threads,
                        NULL, from_rows, row_status) == MAXSIM_OK);
    for (int64_t d = 0; d < n; d++) {
        const int valid = is_written_by_us(rows[d], type, tokens[d], dim, tiles[d]);
        demand(valid == (row_status[d] != MAXSIM_NOT_FINITE));
        demand(maxsim_score(queries, 1, (const void *const *)&tiles[d], &tokens[d], 1, MAXSIM_TILES,
                            1, NULL, &scores[d], &status[d]) == MAXSIM_OK);
        if (valid) demand(memcmp(&scores[d], &from_rows[d], sizeof(float)) == 0);
        if (valid && tokens[d]) demand(fabsf(scores[d]) < INFINITY);
    }
    for (int64_t d = 0; d < n; d++) free(tiles[d]), free(rows[d]);
    free(query_rows), free(query), free(similarities), free(where);
    return 0;
}
