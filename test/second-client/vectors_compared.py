"""What a requester finds when it compares a receipt with what it holds: docs/objects.md section 11."""

import objects
from fixtures import unhex
from vectors_payment import aid_of

TEN_MINUTES_MS, FIVE_MINUTES_MS = 600_000, 300_000


def covered(side):
    highest, missing = side
    return [number for number in range(1, highest + 1) if number not in missing]


def transcript(requester, provider):
    return objects.digest("svc-transcript/v1", objects.encode([requester, provider]))


def fault(body, held):
    """(fault, number of the message that differs), the first in the order of the document."""
    same = (
        ("interaction", body[2].hex() == held["interactionId"]),
        ("provider", objects.aid_text(body[3]) == held["provider"]),
        ("key_state", body[4] == held["providerKelSeq"]),
        ("commitment", body[5].hex() == held["commitment"]),
        ("request", body[6].hex() == held["requestCid"]),
        ("result", body[7].hex() == held["resultCid"]),
        ("status", body[10] == held["status"]),
        ("settlement", body.get(11) == held.get("settlement")),
        ("times", times_fit(body, held)),
    )
    found = next((name for name, holds in same if not holds), None)
    return (found, None) if found else messages_fault(body, held)


def times_fit(body, held):
    start, end = body[8], body[9]
    begins = start <= end and start >= held["startedAt"] - TEN_MINUTES_MS
    return begins and held["ownEndAt"] - TEN_MINUTES_MS <= end <= held["now"] + FIVE_MINUTES_MS


def messages_fault(body, held):
    own, peer = ({each["number"]: unhex(each["digest"]) for each in held[side]} for side in ("own", "peer"))
    requester, provider = (covered(side) for side in body[13])
    for each in held["own"]:
        if each["confirmed"] and each["number"] not in requester:
            return "uncovered_message", each["number"]
    for number in range(1, held["peerLast"] + 1):
        if number not in provider and number in peer and number not in held["lacked"]:
            return "dropped_message", number
    for numbers, digests in ((requester, own), (provider, peer)):
        lacking = next((number for number in numbers if number not in digests), None)
        if lacking is not None:
            return "missing_message", lacking
    made = transcript([own[number] for number in requester], [peer[number] for number in provider])
    return (None, None) if made == body[14] else ("transcript", None)


def check(held):
    given = held.read("receipt/comparisons.json")
    for case in given["cases"]:
        body = objects._receipt_body(objects.decode(unhex(case["body"])))
        found = fault(body, {**given["held"], **case.get("differs", {})})
        held.same(f"comparison: {case['reason']}", (case["fault"], case.get("number")), found)
    for case in given["commitments"]:
        opened = aid_of(case["requester"]) + unhex(case["interactionId"]) + unhex(case["rsalt"])
        held.same("commitment", case["commitment"], objects.digest("svc-review/v1", opened).hex())
    for case in given["transcripts"]:
        sides = ([unhex(digest) for digest in case[side]] for side in ("requester", "provider"))
        held.same("transcript", case["digest"], transcript(*sides).hex())
    for case in given["covers"]:
        held.same("cover", case["numbers"], covered(case["side"]))
