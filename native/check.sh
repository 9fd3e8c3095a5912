#!/bin/sh
# Checks of the C library that Python cannot make: warnings as errors, sanitizers, other processors
# and fuzzing. Says what ran and what was skipped. FUZZ_SECONDS (default 20) bounds the fuzzing.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$(find native/maxsim -name '*.c' ! -name _maxsim.c | sort)
flags="-std=c11 -Wall -Wextra -Werror -pthread"
driver="native/check/driver.c $library -lm"

have() { command -v "$1" >/dev/null 2>&1; }
step() { printf '\n%s\n' "$*"; }
skip() { printf '\nskipped: %s\n' "$*"; }

if grep -nE 'ffast-math|Ofast|march=native' native/maxsim/build.py setup.py; then
    echo "a flag above changes results between machines" >&2
    exit 1
fi

step "gcc, warnings as errors"
gcc $flags -Wshadow -Wconversion -Wno-sign-conversion -O3 $driver -o "$work/gcc"
"$work/gcc" 40

step "gcc, address and undefined behaviour sanitizers"
gcc $flags -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $driver -o "$work/asan"
"$work/asan" 8

step "gcc, thread sanitizer"
gcc $flags -O1 -g -fsanitize=thread $driver -o "$work/tsan"
TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 setarch "$(uname -m)" -R "$work/tsan" 2

if have clang; then
    step "clang, warnings as errors"
    clang $flags -O3 $driver -o "$work/clang"
    "$work/clang" 40
    step "libFuzzer for ${FUZZ_SECONDS:-20} s"
    clang $flags -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        native/check/fuzz.c $library -lm -o "$work/fuzz"
    mkdir "$work/corpus"
    if ! "$work/fuzz" -max_total_time="${FUZZ_SECONDS:-20}" -max_len=4096 -print_final_stats=1 \
        -artifact_prefix="$work/" "$work/corpus" >"$work/log" 2>&1; then
        tail -n 60 "$work/log"
        exit 1
    fi
    grep -E '^(Done|stat::)' "$work/log"
else
    skip "clang and libFuzzer: no clang (Debian: clang libclang-rt-14-dev)"
fi

if [ "$(uname -m)" = x86_64 ]; then
    if have qemu-x86_64-static; then
        step "an x86-64 processor without AVX, emulated"
        gcc $flags -O2 -static $driver -o "$work/static"
        qemu-x86_64-static -cpu Nehalem "$work/static" 2 scalar
    else
        skip "a processor without AVX: no qemu-x86_64-static (Debian: qemu-user-static)"
    fi
    if have aarch64-linux-gnu-gcc && have qemu-aarch64-static; then
        step "NEON, cross-compiled and emulated, with and without the dot product"
        aarch64-linux-gnu-gcc $flags -O3 -static $driver -o "$work/arm"
        qemu-aarch64-static -cpu max "$work/arm" 4 neondot
        qemu-aarch64-static -cpu cortex-a53 "$work/arm" 4 neon
    else
        skip "NEON: no aarch64-linux-gnu-gcc or qemu-aarch64-static" \
            "(Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)"
    fi
fi
step "all that ran passed"
