"""Judgements, reviews and what stands in a receipt: docs/objects.md sections 4, 11 and 12."""

import objects
from fixtures import unhex
from vectors_mail import text
from vectors_payment import one, whole

GRACE_MS = 300_000
need, uint, fixed, fields, items = objects.need, objects.uint, objects.fixed, objects.fields, objects.items


def retired_at(log, seq, hub):
    """When the hub saw the event after a key state; the time of the event where it said nothing."""
    for aid, hub_seq, ts, signature in log.witnesses[seq + 1]:
        key = hub.key_at(hub_seq) if hub is not None and aid == hub.aid else None
        digest = objects.digest("svc-kel-id/v1", objects.encode(log.bodies[seq + 1]))
        seen = objects.encode([log.aid, seq + 1, digest, ts])
        if key is not None and objects.verifies("svc-kel-wit/v1", key, seen, signature):
            return ts
    return log.bodies[seq + 1][6]


def judged(receipt, log, hub, shown_at):
    if not receipt.holds(log):
        return "invalid"
    seq = receipt.body[4]
    if seq == log.seq:
        return "valid"
    in_time = shown_at is not None and shown_at < retired_at(log, seq, hub) + GRACE_MS
    return "valid_retired_key" if in_time else "invalid"


def judgements(held):
    given = held.read("judge/judgements.json")
    hub = objects.verify_log(unhex(given["hubKel"]))
    for case in given["cases"]:
        receipt, log = objects.Receipt(unhex(case["receipt"])), objects.verify_log(unhex(case["kel"]))
        found = judged(receipt, log, hub if case["hubKnown"] else None, case["shownAt"])
        held.same(f"judgement: {case['reason']}", case["verdict"], found)
    results = given["results"]
    wanted = objects.Receipt(unhex(results["receipt"])).body[7]
    held.same("result", wanted, objects.content_id(unhex(results["matches"])))
    for case in results["differs"]:
        held.same("result", False, objects.content_id(unhex(case["result"])) == wanted)


def reviewable(data):
    body, signature, counter, log = items(objects.decode(data), 4, 4)
    receipt = objects.Receipt(objects.encode([body, signature]))
    raw, _ = objects.signed_item(counter)
    fields(objects.decode(raw), range(1, 6))
    objects.verify_log(objects.encode(log))
    return receipt, objects.encode(counter).hex(), objects.encode(log).hex()


def review(data):
    body = fields(objects.decode(data), range(1, 6))
    one(body[1]), fixed(body[2], 32), need(whole(body[3], 1, 5), "no rating"), text(body[4], 4096), uint(body[5])
    return body


def attestation(data):
    raw, signature = objects.signed(data, 512)
    body = fields(objects.decode(raw), range(1, 6))
    fixed(body[1], 32), fixed(body[2], 32), objects.aid_bytes(body[3]), uint(body[4]), uint(body[5])
    return raw, signature, body


def attested(data, given):
    raw, signature, body = attestation(data)
    named = (body[1].hex(), body[2].hex(), objects.aid_text(body[3]))
    holds = objects.verifies("svc-attest/v1", unhex(given["hubKey"]), raw, signature)
    return holds and named == (given["receiptDigest"], given["reviewHash"], given["hub"])


def reviews(held):
    given = held.read("receipt/reviews.json")
    shown = given["reviewable"]
    receipt, counter, log = reviewable(unhex(shown["item"]))
    found = (objects.encode([receipt.body_bytes, receipt.signature]).hex(), counter, log)
    held.same("reviewable", (shown["receipt"], shown["counterSignature"], shown["providerKel"]), found)
    for case in shown["invalid"]:
        held.refuses(f"reviewable: {case['reason']}", reviewable, unhex(case["item"]))
    for case in given["reviews"]["valid"]:
        body = review(unhex(case["review"]))
        held.same("review", (case["receiptDigest"], case["rating"], case["comment"], case["ts"]), (body[2].hex(), *(body[key] for key in (3, 4, 5))))
    for case in given["reviews"]["invalid"]:
        held.refuses(f"review: {case['reason']}", review, unhex(case["review"]))
    said = given["attestation"]
    held.same("attestation", True, attested(unhex(said["attestation"]), said))
    for case in said["refused"]:
        held.same(f"attestation: {case['reason']}", False, attested(unhex(case["attestation"]), said))
    for case in said["malformed"]:
        held.refuses(f"attestation: {case['reason']}", attestation, unhex(case["attestation"]))


# --- open reviews -----------------------------------------------------------------------------------------------------


def shared_receipt(data):
    body, signature, counter = items(objects.decode(data), 3, 3)
    raw, _ = objects.signed_item(counter)
    fields(objects.decode(raw), range(1, 6))
    return objects.Receipt(objects.encode([body, signature])), counter


def open_review(data):
    raw, signature = objects.signed_item(objects.decode(data))
    need(len(raw) <= 5120, "too long")
    body = fields(objects.decode(raw), range(1, 8))
    one(body[1]), fixed(body[2], 32), need(whole(body[3], 1, 5), "no rating"), text(body[4], 4096), uint(body[5])
    objects.aid_bytes(body[6]), uint(body[7])
    return raw, signature, body


def open_review_holds(data, shown, log):
    raw, signature, body = open_review(data)
    receipt, counter = shared_receipt(shown)
    if body[6] != log.aid or body[7] > log.seq or body[2] != receipt.digest:
        return False
    countersigned = objects.counter_signature_holds(objects.encode(counter), receipt, log)
    return bool(countersigned) and objects.verifies("svc-open-review/v1", log.key_at(body[7]), raw, signature)


def open_reviews(held):
    given = held.read("receipt/open-reviews.json")
    log, shown = objects.verify_log(unhex(given["reviewerKel"])), given["shared"]
    receipt, counter = shared_receipt(unhex(shown["item"]))
    found = (objects.encode([receipt.body_bytes, receipt.signature]).hex(), objects.encode(counter).hex())
    held.same("receipt of both sides", (shown["receipt"], shown["counterSignature"]), found)
    for case in shown["invalid"]:
        held.refuses(f"receipt of both sides: {case['reason']}", shared_receipt, unhex(case["item"]))
    for case in given["valid"]:
        data = unhex(case["review"])
        body = open_review(data)[2]
        found = (body[2].hex(), *(body[key] for key in (3, 4, 5)), objects.aid_text(body[6]), body[7])
        names = ("receiptDigest", "rating", "comment", "ts", "reviewer", "reviewerKelSeq")
        held.same("open review", tuple(case[name] for name in names), found)
        held.same("open review holds", True, open_review_holds(data, unhex(shown["item"]), log))
    for case in given["invalid"]:
        held.refuses(f"open review: {case['reason']}", open_review, unhex(case["review"]))
    for case in given["unbound"]:
        found = open_review_holds(unhex(case["review"]), unhex(case["receipt"]), log)
        held.same(f"open review: {case['reason']}", False, found)


def forward_text(given):
    members = [given[name] for name in ("v", "origin", "dest", "from", "kind", "interaction", "payloadCid", "hop")]
    return objects.encode([*members, list(given["seenHubs"]), given["ts"], given["kelSeq"]])


def forwards(held):
    label = "svc-open-fwd/v1"
    given = held.read("open/forwards.json")
    for case in given["valid"]:
        text = forward_text(case["forward"])
        held.same(f"forward record: {case['reason']}", case["text"], (label.encode() + b"\0" + text).hex())
    for expected, cases in ((True, given["valid"]), (False, given["unsigned"])):
        for case in cases:
            found = objects.verifies(label, unhex(case["publicKey"]), forward_text(case["forward"]), unhex(case["signature"]))
            held.same(f"forward record holds: {case['reason']}", expected, found)


def check(held):
    for part in (judgements, reviews, open_reviews, forwards):
        part(held)
