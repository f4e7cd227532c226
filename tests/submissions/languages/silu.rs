//! SiLU from Rust: a shared library that defines the course's kernel by its C signature.
//!
//!     rustc -O --crate-type cdylib tests/submissions/languages/silu.rs -o silu.so
//!     build/verify silu --library ./silu.so
//!
//! Formula: chapters/02_activation/activation.h.

/// x / (1 + e^-x), in f64 and rounded once. Written so, it is 0 for very negative x, where e^-x is infinite;
/// x e^x / (1 + e^x), the same on paper, would be infinity over infinity for very positive x.
fn silu_of(x: f32) -> f32 {
    let x = f64::from(x);
    (x / (1.0 + (-x).exp())) as f32
}

/// `no_mangle` keeps the name as it is, which is how verify finds it.
///
/// # Safety
/// `x` and `out` are valid for `n` floats. The contract lets `out` be `x` itself, so they must not become a slice and a
/// mutable slice, which Rust takes to lie apart: each number is read and written through the pointers.
#[no_mangle]
pub unsafe extern "C" fn silu(n: i32, out: *mut f32, x: *const f32) {
    for i in 0..n as usize {
        *out.add(i) = silu_of(*x.add(i));
    }
}
