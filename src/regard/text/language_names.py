"""English names of languages, and language pairs."""

from __future__ import annotations

import re

from regard.errors import InputError
from regard.text.words import base_language

_NAMES = """
af Afrikaans, am Amharic, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali,
bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en English,
eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fo Faroese, fr French,
ga Irish, gl Galician, gu Gujarati, he Hebrew, hi Hindi, hr Croatian, ht Haitian Creole,
hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, jv Javanese,
ka Georgian, kk Kazakh, km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin,
lb Luxembourgish, lo Lao, lt Lithuanian, lv Latvian, mg Malagasy, mk Macedonian, ml Malayalam,
mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, nb Norwegian Bokmål, ne Nepali,
nl Dutch, nn Norwegian Nynorsk, no Norwegian, oc Occitan, or Odia, pa Punjabi, pl Polish,
ps Pashto, pt Portuguese, qu Quechua, ro Romanian, ru Russian, rw Kinyarwanda, si Sinhala,
sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu,
th Thai, tl Tagalog, tr Turkish, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese,
wa Walloon, xh Xhosa, yi Yiddish, zh Chinese, zu Zulu
"""
NAMES = dict(entry.strip().split(" ", 1) for entry in _NAMES.split(","))
_LONG_CODES = """
af afr, am amh, ar ara arb, az aze azj, be bel, bg bul, bn ben, bs bos, ca cat, cs ces cze,
cy cym wel, da dan, de deu ger, el ell gre, en eng, eo epo, es spa, et est ekk, eu eus baq,
fa fas per pes, fi fin, fo fao, fr fra fre, ga gle, gl glg, gu guj, he heb iw, hi hin, hr hrv,
ht hat, hu hun, hy hye arm, id ind in, is isl ice, it ita, ja jpn, jv jav jw, ka kat geo, kk kaz,
km khm, kn kan, ko kor, ku kur kmr, ky kir, la lat, lb ltz, lo lao, lt lit, lv lav lvs,
mg mlg plt, mk mkd mac, ml mal, mn mon khk, mr mar, ms msa may zsm, mt mlt, my mya bur, ne nep npi,
nl nld dut, nn nno, no nor nb nob, oc oci, or ori ory, pa pan, pl pol, ps pus pbt, pt por, qu que,
ro ron rum mo, ru rus, rw kin, si sin, sk slk slo, sl slv, sq sqi alb als, sr srp, sv swe,
sw swa swh, ta tam, te tel, th tha, tl tgl fil, tr tur, ug uig, uk ukr, ur urd, uz uzb uzn, vi vie,
wa wln, xh xho, yi yid ydd ji, zh zho chi cmn, zu zul
"""
_SHORT = {
    other: code for code, *others in map(str.split, _LONG_CODES.split(",")) for other in others
}


def language_name(code: str) -> str:
    """The English name of a language, with the region of its tag.

    >>> language_name("fr"), language_name("zh_TW"), language_name("tlh")
    ('French', 'Chinese (TW)', 'tlh')
    """
    base = base_language(code)
    name = NAMES.get(base, code)
    region = code[len(base) + 1 :]
    return f"{name} ({region})" if region and base in NAMES else name


def two_letter_code(tag: str) -> str:
    """The language of a tag or locale as a code of two letters if it has one, of ISO 639.

    >>> [two_letter_code(tag) for tag in ("fr-CA", "fra", "FR_fr.UTF-8", "sr@latin", "nb", "tlh")]
    ['fr', 'fr', 'fr', 'sr', 'no', 'tlh']
    >>> two_letter_code("French")
    'fr'
    """
    base = re.split(r"[-_.@]", tag.strip(), maxsplit=1)[0].lower()
    by_name = (code for code, name in NAMES.items() if name.lower() == base)
    return _SHORT.get(base) or (next(by_name, base) if len(base) > 3 else base)


def same_language(tag: str, codes: list[str]) -> str | None:
    """The code among `codes` that equals a tag, or else has the same language.

    >>> same_language("zh-Hans", ["en", "zh"]), same_language("EN", ["en"])
    ('zh', 'en')
    >>> same_language("de", ["en"]) is None
    True
    """
    if tag in codes:
        return tag
    base = base_language(tag)
    return next((code for code in codes if base_language(code) == base), None)


def parse_direction(text: str) -> str:
    """A language pair as codes, from codes or English names separated by - _ : or >.

    Regions are in capitals (pt_BR-en), so en_fr is a pair.

    >>> [parse_direction(text) for text in ("en-fr", "en_fr", "English-French", "zh_TW-en", "en")]
    ['en-fr', 'en-fr', 'en-fr', 'zh_TW-en', 'en']
    >>> parse_direction("english-klingonese")
    Traceback (most recent call last):
    regard.errors.InputError: languages must be two codes as in en-fr, or names of \
languages, got 'klingonese'.
    """
    parts = [part.strip() for part in re.split(r"[-:>→]+|_(?=[a-z]{2,3}$)", text.strip())]
    return "-".join(_code(part) for part in parts if part)


def parse_directions(text: str) -> str:
    """Language pairs as codes, with commas between.

    >>> parse_directions("English-French, en-de")
    'en-fr,en-de'
    """
    pairs = [parse_direction(pair) for pair in text.split(",")]
    return ",".join(dict.fromkeys(pair for pair in pairs if pair))


def _code(word: str) -> str:
    """The code of a language that is given by code or by name."""
    if re.fullmatch(r"[A-Za-z]{2,3}(_\w+)?", word):
        base, _, region = word.partition("_")
        return f"{base.lower()}_{region}" if region else base.lower()
    for code, name in NAMES.items():
        if word.casefold() == name.casefold():
            return code
    raise InputError(
        f"languages must be two codes as in en-fr, or names of languages, got {word!r}."
    )
