#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handful_fuzz::dataset("x.json", handful_data::datasets::DatasetKind::Lists, data));
