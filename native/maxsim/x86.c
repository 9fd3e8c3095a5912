/* An instruction set counts only if the operating system saves its registers (XCR0). */
#include "x86.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

static uint64_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int all(uint64_t have, uint64_t want) { return (have & want) == want; }

static int detect(void) {
    enum { YMM = 0x6, ZMM = 0xe6 };
    uint32_t a, b, c, d, features = 0, b7 = 0, c7 = 0, a71 = 0, leaves = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!(c & bit_OSXSAVE) || !(c & bit_AVX) || !all(saved_registers(), YMM)) return 0;
    const int fma_f16c = all(c, bit_FMA | bit_F16C);
    if (!__get_cpuid_count(7, 0, &leaves, &b7, &c7, &d)) return 0;
    if (!fma_f16c || !(b7 & bit_AVX2)) return 0;
    features |= X86_AVX2;

    if (!all(saved_registers(), ZMM)) return (int)features;
    if (!all(b7, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)) return (int)features;
    features |= X86_AVX512;
    if (!(c7 & 1u << 11)) return (int)features;
    features |= X86_AVX512VNNI;
    if (leaves >= 1 && __get_cpuid_count(7, 1, &a71, &b, &c, &d) && a71 & 1u << 5)
        features |= X86_AVX512BF16;
    return (int)features;
}

int x86_has(enum x86_feature feature) {
    static int known = -1;
    int features = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (features < 0) __atomic_store_n(&known, features = detect(), __ATOMIC_RELAXED);
    return (features & (int)feature) != 0;
}

#else

int x86_has(enum x86_feature feature) {
    (void)feature;
    return 0;
}

#endif
