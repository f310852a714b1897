"""Bytes and text: docs/objects.md sections 2 and 3."""

import json
import struct

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import objects
from fixtures import unhex
from vectors_payment import aid_of, cid_bytes, cid_text

FLOATS = {0xF9: (">e", 2), 0xFA: (">f", 4), 0xFB: (">d", 8)}
JSON_DEPTH_MAX = 32


def strict(key, message, signature):
    """Ed25519 with the one verdict: canonical points that are not of small order, and no cofactor."""
    if len(key) != 32 or len(signature) != 64:
        return False
    if not (objects.canonical_point(key) and objects.canonical_point(signature[:32])):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


# --- svc-cbor with floats ---------------------------------------------------------------------------------------------


def decode_floats(data):
    """The value of exactly these bytes, where floats may stand."""
    value, end = float_item(data, 0, 0)
    objects.need(end == len(data), "bytes follow the item")
    return value


def float_item(data, at, depth):
    objects.need(depth <= objects.DEPTH_MAX, "nested too deep")
    objects.need(at < len(data), "the item is cut short")
    first = data[at]
    if first in FLOATS:
        return read_float(data, at, *FLOATS[first])
    if first >> 5 not in (4, 5):
        return objects._item(data, at, depth)
    major, count, at = objects._head(data, at)
    if major == 4:
        values = []
        for _ in range(count):
            value, at = float_item(data, at, depth + 1)
            values.append(value)
        return values, at
    entries, before = {}, b""
    for _ in range(count):
        start = at
        key, at = objects._item(data, at, depth + 1)
        objects.need(isinstance(key, str) or (type(key) is int and key >= 0), "a key is neither unsigned nor text")
        objects.need(data[start:at] > before, "map keys repeat or do not ascend")
        before = data[start:at]
        entries[key], at = float_item(data, at, depth + 1)
    return entries, at


def read_float(data, at, form, size):
    raw = data[at + 1 : at + 1 + size]
    objects.need(len(raw) == size, "the item is cut short")
    value = struct.unpack(form, raw)[0]
    objects.need(value == value and abs(value) != float("inf"), "not finite")
    objects.need(not (value == 0 and raw[0] & 0x80), "minus zero")
    objects.need(float_bytes(value) == data[at : at + 1 + size], "not the shortest float")
    return value, at + 1 + size


def float_bytes(value):
    for first, (form, _) in FLOATS.items():
        try:
            raw = struct.pack(form, value)
        except OverflowError:
            continue
        if struct.unpack(form, raw)[0] == value:
            return bytes([first]) + raw
    raise AssertionError("a double keeps every value")


def cbor(held):
    for case in held.read("cbor/appendix-a.json")["cases"]:
        data, name = unhex(case["hex"]), f"cbor: {case['diagnostic']}"
        if case["verdict"] == "refused":
            held.refuses(name, decode_floats, data)
        elif case["verdict"] == "valid" and data[0] not in FLOATS and not case.get("floats"):
            held.same(name, data, objects.encode(objects.decode(data)))
        else:
            decode_floats(data)
    for case in held.read("cbor/invalid.json")["cases"]:
        held.refuses(f"cbor: {case['reason']}", objects.decode, unhex(case["hex"]))
        held.refuses(f"cbor with floats: {case['reason']}", decode_floats, unhex(case["hex"]))


# --- JSON -------------------------------------------------------------------------------------------------------------


def read_json(data):
    """The value of a text in JSON, read strictly."""
    try:
        text = data.decode("utf-8")
        objects.need(depth_of(text) <= JSON_DEPTH_MAX, "nested too deep")
        value = json.loads(text, object_pairs_hook=members, parse_constant=no_constant, parse_float=number, parse_int=number)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeError, json.JSONDecodeError) as error:
        raise objects.Refused("not a text in JSON") from error
    return value


def depth_of(text):
    """How deep brackets nest outside of strings."""
    depth = deepest = at = 0
    in_string = False
    while at < len(text):
        character = text[at]
        if in_string:
            at += character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
        at += 1
    return deepest


def members(pairs):
    objects.need(len({name for name, _ in pairs}) == len(pairs), "a member stands twice")
    return dict(pairs)


def no_constant(name):
    raise objects.Refused(f"{name} is no JSON")


def number(text):
    value = float(text)
    objects.need(abs(value) != float("inf"), "beyond a double")
    objects.need(not (value == 0 and text.startswith("-")), "minus zero")
    return value


def canonical(value):
    """RFC 8785."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return es_number(float(value))
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


def es_number(value):
    """A number as ECMAScript writes it: the digits that Python finds too, laid out otherwise."""
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0")
    return ("-" if value < 0 else "") + laid_out(digits, point)


def laid_out(digits, point):
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return digits[0] + ("." + digits[1:] if count > 1 else "") + power


def texts(held):
    for path in held.under("json/invalid/"):
        held.refuses(path, read_json, held.raw(path))
    for path in held.under("vectors/jcs_input_"):
        wanted = held.raw(path.replace("_input_", "_output_")).decode().strip()
        held.same(path, wanted, canonical(read_json(held.raw(path))))


def hashes(held):
    given = held.read("hash/hashes.json")
    for case in given["labelled"]:
        held.same("labelled", case["digest"], objects.digest(case["label"], unhex(case["message"])).hex())
    for case in given["cids"]:
        found = objects.content_id(unhex(case["content"]))
        held.same("cid", (case["cid"], case["bytes"]), (cid_text(found), found.hex()))
    for case in given["invalidCids"]:
        held.refuses(f"cid: {case['reason']}", cid_strict, case["text"])
    for case in given["aids"]:
        aid = b"\x01" + objects.digest("svc-aid/v1", unhex(case["body"]))
        held.same("aid", case["aid"], objects.aid_text(aid))
    for case in given["invalidAids"]:
        held.refuses(f"aid: {case['reason']}", aid_of, case["text"])


def cid_strict(text):
    try:
        cid = cid_bytes(text)
    except ValueError as error:
        raise objects.Refused("no base32") from error
    objects.need(len(cid) == 36 and cid.startswith(objects.CID_PREFIX) and cid_text(cid) == text, "no content id")
    return cid


def signatures(held):
    for path in ("crypto/ed25519-edges.json", "crypto/ed25519-strict.json"):
        for number_of, case in enumerate(held.read(path)["cases"]):
            found = strict(unhex(case["key"]), unhex(case["message"]), unhex(case["signature"]))
            held.same(f"{path} {number_of} {case.get('name', case.get('class'))}", case["valid"], found)


def check(held):
    for part in (cbor, texts, hashes, signatures):
        part(held)
