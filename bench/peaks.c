/*
 * What this machine can do at most: fp32 FMA, bf16 and int8 dot products in registers, and reading
 * memory. Each function returns operations (or bytes) per second, 0 where the instruction is missing.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

enum { CHAINS = 16, LOOPS = 100000 }; /* 16 independent sums hide the latency */

#if defined(__x86_64__)
#include <immintrin.h>

#define CHAIN_FUNCTION(name, isa, vector, zero, operation) \
    __attribute__((target(isa))) static void name(void *out) { \
        vector sum[CHAINS]; \
        for (int i = 0; i < CHAINS; i++) sum[i] = zero; \
        vector a = zero, b = zero; \
        for (int loop = 0; loop < LOOPS; loop++) { \
            _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) sum[i] = operation; \
            __asm__ volatile("" : "+x"(a), "+x"(b)); \
        } \
        for (int i = 0; i < CHAINS; i++) memcpy((char *)out + sizeof(vector) * i, &sum[i], sizeof(vector)); \
    }

CHAIN_FUNCTION(fma512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_fmadd_ps(a, b, sum[i]))
CHAIN_FUNCTION(fma256, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_fmadd_ps(a, b, sum[i]))
CHAIN_FUNCTION(bf16_512, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(),
               _mm512_dpbf16_ps(sum[i], (__m512bh)a, (__m512bh)b))
CHAIN_FUNCTION(int8_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(),
               _mm512_dpbusd_epi32(sum[i], a, b))

static double rate(void (*chains)(void *), double operations) {
    char out[CHAINS * 64];
    const double start = now();
    chains(out);
    return operations * CHAINS * LOOPS / (now() - start);
}

double peak_fp32(void) {
    if (__builtin_cpu_supports("avx512f")) return rate(fma512, 2 * 16);
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? rate(fma256, 2 * 8) : 0;
}

double peak_bf16(void) {
    return __builtin_cpu_supports("avx512bf16") ? rate(bf16_512, 2 * 32) : 0;
}

double peak_int8(void) {
    return __builtin_cpu_supports("avx512vnni") ? rate(int8_512, 2 * 64) : 0;
}

#else

double peak_fp32(void) { return 0; }
double peak_bf16(void) { return 0; }
double peak_int8(void) { return 0; }

#endif

/* Sums over a buffer far larger than the caches. */
double read_bandwidth(int64_t bytes) {
    const int64_t n = bytes / 8;
    uint64_t *buffer = malloc((size_t)n * 8), sum[8] = {0};
    if (!buffer) return 0;
    for (int64_t i = 0; i < n; i++) buffer[i] = (uint64_t)i;
    const double start = now();
    for (int64_t i = 0; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) sum[j] += buffer[i + j];
    const double seconds = now() - start;
    volatile uint64_t sink = 0;
    for (int j = 0; j < 8; j++) sink += sum[j];
    free(buffer);
    return (double)bytes / seconds;
}
