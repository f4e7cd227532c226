#!/bin/sh
# Kernels from other languages, judged as a reader would judge them: sh tests/submissions/languages/run.sh BUILD. What this machine
# lacks is named and skipped. PYTHON is the Python to ask: NumPy's example needs numpy and safetensors, Triton's also
# torch, triton and a GPU, or TRITON_INTERPRET=1.
here=$(dirname "$0") build=$1 passed=0 failed=0
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT

# expect WHAT WORDS STATUS: the last command, whose output lies in said, ended with STATUS and said WORDS.
expect() {
    if [ "$status" -eq "$3" ] && grep -q "$2" "$scratch/said"; then
        echo "$1: $(grep -m 1 "$2" "$scratch/said" | sed 's/^ *//')"
        passed=$((passed + 1))
    else
        echo "$1: exit status $status, and this instead of \"$2\":"
        cat "$scratch/said"
        failed=$((failed + 1))
    fi
}

# library WHAT KERNEL WORDS STATUS COMPILER…: verify's verdict on the library that the compiler makes.
library() {
    what=$1 kernel=$2 words=$3 expected=$4
    shift 4
    if ! command -v "$1" >/dev/null; then echo "$what: skipped: no $1"; return; fi
    { "$@" -o "$scratch/$kernel.so" && "$build/verify" "$kernel" --library "$scratch/$kernel.so"; } >"$scratch/said" 2>&1
    status=$?
    if grep -E '^error: .*( ELF |Exec format|shared (object|library))' "$scratch/said" >"$scratch/why"; then
        echo "$what: skipped: $1 compiles for another machine than this build is for: $(sed 's/^error: //' "$scratch/why")"
        return
    fi
    expect "$what" "$words" "$expected"
}

# script WHAT KERNEL FILE: verify's verdict on the outputs that a Python script computes from the exported inputs.
script() {
    "$build/verify" "$2" --export-inputs "$scratch/inputs.safetensors"
    "${PYTHON:-python3}" "$here/$3" "$scratch/inputs.safetensors" "$scratch/$2.safetensors" >"$scratch/said" 2>&1
    status=$?
    if grep -E '^skipped|^ModuleNotFoundError|not found$' "$scratch/said" >"$scratch/why"; then
        echo "$1: skipped: $(tail -1 "$scratch/why" | sed 's/^skipped: //')"
        return
    fi
    [ "$status" -eq 0 ] && { "$build/verify" "$2" --check-outputs "$scratch/$2.safetensors" >"$scratch/said" 2>&1; status=$?; }
    expect "$1" '^PASS' 0
}

cxx='g++ -std=c++20 -O2 -Wall -Wextra -Werror -shared -fPIC'
library C++           rms_norm '^PASS' 0                                $cxx "$here/rms_norm.cpp"
library "C++, broken" rms_norm 'Your epsilon is outside the root' 1     $cxx -DEPSILON_OUTSIDE "$here/rms_norm.cpp"
library Rust          silu     '^PASS' 0                                rustc -O --crate-type cdylib "$here/silu.rs"
library "C++, thrown" silu     'a C++ exception, std::out_of_range, that' 1 $cxx "$here/silu_throws.cpp"
library "Rust, panic" silu     'it panics, as Rust has it' 1            rustc -O --crate-type cdylib "$here/silu_panics.rs"
script  NumPy         rope_half_split rope_half_split.py
script  Triton        softmax         softmax_triton.py

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
