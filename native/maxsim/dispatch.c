/* Which kernel runs: the table, fastest first, and the choice from it. */
#include <stdlib.h>

#include "kernel.h"

/* A kernel borrows what its instruction set does not improve. */
static const struct target targets[] = {
    /* name          supported             f32         i8             bf16 */
    {"avx512bf16", avx512bf16_supported, avx512_f32, avx512vnni_i8, avx512bf16_bf16,
     avx2_widen_f16, avx2_widen_bf16, avx2_interleave},
    {"avx512vnni", avx512vnni_supported, avx512_f32, avx512vnni_i8, NULL,
     avx2_widen_f16, avx2_widen_bf16, avx2_interleave},
    {"avx512", avx512_supported, avx512_f32, avx2_i8, NULL,
     avx2_widen_f16, avx2_widen_bf16, avx2_interleave},
    {"avx2", avx2_supported, avx2_f32, avx2_i8, NULL,
     avx2_widen_f16, avx2_widen_bf16, avx2_interleave},
    {"neondot", neondot_supported, neon_f32, neondot_i8, NULL,
     neon_widen_f16, neon_widen_bf16, scalar_interleave},
    {"neon", neon_supported, neon_f32, scalar_i8, NULL,
     neon_widen_f16, neon_widen_bf16, scalar_interleave},
    {"scalar", scalar_supported, scalar_f32, scalar_i8, NULL,
     scalar_widen_f16, scalar_widen_bf16, scalar_interleave},
};

enum { N_TARGETS = sizeof targets / sizeof *targets };

static const struct target *active;

const struct target *active_target(void) { return __atomic_load_n(&active, __ATOMIC_ACQUIRE); }

int maxsim_select(const char *name) {
    if (!name) name = getenv("MAXSIM_KERNEL");
    for (int i = 0; i < N_TARGETS; i++) {
        if (name && *name && strcmp(name, targets[i].name) != 0) continue;
        if (!targets[i].supported()) continue;
        __atomic_store_n(&active, &targets[i], __ATOMIC_RELEASE);
        return MAXSIM_OK;
    }
    return MAXSIM_INVALID;
}

const char *maxsim_kernel(void) { return active_target() ? active_target()->name : NULL; }

const char *maxsim_kernel_name(int i) { return i >= 0 && i < N_TARGETS ? targets[i].name : NULL; }

int maxsim_kernel_supported(int i) {
    return i >= 0 && i < N_TARGETS && targets[i].supported();
}
