/*
 * The library against arithmetic in double precision, on random documents, for every kernel that
 * runs here. Every buffer has its exact size, so that a sanitizer sees a read past its end.
 *
 *     driver [cases] [expected kernel]
 */
#define _POSIX_C_SOURCE 200809L

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../maxsim/maxsim.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) fail(#condition, __LINE__); \
    } while (0)

static const char *const types[] = {"f32", "f16", "bf16", "i8"};
static uint64_t seed = 1;

static void fail(const char *what, int line) {
    fprintf(stderr, "driver.c:%d: %s (kernel %s, seed %llu)\n", line, what, maxsim_kernel(),
            (unsigned long long)seed);
    exit(1);
}

static uint32_t random_below(uint32_t n) { /* xorshift64* */
    seed ^= seed >> 12, seed ^= seed << 25, seed ^= seed >> 27;
    return (uint32_t)((seed * 0x2545f4914f6cdd1dull >> 33) % n);
}

static void *allocate(int64_t bytes) {
    void *memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64 + 64);
    CHECK(memory);
    return memory;
}

static float *random_rows(int64_t tokens, int32_t dim) {
    float *rows = malloc((size_t)(tokens * dim) * 4 + 1);
    CHECK(rows);
    const float size = random_below(8) ? 1.0f : 6e4f;
    for (int64_t i = 0; i < tokens * dim; i++)
        rows[i] = ((float)random_below(1 << 16) / 32768.0f - 1.0f) * size;
    return rows;
}

/* What the kernel multiplies: the values after the type's rounding. */
static float *rounded(int type, const float *rows, int64_t tokens, int32_t dim) {
    const int64_t bytes = maxsim_tiles_bytes(type, tokens, dim);
    void *tiles = malloc((size_t)bytes + 1);
    float *values = malloc((size_t)(tokens * dim) * 4 + 1);
    CHECK(tiles && values);
    CHECK(maxsim_tile(type, rows, tokens, dim, tiles) == bytes);
    maxsim_untile(type, tiles, tokens, dim, values);
    free(tiles);
    return values;
}

struct exact {
    double score, bound;
};

static struct exact exact_score(const float *q, int32_t nq, const float *d, int32_t n, int32_t dim) {
    struct exact sum = {0, 0};
    for (int32_t i = 0; i < nq; i++) {
        double best = -INFINITY, largest = 0;
        for (int32_t j = 0; j < n; j++) {
            double dot = 0, magnitude = 0;
            for (int32_t k = 0; k < dim; k++) {
                const double product = (double)q[i * dim + k] * d[j * dim + k];
                dot += product;
                magnitude += fabs(product);
            }
            best = fmax(best, dot);
            largest = fmax(largest, magnitude);
        }
        sum.score += best;
        sum.bound += largest;
    }
    sum.bound = (dim + 4) * 0x1p-24 * sum.bound + 1e-30;
    return sum;
}

static void check_case(int type, int32_t dim) {
    enum { DOCUMENTS = 9 };
    const int32_t nq = 1 + (int32_t)random_below(random_below(4) ? 40 : 150);
    float *query_rows = random_rows(nq, dim), *rows[DOCUMENTS];
    const void *tiles[DOCUMENTS], *as_rows[DOCUMENTS];
    int32_t tokens[DOCUMENTS];
    void *query = allocate(maxsim_query_bytes(type, nq, dim));
    CHECK(maxsim_query_pack(type, query_rows, nq, dim, query) > 0);

    for (int d = 0; d < DOCUMENTS; d++) {
        tokens[d] = random_below(6) ? (int32_t)random_below(60) : (int32_t)random_below(400);
        if (d == 4) tokens[d] = 0;
        as_rows[d] = rows[d] = random_rows(tokens[d], dim);
        const int64_t bytes = maxsim_tiles_bytes(type, tokens[d], dim);
        void *made = malloc((size_t)bytes + (bytes == 0));
        CHECK(made && maxsim_tile(type, rows[d], tokens[d], dim, made) == bytes);
        tiles[d] = made;
    }

    const void *queries[2] = {query, query};
    float scores[2 * DOCUMENTS], again[2 * DOCUMENTS];
    uint8_t status[DOCUMENTS];
    CHECK(maxsim_score(queries, 2, tiles, tokens, DOCUMENTS, MAXSIM_TILES, 1, NULL, scores,
                       status) == MAXSIM_OK);
    CHECK(memcmp(scores, scores + DOCUMENTS, sizeof scores / 2) == 0);

    float *exact_query = type == MAXSIM_BF16 || type == MAXSIM_I8
                             ? rounded(type, query_rows, nq, dim)
                             : rounded(MAXSIM_F32, query_rows, nq, dim);
    for (int d = 0; d < DOCUMENTS; d++) {
        if (tokens[d] == 0) {
            CHECK(status[d] == MAXSIM_EMPTY && scores[d] == -INFINITY);
            continue;
        }
        float *values = rounded(type, rows[d], tokens[d], dim);
        const struct exact exact = exact_score(exact_query, nq, values, tokens[d], dim);
        CHECK(status[d] == MAXSIM_SCORED);
        CHECK(fabs(scores[d] - exact.score) <= exact.bound + 1e-7 * fabs(exact.score));
        free(values);
    }

    /* The same bits with more threads, from rows, alone, and beside the alignments. */
    for (int threads = 2; threads <= 5; threads += 3) {
        CHECK(maxsim_score(queries, 2, tiles, tokens, DOCUMENTS, MAXSIM_TILES, threads, NULL, again,
                           status) == MAXSIM_OK);
        CHECK(memcmp(scores, again, sizeof scores) == 0);
    }
    CHECK(maxsim_score(queries, 2, as_rows, tokens, DOCUMENTS, MAXSIM_ROWS, 2, NULL, again,
                       status) == MAXSIM_OK);
    CHECK(memcmp(scores, again, sizeof scores) == 0);
    CHECK(maxsim_score(queries, 1, tiles + 2, tokens + 2, 1, MAXSIM_TILES, 1, NULL, again,
                       status) == MAXSIM_OK);
    CHECK(memcmp(scores + 2, again, sizeof *scores) == 0);

    float *similarities = malloc(sizeof *similarities * DOCUMENTS * (size_t)nq);
    int32_t *where = malloc(sizeof *where * DOCUMENTS * (size_t)nq);
    CHECK(similarities && where);
    for (int threads = 1; threads <= 3; threads += 2) {
        CHECK(maxsim_align(query, tiles, tokens, DOCUMENTS, MAXSIM_TILES, threads, NULL, again,
                           status, similarities, where) == MAXSIM_OK);
        CHECK(memcmp(scores, again, sizeof scores / 2) == 0);
        for (int d = 0; d < DOCUMENTS; d++) {
            double sum = 0;
            for (int32_t i = 0; i < nq; i++) {
                sum += similarities[d * nq + i];
                CHECK(tokens[d] == 0 ? where[d * nq + i] == -1
                                     : where[d * nq + i] >= 0 && where[d * nq + i] < tokens[d]);
            }
            CHECK((float)sum == scores[d]);
        }
    }

    for (int d = 0; d < DOCUMENTS; d++) free(rows[d]), free((void *)tiles[d]);
    free(query_rows), free(query), free(exact_query), free(similarities), free(where);
}

static void check_borders(void) {
    float rows[3 * 8] = {0};
    char query[4096] __attribute__((aligned(64))), tiles[4096];
    CHECK(maxsim_tiles_bytes(MAXSIM_F32, 1, 6) == -1);
    CHECK(maxsim_tiles_bytes(MAXSIM_F32, -1, 8) == -1);
    CHECK(maxsim_tiles_bytes(MAXSIM_F32, INT64_MAX, 4096) == -1);
    CHECK(maxsim_tiles_bytes(4, 1, 8) == -1);
    CHECK(maxsim_query_bytes(MAXSIM_F32, 1025, 8) == -1);
    CHECK(maxsim_query_bytes(MAXSIM_F32, 0, 8) == -1);
    CHECK(maxsim_select("no such kernel") == MAXSIM_INVALID);
    rows[9] = NAN;
    for (int type = MAXSIM_F32; type <= MAXSIM_I8; type++) {
        CHECK(maxsim_tile(type, rows, 3, 8, tiles) == -2);
        CHECK(maxsim_query_pack(type, rows, 3, 8, query) == -2);
    }
    rows[9] = 0x1p53f;
    CHECK(maxsim_tile(MAXSIM_F32, rows, 3, 8, tiles) == -2);

    CHECK(maxsim_query_pack(MAXSIM_F32, rows, 1, 8, query) > 0);
    const void *queries[] = {query}, *documents[] = {rows}, *none[] = {NULL};
    int32_t tokens[] = {3}, negative[] = {-1}, cancel = 1;
    float score;
    uint8_t status;
    CHECK(maxsim_score(queries, 1, documents, tokens, 1, MAXSIM_ROWS, 1, NULL, &score, &status) ==
          MAXSIM_OK);
    CHECK(status == MAXSIM_NOT_FINITE && score == -INFINITY);
    CHECK(maxsim_score(queries, 1, documents, tokens, 1, MAXSIM_ROWS, 1, &cancel, &score,
                       &status) == MAXSIM_CANCELLED);
    CHECK(maxsim_score(queries, 1, documents, negative, 1, 0, 1, NULL, &score, &status) ==
          MAXSIM_INVALID);
    CHECK(maxsim_score(queries, 1, none, tokens, 1, 0, 1, NULL, &score, &status) == MAXSIM_INVALID);
    CHECK(maxsim_score(queries, 1, documents, tokens, 1, 0, 65, NULL, &score, &status) ==
          MAXSIM_INVALID);
    CHECK(maxsim_score(queries, 1, documents, tokens, 1, 2, 1, NULL, &score, &status) ==
          MAXSIM_INVALID);
    CHECK(maxsim_score(queries, 1, documents, tokens, 0, 0, 4, NULL, &score, &status) ==
          MAXSIM_OK);

    const float values[] = {1, NAN, 3, 3, -INFINITY, 2};
    int64_t order[6];
    CHECK(maxsim_topk(values, 6, 9, order) == 6);
    const int64_t expected[] = {2, 3, 5, 0, 4, 1};
    CHECK(memcmp(order, expected, sizeof order) == 0);
}

/* Several callers at once share the pool, and a forked child has its own. */
static void *call(void *query) {
    enum { N = 64, DIM = 8 };
    static const float rows[40 * DIM] = {1, 2, 3};
    const void *queries[] = {query}, *documents[N];
    int32_t tokens[N];
    float scores[N];
    uint8_t status[N];
    for (int d = 0; d < N; d++) documents[d] = rows, tokens[d] = 1 + d % 40;
    for (int i = 0; i < 40; i++) {
        CHECK(maxsim_score(queries, 1, documents, tokens, N, MAXSIM_ROWS, 3, NULL, scores,
                           status) == MAXSIM_OK);
        for (int d = 0; d < N; d++) CHECK(scores[d] == 14);
    }
    return NULL;
}

static void check_threads(void) {
    pthread_t threads[4];
    const float rows[8] = {1, 2, 3};
    void *query = allocate(maxsim_query_bytes(MAXSIM_F32, 1, 8));
    CHECK(maxsim_query_pack(MAXSIM_F32, rows, 1, 8, query) > 0);
    call(query);
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, call, query) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    const pid_t child = fork();
    if (child == 0) {
        call(query);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    free(query);
}

int main(int argc, char **argv) {
    static const int32_t dims[] = {4, 8, 12, 48, 64, 96, 100, 128, 132, 384};
    const int cases = argc > 1 ? atoi(argv[1]) : 40;
    CHECK(maxsim_select(NULL) == MAXSIM_OK);
    if (argc > 2) CHECK(strcmp(maxsim_kernel(), argv[2]) == 0);
    printf("chosen: %s; checked:", maxsim_kernel());
    for (int i = 0; maxsim_kernel_name(i); i++) {
        if (!maxsim_kernel_supported(i)) continue;
        CHECK(maxsim_select(maxsim_kernel_name(i)) == MAXSIM_OK);
        for (int n = 0; n < cases; n++)
            for (int type = MAXSIM_F32; type <= MAXSIM_I8; type++)
                check_case(type, dims[random_below(sizeof dims / sizeof *dims)]);
        check_borders();
        printf(" %s", maxsim_kernel());
    }
    if (cases >= 8) check_case(MAXSIM_I8, MAXSIM_MAX_DIM);
    if (cases >= 8) check_case(MAXSIM_F16, MAXSIM_MAX_DIM);
    check_threads();
    printf("; not on this processor:");
    for (int i = 0; maxsim_kernel_name(i); i++)
        if (!maxsim_kernel_supported(i)) printf(" %s", maxsim_kernel_name(i));
    printf(" (%d cases of each of", cases);
    for (int type = MAXSIM_F32; type <= MAXSIM_I8; type++) printf(" %s", types[type]);
    printf("), threads, fork\n");
    return 0;
}
