# SPDX-License-Identifier: Apache-2.0
"""Makes the message of one line for wrong arguments: which one, what is wanted, what was given. Also writes numbers as
exact text.
"""
import ast
import difflib
import re

WORDS = {"str": "text", "int": "a whole number", "bool": "True or False", "float": "a number", "dict": "a dict",
         "None": "None", "bytes": "bytes"}


def refusal(told, given, named):
    """Returns the exception to raise in the place of nanobind's message `told`; given and named are the arguments of the call."""
    name = told.partition("(")[0]
    signature = re.search(r"^    1\. (.*)$", told, re.MULTILINE)
    try:
        text = re.sub(r"^def ", "", signature[1])
        parameters = ast.parse(f"def {text}: ...").body[0].args
    except (SyntaxError, TypeError):
        return TypeError(told.partition(".")[0])
    by_place = parameters.posonlyargs + parameters.args
    if by_place and by_place[0].arg == "self":
        if not given:
            return TypeError(f"{name}(): self is missing")
        if name == "__init__":
            name = type(given[0]).__name__
        by_place, given = by_place[1:], given[1:]
    line = wrong_names(name, parameters, by_place, given, named)
    if line:
        return TypeError(line)
    return wrong_type(name, by_place + parameters.kwonlyargs, dict(zip((p.arg for p in by_place), given)) | named)


def wrong_names(name, parameters, by_place, given, named):
    known = [p.arg for p in by_place + parameters.kwonlyargs]
    if len(given) > len(by_place) and not parameters.vararg:
        more = [p.arg for p in parameters.kwonlyargs]
        only = " and ".join(p.arg for p in by_place) or "none"
        return (f"{name}() takes {len(by_place)} by place, {only}, not {len(given)}"
                + (f"; give the others by name, as {more[0]}=" if more else ""))
    for key in named:
        if key not in known and not parameters.kwarg:
            near = difflib.get_close_matches(key, known, 1)
            return f"{name}() has no argument {key!r}" + (
                f"; did you mean '{near[0]}'?" if near else f"; it has {', '.join(known)}" if known else "")
        if key in known[:len(given)] and key in [p.arg for p in by_place]:
            return f"{name}(): {key} is given twice"
    needed = by_place[:len(by_place) - len(parameters.defaults)] + [
        p for p, default in zip(parameters.kwonlyargs, parameters.kw_defaults) if default is None]
    for p in needed:
        if p.arg not in named and p not in by_place[:len(given)]:
            return f"{name}(): {p.arg} is missing"
    return ""


def wrong_type(name, parameters, values):
    for is_of in (is_of_kind, is_small):  # how large an int may be the signature does not say
        for p in parameters:
            if p.arg not in values or not p.annotation:
                continue
            wanted, value = [kind.strip() for kind in ast.unparse(p.annotation).split("|")], values[p.arg]
            if any(is_of(value, kind) for kind in wanted):
                if isinstance(value, str) and has_surrogate(value):  # nanobind takes it for no text
                    return ValueError(f"{p.arg} {value!a}: a text with a surrogate, which UTF-8 does not have; correct it")
                continue
            if "int" in wanted and is_whole(value):
                return ValueError(f"{p.arg} {value}: out of its range")
            if wanted == ["object"]:
                return TypeError(f"{name}(): {p.arg} is None")
            words = " or ".join(WORDS.get(kind, kind.rpartition(".")[2]) for kind in wanted)
            return TypeError(f"{name}(): {p.arg}: {words} is wanted, not {type(value).__name__}")
    return TypeError(f"{name}(): these arguments do not go together")


def exact_text(x):
    """Returns exact text of a number that has as_integer_ratio(). Raises ValueError if it has no finite decimal."""
    try:
        numerator, denominator = x.as_integer_ratio()
    except (ValueError, OverflowError):  # NaN and infinities
        return str(x).lower().replace("infinity", "inf")
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ValueError(f"{x}: no finite decimal; give a number whose denominator has the factors 2 and 5 alone")
    places = max(twos, fives)
    sign = "-" if str(x).startswith("-") else ""
    return f"{sign}{abs(numerator) * 10**places // denominator}e-{places}"


def has_surrogate(text):
    return any("\ud800" <= c <= "\udfff" for c in text)


def is_whole(value):
    return hasattr(value, "__index__") and not isinstance(value, bool)


def is_small(value, kind):
    return 0 <= value.__index__() < 2**31 if kind == "int" and is_whole(value) else is_of_kind(value, kind)


def is_of_kind(value, kind):
    if kind in ("object", "typing.Any"):
        return value is not None
    if kind == "None":
        return value is None
    if kind == "bool":
        return type(value).__name__ in ("bool", "bool_")
    if kind == "int":
        return is_whole(value)
    if kind == "float":
        return not isinstance(value, str) and (hasattr(value, "__float__") or hasattr(value, "__index__"))
    return kind.partition("[")[0].rpartition(".")[2] in [base.__name__ for base in type(value).__mro__]
