/*
 * MaxSim, the score of late interaction (Khattab & Zaharia 2020, ColBERT):
 *
 *     score(q, d) = sum over query tokens i of max over document tokens j of q_i . d_j
 *
 * Prototypes and comments only: cffi parses this very file. C callers include <stddef.h> and
 * <stdint.h> before it.
 *
 * A document is stored as tiles of 8 consecutive tokens. Within a tile the tokens are interleaved,
 * so that a kernel which holds 16 query tokens in a register reads the document sequentially:
 *
 *     f32   [tile][dim][8]                  binary32
 *     f16   [tile][dim][8]                  binary16
 *     bf16  [tile][dim / 2][8][2]           bfloat16
 *     i8    [tile]{ [dim / 4][8][4], [8] }  value + 128 as one byte; then 8 binary32 scales
 *
 * All little-endian. The last tile is filled up with copies of the last token, which change neither
 * a maximum nor the place where it is first reached. dim is a multiple of 4, at most 4096.
 *
 * A value is valid if |x| <= 2^52; NaN, infinities and larger values are not. Every score of valid
 * values is finite. A document without tokens scores -infinity, the maximum of nothing: it ranks
 * last and is never NaN.
 *
 * For one kernel the order of every sum is fixed, so a score has the same bits whatever the number
 * of threads, the other documents or queries in the call, and the document's place among them.
 */

/* Element types of tiles. */
enum { MAXSIM_F32 = 0, MAXSIM_F16 = 1, MAXSIM_BF16 = 2, MAXSIM_I8 = 3 };

/* What functions return that return int. */
enum { MAXSIM_OK = 0, MAXSIM_INVALID = -1, MAXSIM_CANCELLED = -2, MAXSIM_NO_MEMORY = -3 };

/* How documents are given to maxsim_score and maxsim_align. */
enum { MAXSIM_TILES = 0, MAXSIM_ROWS = 1 };

/* What happened to one document. */
enum { MAXSIM_SCORED = 0, MAXSIM_EMPTY = 1, MAXSIM_NOT_FINITE = 2 };

/* Limits. */
enum { MAXSIM_MAX_DIM = 4096, MAXSIM_MAX_QUERY_TOKENS = 1024, MAXSIM_MAX_THREADS = 64 };

/*
 * Choose the kernel by name; NULL takes the one that the environment variable MAXSIM_KERNEL names
 * or, where it is unset or empty, the fastest that this processor and operating system support.
 * MAXSIM_INVALID if the name is unknown or not supported here; the choice is then unchanged.
 */
int maxsim_select(const char *name);

/* The active kernel's name; NULL before the first successful maxsim_select. */
const char *maxsim_kernel(void);

/* Name of the i-th kernel built in, fastest first (NULL past the end), and whether it runs here. */
const char *maxsim_kernel_name(int i);
int maxsim_kernel_supported(int i);

/* Bytes of the tiles of one document; -1 if an argument is out of range. */
int64_t maxsim_tiles_bytes(int type, int64_t tokens, int32_t dim);

/*
 * Tile the rows [tokens][dim] of a document. For i8 each token is scaled by its largest magnitude
 * / 127 and rounded to nearest even. Returns the number of bytes written, or -1 - t if token t
 * holds a value that is not valid (for f16: whose magnitude is above 65504).
 */
int64_t maxsim_tile(int type, const float *rows, int64_t tokens, int32_t dim, void *tiles);

/* The inverse, up to the rounding of the type. */
void maxsim_untile(int type, const void *tiles, int64_t tokens, int32_t dim, float *rows);

/*
 * Prepare a query [tokens][dim] for documents of a type: f32 and f16 documents take it as it is,
 * bf16 rounds it to bf16, i8 quantises each token as maxsim_tile does. The buffer must be aligned
 * to 64 bytes. maxsim_query_bytes returns -1 if an argument is out of range; maxsim_query_pack as
 * maxsim_tile.
 */
int64_t maxsim_query_bytes(int type, int32_t tokens, int32_t dim);
int64_t maxsim_query_pack(int type, const float *rows, int32_t tokens, int32_t dim, void *query);

/*
 * Score documents for queries of one type and dim. documents[d] points to the tiles (or, for
 * MAXSIM_ROWS, to the binary32 rows) of document d, aligned to 4 bytes, and tokens[d] is its
 * length; they may lie anywhere. Rows are tiled to the queries' type on the fly.
 *
 * cancel may be NULL; once it points to a value other than 0 the call ends with MAXSIM_CANCELLED
 * within about a millisecond. At most `threads` threads work, the caller's among them.
 *
 *     scores   [n_queries][n_documents]   raw sums over the query's tokens
 *     status   [n_documents]              MAXSIM_SCORED, _EMPTY or _NOT_FINITE (score -infinity)
 */
int maxsim_score(const void *const *queries, int32_t n_queries, const void *const *documents,
                 const int32_t *tokens, int64_t n_documents, int layout, int threads,
                 const int32_t *cancel, float *scores, uint8_t *status);

/*
 * The same for one query, and which token of each document answered each of the query's:
 *
 *     similarities  [n_documents][query tokens]   max over j of q_i . d_j
 *     where         [n_documents][query tokens]   the first j that reaches it; -1 if there is none
 */
int maxsim_align(const void *query, const void *const *documents, const int32_t *tokens,
                 int64_t n_documents, int layout, int threads, const int32_t *cancel,
                 float *scores, uint8_t *status, float *similarities, int32_t *where);

/*
 * The k largest of n scores, best first; of equal scores the lower index first, NaN after all.
 * Writes min(k, n) indices and returns how many, or MAXSIM_NO_MEMORY.
 */
int64_t maxsim_topk(const float *scores, int64_t n, int64_t k, int64_t *indices);
