"""Data of the sentence splitter: abbreviations, and words that begin sentences, by language.

All in lower case, without the final stop.
"""

from __future__ import annotations

from functools import cache

_LEADING = {
    "en": "mr mrs ms messrs dr prof rev fr hon gen col maj capt cpt lt sgt cmdr sen rep gov pres "
    "st mt ft supt e.g i.e vs v viz cf approx ca resp eq ref dept est",
    "fr": "mm mme mmes mlle mlles me mgr dr pr st ste vve av env ex cf c.-à-d c.à.d p.ex i.e "
    "resp vs",
    "de": "hr hrn fr frl dr prof dipl ing z.b d.h u.a v.a i.d.r m.e o.g s.o s.u u.u bzw vgl ca "
    "evtl ggf inkl exkl sog geb gest allg bspw insb max min mind st vs hl",
    "es": "sr sra srta sres dr dra prof profa d dña ud uds vd vds p.ej ej gral lic ing cf vs",
    "it": "sig sigg dott prof ing avv arch geom rag on mons s.p p.es es cfr vs",
    "nl": "dhr mevr mw dr drs ir mr ing prof ds st bijv d.w.z m.b.t i.v.m o.a t.o.v vgl ca resp",
    "pt": "sr sra srta dr dra prof profa eng exmo exma d p.ex cf vs",
}
_EVERYWHERE = "mr mrs ms dr prof st e.g i.e vs"  # leading, in text of any language
_NUMBERED = {
    "en": "no nos p pp vol vols ch chap sec sect fig figs tab eq art par ed nr jan feb mar apr "
    "jun jul aug sep sept oct nov dec",
    "fr": "n p pp vol chap fig art al éd janv févr avr juill sept oct nov déc",
    "de": "nr nrn s bd abs abb art kap tab aufl jan feb apr aug sept okt nov dez",
    "es": "n núm p pp pág págs vol cap fig art",
    "it": "n p pp pag vol cap fig art",
    "nl": "nr p pp blz vol hfdst fig art",
    "pt": "n núm p pp pág págs vol cap fig art",
}
_NAMES = {
    "en": "al inc ltd co corp bros jr sr ph.d plc llc ave blvd rd",
    "de": "gmbh str jr sen jun",
    "fr": "cie jr",
    "es": "cía jr",
    "nl": "b.v n.v jr",
}
_ORDINAL_STOP = "de da nb nn no is fi et lv cs sk pl hu hr sr bs sl tr lb"
_STARTERS = {
    "en": "the a an this that these those it he she they we i you there here what when where who "
    "why how if in on at as and but or so then after before however although while for since "
    "his her its their our my your some many most all both no not yes",
    "fr": "le la les l' un une des ce cet cette ces il elle ils elles on nous vous je j' tu c' "
    "mais et ou donc or car si dans en au aux à pour par avec sans quand où comment pourquoi son "
    "sa ses leur leurs mon ma mes notre nos votre vos d' de du",
    "de": "der die das den dem ein eine einen es er sie wir ich ihr du man dies diese dieser "
    "dieses aber und oder doch denn wenn als da dann dort hier in im am auf für mit nach bei "
    "wer was wo wann warum wie sein seine ihre unser mein",
    "es": "el la los las un una unos unas lo este esta estos estas ese esa él ella ellos ellas "
    "yo tú nosotros pero y o si cuando donde en por para con sin su sus mi no sí",
    "it": "il lo la i gli le l' un una uno questo questa questi queste egli ella lui lei loro io "
    "tu noi voi ma e o se quando dove in per con senza non sì",
    "nl": "de het een dit dat deze die hij zij ze wij we ik jij je er maar en of als toen in op "
    "voor met na bij wie wat waar wanneer waarom hoe",
    "pt": "o a os as um uma este esta isto esse essa ele ela eles elas eu nós mas e ou se quando "
    "onde em no na por para com sem seu sua não sim",
}


_TABLES = {"leading": _LEADING, "numbered": _NUMBERED, "name": _NAMES, "starter": _STARTERS}


@cache
def listed(kind: str, language: str) -> frozenset[str]:
    """The words of a kind in a language; English ones for an unknown language.

    leading   never ends a sentence
    numbered  does not end a sentence before a number
    name      part of a name: ends a sentence only before a starter
    starter   capitalized after a stop, begins a sentence rather than continues a name
    """
    words = _TABLES[kind].get(language, _TABLES[kind]["en"])
    return frozenset(f"{words} {_EVERYWHERE if kind == 'leading' else ''}".split())


@cache
def writes_ordinals_with_stop(language: str) -> bool:
    """Whether the language writes "3rd" as "3."."""
    return language in _ORDINAL_STOP.split()
