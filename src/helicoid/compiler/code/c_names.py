"""Names for C: any text becomes a unique identifier of C and C++."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public reinterpret_cast requires static_assert static_cast template this thread_local throw
    true try typeid typename using virtual wchar_t xor xor_eq
"""
# Macros of standard headers and compilers, which would change even the name of a parameter.
_MACROS = "INFINITY NAN HUGE_VAL I NULL EOF errno unix linux"
# Not allowed as names of functions, files or CMake targets; math.h adds a suffix f or l.
_LINKED = """
    main printf scanf malloc calloc realloc free abort exit abs labs llabs rand srand qsort bsearch system
    getenv memcpy memmove memset memcmp index rindex read write open close link pipe time clock signal raise
    remove rename select send connect accept bind listen
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log
    log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma gamma ceil floor
    nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter
    nexttoward fdim fmax fmin fma isnan isinf isfinite isnormal signbit fpclassify j0 j1 jn y0 y1 yn drem
    significand sincos exp10 pow10
    all clean edit_cache help install list_install_components package preinstall rebuild_cache test
"""
_FOR_PARAMETERS = frozenset((_KEYWORDS + _MACROS).split())
_FOR_LINKED = _FOR_PARAMETERS.union(_LINKED.split())


def c_identifier(text: str, linked: bool = True) -> str:
    """The text as an identifier; other characters become underscores, a reserved word gets one at its end.

    A name that is not `linked` (a parameter) may be that of a function of the standard library.

    >>> c_identifier("panda hand"), c_identifier("2r"), c_identifier("double"), c_identifier("Δq")
    ('panda_hand', 'n2r', 'double_', 'Deltaq')
    >>> c_identifier("gamma"), c_identifier("gamma", linked=False)
    ('gamma_', 'gamma')
    """
    latin = "".join(map(_latin, unicodedata.normalize("NFKD", text)))
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", latin).strip("_") or "n"
    if name[0].isdigit():
        name = f"n{name}"
    taken = _FOR_LINKED if linked else _FOR_PARAMETERS
    return f"{name}_" if name in taken or (linked and name[:-1] in taken and name[-1] in "fl") else name


def distinct_identifiers(texts: Iterable[str], linked: bool = True, taken: Iterable[str] = ()) -> list[str]:
    """An identifier for each text, none twice nor in `taken`, not even as capitals.

    >>> distinct_identifiers(["q", "Q", "a-b", "a_b"], taken=["q"])
    ['q_2', 'Q_3', 'a_b', 'a_b_2']
    """
    used = {name.casefold() for name in taken}
    names = []
    for text in texts:
        name = first = c_identifier(text, linked)
        number = 2
        while name.casefold() in used:
            name = f"{first}_{number}"
            number += 1
        used.add(name.casefold())
        names.append(name)
    return names


def _latin(sign: str) -> str:
    """A Greek letter by its name, an accent as nothing, others as they are."""
    if unicodedata.combining(sign):
        return ""
    name = unicodedata.name(sign, "")
    if not name.startswith("GREEK"):
        return sign
    word = name.split()[-1]
    return word.capitalize() if sign.isupper() else word.lower()
