"""Effects and their one rendering: docs/objects.md section 15."""

import re

import objects
from fixtures import unhex
from vectors_encoding import canonical, decode_floats
from vectors_mail import text
from vectors_payment import cid_text, whole
from vectors_proof import encode_floats

VERBS = ("create", "modify", "delete", "call", "get")
TESTS = ("pass", "fail", "absent")
need, fields, items = objects.need, objects.fields, objects.items


def short(value):
    text(value, 4096)


def from_to(least, most):
    return lambda value: need(whole(value, least, most), f"not {least} to {most}")


def content_id(value):
    need(objects.fixed(value, 36).startswith(objects.CID_PREFIX), "no content id")


def boolean(value):
    need(isinstance(value, bool), "no boolean")


def optional(checks):
    def check_record(value):
        fields(value, (), checks)
        for key, item in value.items():
            checks[key](item)

    return check_record


def listed(check_item):
    def check_list(value):
        for item in items(value, 1, 1024):
            check_item(item)

    return check_list


def metrics(value):
    need(isinstance(value, dict) and 1 <= len(value) <= 256, "no metrics")
    need(all(isinstance(name, str) and isinstance(item, float) for name, item in value.items()), "no metric")


SIZE = from_to(0, objects.INTEGER_MAX)
ARTIFACT = optional({1: short, 2: SIZE, 3: content_id, 4: lambda value: text(value, 128)})
RESOURCE = optional({1: short, 2: short, 3: short})
TEST = optional({1: short, 2: from_to(1, 3)})
REFERENCE = optional({1: from_to(1, 5), 2: RESOURCE})
RECORD = optional({1: listed(ARTIFACT), 2: listed(TEST), 3: metrics, 4: listed(RESOURCE), 5: listed(REFERENCE)})
LATENCY = from_to(-objects.INTEGER_MAX, objects.INTEGER_MAX)
OBSERVED = lambda value: text(value, 4 << 20)  # noqa: E731
EVIDENCE = {1: short, 2: short, 3: boolean, 4: OBSERVED, 5: LATENCY, 6: from_to(0, 4), 7: from_to(0, 4), 8: short}
READ_EVIDENCE = optional(EVIDENCE)


def effect(data):
    value = fields(decode_floats(data), (1, 3), (2, 4))
    need(whole(value[1], 1, 5), "unknown status")
    short(value[3])
    if 2 in value:
        RECORD(value[2])
    if 4 in value:
        READ_EVIDENCE(value[4])
    return value


def named(value, names):
    """The members that say something."""
    return {names[key]: item for key, item in value.items() if item not in ("", 0)}


def rendered(value):
    record, evidence = value.get(2, {}), value.get(4, {})
    shown = {"status": objects.STATUSES[value[1] - 1], "message": value[3], "verifiable": value[1] == 1 and 2 in value}
    if 1 in record:
        shown["artifacts"] = [artifact(each) for each in record[1]]
    if 2 in record:
        shown["tests"] = [test(each) for each in record[2]]
    if 3 in record:
        shown["metrics"] = record[3]
    if 4 in record:
        shown["resources"] = [resource(each) for each in record[4]]
    if 5 in record:
        shown["effects"] = [reference(each) for each in record[5]]
    said = named({key: evidence[key] for key in (1, 2, 4, 8) if key in evidence}, SAID)
    said |= {"native_ack": True} if evidence.get(3) else {}
    said |= {"latency_ms": evidence[5]} if evidence.get(5, 0) > 0 else {}
    shown["evidence"] = {**said, "verify_trust": evidence.get(6, 0), "auth_trust": evidence.get(7, 0)}
    return canonical(shown)


SAID = {1: "requested", 2: "protocol", 4: "observed_state", 8: "quirk"}


def artifact(value):
    shown = named(value, {1: "path", 2: "size_bytes", 3: "content_cid", 4: "media_type"})
    return {**shown, "content_cid": cid_text(value[3])} if 3 in value else shown


def test(value):
    shown = named(value, {1: "id", 2: "status"})
    return {**shown, "status": TESTS[value[2] - 1]} if 2 in value else shown


def resource(value):
    return named(value, {1: "kind", 2: "id", 3: "merge_class"})


def reference(value):
    shown = {"verb": VERBS[value[1] - 1]} if 1 in value else {}
    return {**shown, "resource": resource(value[2])} if 2 in value else shown


def built(value):
    """What may be claimed of a given effect; the sentence of one that was lowered is free."""
    record = value.get(2)
    if record is not None and 1 not in record and 3 not in record:
        value = {key: item for key, item in value.items() if key != 2}
    if value[1] == 1 and (2 not in value or value.get(4, {}).get(6, 0) < 2):
        value = {**value, 1: 2}
    return value


def tier(axis, written):
    if whole(written, 0, 4):
        return written
    letters = "VT" if axis == "V" else "A"
    fits = isinstance(written, str) and re.fullmatch(f"[{letters}][0-4]", written)
    return int(written[1]) if fits else None


def check(held):
    given = held.read("effect/effects.json")
    for case in given["rendered"]:
        value = effect(unhex(case["effect"]))
        found = (rendered(value), cid_text(objects.content_id(rendered(value).encode())), encode_floats(value).hex())
        held.same(f"effect: {case['reason']}", (case["rendered"], case["cid"], case["effect"]), found)
    for case in given["built"]:
        found, wanted = built(effect(unhex(case["given"]))), effect(unhex(case["built"]))
        if found[3] == "" and found[1] == 2 and wanted[3] != "":
            found = {**found, 3: wanted[3]}
        held.same(f"built: {case['reason']}", wanted, found)
    for case in given["invalid"]:
        held.refuses(f"effect: {case['reason']}", effect, unhex(case["effect"]))
    for case in given["lowered"]:
        claimed = case["claimed"]
        found = [min(claimed.get(name, 0), case.get(by, 4)) for name, by in (("verifyTrust", "verify"), ("authTrust", "auth"))]
        held.same("lowered", [case["verifyTrust"], case["authTrust"]], found)
    for case in given["tiers"]:
        held.same(f"tier {case['written']}", case["tier"], tier(case["axis"], case["written"]))
