"""Documents and exported chains: docs/objects.md sections 10 and 14."""

import objects
from fixtures import REFUSED, outcome, unhex
from vectors_encoding import canonical, cid_strict, read_json
from vectors_payment import cid_text, one
from vectors_proof import GENESIS, chain_record, held_head, line_of, record_fault

STATUSES = objects.STATUSES
FIRST = "#svc-chain-export/v1 "
need, uint, fixed, fields, items = objects.need, objects.uint, objects.fixed, objects.fields, objects.items


# --- documents --------------------------------------------------------------------------------------------------------


def document(data):
    need(len(data) <= 768 * 1024, "more than 768 KiB")
    value = read_json(data)
    need(isinstance(value, dict) and not has_proto(value), "no object, or a member called __proto__")
    need(canonical(value).encode() == data, "not canonical")
    return value


def has_proto(value):
    if isinstance(value, list):
        return any(map(has_proto, value))
    return isinstance(value, dict) and ("__proto__" in value or any(map(has_proto, value.values())))


def attachments(listed):
    for entry in items(listed, 0, 64):
        need(isinstance(entry, dict) and set(entry) == {"cid", "name"}, "other members of an attachment")
        need(all(isinstance(each, str) for each in entry.values()), "an attachment of other types")
        cid_strict(entry["cid"])


def request(data):
    value = document(data)
    if set(value) == {"args", "capability"}:
        name = value["capability"]
        need(isinstance(value["args"], dict) and isinstance(name, str), "other types")
        fits = 1 <= len(name) <= 64 and all("!" <= character <= "~" and character != "," for character in name)
        need(fits, "no name of a capability")
    else:
        words(value, "task")
    return value


def words(value, name):
    need(set(value) == {"attachments", name} and isinstance(value[name], str), "other members")
    attachments(value["attachments"])


def message(data):
    words(document(data), "text")


def result(data):
    value = document(data)
    if "text" in value:
        words(value, "text")
    else:
        need(value.get("status") in STATUSES and isinstance(value.get("message"), str), "no effect")


def documents(held):
    given = held.read("documents/documents.json")
    for name, reader in (("request", request), ("message", message), ("result", result)):
        for case in given[name]["valid"]:
            data = case["text"].encode()
            held.same(f"{name}: {case['text'][:40]}", False, outcome(reader, data) == REFUSED)
            held.same(name, case["cid"], cid_text(objects.content_id(data)))
        for case in given[name]["invalid"]:
            data = unhex(case["hex"]) if "hex" in case else case["text"].encode()
            held.refuses(f"{name}: {case['reason']}", reader, data)
    empty = given["result"]["empty"]
    held.same("empty result", empty["cid"], cid_text(objects.content_id(empty["text"].encode())))


# --- exported chains --------------------------------------------------------------------------------------------------


def first_line(line):
    """(log of the owner, body of the export) of a first line that the owner signed."""
    need(line.startswith(FIRST), "another opening")
    value = fields(objects.decode(line_of(line[len(FIRST) :])), (1, 2))
    raw, signature = objects.signed_item(value[1])
    body = fields(objects.decode(raw), range(1, 7))
    one(body[1]), objects.aid_bytes(body[2]), uint(body[3]), objects.chain_head(body[4], body[5]), uint(body[6])
    log = objects.verify_log(objects.encode(value[2]))
    key = log.key_at(body[3]) if body[2] == log.aid else None
    need(key is not None and objects.verifies("svc-ael-export/v1", key, raw, signature), "not signed by its owner")
    return log, body


def ids_of(lines, log):
    """The ids of the records, or the first fault."""
    ids = [GENESIS]
    for seq, line in enumerate(lines):
        raw = outcome(line_of, line)
        place = {"chainDid": "did:svc:" + objects.aid_text(log.aid), "seq": seq, "previous": ids[-1].hex()}
        fault = "malformed" if raw == REFUSED else record_fault(raw, place, log)
        if fault is not None:
            return {"seq": seq, "code": fault}
        ids.append(chain_record(raw)[0][11])
    return ids


def head_verdict(length, head, ids):
    if length >= len(ids):
        return "beyond"
    return "shown" if ids[length] == head else "contradicted"


def read_export(file, heads):
    """(verdict, verdicts of the heads, fault)"""
    first, *lines = file.removesuffix("\n").split("\n")
    log, body = first_line(first)
    ids = ids_of(lines, log)
    if isinstance(ids, dict):
        return "invalid", None, ids
    verdicts = [head_verdict(body[4], body[5], ids)]
    for head in heads:
        label, signer, state, length, record_id, raw, signature = held_head(objects.decode(unhex(head)))
        key = log.key_at(state) if signer == log.aid else None
        is_own = key is not None and objects.verifies(label, key, raw, signature)
        verdicts.append(head_verdict(length, record_id, ids) if is_own else "foreign")
    verdict = "rewritten" if "contradicted" in verdicts else "cut" if "beyond" in verdicts else "valid"
    return verdict, verdicts, None


def exports(held):
    given = held.read("evidence/exports.json")
    for case in given["cases"]:
        wanted = (case["verdict"], case.get("headVerdicts"), case.get("fault"))
        held.same(f"export: {case['reason']}", wanted, read_export(case["file"], case["heads"]))
    for case in given["firstLines"]["valid"]:
        _, body = first_line(case["line"])
        wanted = (case["length"], case["kelSeq"], case["ts"])
        held.same("first line", wanted, (body[4], body[3], body[6]))
    for case in given["firstLines"]["invalid"]:
        held.refuses(f"first line: {case['reason']}", first_line, case["line"])


def check(held):
    for part in (documents, exports):
        part(held)
