#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handful_fuzz::table(handful_data::TableFormat::Pickle, data));
