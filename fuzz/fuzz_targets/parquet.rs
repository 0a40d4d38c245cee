#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handful_fuzz::compressed_table(handful_data::TableFormat::Parquet, data));
