"""What is sealed: envelopes, message heads, capabilities, sessions, confirmations (docs/objects.md sections 6 to 9)."""

import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import objects
import sealing
from fixtures import REFUSED, outcome, unhex
from vectors_identity import DAY_MS
from vectors_payment import aid_of, one

HOUR_MS = 3_600_000
need, uint, fixed, fields, items = objects.need, objects.uint, objects.fixed, objects.fields, objects.items


def blob(value, most):
    need(isinstance(value, bytes) and len(value) <= most, f"not up to {most} bytes")
    return value


def text(value, most):
    need(isinstance(value, str) and len(value.encode()) <= most, f"not a text of up to {most} bytes")


# --- access and capabilities ------------------------------------------------------------------------------------------


def access(data):
    """The static part."""
    record = objects.decode(blob(data, 1024))
    need(isinstance(record, dict) and type(record.get(1)) is int, "no kind")
    if record[1] == 0:
        fields(record, (1,))
        return objects.encode(record)
    need(record[1] == 1, "unknown kind")
    fields(record, (1, 2, 3, 15))
    blob(record[2], 512), fixed(record[3], 64), fixed(record[15], 64)
    return objects.encode({key: record[key] for key in (1, 2, 3)})


def capability(data):
    body = fields(objects.decode(blob(data, 512)), range(1, 9))
    one(body[1]), fixed(body[2], 16), objects.aid_bytes(body[3]), fixed(body[4], 16), fixed(body[5], 32)
    uint(body[6]), uint(body[7]), uint(body[8])
    return body


def capabilities(held):
    given = held.read("capability/capabilities.json")
    for case in given["valid"]:
        raw, body = unhex(case["body"]), capability(unhex(case["body"]))
        found = (objects.aid_text(body[3]), body[2].hex(), body[4].hex(), body[6])
        held.same("capability", (case["recipient"], case["id"], case["epoch"], case["expMs"]), found)
        signed = objects.verifies("svc-cap/v1", unhex(case["mailboxKey"]), raw, unhex(case["signature"]))
        held.same("capability", (True, True), (signed, proves(body, case)))
    for case in given["refusedUses"]:
        held.same(f"use: {case['reason']}", False, proves(capability(unhex(case["body"])), case))
    key = unhex(given["valid"][0]["mailboxKey"])
    for case in given["refusedSignatures"]:
        found = objects.verifies("svc-cap/v1", key, unhex(case["body"]), unhex(case["signature"]))
        held.same(f"capability: {case['reason']}", False, found)
    for case in given["invalidBodies"]:
        held.refuses(f"capability: {case['reason']}", capability, unhex(case["body"]))
    for case in given["lives"]:
        ahead = case["expMs"] - case["nowMs"]
        found = case["expMs"] % DAY_MS == 0 and 0 < ahead <= 31 * DAY_MS + 300_000
        held.same(f"capability: {case['reason']}", case["isLive"], found)


def proves(body, case):
    message = aid_of(case["homeHub"]) + unhex(case["envelopeDigest"])
    return objects.verifies("svc-cap-use/v1", body[5], message, unhex(case["proof"]))


def accesses(held):
    given = held.read("seal/access.json")
    for case in given["valid"]:
        held.same("access", case["static"], access(unhex(case["bytes"])).hex())
    for case in given["invalid"]:
        held.refuses(f"access: {case['reason']}", access, unhex(case["bytes"]))


# --- envelopes --------------------------------------------------------------------------------------------------------


def envelope_head(data):
    """The head with digest and context, and where the content begins and how long it is."""
    need(data[:1] == b"\xa9", "not a map of nine")
    head, at = {}, 1
    for key in range(1, 10):
        need(data[at : at + 1] == bytes([key]), "a key is not in its place")
        if key == 9:
            major, length, at = objects._head(data, at + 1)
            need(major == 2 and at + length <= 96 << 20, "no content, or too much")
            break
        head[key], at = objects._item(data, at + 1, 1)
    need(type(head[1]) is int and head[1] == 3 and type(head[3]) is int and head[3] == 1, "another version or suite")
    objects.aid_bytes(head[2]), fixed(head[4], 8), fixed(head[6], 1120), blob(head[7], 1024), fixed(head[8], 32)
    need(uint(head[5]) % HOUR_MS == 0, "exp is no whole hour")
    return head, at, length


def digest_of(head):
    return objects.digest("svc-env-id/v1", objects.encode({key: head[key] for key in (1, 2, 3, 4, 5, 6, 8)}))


def context_of(head):
    static = objects.decode(access(head[7]))
    return hashlib.sha256(objects.encode([3, head[2], 1, head[4], head[5], static])).digest()


def heads(held):
    given = held.read("seal/envelope-heads.json")
    for case in given["valid"]:
        head, _, length = envelope_head(unhex(case["bytes"]))
        found = (objects.aid_text(head[2]), head[4].hex(), head[5], length, digest_of(head).hex(), context_of(head).hex())
        wanted = [case[name] for name in ("to", "kid", "expMs", "contentLength", "digest", "context")]
        held.same("envelope head", tuple(wanted), found)
    for case in given["invalid"]:
        held.refuses(f"envelope head: {case['reason']}", envelope_head, unhex(case["bytes"]))


def message_head(data):
    body_bytes, signature = objects.signed(data, 1 << 20)
    return body_bytes, signature, message_body(objects.decode(body_bytes))


def message_body(body):
    fields(body, (*range(1, 8), 9, 10, 11, 13, 15), (8, 12, 14, 16, 17))
    one(body[1]), objects.aid_bytes(body[2]), uint(body[3]), objects.aid_bytes(body[4]), fixed(body[5], 16)
    for key in (6, 7, 9, 10):
        uint(body[key])
    need(8 not in body or fixed(body[8], 16), "no interaction id")
    need(isinstance(body[11], bytes), "the payload is not bytes")
    for issued in items(body[12], 1, 16) if 12 in body else ():
        items(issued, 3, 3), capability(issued[0]), fixed(issued[1], 64), fixed(issued[2], 32)
    fixed(body[13], 32)
    need(14 not in body or fixed(body[14], 32), "no handle secret")
    for entry in items(body[15], 0, 64):
        fields(entry, (1, 2, 3, 4))
        text(entry[1], 255), text(entry[2], 255), uint(entry[3]), fixed(entry[4], 36)
    if 16 in body:
        need(isinstance(body[16], list) and all(len(items(event, 3, 3)) for event in body[16]), "no log")
    if 17 in body:
        objects.signed_item(body[17])
    return body


def message_digest(body):
    files = [[entry[key] for key in (1, 2, 3, 4)] for entry in body[15]]
    stable = [body[2], body[4], body[5], body[7], body.get(8, b""), body[9], hashlib.sha256(body[11]).digest(), files]
    return objects.digest("svc-msg/v1", objects.encode(stable)).hex()


def signs(body_bytes, signature, context, key):
    return objects.verifies("svc-seal/v1", key, context + hashlib.sha256(body_bytes).digest(), signature)


def messages(held):
    given = held.read("seal/messages.json")
    for case in given["valid"]:
        body_bytes, signature, body = message_head(unhex(case["head"]))
        holds = signs(body_bytes, signature, unhex(case["context"]), unhex(case["publicKey"]))
        held.same("message", (case["body"], case["messageDigest"], True), (body_bytes.hex(), message_digest(body), holds))
    for case in given["invalid"]:
        held.refuses(f"message: {case['reason']}", message_head, unhex(case["head"]))


def open_envelope(data, recipient):
    """(digest, body, attachments), or the fault that is found first."""
    head, at, length = envelope_head(data)
    if objects.aid_text(head[2]) != recipient["aid"]:
        return "wrong_recipient"
    if head[4].hex() != recipient["kid"]:
        return "unknown_kid"
    context, content = context_of(head), data[at:]
    need(len(content) == length and hashlib.sha256(content).digest() == head[8], "other content")
    shared = sealing.decapsulate(unhex(recipient["encryptionSeed"]), head[6])
    key = sealing.Context(shared, b"svc-env/v1\0" + context).export(b"svc-content/v1", 32)
    plain = sealing.decrypt_chunks(key, context, content)
    need(len(plain) >= 4 and int.from_bytes(plain[:4], "big") <= 1 << 20, "no head, or too long")
    at = 4 + int.from_bytes(plain[:4], "big")
    need(at <= len(plain), "the head is cut")
    body_bytes, signature, body = message_head(plain[4:at])
    need(14 in body, "not sealed")
    if objects.aid_text(body[4]) != recipient["aid"]:
        return "wrong_recipient"
    if not signs(body_bytes, signature, context, unhex(recipient["senderKey"])):
        return "bad_signature"
    files = []
    for entry in body[15]:
        files.append(plain[at : at + entry[3]])
        need(len(files[-1]) == entry[3] and objects.content_id(files[-1]) == entry[4], "another attachment")
        at += entry[3]
    need(len(plain) == sealing.padded_length(at) and not any(plain[at:]), "other padding")
    return digest_of(head).hex(), body, files


def envelopes(held):
    given = held.read("seal/envelopes.json")
    for case in given["valid"]:
        digest, body, files = open_envelope(unhex(case["bytes"]), {**case, "aid": case["recipient"]})
        found = (digest, message_digest(body), body[5].hex(), body[7], [each.hex() for each in files])
        names = ("digest", "messageDigest", "messageId", "kind", "attachments")
        held.same("envelope", tuple(case[name] for name in names), found)
    for case in given["invalid"]:
        found = outcome(open_envelope, unhex(case["bytes"]), given["recipient"])
        held.same(f"envelope: {case['reason']}", case["fault"], "malformed" if found == REFUSED else found)
    for case in given["times"]:
        exp, ts, now = case["expMs"], case["tsMs"], case["nowMs"]
        found = exp >= now - HOUR_MS and exp - 14 * DAY_MS - HOUR_MS <= ts <= now + 300_000
        held.same(f"times: {case['reason']}", case["fits"], found)
    for case in held.read("seal/padding.json")["sizes"]:
        held.same("padding", case["padded"], sealing.padded_length(case["length"]))


# --- sessions and confirmations ---------------------------------------------------------------------------------------


def grant(given):
    sid, enc = fixed(unhex(given["sid"]), 16), fixed(unhex(given["enc"]), 1120)
    info = b"svc-session/v1\0" + aid_of(given["hub"]) + sid + aid_of(given["aid"])
    context = sealing.Context(sealing.decapsulate(unhex(given["seed"]), enc), info)
    body = fields(objects.decode(context.open_first(unhex(given["ciphertext"]))), (1, 2, 3))
    return {"macKey": fixed(body[1], 32).hex(), "quota": uint(body[2]), "expMs": uint(body[3])}


def session_mac(key, use):
    access_hash = hashlib.sha256(unhex(use["access"])).digest()
    bound = unhex(use["sid"]) + use["tsMs"].to_bytes(8, "big") + unhex(use["envelopeDigest"]) + access_hash
    return hmac.new(unhex(key), b"svc-session-mac/v1\0" + bound, "sha256").hexdigest()


def sessions(held):
    given = held.read("session/sessions.json")
    held.same("grant", given["grant"], grant(given))
    for case in given["refusedGrants"]:
        held.refuses(f"grant: {case['reason']}", grant, {**given, **case})
    use, key = given["use"], given["grant"]["macKey"]
    held.same("session", use["mac"], session_mac(key, use))
    for case in given["refusedUses"]:
        held.same(f"session: {case['reason']}", False, session_mac(key, {**use, **case}) == use["mac"])


def confirmation(secret, sealed):
    fixed(sealed, 540)
    handle = objects.digest("svc-dack-handle/v1", secret)[:16]
    plain = ChaCha20Poly1305(sealing.hkdf(secret, b"svc-dack/v1")).decrypt(sealed[:12], sealed[12:], handle)
    value, end = objects.decode_first(plain)
    need(not any(plain[end:]), "the padding is not zero")
    body_bytes, signature = objects.signed_item(value)
    body = fields(objects.decode(blob(body_bytes, 400)), range(1, 8))
    fixed(body[1], 32), fixed(body[2], 16), fixed(body[3], 32), objects.aid_bytes(body[4]), uint(body[5]), uint(body[6])
    need(type(body[7]) is int and 0 <= body[7] <= 5, "unknown code")
    return handle.hex(), body, body_bytes, signature


def confirmations(held):
    given = held.read("dack/dacks.json")
    for case in given["valid"]:
        handle, body, raw, signature = confirmation(unhex(case["handleSecret"]), unhex(case["sealed"]))
        names = ("envelopeDigest", "messageId", "messageDigest", "recipient", "kelSeq", "tsMs", "code")
        found = (body[1].hex(), body[2].hex(), body[3].hex(), objects.aid_text(body[4]), body[5], body[6], body[7])
        held.same("confirmation", (case["handle"], tuple(case["body"][name] for name in names)), (handle, found))
        held.same("confirmation", True, objects.verifies("svc-dack/v1", unhex(case["publicKey"]), raw, signature))
    for case in given["invalid"]:
        held.refuses(f"confirmation: {case['reason']}", confirmation, unhex(case["handleSecret"]), unhex(case["sealed"]))


# --- open messages ----------------------------------------------------------------------------------------------------


def open_message(data):
    body_bytes, signature, files = items(objects.decode(data), 3, 3)
    need(isinstance(body_bytes, bytes) and len(body_bytes) <= 1 << 20, "the head is no bytes, or too long")
    fixed(signature, 64)
    body = message_body(objects.decode(body_bytes))
    need(not any(key in body for key in (12, 14, 16, 17)), "a member of sealed heads")
    need(len(items(files, 0, 64)) == len(body[15]), "not as many attachments")
    for content, entry in zip(files, body[15]):
        need(isinstance(content, bytes), "an attachment is no bytes")
        need(len(content) == entry[3] and objects.content_id(content) == entry[4], "another attachment")
    return body_bytes, signature, body, files


def holds_open(data, key):
    body_bytes, signature, _, _ = open_message(data)
    return objects.verifies("svc-open/v1", key, hashlib.sha256(body_bytes).digest(), signature)


def open_messages(held):
    given = held.read("open/messages.json")
    for case in given["valid"]:
        data, key = unhex(case["bytes"]), unhex(case["publicKey"])
        _, _, body, files = open_message(data)
        found = (holds_open(data, key), message_digest(body), [content.hex() for content in files])
        held.same("open message", (True, case["messageDigest"], case["attachments"]), found)
    for case in given["invalid"]:
        held.refuses(f"open message: {case['reason']}", open_message, unhex(case["bytes"]))
    for case in given["unsigned"]:
        found = holds_open(unhex(case["bytes"]), unhex(case["publicKey"]))
        held.same(f"open message: {case['reason']}", False, found)


def check(held):
    for part in (accesses, capabilities, heads, messages, envelopes, sessions, confirmations, open_messages):
        part(held)
