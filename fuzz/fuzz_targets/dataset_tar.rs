#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handful_fuzz::dataset("x.tar", handful_data::datasets::DatasetKind::CifarFs, data));
