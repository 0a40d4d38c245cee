#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handful_fuzz::dataset("mini-imagenet-cache-test.pkl", handful_data::datasets::DatasetKind::MiniImageNet, data));
