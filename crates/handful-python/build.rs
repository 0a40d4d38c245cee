//! On macOS a library may leave symbols to be found in the interpreter only if the linker is told so.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
