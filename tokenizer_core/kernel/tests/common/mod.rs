//! Small vocabularies whose merges can be checked by hand.

use tokd_kernel::vocabulary::{Merge, Vocabulary};

/// The 256 bytes, then one token for each pair of strings, merged in this order.
pub fn vocabulary(merges: &[(&str, &str)]) -> Vocabulary {
    let pairs: Vec<_> = merges.iter().map(|(left, right)| (left.as_bytes(), right.as_bytes())).collect();
    vocabulary_of_bytes(&pairs)
}

/// As [`vocabulary`], for tokens that are not text.
pub fn vocabulary_of_bytes(merges: &[(&[u8], &[u8])]) -> Vocabulary {
    let mut tokens: Vec<(u32, Vec<u8>)> = (0..=255_u8).map(|byte| (u32::from(byte), vec![byte])).collect();
    let mut list = Vec::new();
    for (left, right) in merges {
        let product = [*left, *right].concat();
        let id = |bytes: &[u8]| tokens.iter().find(|(_, token)| token == bytes).map(|(id, _)| *id);
        let (left, right) = (id(left).unwrap(), id(right).unwrap());
        let product = id(&product).unwrap_or_else(|| {
            let id = tokens.len() as u32;
            tokens.push((id, product));
            id
        });
        list.push(Merge { left, right, product });
    }
    Vocabulary::new(tokens, list, Vec::new()).unwrap()
}

/// The definition: as long as any pair merges, merge the leftmost of the lowest rank.
pub fn merge_slowly(vocabulary: &Vocabulary, piece: &[u8]) -> Vec<u32> {
    let bytes = vocabulary.byte_ids().unwrap();
    let mut ids: Vec<u32> = piece.iter().map(|byte| bytes[*byte as usize]).collect();
    let rank = |left: u32, right: u32| {
        vocabulary.merges().iter().rposition(|merge| (merge.left, merge.right) == (left, right))
    };
    loop {
        let best = ids.windows(2).enumerate().filter_map(|(at, pair)| Some((rank(pair[0], pair[1])?, at))).min();
        let Some((rank, at)) = best else { return ids };
        ids[at] = vocabulary.merges()[rank].product;
        ids.remove(at + 1);
    }
}

/// The same merges in another order: most then have one before those that make its parts.
pub fn reordered(vocabulary: &Vocabulary, order: u64) -> Vocabulary {
    let tokens: Vec<(u32, Vec<u8>)> = vocabulary.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect();
    let mut merges = vocabulary.merges().to_vec();
    let count = merges.len().max(1);
    for at in 0..merges.len() {
        merges.swap(at, (order.rotate_left(at as u32 * 7) % count as u64) as usize);
    }
    Vocabulary::new(tokens, merges, Vec::new()).unwrap()
}

/// The same tokens and merges under other ids.
pub fn renumbered(vocabulary: &Vocabulary, id: impl Fn(u32) -> u32) -> Vocabulary {
    let tokens: Vec<(u32, Vec<u8>)> = vocabulary.tokens().map(|(old, bytes)| (id(old), bytes.to_vec())).collect();
    let other = |merge: &Merge| Merge { left: id(merge.left), right: id(merge.right), product: id(merge.product) };
    Vocabulary::new(tokens, vocabulary.merges().iter().map(other).collect(), Vec::new()).unwrap()
}

/// A vocabulary trained by chance: merges of tokens that exist, drawn with `draws`.
pub fn drawn_vocabulary(alphabet: &[&[u8]], draws: &[(u16, u16)]) -> Vocabulary {
    let mut parts: Vec<Vec<u8>> = alphabet.iter().flat_map(|text| text.iter().map(|byte| vec![*byte])).collect();
    parts.sort();
    parts.dedup();
    let mut merges: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (left, right) in draws {
        let pair = (parts[*left as usize % parts.len()].clone(), parts[*right as usize % parts.len()].clone());
        let product = [pair.0.as_slice(), &pair.1].concat();
        if !merges.contains(&pair) && product.len() < 24 {
            if !parts.contains(&product) {
                parts.push(product);
            }
            merges.push(pair);
        }
    }
    let merges: Vec<_> = merges.iter().map(|(left, right)| (left.as_slice(), right.as_slice())).collect();
    vocabulary_of_bytes(&merges)
}
