"""What is shown later, and what messages carry of it: docs/objects.md sections 7, 11 and 14."""

import base64
import binascii
import re

import objects
from fixtures import REFUSED, outcome, unhex
from vectors_encoding import decode_floats, float_bytes
from vectors_mail import blob, text
from vectors_payment import whole

MESSAGES_MAX = 100_000
MISSING_MAX = 1024
GENESIS = objects.content_id(b"svc-ael-genesis/v1")
need, uint, fixed, fields, items = objects.need, objects.uint, objects.fixed, objects.fields, objects.items


# --- receipts ---------------------------------------------------------------------------------------------------------


def receipts(held):
    given = held.read("receipt/receipts.json")
    provider = objects.verify_log(unhex(given["providerKel"]))
    for case in given["valid"]:
        receipt = objects.Receipt(unhex(case["receipt"]))
        held.same(f"receipt: {case['reason']}", (case["digest"], True), (receipt.digest.hex(), receipt.holds(provider)))
    for case in given["invalid"]:
        receipt = outcome(objects.Receipt, unhex(case["receipt"]))
        found = "malformed" if receipt == REFUSED else None if receipt.holds(provider) else "signature"
        held.same(f"receipt: {case['reason']}", case["fault"], found)
    given = held.read("receipt/counter-signatures.json")
    requester, receipt = objects.verify_log(unhex(given["requesterKel"])), objects.Receipt(unhex(given["receipt"]))
    for case in given["cases"]:
        found = outcome(objects.counter_signature_holds, unhex(case["counterSignature"]), receipt, requester)
        verdict = "malformed" if found == REFUSED else "holds" if found else "refused"
        held.same(f"counter-signature: {case['reason']}", case["verdict"], verdict)


def counter_body(item):
    body_bytes, signature = objects.signed_item(item)
    body = fields(objects.decode(body_bytes), range(1, 6))
    objects.aid_bytes(body[1]), uint(body[2]), objects.chain_head(body[3], body[4]), fixed(body[5], 32)
    return body_bytes, signature, body


def held_head(value):
    """(label, signer, key state, length, id, signed body) of what a correspondent had signed."""
    fields(value, (), (1, 2))
    need(len(value) == 1, "not exactly one")
    if 1 in value:
        receipt = objects.Receipt(objects.encode(value[1]))
        body = receipt.body
        return "svc-receipt-p/v1", body[3], body[4], *body[12], receipt.body_bytes, receipt.signature
    body_bytes, signature, body = counter_body(value[2])
    return "svc-receipt-r/v1", body[1], body[2], body[3], body[4], body_bytes, signature


def held_heads(held):
    given = held.read("receipt/held-heads.json")
    log = objects.verify_log(unhex(given["kel"]))
    for case in given["valid"]:
        label, signer, state, length, head, body, signature = held_head(objects.decode(unhex(case["heldHead"])))
        key = log.key_at(state) if signer == log.aid else None
        holds = key is not None and objects.verifies(label, key, body, signature)
        found = {"kelSeq": state, "length": length, "id": head.hex()} if holds else None
        held.same(f"held head: {case['reason']}", case["head"], found)
    for case in given["invalid"]:
        held.refuses(f"held head: {case['reason']}", lambda raw: held_head(objects.decode(raw)), unhex(case["heldHead"]))


# --- payloads ---------------------------------------------------------------------------------------------------------


def number(value, least=0):
    need(whole(value, least, MESSAGES_MAX), "no number of a message")


def lacking(highest, missing):
    number(highest)
    before = 0
    for each in items(missing, 0, MISSING_MAX):
        number(each)
        need(before < each < highest, "missing numbers do not ascend below the highest")
        before = each


def settlements(value):
    for each in items(value, 1, 4):
        blob(each, 582)


def answer(payload):
    fields(payload, (1,), (2, 3))
    blob(payload[1], 768 * 1024)
    if 2 in payload:
        settlements(payload[2])
    if 3 in payload:
        blob(payload[3], 512)


def delegation(payload):
    fields(payload, (1, 2), (3, 4))
    blob(payload[1], 768 * 1024), fixed(payload[2], 32)
    need((3 in payload) == (4 in payload), "salt and authorization do not come together")
    if 3 in payload:
        fixed(payload[3], 32), blob(payload[4], 512)


def end(payload):
    fields(payload, (1, 2, 3))
    number(payload[1]), lacking(payload[2], payload[3])


def accept_end(payload):
    fields(payload, (1, 2, 3, 4))
    number(payload[1]), number(payload[2]), lacking(payload[3], payload[4])


def receipt_message(payload):
    objects.Receipt(objects.encode(fields(payload, (1,))[1]))


def counter_message(payload):
    counter_body(fields(payload, (1,), (2,))[1])
    if 2 in payload:
        objects.Receipt(objects.encode(payload[2]))


def quote(payload):
    blob(fields(payload, (1,))[1], 768 * 1024)


def capabilities(payload):
    fields(payload, (), (1,))
    if 1 not in payload:
        return
    address, at = items(payload[1], 2, 2)
    uint(at)
    text(address, 256)
    form = re.fullmatch(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]):([0-9]{1,5})", address, re.I)
    need(address == "" or (form and 0 < int(form[1]) <= 65535), "no host and port")


def reason(payload):
    text(fields(payload, (1,))[1], 1024)


def late_settlements(payload):
    settlements(fields(payload, (1,))[1])


def no_receipt(payload):
    need(uint(fields(payload, (1,))[1]) <= 2, "a reason that nobody knows")


def numbers(payload):
    """A question, an answer or a loss."""
    need(isinstance(payload, dict) and set(payload) - {7} in ({1, 2}, {3, 4, 5}, {6}), "none of the three")
    need(7 not in payload or 3 in payload, "tasks of the asker outside of an answer")
    if 1 in payload:
        uint(payload[1])
        for ask in items(payload[2], 1, 64):
            fields(ask, (1, 2, 3))
            fixed(ask[1], 16), number(ask[2]), number(ask[3])
        return
    for each in items(payload.get(5, payload.get(6)), 1 if 6 in payload else 0, 256):
        fixed(each, 16)
    if 3 in payload:
        fixed(payload[3], 16)
        for holds in items(payload[4], 0, 64):
            holding(holds)
    for task in items(payload[7], 1, 256) if 7 in payload else ():
        fields(task, (1, 2), (3,))
        need(task[1] in payload[5], "a task of the asker in which nothing happened since")
        uint(task[2])
        if 3 in task:
            need(fixed(task[3], 36).startswith(objects.CID_PREFIX), "no payment id")


def holding(holds):
    fields(holds, (1, 2, 3), (4,))
    fixed(holds[1], 16), number(holds[2])
    before = 0
    for pair in items(holds[3], 0, 256):
        at, digest = items(pair, 2, 2)
        number(at), fixed(digest, 32)
        need(before < at <= holds[2], "numbers do not ascend up to the highest")
        before = at
    if 4 in holds:
        at, proposed = items(holds[4], 2, 2)
        number(at, 1)
        need(at <= holds[2] and isinstance(proposed, bool), "no last message")


PAYLOADS = (
    *(delegation, answer, answer, end, accept_end, receipt_message, counter_message),
    *(quote, capabilities, reason, reason, held_head, numbers, late_settlements, no_receipt),
)


def payload_of(kind, data):
    need(kind < len(PAYLOADS), "unknown kind")
    value = objects.decode(data)
    PAYLOADS[kind](value)
    return objects.encode(value)


def payloads(held):
    given = held.read("seal/payloads.json")
    for case in given["valid"]:
        held.same(f"payload: {case['name']}", case["bytes"], payload_of(case["kind"], unhex(case["bytes"])).hex())
    for case in given["invalid"]:
        held.refuses(f"payload: {case['reason']}", payload_of, case["kind"], unhex(case["bytes"]))
    given = held.read("seal/numbers.json")
    for case in given["valid"]:
        held.same(f"numbers: {case['name']}", case["bytes"], payload_of(12, unhex(case["bytes"])).hex())
    for case in given["invalid"]:
        held.refuses(f"numbers: {case['reason']}", payload_of, 12, unhex(case["bytes"]))


# --- the evidence chain -----------------------------------------------------------------------------------------------


def chain_record(data):
    """The record and its preimage: the entries of keys 1 to 10 as they came."""
    need(len(data) <= 1 << 20, "more than 1 MiB")
    record = fields(decode_floats(data), (*range(1, 10), 11, 12), (10, 13, 14))
    need(isinstance(record[1], str) and isinstance(record[4], str), "chain or type is no text")
    need(type(record[5]) is int and record[5] == 2, "another major version")
    uint(record[2]), fixed(record[3], 36), uint(record[7]), objects.aid_bytes(record[8]), uint(record[9])
    fixed(record[11], 36), fixed(record[12], 64)
    for extension in items(record[10], 1, 16) if 10 in record else ():
        need(isinstance(extension, str), "an extension is no text")
    need(13 not in record or uint(record[13]) >= 0, "no minor version")
    need(14 not in record or blob(record[14], 64) is not None, "no correlation")
    return record, encode_floats({key: record[key] for key in record if key <= 10})


def encode_floats(value):
    if isinstance(value, float):
        return float_bytes(value)
    if isinstance(value, list):
        return objects._encode_head(4, len(value)) + b"".join(encode_floats(item) for item in value)
    if isinstance(value, dict):
        entries = sorted((objects.encode(key), encode_floats(item)) for key, item in value.items())
        return objects._encode_head(5, len(entries)) + b"".join(key + item for key, item in entries)
    return objects.encode(value)


def record_fault(data, place, log):
    parsed = outcome(chain_record, data)
    if parsed == REFUSED:
        return "malformed"
    record, preimage = parsed
    if record[11] != objects.content_id(preimage):
        return "id"
    if 10 in record:
        return "extension"
    if record[1] != place["chainDid"]:
        return "chain"
    if record[1] != "did:svc:" + objects.aid_text(record[8]):
        return "signer"
    if record[2] != place["seq"]:
        return "seq"
    if record[3].hex() != place["previous"]:
        return "previous"
    key = log.key_at(record[9])
    holds = key is not None and objects.verifies("svc-ael/v1", key, preimage, record[12])
    return None if holds else "signature"


def line_of(line):
    try:
        raw = base64.b64decode(line, validate=True)
    except (ValueError, binascii.Error) as error:
        raise objects.Refused("no base64") from error
    need(base64.b64encode(raw).decode() == line, "no base64")
    return raw


def chain(held):
    given = held.read("evidence/chain.json")
    log, previous = objects.verify_log(unhex(given["kel"])), GENESIS.hex()
    held.same("genesis", given["genesis"]["id"], previous)
    for seq, case in enumerate(given["records"]):
        place = {"chainDid": given["chainDid"], "seq": seq, "previous": previous}
        held.same("record", None, record_fault(unhex(case["record"]), place, log))
        record, preimage = chain_record(unhex(case["record"]))
        found = (preimage.hex(), record[11].hex(), line_of(case["line"].rstrip("\n")).hex())
        held.same("record", (case["preimage"], case["id"], case["record"]), found)
        previous = case["id"]
    for case in given["alsoValid"]:
        held.same(f"record: {case['reason']}", None, record_fault(unhex(case["record"]), given["place"], log))
    for case in given["invalid"]:
        found = record_fault(unhex(case["record"]), given["place"], log)
        held.same(f"record: {case['reason']}", case["fault"], found)
    for case in given["lines"]["invalid"]:
        held.refuses(f"line: {case['reason']}", line_of, case["line"])


def check(held):
    for part in (receipts, held_heads, payloads, chain):
        part(held)
