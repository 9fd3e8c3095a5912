/* What an x86 processor and its operating system support. */
#ifndef MAXSIM_X86_H
#define MAXSIM_X86_H

enum x86_feature {
    X86_AVX2 = 1,        /* AVX2, FMA, F16C */
    X86_AVX512 = 2,      /* and AVX-512 F, BW, DQ, VL */
    X86_AVX512VNNI = 4,  /* and VNNI */
    X86_AVX512BF16 = 8,  /* and BF16 */
};

int x86_has(enum x86_feature feature);

#endif
