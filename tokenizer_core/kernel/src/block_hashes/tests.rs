//! One vector of each scheme, over the ids 1 to 40; all others are held in Python's tests.

use super::{HashOptions, block_hashes};

fn values(scheme: &str, size: usize, options: &HashOptions) -> Vec<u64> {
    let ids: Vec<u32> = (1..=40).collect();
    block_hashes(scheme, &ids, size, options).map(|found| found.values).unwrap_or_default()
}

#[test]
fn the_published_hashes_hold() {
    let none = HashOptions::default();
    let model = HashOptions { model: Some("Qwen/Qwen3-8B".to_owned()), ..HashOptions::default() };
    assert_eq!(values("dynamo-xxh3/1", 16, &none), [16_863_443_419_780_771_464, 2_287_610_619_914_608_821]);
    assert_eq!(values("llmd-cbor-fnv/1", 16, &model), [17_921_632_867_750_233_268, 17_774_900_929_197_455_828]);
    assert_eq!(values("llmd-xxh64/1", 16, &model), [3_228_253_070_614_568_203, 188_668_606_491_624_533]);
    assert_eq!(values("vllm-sha256/2", 16, &none), [1_403_909_460_543_360_175, 1_643_945_449_041_937_783]);
    assert_eq!(values("vllm-sha256-cbor/2", 16, &none), [8_866_452_693_264_111_234, 807_986_237_951_177_663]);
    let last = (-1_561_588_908_352_928_808_i64) as u64;
    assert_eq!(values("sglang-sha256/1", 16, &none), [8_635_429_971_592_222_890, 1_256_577_331_724_852_459, last]);
    assert_eq!(values("trtllm-v2", 32, &none), [7_626_725_223_439_765_602, 11_338_026_269_420_033_092]);
}

#[test]
fn what_no_scheme_takes_is_refused() {
    let ids = [1, 2];
    for (scheme, size) in [("dynamo-xxh3/2", 16), ("dynamo-xxh3/1", 0), ("dynamo-xxh3/1", 1 << 20)] {
        assert!(block_hashes(scheme, &ids, size, &HashOptions::default()).is_err());
    }
    assert!(block_hashes("vllm-sha256/2", &[1 << 31], 1, &HashOptions::default()).is_err());
    let twice = HashOptions { lora: Some("a".to_owned()), lora_path: Some("a".to_owned()), ..HashOptions::default() };
    assert!(block_hashes("vllm-sha256/2", &ids, 1, &twice).is_err());
}
