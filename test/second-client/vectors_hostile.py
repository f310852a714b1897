"""Receipts under retired keys, with whatever somebody shows to make them count: docs/objects.md section 4."""

import objects
from fixtures import unhex
from vectors_documents import first_line, read_export
from vectors_shown import GRACE_MS, attestation, retired_at


def histories(kels):
    """The longest log of each AID, and the AIDs whose logs contradict each other."""
    longest, forked = {}, set()
    for log in map(objects.verify_log, kels):
        held = longest.setdefault(log.aid, log)
        common = min(len(held.bodies), len(log.bodies))
        if held.bodies[:common] != log.bodies[:common]:
            forked.add(log.aid)
        elif len(log.bodies) > len(held.bodies):
            longest[log.aid] = log
    return longest, forked


def times_by(words, receipt, logs):
    """(hub, time) of each word that a hub gives under its newest key about this receipt."""
    for word in words:
        raw, signature, body = attestation(unhex(word["attestation"]))
        hub = logs.get(body[3])
        if hub is None or body[4] != hub.seq or body[1] != receipt.digest:
            continue
        if objects.verifies("svc-attest/v1", hub.key_at(hub.seq), raw, signature):
            yield objects.aid_text(body[3]), body[5]


def judged(case):
    receipt, words = objects.Receipt(unhex(case["receipt"])), list(case.get("before", []))
    words += [case] if "attestation" in case else []
    kels = [case["kel"], *case.get("kels", []), *(word["hubKel"] for word in words)]
    logs, forked = histories(map(unhex, kels))
    if receipt.body[3] in forked:
        return "not checked"
    provider, seq = logs[receipt.body[3]], receipt.body[4]
    if not receipt.holds(provider):
        return "invalid"
    if seq == provider.seq:
        return "valid"
    ends = GRACE_MS + min(retired_at(provider, seq, hub) for hub in (None, *logs.values()))
    in_time = {hub for hub, at in times_by(words, receipt, logs) if at < ends}
    if in_time & set(case.get("named", [])):
        return "valid_retired_key"
    return "open" if in_time else "invalid"


def chain_judged(case):
    log, _ = first_line(case["file"].split("\n")[0])
    shown = [objects.verify_log(unhex(kel)) for kel in case["kels"]]
    for other in shown:
        common = min(len(log.bodies), len(other.bodies))
        if log.aid == other.aid and log.bodies[:common] != other.bodies[:common]:
            return "not checked"
    _, forked = histories(map(unhex, case["kels"]))
    return "not checked" if log.aid in forked else read_export(case["file"], [])[0]


def check(held):
    given = held.read("judge/hostile.json")
    for case in given["cases"]:
        held.same(f"hostile: {case['reason']}", case["verdict"], judged(case))
    for case in given["chains"]:
        held.same(f"hostile chain: {case['reason']}", case["verdict"], chain_judged(case))
