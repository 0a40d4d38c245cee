#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handful_fuzz::dataset("images_background.zip", handful_data::datasets::DatasetKind::Omniglot, data));
