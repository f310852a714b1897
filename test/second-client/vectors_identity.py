"""Who: key event logs, key sets, notices, directory, proof of work, cards, signed requests (sections 4, 5, 13, 16, 21)."""

import base64
import binascii
import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import objects
import sealing
from fixtures import REFUSED, outcome, unhex
from vectors_encoding import strict
from vectors_payment import aid_of, one

DAY_MS = 86_400_000


def b64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64url(text):
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error) as error:
        raise objects.Refused("no base64url") from error
    objects.need(b64url(raw) == text, "no base64url")
    return raw


def logs(held):
    for path in held.under("kel/valid/"):
        case = held.read(path)
        log = objects.verify_log(unhex(case["log"]))
        found = (objects.aid_text(log.aid), log.seq, log.key_at(log.seq).hex(), log.bodies[-1][2] == objects.DEACTIVATION)
        held.same(path, (case["aid"], case["seq"], case["public_key"], case["deactivated"]), found)
    for path in held.under("kel/invalid/"):
        case = held.read(path)
        aid = case.get("aid")
        held.refuses(path, log_of, unhex(case["log"]), aid)
    for case in held.read("kel/verdicts.json")["cases"]:
        held.same(f"log: {case['reason']}", case["verdict"], beside(unhex(case["held"]), unhex(case["submitted"])))


def log_of(data, aid):
    log = objects.verify_log(data)
    objects.need(aid is None or objects.aid_text(log.aid) == aid, "the log of somebody else")
    return log


def beside(stored, submitted):
    """What becomes of a submitted log beside the one held, by the digests of the bodies."""
    old, new = ([event[0] for event in objects.decode(data)] for data in (stored, submitted))
    common = min(len(old), len(new))
    if old[:common] == new[:common]:
        if len(new) <= len(old):
            return "unchanged" if len(new) == len(old) else "rollback"
        return "invalid" if outcome(objects.verify_log, submitted) == REFUSED else "extends"
    if outcome(log_of, submitted, objects.aid_text(objects.verify_log(stored).aid)) == REFUSED:
        return "invalid"
    return "fork"


def key_set(data):
    body_bytes, signature = objects.signed(data, 8192 + 70)
    body = objects.fields(objects.decode(body_bytes), range(1, 11))
    one(body[1]), objects.aid_bytes(body[2])
    for key in (3, 4, 5, 6):
        objects.uint(body[key])
    for entry in objects.items(body[7], 1, 4):
        objects.fields(entry, range(1, 6))
        objects.fixed(entry[1], 8), one(entry[2]), objects.fixed(entry[3], 1216)
        objects.uint(entry[4]), objects.uint(entry[5])
    objects.fixed(body[8], 32), objects.fixed(body[9], 16)
    objects.fields(body[10], (1, 2))
    objects.uint(body[10][1]), objects.uint(body[10][2])
    return body_bytes, signature, body


def set_fault(data, log):
    parsed = outcome(key_set, data)
    if parsed == REFUSED:
        return "malformed"
    body_bytes, signature, body = parsed
    if body[2] != log.aid:
        return "aid"
    if body[3] != log.seq:
        return "kel_seq"
    if body[4] < 1:
        return "set_seq"
    if body[6] != body[5] + 90 * DAY_MS:
        return "life"
    if any(entry[1] != objects.digest("svc-kid/v1", entry[3])[:8] for entry in body[7]):
        return "kid"
    if body[10][1] < 384 * 1024:
        return "stranger_limits"
    return None if objects.verifies("svc-keys/v1", log.key_at(log.seq), body_bytes, signature) else "signature"


def set_verdict(stored, submitted, named):
    body_bytes, _, body = key_set(submitted)
    kel_seq = number = 0
    if stored is not None:
        old_bytes, _, old = key_set(stored)
        if old_bytes == body_bytes:
            return "unchanged"
        kel_seq, number = old[3], old[4]
    if body[3] < kel_seq:
        return "rollback"
    number = 0 if body[3] > kel_seq else number
    return "stored" if named in (None, number) and body[4] > number else "rollback"


def sets(held):
    given = held.read("keyset/sets.json")
    log = objects.verify_log(unhex(given["kel"]))
    for case in given["kids"]:
        held.same("kid", case["kid"], objects.digest("svc-kid/v1", unhex(case["publicKey"]))[:8].hex())
    for case in given["valid"]:
        held.same(f"key set: {case['reason']}", None, set_fault(unhex(case["set"]), log))
        _, _, body = key_set(unhex(case["set"]))
        found = (objects.aid_text(body[2]), body[8].hex(), body[9].hex(), [entry[1].hex() for entry in body[7]])
        wanted = case["body"]
        kids = [entry["kid"] for entry in wanted["keys"]]
        held.same("key set", (wanted["aid"], wanted["mailboxKey"], wanted["mailboxEpoch"], kids), found)
    for case in given["invalid"]:
        held.same(f"key set: {case['reason']}", case["fault"], set_fault(unhex(case["set"]), log))
    for case in given["order"]:
        stored = case["stored"] and unhex(case["stored"])
        found = set_verdict(stored, unhex(case["submitted"]), case["prevSeq"])
        held.same(f"key sets: {case['reason']}", case["verdict"], found)
    _, _, body = key_set(unhex(given["sealing"]["set"]))
    newest = max(body[7], key=lambda entry: entry[4])[1].hex()
    for case in given["sealing"]["cases"]:
        held.same(f"sealing: {case['reason']}", case["kid"], newest if case["now"] <= body[6] else None)


def notice_verdict(data, log, hub):
    try:
        body_bytes, signature = objects.signed(data, 512)
        body = objects.fields(objects.decode(body_bytes), range(1, 7))
        objects.aid_bytes(body[1]), objects.uint(body[2]), objects.fixed(body[3], 32), objects.uint(body[4])
        objects.aid_bytes(body[5]), objects.uint(body[6])
    except objects.Refused:
        return "malformed"
    key = hub.key_at(body[6])
    holds = key is not None and objects.verifies("svc-ksn/v1", key, body_bytes, signature)
    same = body[1] == log.aid and body[5] == hub.aid and body[2] == log.seq
    return "agrees" if holds and same and body[3] == head_digest(log) else "disagrees"


def head_digest(log):
    return objects.digest("svc-kel-id/v1", objects.encode(log.bodies[-1]))


def notices(held):
    given = held.read("keyset/notices.json")
    log, hub = (objects.verify_log(unhex(given[name])) for name in ("kel", "hubKel"))
    for case in given["cases"]:
        held.same(f"notice: {case['reason']}", case["verdict"], notice_verdict(unhex(case["notice"]), log, hub))


# --- directory, proof of work, signed requests ------------------------------------------------------------------------


def directory_secret(aid):
    return hmac.new(b"svc-dir/v1", aid, "sha256").digest()


def open_box(aid, box):
    prk = directory_secret(aid)
    objects.need(len(box) >= 48 and (len(box) - 48) % 4096 == 0 and len(box) > 48, "no step of padding")
    key = sealing.hkdf_expand("sha256", prk, b"box" + box[:32], 32)
    plain = ChaCha20Poly1305(key).decrypt(bytes(12), box[32:], sealing.hkdf_expand("sha256", prk, b"h", 32))
    entry, end = objects.decode_first(plain)
    objects.need(not any(plain[end:]) and len(plain) == -(-end // 4096) * 4096, "other padding")
    return objects.fields(entry, (1, 2, 3))


def prefix_of(text, bits):
    raw = unb64url(text)
    objects.need(len(raw) == -(-bits // 8), "another length")
    spare = len(raw) * 8 - bits
    objects.need(int.from_bytes(raw, "big") & ((1 << spare) - 1) == 0, "spare bits are set")
    return raw


def directory(held):
    given = held.read("directory/boxes.json")
    for case in [*given["valid"], *given["hashes"]]:
        found = sealing.hkdf_expand("sha256", directory_secret(aid_of(case["aid"])), b"h", 32).hex()
        held.same("h", case["h"], found)
    for case in given["valid"]:
        entry = open_box(aid_of(case["aid"]), unhex(case["box"]))
        notice = case["notice"] and unhex(case["notice"])
        found = (objects.encode(entry[1]).hex(), objects.encode(entry[2]).hex(), entry[3] and objects.encode(entry[3]))
        held.same("box", (case["kel"], case["keySet"], notice), found)
    for case in given["invalid"]:
        held.refuses(f"box: {case['reason']}", open_box, aid_of(case["aid"]), unhex(case["box"]))
    given = held.read("directory/prefixes.json")
    for case in given["valid"]:
        raw, bits = prefix_of(case["prefix"], case["bits"]), case["bits"]
        first = int.from_bytes(raw.ljust(32, b"\0"), "big")
        last = first | (1 << (256 - bits)) - 1
        held.same("prefix", (case["first"], case["last"]), (f"{first:064x}", f"{last:064x}"))
    for case in given["invalid"]:
        held.refuses(f"prefix: {case['reason']}", prefix_of, case["prefix"], case["bits"])
    for case in given["bitsMax"]:
        narrowest = max(0, min(10, (case["agents"] // 32).bit_length() - 1))
        held.same(f"bits of {case['agents']}", case["bits"], narrowest)


def work(held):
    given = held.read("pow/solutions.json")

    def zeros(hub, aid, nonce):
        message = b"svc-regpow/v1" + aid_of(hub) + aid_of(aid) + unhex(given["seed"]) + unhex(nonce)
        return 256 - int.from_bytes(hashlib.sha256(message).digest(), "big").bit_length()

    def is_own(aid, seed):
        raw = unhex(seed)
        message = objects.labelled("svc-pow-seed/v1", aid_of(aid) + raw[:8])
        return len(raw) == 32 and raw[8:] == hmac.new(unhex(given["secret"]), message, "sha256").digest()[:24]

    held.same("seed", True, is_own(given["aid"], given["seed"]))
    held.same("work", True, zeros(given["hub"], given["aid"], given["nonce"]) >= given["bits"] >= 22)
    for case in given["refusedSeeds"]:
        held.same(f"seed: {case['reason']}", False, is_own(case["aid"], case["seed"]))
    for case in given["refusedNonces"]:
        found = zeros(case.get("hub", given["hub"]), case.get("aid", given["aid"]), case["nonce"])
        held.same(f"work: {case['reason']}", False, found >= given["bits"])


def request_text(request):
    parts = [request[name].encode() for name in ("method", "path", "body")]
    digest = b64url(hashlib.sha256(b"\0".join(parts)).digest())
    return digest, f"svc-relay/v2/{request['action']}/{request['aid']}/{request['hub']}/{request['ts']}/{digest}"


def requests(held):
    given = held.read("signed/requests.json")
    own = {name: given[name] for name in ("aid", "hub")}
    key = Ed25519PrivateKey.from_private_bytes(unhex(given["seed"]))
    for case in given["requests"]:
        digest, text = request_text({**own, **case})
        held.same(f"request: {case['route']}", (case["digest"], case["text"]), (digest, text))
        held.same("request", case["headers"]["X-Svc-Sig"], b64url(key.sign(text.encode())))
    first = {**own, **given["requests"][0]}
    signature = unb64url(first["headers"]["X-Svc-Sig"])
    held.same("request", True, strict(unhex(given["publicKey"]), request_text(first)[1].encode(), signature))
    for case in given["altered"]:
        _, text = request_text({**first, **case})
        held.same(f"request: {case['reason']}", False, strict(unhex(given["publicKey"]), text.encode(), signature))
    query = {**first, **given["withQuery"]}
    held.same("request with query", given["withQuery"]["digest"], request_text(query)[0])


def check(held):
    for part in (logs, sets, notices, directory, work, requests):
        part(held)
