"""Payments, what a hub owes, its supply chain and who watches it: docs/objects.md sections 18 and 19."""

import base64
import binascii
import hashlib
import hmac
import json
import re

import objects
from fixtures import REFUSED, outcome, unhex

CREDITS_MAX = objects.INTEGER_MAX
HOUR_MS = 3_600_000
HOLD_SECONDS_MAX = 30 * 24 * 3600
sha256 = lambda *parts: hashlib.sha256(b"".join(parts)).digest()  # noqa: E731
need, uint, fixed, fields, items = objects.need, objects.uint, objects.fixed, objects.fields, objects.items


def aid_of(text):
    try:
        raw = base64.urlsafe_b64decode(text)
    except (ValueError, binascii.Error) as error:
        raise objects.Refused("not an AID") from error
    need(len(raw) == 33 and raw[0] == 1 and objects.aid_text(raw) == text, "not an AID")
    return raw


def named(value, prefix, name):
    need(isinstance(value, str) and value.startswith(prefix), f"not a {name}")
    return aid_of(value[len(prefix) :])


def amount_of(value):
    need(1 <= uint(value) <= CREDITS_MAX, "not an amount")


def one(value):
    need(type(value) is int and value == 1, "unknown version")


def authorization(data):
    raw, signature = objects.signed(data, 512)
    body = fields(objects.decode(raw), range(1, 10), (10, 11, 12))
    one(body[1]), objects.aid_bytes(body[2]), uint(body[3]), objects.aid_bytes(body[4]), amount_of(body[5])
    named(body[6], "hub:", "network"), fixed(body[7], 16)
    need(0 <= uint(body[9]) - uint(body[8]) <= HOUR_MS, "good for more than an hour")
    if 10 in body:
        fixed(body[10], 32)
    if 11 in body:
        need(uint(body[11]) >= body[9], "the hold ends before the authorization")
    if 12 in body:
        fixed(body[12], 36)
    return raw, signature, body


def settlement(data):
    raw, signature = objects.signed(data, 582)
    body = fields(objects.decode(raw), range(1, 12), (12, 13))
    one(body[1]), fixed(body[2], 36), need(type(body[3]) is int and 0 <= body[3] <= 4, "unknown kind")
    objects.aid_bytes(body[4]), objects.aid_bytes(body[5]), amount_of(body[6]), named(body[7], "hub:", "network")
    uint(body[8]), objects.aid_bytes(body[9]), uint(body[10])
    number, record_id = items(body[11], 2, 2)
    uint(number), fixed(record_id, 36)
    if 12 in body:
        objects.aid_bytes(body[12])
    if 13 in body:
        uint(body[13])
    return raw, signature, body


def order(data):
    raw, signature = objects.signed(data, 326)
    body = fields(objects.decode(raw), range(1, 7))
    one(body[1]), fixed(body[2], 36), uint(body[3]), objects.aid_bytes(body[4]), uint(body[5]), uint(body[6])
    return raw, signature, body


def clearing(data):
    raw, signature = objects.signed(data, 582)
    body = fields(objects.decode(raw), range(1, 9))
    one(body[1]), objects.aid_bytes(body[2]), uint(body[3]), objects.aid_bytes(body[4]), amount_of(body[5])
    need(isinstance(body[6], str) and len(body[6].encode()) <= 256, "not a reference")
    uint(body[7]), uint(body[8])
    return raw, signature, body


def voucher(data):
    raw, signature = objects.signed(data, 838)
    body = fields(objects.decode(raw), (*range(1, 7), *range(8, 14)), (7,))
    one(body[1]), fixed(body[2], 16), fixed(body[3], 36), objects.aid_bytes(body[4]), objects.aid_bytes(body[5])
    need(isinstance(body[6], str) and 1 <= len(body[6].encode()) <= 256, "not a capability")
    if 7 in body:
        fixed(body[7], 32)
    amount_of(body[8]), named(body[9], "hub:", "network")
    need(0 <= uint(body[11]) - uint(body[10]) <= 600_000, "good for more than 10 minutes")
    objects.aid_bytes(body[12]), uint(body[13])
    return raw, signature, body


def statement(data):
    raw, signature = objects.signed(data, 326)
    body = fields(objects.decode(raw), range(1, 8))
    one(body[1]), named(body[2], "did:svc:", "chain"), uint(body[3]), fixed(body[4], 36), uint(body[5])
    objects.aid_bytes(body[6]), uint(body[7])
    return raw, signature, body


def signed_cases(held, name, label, reader, key, given, member):
    for case in given["valid"]:
        raw, signature, _ = reader(unhex(case[member]))
        held.same(f"{name}: {case['reason']}", True, objects.verifies(label, unhex(key), raw, signature))
        held.same(f"{name} again: {case['reason']}", case[member], objects.encode([raw, signature]).hex())
    for case in given["invalid"]:
        held.refuses(f"{name}: {case['reason']}", reader, unhex(case[member]))


def signer_fault(log, label, parsed, signer, state):
    raw, signature, body = parsed
    if body[signer] != log.aid:
        return "signer"
    if body[state] != log.seq:
        return "key_state"
    return None if objects.verifies(label, log.key_at(log.seq), raw, signature) else "signature"


def payments(held):
    given = held.read("payment/authorizations.json")
    signed_cases(held, "authorization", "svc-pay/v1", authorization, given["publicKey"], given, "authorization")
    for case in given["valid"]:
        raw = authorization(unhex(case["authorization"]))[0]
        held.same("transaction", case["transaction"], cid_text(objects.content_id(raw)))
    refused = given["refused"]
    log = objects.verify_log(unhex(refused["kel"]))
    for case in refused["cases"]:
        parsed = authorization(unhex(case["authorization"]))
        found = signer_fault(log, "svc-pay/v1", parsed, 2, 3)
        if found is None and parsed[2][6] != "hub:" + refused["hub"]:
            found = "network"
        held.same(f"authorization: {case['reason']}", case["fault"], found)
    for case in given["purposes"]:
        message = unhex(case["paySalt"]) + unhex(case["interactionId"]) + cid_bytes(case["requestCid"])
        held.same("purpose", case["purpose"], objects.digest("svc-pay-for/v1", message).hex())
    for case in given["redemptions"]:
        held.same("redemption", case["purpose"], objects.digest("svc-redeem/v1", case["reference"].encode()).hex())
    for case in given["marks"]:
        message = unhex(case["paySalt"]) + cid_bytes(case["transaction"])
        held.same("mark", case["mark"], objects.digest("svc-paid/v1", message).hex())


def settlements(held):
    given = held.read("payment/settlements.json")
    receipts, orders = given["receipts"], given["orders"]
    signed_cases(held, "settlement", "svc-settle/v1", settlement, given["hub"]["publicKey"], receipts, "receipt")
    signed_cases(held, "order", "svc-hold/v1", order, given["payee"]["publicKey"], orders, "order")
    cleared = held.read("payment/clearings.json")
    signed_cases(held, "clearing", "svc-clear/v1", clearing, cleared["publicKey"], cleared, "statement")
    vouchers(held)
    log = objects.verify_log(unhex(receipts["refused"]["kel"]))
    paid = authorization(unhex(receipts["refused"]["authorization"]))
    for case in receipts["refused"]["cases"]:
        held.same(f"settlement: {case['reason']}", case["fault"], settlement_fault(unhex(case["receipt"]), log, paid))
    log = objects.verify_log(unhex(orders["refused"]["kel"]))
    for case in orders["refused"]["cases"]:
        found = signer_fault(log, "svc-hold/v1", order(unhex(case["order"])), 4, 5)
        held.same(f"order: {case['reason']}", case["fault"], found)


def vouchers(held):
    given = held.read("payment/vouchers.json")
    signed_cases(held, "voucher", "svc-voucher/v1", voucher, given["publicKey"], given, "voucher")
    for case in given["unsigned"]:
        raw, signature, _ = voucher(unhex(case["voucher"]))
        verifies = objects.verifies("svc-voucher/v1", unhex(given["publicKey"]), raw, signature)
        held.same(f"voucher: {case['reason']}", False, verifies)
    for case in given["purposes"]:
        cid = objects.content_id(case["request"].encode())
        held.same("request", case["requestCid"], cid_text(cid))
        held.same("purpose of a call", case["purpose"], objects.digest("svc-pay-args/v1", cid).hex())


def settlement_fault(data, log, paid):
    raw, signature, body = settlement(data)
    terms = paid[2]
    if body[9] != log.aid or 12 in body:
        return "hub"
    if body[10] != log.seq:
        return "key_state"
    if not objects.verifies("svc-settle/v1", log.key_at(log.seq), raw, signature):
        return "signature"
    if body[2] != objects.content_id(paid[0]):
        return "payment"
    if body[3] == 4:
        return "kind"
    if (body[4], body[5]) != (terms[2], terms[4]):
        return "parties"
    if body[7] != terms[6]:
        return "network"
    if body[6] > terms[5] or (body[3] in (0, 1) and body[6] != terms[5]):
        return "amount"
    return "hold" if body[3] == 1 and body.get(13) != terms.get(11) else None


def cid_text(cid):
    return "b" + base64.b32encode(cid).decode().lower().rstrip("=")


def cid_bytes(text):
    body = text[1:].upper()
    return base64.b32decode(body + "=" * (-len(body) % 8))


# --- quotes and bodies of x402 ----------------------------------------------------------------------------------------


def whole(value, least, most):
    return type(value) is int and least <= value <= most


def credits(text):
    return int(text) if re.fullmatch("[1-9][0-9]{0,15}", text) and int(text) <= CREDITS_MAX else None


def has_terms(terms):
    names = {"scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds"}
    if not isinstance(terms, dict) or not names <= set(terms) <= names | {"extra"}:
        return False
    extra = terms.get("extra", {})
    texts = all(isinstance(terms[name], str) for name in names - {"maxTimeoutSeconds"})
    return texts and isinstance(extra, dict) and type(terms["maxTimeoutSeconds"]) in (int, float)


def quote_terms(body):
    """The one entry of accepts; None where the members are others."""
    if not isinstance(body, dict) or body.get("x402Version") != 2 or not isinstance(body.get("resource"), dict):
        return None
    accepts = body.get("accepts")
    if not isinstance(accepts, list) or len(accepts) != 1 or not has_terms(accepts[0]):
        return None
    terms, extra = accepts[0], accepts[0].get("extra", {})
    fits = (terms["scheme"], terms["asset"]) == ("svc-credit", "credit") and set(extra) <= {"hold_s", "starts"}
    fits = fits and whole(terms["maxTimeoutSeconds"], 1, HOLD_SECONDS_MAX)
    fits = fits and whole(extra.get("hold_s", 1), 1, HOLD_SECONDS_MAX) and whole(extra.get("starts", 0), 0, CREDITS_MAX)
    return terms if fits else None


def read_quote(document, provider, what):
    body = json.loads(document).get("payment_required")
    terms = quote_terms(body)
    if terms is None:
        return "members"
    amount = credits(terms["amount"])
    if amount is None:
        return "amount"
    if outcome(named, terms["network"], "hub:", "network") == REFUSED:
        return "network"
    if terms["payTo"] != provider:
        return "payee"
    if body["resource"].get("url") != f"svc:{provider}/{what}":
        return "resource"
    extra = terms.get("extra", {})
    if extra.get("starts", 0) > amount:
        return "starts"
    read = {"provider": provider, "what": what, "amount": amount, "network": terms["network"]}
    return {**read, "hold_s": extra.get("hold_s"), "starts": extra.get("starts"), "settle_s": terms["maxTimeoutSeconds"]}


def quotes(held):
    given = held.read("payment/quotes.json")
    provider, what = given["asked"]["provider"], given["asked"]["what"]
    for case in given["valid"]:
        found = read_quote(case["document"], provider, case["quote"]["what"])
        held.same(f"quote: {case['reason']}", case["quote"], found)
        held.same("quote", case["cid"], cid_text(objects.content_id(case["document"].encode())))
    for case in given["invalid"]:
        held.same(f"quote: {case['reason']}", case["fault"], read_quote(case["document"], provider, what))


def x402(held):
    given = held.read("payment/x402.json")
    for case in given["valid"]:
        held.same(f"x402: {case['reason']}", case["transaction"], settle(case["request"], given["hub"], given["nowMs"]))
    for case in given["invalid"]:
        held.same(f"x402: {case['reason']}", case["fault"], settle(case["request"], given["hub"], given["nowMs"]))


def authorization_text(request):
    """The text of the authorization where the body has its members; None otherwise."""
    if set(request) != {"x402Version", "paymentPayload", "paymentRequirements"} or type(request["x402Version"]) is not int:
        return None
    payload = request["paymentPayload"]
    names = {"x402Version", "accepted", "payload"}
    if not names <= set(payload) <= names | {"resource", "extensions"} or type(payload["x402Version"]) is not int:
        return None
    if not has_terms(payload["accepted"]) or not has_terms(request["paymentRequirements"]):
        return None
    text = payload["payload"].get("authorization")
    return text if set(payload["payload"]) == {"authorization"} and re.fullmatch("[A-Za-z0-9_-]*", text) else None


def settle(request, hub, now_ms):
    text = authorization_text(request)
    if text is None:
        return "request_malformed"
    parsed = outcome(authorization, base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    if parsed == REFUSED:
        return "malformed_payment"
    raw, _, body = parsed
    required = request["paymentRequirements"]
    terms = [request["paymentPayload"]["accepted"], required]
    if {request["x402Version"], request["paymentPayload"]["x402Version"]} != {2}:
        return "invalid_x402_version"
    if any(each["scheme"] != "svc-credit" for each in terms):
        return "unsupported_scheme"
    if any(network != "hub:" + hub for network in (body[6], *(each["network"] for each in terms))):
        return "network_mismatch"
    for each in terms:
        paid = (each["asset"], credits(each["amount"]), each["payTo"])
        if paid != ("credit", body[5], objects.aid_text(body[4])):
            return "invalid_payload"
    return hold_fault(body, required.get("extra", {}).get("hold_s"), now_ms) or cid_text(objects.content_id(raw))


def hold_fault(body, seconds, now_ms):
    if 11 in body and 12 in body:
        return "invalid_payload"
    if 11 in body and body[11] <= now_ms:
        return "expired"
    if 11 not in body and seconds is None:
        return None
    fits = 11 in body and whole(seconds, 1, HOLD_SECONDS_MAX) and body[11] == body[9] + seconds * 1000
    return None if fits else "invalid_payload"


# --- what a hub owes --------------------------------------------------------------------------------------------------


def u64(number):
    return number.to_bytes(8, "big")


def is_sum(number):
    return whole(number, 0, CREDITS_MAX)


def widths(accounts):
    found = [accounts] if accounts else []
    while found and found[-1] > 1:
        found.append((found[-1] + 1) // 2)
    return found


def sides_of(position, levels):
    found = []
    for width in levels[:-1]:
        if position % 2:
            found.append("left")
        elif position + 1 < width:
            found.append("right")
        position //= 2
    return found


def path_fault(given):
    levels, path = widths(given["accounts"]), given["path"]
    if given["depth"] != max(0, len(levels) - 1) or len(path) > given["depth"]:
        return "depth"
    if not is_sum(given["amount"]) or not is_sum(given["root_sum"]):
        return "sum"
    if [step["side"] for step in path] not in (sides_of(at, levels) for at in range(given["accounts"])):
        return "sides"
    key = sha256(aid_of(given["aid"]), unhex(given["salt"]))
    node, total = sha256(b"\0", key, u64(given["amount"])), given["amount"]
    for step in path:
        if not is_sum(step["sum"]) or total + step["sum"] > CREDITS_MAX:
            return "sum"
        own, beside = node + u64(total), unhex(step["h"]) + u64(step["sum"])
        node = sha256(b"\1", *((beside, own) if step["side"] == "left" else (own, beside)))
        total += step["sum"]
    return None if (node.hex(), total) == (given["root"], given["root_sum"]) else "root"


def liabilities(held):
    given = held.read("payment/liabilities.json")
    held.same("no account", given["emptyRoot"], sha256(b"\0").hex())
    for tree in given["trees"]:
        for proof in tree["proofs"]:
            message = objects.labelled("svc-liab-salt/v1", aid_of(proof["aid"]) + u64(tree["day"]))
            held.same("salt", proof["salt"], hmac.new(unhex(given["secret"]), message, "sha256").hexdigest())
            held.same(f"tree of {tree['accounts']}", None, path_fault({**tree, **proof}))
    for case in given["invalid"]:
        held.same(f"liability: {case['reason']}", case["fault"], path_fault(case))


def check(held):
    import vectors_supply

    for part in (payments, settlements, quotes, x402, liabilities):
        part(held)
    vectors_supply.check(held)
