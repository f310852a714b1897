"""The objects that a receipt stands on, read as strictly as docs/objects.md asks: svc-cbor, key event logs, receipts
and counter-signatures. Standard library, plus Ed25519 from Debian's python3-cryptography."""

import base64
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

DEPTH_MAX = 16
INTEGER_MAX = 2**53 - 1
KEL_EVENTS_MAX = 1024
KEL_BYTES_MAX = 256 * 1024
RECEIPT_BYTES_MAX = 64 * 1024
CID_PREFIX = bytes([0x01, 0x55, 0x12, 0x20])
MESSAGES_MAX = 100_000
STATUSES = ("OK", "UNVERIFIED", "FAILED", "UNAVAILABLE", "PAYMENT_REQUIRED")
INCEPTION, ROTATION, DEACTIVATION = range(3)
ED25519 = 1
P = 2**255 - 19
# The y coordinates of the points of small order; a key or nonce among them verifies too much.
SMALL_ORDER_Y = {
    0,
    1,
    P - 1,
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
}


class Refused(Exception):
    """The bytes are malformed, or a rule of the object does not hold."""


def need(holds, sentence):
    if not holds:
        raise Refused(sentence)


# --- svc-cbor (docs/objects.md section 2) ---------------------------------------------------------------------------


def decode(data):
    """The value of exactly these bytes: int, bytes, str, list, dict, bool or None."""
    value, end = _item(data, 0, 0)
    need(end == len(data), "bytes follow the item")
    return value


def decode_first(data):
    """The first item and where it ends, for items that padding follows."""
    return _item(data, 0, 0)


def _head(data, at):
    need(at < len(data), "the item is cut short")
    major, low = data[at] >> 5, data[at] & 31
    at += 1
    if low < 24:
        return major, low, at
    need(low <= 27, "indefinite or reserved length")
    size = 1 << (low - 24)
    need(at + size <= len(data), "the item is cut short")
    value = int.from_bytes(data[at : at + size], "big")
    if major != 7:
        need(value >= (24 if size == 1 else 1 << (size * 4)), "not the shortest head")
    return major, value, at + size


def _item(data, at, depth):
    need(depth <= DEPTH_MAX, "nested too deep")
    first = data[at] if at < len(data) else 0
    major, argument, at = _head(data, at)
    if major == 0:
        need(argument <= INTEGER_MAX, "the integer is too large")
        return argument, at
    if major == 1:
        need(argument < INTEGER_MAX, "the integer is too small")
        return -1 - argument, at
    if major in (2, 3):
        need(at + argument <= len(data), "the string is cut short")
        raw = bytes(data[at : at + argument])
        if major == 2:
            return raw, at + argument
        try:
            return raw.decode("utf-8"), at + argument
        except UnicodeDecodeError as error:
            raise Refused("the text is not UTF-8") from error
    if major == 4:
        items = []
        for _ in range(argument):
            value, at = _item(data, at, depth + 1)
            items.append(value)
        return items, at
    if major == 5:
        return _map(data, argument, at, depth)
    need(first in (0xF4, 0xF5, 0xF6), "a tag, a float or an unknown simple value")
    return {0xF4: False, 0xF5: True, 0xF6: None}[first], at


def _map(data, count, at, depth):
    entries, before = {}, None
    for _ in range(count):
        start = at
        key, at = _item(data, at, depth + 1)
        need(isinstance(key, str) or (type(key) is int and key >= 0), "a map key is neither unsigned nor text")
        need(before is None or bytes(data[start:at]) > before, "map keys repeat or do not ascend")
        before = bytes(data[start:at])
        entries[key], at = _item(data, at, depth + 1)
    return entries, at


def encode(value):
    """The one encoding of an int, bytes, str, list, dict, bool or None."""
    if value is None or isinstance(value, bool):
        return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[value]
    if isinstance(value, int):
        return _encode_head(0, value) if value >= 0 else _encode_head(1, -1 - value)
    if isinstance(value, (bytes, bytearray)):
        return _encode_head(2, len(value)) + bytes(value)
    if isinstance(value, str):
        return _encode_head(3, len(value.encode())) + value.encode()
    if isinstance(value, dict):
        entries = sorted((encode(key), encode(item)) for key, item in value.items())
        return _encode_head(5, len(entries)) + b"".join(key + item for key, item in entries)
    return _encode_head(4, len(value)) + b"".join(encode(item) for item in value)


def _encode_head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    size = next(size for size in (1, 2, 4, 8) if argument < 1 << (8 * size))
    return bytes([major << 5 | 24 + size.bit_length() - 1]) + argument.to_bytes(size, "big")


def fields(value, required, optional=()):
    """Checks that a record has exactly the keys it may have."""
    need(isinstance(value, dict), "not a record")
    need(set(required) <= set(value) <= set(required) | set(optional), "a key is missing or unknown")
    return value


def uint(value):
    need(type(value) is int and value >= 0, "not an unsigned integer")
    return value


def fixed(value, length):
    need(isinstance(value, bytes) and len(value) == length, f"not {length} bytes")
    return value


def items(value, least, most):
    need(isinstance(value, list) and least <= len(value) <= most, f"not a list of {least} to {most}")
    return value


# --- hashes and signatures (sections 1 and 3) -----------------------------------------------------------------------


def labelled(label, message):
    return label.encode() + b"\0" + message


def digest(label, message):
    return hashlib.sha256(labelled(label, message)).digest()


def content_id(content):
    return CID_PREFIX + hashlib.sha256(content).digest()


def aid_text(aid):
    return base64.urlsafe_b64encode(aid).decode()


def aid_bytes(value):
    fixed(value, 33)
    need(value[0] == 1, "not an AID")
    return value


def canonical_point(encoded):
    y = int.from_bytes(encoded, "little") & (2**255 - 1)
    return y < P and y not in SMALL_ORDER_Y


def verifies(label, key, message, signature):
    """Strict Ed25519: canonical encodings, no points of small order."""
    if not (canonical_point(key) and canonical_point(signature[:32])):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, labelled(label, message))
        return True
    except (InvalidSignature, ValueError):
        return False


def signed(data, most):
    """The body bytes and signature of a signed object."""
    need(len(data) <= most, f"more than {most} bytes")
    return signed_item(decode(data))


def signed_item(value):
    body, signature = items(value, 2, 2)
    need(isinstance(body, bytes), "the body is not a byte string")
    return body, fixed(signature, 64)


# --- key event log (section 4) --------------------------------------------------------------------------------------


class Log:
    """A verified key event log."""

    def __init__(self, aid, bodies, witnesses):
        self.aid, self.bodies, self.witnesses = aid, bodies, witnesses

    @property
    def seq(self):
        return len(self.bodies) - 1

    def key_at(self, seq):
        return self.bodies[seq][7][0][1] if seq < len(self.bodies) else None


def verify_log(data):
    """Replays a log; raises Refused at the first event that does not hold."""
    need(len(data) <= KEL_BYTES_MAX, "the log is too large")
    events = items(decode(data), 1, KEL_EVENTS_MAX)
    aid, bodies, witnesses, before_bytes = None, [], [], None
    for seq, event in enumerate(events):
        body_bytes, signatures, seen = items(event, 3, 3)
        need(isinstance(body_bytes, bytes) and len(body_bytes) <= 4096, "an event body is not bytes or too large")
        body = _event_body(decode(body_bytes))
        if aid is None:
            aid = b"\x01" + digest("svc-aid/v1", body_bytes)
        before = bodies[-1] if bodies else None
        _check_order(body, before, before_bytes, seq, aid)
        _check_signature(body, body_bytes, signatures)
        bodies.append(body)
        witnesses.append(_witness_entries(seen))
        before_bytes = body_bytes
    return Log(aid, bodies, witnesses)


def _event_body(body):
    fields(body, (1, 2, 4, 6, 7, 8, 9, 10), (3, 5))
    need(body[1] == 1 and type(body[1]) is int, "unknown version")
    need(body[2] in (INCEPTION, ROTATION, DEACTIVATION) and type(body[2]) is int, "unknown type of event")
    uint(body[4]), uint(body[6])
    algorithm, key = items(items(body[7], 1, 1)[0], 2, 2)
    uint(algorithm), fixed(key, 32)
    for commitment in items(body[8], 0, 1):
        fixed(commitment, 32)
    for hub in items(body[9], 0, 4):
        aid_bytes(hub)
    items(body[10], 0, 16)
    if 3 in body:
        aid_bytes(body[3])
    if 5 in body:
        fixed(body[5], 32)
    return body


def _check_order(body, before, before_bytes, seq, aid):
    need(body[4] == seq, "wrong sequence number")
    need(body[7][0][0] == ED25519, "unknown algorithm")
    need(body[10] == [], "unknown critical extension")
    need((body[8] == []) == (body[2] == DEACTIVATION), "the commitment to a next key is wrong for this type")
    if before is None:
        need(body[2] == INCEPTION and 3 not in body and 5 not in body and body[9] == [], "not an inception")
        return
    need(before[2] != DEACTIVATION, "an event follows the end of the identity")
    need(body[2] != INCEPTION and body.get(3) == aid, "a second inception, or another identity")
    need(body.get(5) == digest("svc-kel-id/v1", before_bytes), "does not follow the event before")
    need(body[6] > before[6], "time does not rise")
    committed = digest("svc-kel-next/v1", encode([ED25519, body[7][0][1]]))
    need(before[8] == [committed], "not the key that was committed to")


def _check_signature(body, body_bytes, signatures):
    for index, signature in items(signatures, 0, 4):
        uint(index), fixed(signature, 64)
    need(len(signatures) == 1 and signatures[0][0] == 0, "not exactly one signature by key 0")
    need(verifies("svc-kel/v1", body[7][0][1], body_bytes, signatures[0][1]), "the signature does not hold")


def _witness_entries(entries):
    for entry in items(entries, 0, 8):
        hub, hub_seq, ts, signature = items(entry, 4, 4)
        aid_bytes(hub), uint(hub_seq), uint(ts), fixed(signature, 64)
    return entries


# --- receipt and counter-signature (section 11) ---------------------------------------------------------------------


class Receipt:
    """A receipt whose form has been checked; `holds` says whether the provider signed it."""

    def __init__(self, data):
        self.body_bytes, self.signature = signed(data, RECEIPT_BYTES_MAX)
        self.body = _receipt_body(decode(self.body_bytes))

    @property
    def digest(self):
        return digest("svc-receipt-id/v1", self.body_bytes)

    def holds(self, provider):
        key = provider.key_at(self.body[4]) if self.body[3] == provider.aid else None
        return key is not None and verifies("svc-receipt-p/v1", key, self.body_bytes, self.signature)


def _receipt_body(body):
    fields(body, (*range(1, 11), 12, 13, 14), (11,))
    need(type(body[1]) is int and body[1] == 1, "unknown version")
    fixed(body[2], 16), aid_bytes(body[3]), uint(body[4]), fixed(body[5], 32)
    fixed(body[6], 36), fixed(body[7], 36), uint(body[8]), uint(body[9])
    need(isinstance(body[10], str) and body[10] in STATUSES, "unknown status")
    if 11 in body:
        need(isinstance(body[11], str) and len(body[11].encode()) <= 128, "settlement is no text of 128 bytes")
    length, head = items(body[12], 2, 2)
    chain_head(length, head)
    for highest, missing in (items(side, 2, 2) for side in items(body[13], 2, 2)):
        need(uint(highest) <= MESSAGES_MAX, "the cover names too many messages")
        numbers = [0, *items(missing, 0, 1024)]
        for lower, number in zip(numbers, numbers[1:]):
            need(lower < uint(number) <= highest, "missing numbers do not ascend up to the highest")
    fixed(body[14], 32)
    return body


def chain_head(length, head):
    """Only an empty chain has the genesis sentinel as its head, and every head is a content id."""
    need(fixed(head, 36).startswith(CID_PREFIX), "the id of a chain head is no content id")
    need((uint(length) == 0) == (head == content_id(b"svc-ael-genesis/v1")), "no chain has this length with this head")


def counter_signature_holds(data, receipt, requester):
    """Whether these bytes are the requester's signature over this very receipt."""
    body_bytes, signature = signed(data, 512)
    body = fields(decode(body_bytes), range(1, 6))
    aid_bytes(body[1]), uint(body[2]), chain_head(body[3], body[4]), fixed(body[5], 32)
    key = requester.key_at(body[2]) if body[1] == requester.aid else None
    covers = body[5] == hashlib.sha256(receipt.body_bytes).digest()
    return covers and key is not None and verifies("svc-receipt-r/v1", key, body_bytes, signature)
