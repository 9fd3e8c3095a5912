/*
 * A call's work, cut by tokens. Whole documents are gathered into pieces of about equal numbers of
 * tiles, and a document longer than a piece is split: the maxima of its parts are merged at the
 * end, which is exact, so the cut changes no bit of a score. Threads take the next piece until
 * none is left.
 */
#include <stdlib.h>

#include "kernel.h"

enum {
    SCRATCH = 16 << 10,       /* bytes of tiles made on the fly at a time: with a query they fit L1 */
    PIECES_PER_THREAD = 8,    /* so that a late thread costs an eighth of its share at most */
    CANCEL_EVERY = 64 << 20,  /* multiply-adds between looks at the cancel flag: about 1 ms */
};

struct piece {
    int64_t document, documents; /* the first, and how many whole ones; 0: a part of one */
    int64_t tile, tiles;         /* the part */
    int64_t part;                /* its place in `parts` */
};

struct job {
    const struct target *target;
    const struct maxsim_query *const *queries;
    int32_t n_queries;
    const void *const *documents;
    const int32_t *tokens;
    int64_t n_documents;
    int layout, type;
    int32_t dim;
    const int32_t *cancel;
    float *scores, *similarities;
    uint8_t *status;
    int32_t *where;

    int64_t width; /* entries of all queries' maxima: the sum of blocks * 16 */
    int64_t step;  /* tiles between looks at the cancel flag */
    struct piece *pieces;
    int64_t n_pieces, n_parts;
    float *parts; /* [n_parts][width] */
    int32_t *part_where;
    int64_t next; /* taken by the threads, atomically */
    int result;
};

struct scratch {
    float *best, *wide;
    int32_t *where;
    void *memory;
};

static void stop(struct job *job, int result) {
    __atomic_store_n(&job->result, result, __ATOMIC_RELAXED);
}

static int stopped(struct job *job) {
    if (job->cancel && __atomic_load_n(job->cancel, __ATOMIC_RELAXED)) stop(job, MAXSIM_CANCELLED);
    return __atomic_load_n(&job->result, __ATOMIC_RELAXED) != MAXSIM_OK;
}

/* Tiles are read where they lie, unless the kernel has to have them made. */
static int is_direct(const struct job *job) {
    if (job->layout == MAXSIM_ROWS) return 0;
    return job->type == MAXSIM_F32 || job->type == MAXSIM_I8 ||
           (job->type == MAXSIM_BF16 && job->target->bf16);
}

static kernel_function *kernel_of(const struct job *job) {
    if (job->type == MAXSIM_I8) return job->target->i8;
    if (job->type == MAXSIM_BF16 && job->target->bf16) return job->target->bf16;
    return job->target->f32;
}

/* Make tiles [tile, tile + count) of a document as the kernel wants them; 0 if not valid. */
static int make_tiles(const struct job *job, int64_t document, int64_t tile, int64_t count,
                      void *made) {
    const struct target *target = job->target;
    const int32_t dim = job->dim;
    const int wide = kernel_of(job) == target->f32;
    const int64_t stride = tile_bytes(wide ? MAXSIM_F32 : job->type, dim);
    uint16_t half[TILE * MAXSIM_MAX_DIM];

    for (int64_t t = tile; t < tile + count; t++, made = (char *)made + stride) {
        const void *from = (const char *)job->documents[document] + t * tile_bytes(job->type, dim);
        if (job->layout == MAXSIM_ROWS) {
            const float *rows = (const float *)job->documents[document] + t * TILE * dim;
            const int64_t left = job->tokens[document] - t * TILE;
            const int narrow = wide && job->type != MAXSIM_F32;
            void *into = narrow ? (void *)half : made;
            if (!tile_rows(target, job->type, rows, left < TILE ? left : TILE, dim, into)) return 0;
            if (!narrow) continue;
            from = half;
        }
        if (job->type == MAXSIM_F16) target->widen_f16(from, dim, made);
        if (job->type == MAXSIM_BF16) target->widen_bf16(from, dim, made);
    }
    return 1;
}

/* Raise the maxima of all queries by tiles [tile, tile + count) of a document. 0: not valid. */
static int scan(struct job *job, struct scratch *scratch, int64_t document, int64_t tile,
                int64_t count, float *best, int32_t *where) {
    kernel_function *kernel = kernel_of(job);
    const int64_t end = tile + count, stride = tile_bytes(job->type, job->dim);
    for (int64_t t = tile; t < end && !stopped(job); t += job->step) {
        const int64_t n = end - t < job->step ? end - t : job->step;
        const void *tiles = scratch->wide;
        if (is_direct(job))
            tiles = (const char *)job->documents[document] + t * stride;
        else if (!make_tiles(job, document, t, n, scratch->wide))
            return 0;
        const int64_t left = job->tokens[document] - t * TILE;
        const int64_t tokens = left < n * TILE ? left : n * TILE;
        float *top = best;
        for (int32_t q = 0; q < job->n_queries; q++) {
            kernel(job->queries[q], tiles, tokens, (int32_t)(t * TILE), top, where);
            top += job->queries[q]->blocks * BLOCK;
        }
    }
    return 1;
}

static void clear(const struct job *job, float *best, int32_t *where) {
    for (int64_t i = 0; i < job->width; i++) best[i] = -INFINITY;
    for (int64_t i = 0; where && i < job->width; i++) where[i] = -1;
}

/*
 * Sum the maxima, in the query's order, and write a document's results. Bytes that maxsim_tile did
 * not write may hold anything; the results then are still no NaN, and a place inside the document.
 */
static void finish(const struct job *job, int64_t document, int status, const float *best,
                   const int32_t *where) {
    for (int32_t q = 0; q < job->n_queries; q++) {
        const struct maxsim_query *query = job->queries[q];
        const float *scale = query->type == MAXSIM_I8 ? query_part(query, query->scale) : NULL;
        double sum = 0;
        for (int32_t i = 0; i < query->tokens; i++)
            sum += scale ? best[i] * scale[i] : best[i]; /* rounded to f32, then summed */
        if (status == MAXSIM_SCORED && !(fabs(sum) <= FLT_MAX)) status = MAXSIM_NOT_FINITE;
        const int scored = status == MAXSIM_SCORED;
        job->scores[q * job->n_documents + document] = scored ? (float)sum : -INFINITY;

        for (int32_t i = 0; job->where && i < query->tokens; i++) {
            const int64_t at = document * query->tokens + i;
            const int32_t last = job->tokens[document] - 1;
            const float similarity = scale ? best[i] * scale[i] : best[i];
            job->similarities[at] = scored ? similarity + 0.0f : -INFINITY; /* no -0 */
            job->where[at] = scored ? (where[i] < last ? where[i] : last) : -1;
        }
        best += query->blocks * BLOCK;
    }
    job->status[document] = (uint8_t)status;
}

static void work(void *argument) {
    struct job *job = argument;
    const int64_t width = job->width;
    int64_t wide = is_direct(job) ? 0 : job->step * tile_bytes(MAXSIM_F32, job->dim) + 64;
    char *memory = malloc((size_t)(width * 8 + wide));
    if (!memory) {
        stop(job, MAXSIM_NO_MEMORY);
        return;
    }
    struct scratch scratch = {.best = (float *)(void *)memory, .memory = memory};
    scratch.where = job->where ? (int32_t *)(void *)(memory + width * 4) : NULL;
    scratch.wide = (float *)(void *)(memory + width * 8);

    while (!stopped(job)) {
        const int64_t p = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (p >= job->n_pieces) break;
        const struct piece *piece = &job->pieces[p];
        if (piece->documents == 0) {
            float *best = job->parts + piece->part * width;
            int32_t *where = job->where ? job->part_where + piece->part * width : NULL;
            clear(job, best, where);
            if (!scan(job, &scratch, piece->document, piece->tile, piece->tiles, best, where))
                __atomic_store_n(&job->status[piece->document], MAXSIM_NOT_FINITE,
                                 __ATOMIC_RELAXED);
            continue;
        }
        for (int64_t d = piece->document; d < piece->document + piece->documents; d++) {
            int status = job->tokens[d] ? MAXSIM_SCORED : MAXSIM_EMPTY;
            clear(job, scratch.best, scratch.where);
            if (!scan(job, &scratch, d, 0, tile_count(job->tokens[d]), scratch.best, scratch.where))
                status = MAXSIM_NOT_FINITE;
            finish(job, d, status, scratch.best, scratch.where);
        }
    }
    free(memory);
}

/* Merge the parts of each split document. Parts are in order, so the first maximum stays first. */
static void merge(struct job *job) {
    for (int64_t p = 0; p < job->n_pieces; p++) {
        const struct piece *piece = &job->pieces[p];
        if (piece->documents) continue;
        float *best = job->parts + piece->part * job->width;
        int32_t *where = job->where ? job->part_where + piece->part * job->width : NULL;
        int64_t parts = 1;
        for (; p + 1 < job->n_pieces && job->pieces[p + 1].documents == 0 &&
               job->pieces[p + 1].document == piece->document;
             p++, parts++)
            for (int64_t i = 0; i < job->width; i++)
                if (best[parts * job->width + i] > best[i]) {
                    best[i] = best[parts * job->width + i];
                    if (where) where[i] = where[parts * job->width + i];
                }
        finish(job, piece->document, job->status[piece->document], best, where);
    }
}

/* Cut the work; with pieces == NULL only count. A part never shares a piece. */
static void cut(struct job *job, int64_t size, struct piece *pieces) {
    int64_t n = 0, parts = 0, gathered = 0, open = 0;
    for (int64_t d = 0; d < job->n_documents; d++) {
        const int64_t tiles = tile_count(job->tokens[d]);
        if (tiles > size + size / 2) {
            const int64_t pieces_of_it = (tiles + size - 1) / size;
            for (int64_t i = 0; i < pieces_of_it; i++) {
                const int64_t from = tiles * i / pieces_of_it, to = tiles * (i + 1) / pieces_of_it;
                if (pieces) pieces[n] = (struct piece){d, 0, from, to - from, parts};
                n++, parts++;
            }
            open = 0;
            continue;
        }
        if (!open || gathered + tiles > size + size / 2) {
            if (pieces) pieces[n] = (struct piece){.document = d};
            n++, gathered = 0, open = 1;
        }
        if (pieces) pieces[n - 1].documents++;
        gathered += tiles;
        if (gathered >= size) open = 0;
    }
    job->n_pieces = n;
    job->n_parts = parts;
}

static int run(struct job *job, int threads) {
    int64_t total = 0;
    for (int64_t d = 0; d < job->n_documents; d++) {
        if (job->tokens[d] < 0 || (job->tokens[d] && !job->documents[d])) return MAXSIM_INVALID;
        total += tile_count(job->tokens[d]);
        job->status[d] = MAXSIM_SCORED;
    }
    for (int32_t q = 0; q < job->n_queries; q++) job->width += job->queries[q]->blocks * BLOCK;

    job->step = CANCEL_EVERY / (TILE * job->dim * job->width);
    const int64_t fit = SCRATCH / tile_bytes(MAXSIM_F32, job->dim);
    if (!is_direct(job) && job->step > fit) job->step = fit;
    if (job->step < 1) job->step = 1;

    int64_t size = INT64_MAX / 2;
    if (threads > 1) size = total / (threads * PIECES_PER_THREAD) + 1;
    cut(job, size, NULL);
    const size_t bytes = (size_t)job->n_pieces * sizeof *job->pieces;
    const size_t maxima = (size_t)(job->n_parts * job->width) * 4;
    char *memory = malloc(bytes + 2 * maxima + 1);
    if (!memory) return MAXSIM_NO_MEMORY;
    job->pieces = (struct piece *)(void *)memory;
    job->parts = (float *)(void *)(memory + bytes);
    job->part_where = (int32_t *)(void *)(memory + bytes + maxima);
    cut(job, size, job->pieces);

    if (threads > job->n_pieces) threads = (int)job->n_pieces;
    run_on_threads(threads, work, job);
    if (job->result == MAXSIM_OK) merge(job);
    free(memory);
    return job->result;
}

static int is_query(const struct maxsim_query *query) {
    return query && (uintptr_t)query % 64 == 0 && query->dim >= 4 && query->tokens >= 1;
}

static int score(struct job job, int threads) {
    job.target = active_target();
    if (!job.target || job.n_queries < 1 || job.n_documents < 0) return MAXSIM_INVALID;
    if (threads < 1 || threads > MAXSIM_MAX_THREADS) return MAXSIM_INVALID;
    if (job.layout != MAXSIM_TILES && job.layout != MAXSIM_ROWS) return MAXSIM_INVALID;
    for (int32_t q = 0; q < job.n_queries; q++) {
        const struct maxsim_query *query = job.queries[q];
        if (!is_query(query)) return MAXSIM_INVALID;
        job.type = job.queries[0]->type;
        job.dim = job.queries[0]->dim;
        if (query->type != job.type || query->dim != job.dim) return MAXSIM_INVALID;
    }
    return run(&job, threads);
}

int maxsim_score(const void *const *queries, int32_t n_queries, const void *const *documents,
                 const int32_t *tokens, int64_t n_documents, int layout, int threads,
                 const int32_t *cancel, float *scores, uint8_t *status) {
    return score((struct job){.queries = (const struct maxsim_query *const *)queries,
                              .n_queries = n_queries,
                              .documents = documents,
                              .tokens = tokens,
                              .n_documents = n_documents,
                              .layout = layout,
                              .cancel = cancel,
                              .scores = scores,
                              .status = status},
                 threads);
}

int maxsim_align(const void *query, const void *const *documents, const int32_t *tokens,
                 int64_t n_documents, int layout, int threads, const int32_t *cancel,
                 float *scores, uint8_t *status, float *similarities, int32_t *where) {
    const struct maxsim_query *one = query;
    return score((struct job){.queries = &one,
                              .n_queries = 1,
                              .documents = documents,
                              .tokens = tokens,
                              .n_documents = n_documents,
                              .layout = layout,
                              .cancel = cancel,
                              .scores = scores,
                              .status = status,
                              .similarities = similarities,
                              .where = where},
                 threads);
}
