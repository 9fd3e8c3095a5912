/* The k best of n, by a heap whose root is the worst kept. */
#include <stdlib.h>

#include "kernel.h"

struct entry {
    float score;
    int64_t index;
};

/* Whether a ranks behind b: NaN behind all, then the lower score, then the higher index. */
static int behind(struct entry a, struct entry b) {
    const int a_nan = isnan(a.score), b_nan = isnan(b.score);
    if (a_nan != b_nan) return a_nan;
    if (!a_nan && a.score != b.score) return a.score < b.score;
    return a.index > b.index;
}

static void sift_down(struct entry *heap, int64_t n, int64_t i) {
    const struct entry moved = heap[i];
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && behind(heap[child + 1], heap[child])) child++;
        if (!behind(heap[child], moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

int64_t maxsim_topk(const float *scores, int64_t n, int64_t k, int64_t *indices) {
    if (k > n) k = n;
    if (k <= 0) return 0;
    struct entry *heap = malloc((size_t)k * sizeof *heap);
    if (!heap) return MAXSIM_NO_MEMORY;
    for (int64_t i = 0; i < k; i++) heap[i] = (struct entry){scores[i], i};
    for (int64_t i = k / 2; i-- > 0;) sift_down(heap, k, i);
    for (int64_t i = k; i < n; i++) {
        const struct entry entry = {scores[i], i};
        if (!behind(heap[0], entry)) continue;
        heap[0] = entry;
        sift_down(heap, k, 0);
    }
    for (int64_t left = k; left > 0; left--) { /* the worst first, written from the end */
        indices[left - 1] = heap[0].index;
        heap[0] = heap[left - 1];
        sift_down(heap, left - 1, 0);
    }
    free(heap);
    return k;
}
