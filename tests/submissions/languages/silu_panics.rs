// An index beyond a slice, which Rust checks: build/verify tells the panic.
#[no_mangle]
pub extern "C" fn silu(n: i32, out: *mut f32, x: *const f32) {
    let x = unsafe { std::slice::from_raw_parts(x, n as usize) };
    let out = unsafe { std::slice::from_raw_parts_mut(out, n as usize) };
    for i in 0..n as usize {
        out[i] = x[i + 1] / (1.0 + (-x[i]).exp());
    }
}
