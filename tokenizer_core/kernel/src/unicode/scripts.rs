//! The script of a character, as the pretokenizer of that name in Hugging Face's `tokenizers` sees it: in Unicode 9.0,
//! with all of Japanese as one.

use once_cell::race::OnceBox;

use super::table::{CODES, ClassTable, ranges_of};

/// Of a character without a script, which belongs to what is around it: the space, and what 9.0 does not know.
pub(crate) const ANY: u8 = 0;

const NAMES: &str = "\
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki \
    Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee \
    Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Duployan Egyptian_Hieroglyphs Elbasan Ethiopic \
    Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Imperial_Aramaic \
    Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Kayah_Li Kharoshthi Khmer \
    Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Malayalam Mandaic \
    Manichaean Marchen Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro \
    Multani Myanmar Nabataean New_Tai_Lue Newa Nko Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian \
    Old_Permic Old_Persian Old_South_Arabian Old_Turkic Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau \
    Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting \
    Sinhala Sora_Sompeng Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil \
    Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Ugaritic Vai Warang_Citi Yi";

/// Classes that are not the script of their name.
const OTHERS: [(&str, &str); 3] = [
    (r"[\p{Hiragana}\p{Katakana}\x{30FC}&&\p{Age=9.0}]", "Han"),
    (r"[\x{589}\x{61C}]", "Common"),
    (r"[\x{953}\x{954}]", "Devanagari"),
];

/// The name of the script with a number.
pub(crate) fn name(number: u8) -> &'static str {
    usize::from(number).checked_sub(1).and_then(|at| NAMES.split(' ').nth(at)).unwrap_or("Common")
}

/// The number of the script with a name.
pub(crate) fn number(name: &str) -> u8 {
    NAMES.split(' ').position(|other| other == name).map_or(ANY, |at| at as u8 + 1)
}

/// A number for the script of each character, which means nothing but that others are other scripts.
pub(crate) fn table() -> &'static ClassTable<u8> {
    static TABLE: OnceBox<ClassTable<u8>> = OnceBox::new();
    TABLE.get_or_init(|| {
        let mut scripts = vec![ANY; CODES];
        let named = NAMES.split(' ').map(|name| (format!(r"[\p{{Script={name}}}&&\p{{Age=9.0}}]"), name));
        let others = OTHERS.map(|(class, name)| (class.to_owned(), name));
        for (class, name) in named.chain(others) {
            ranges_of(&class).into_iter().for_each(|range| scripts[range].fill(number(name)));
        }
        scripts[usize::from(b' ')] = ANY;
        Box::new(ClassTable::of(&scripts))
    })
}
