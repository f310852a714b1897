"""The project's vectors, as this example is held to them: what is valid must be accepted, what is invalid refused."""

import json

import objects


def check(folder):
    """Number of cases and the reasons of those that came out wrong."""
    wrong, checked = [], 0
    for reason, expected, found in cases(folder):
        checked += 1
        if found != expected:
            wrong.append({"case": reason, "expected": expected, "found": found})
    return checked, wrong


def cases(folder):
    for path in sorted(folder.glob("kel/valid/*.json")):
        case = read(path)
        yield f"kel: {case['reason']}", described(case), describe_log(case["log"])
    for path in sorted(folder.glob("kel/invalid/*.json")):
        case = read(path)
        yield f"kel: {case['reason']}", None, describe_log(case["log"])
    receipts = read(folder / "receipt/receipts.json")
    provider = objects.verify_log(bytes.fromhex(receipts["providerKel"]))
    for case in receipts["valid"]:
        yield f"receipt: {case['reason']}", case["digest"], receipt_digest(case["receipt"], provider)
    for case in receipts["invalid"]:
        yield f"receipt: {case['reason']}", None, receipt_digest(case["receipt"], provider)
    yield from counter_signatures(read(folder / "receipt/counter-signatures.json"))
    yield from results(read(folder / "judge/judgements.json")["results"])
    for case in read(folder / "cbor/invalid.json")["cases"]:
        yield f"cbor: {case['reason']}", False, decodes(case["hex"])


def counter_signatures(given):
    requester = objects.verify_log(bytes.fromhex(given["requesterKel"]))
    receipt = objects.Receipt(bytes.fromhex(given["receipt"]))
    for case in given["cases"]:
        try:
            holds = objects.counter_signature_holds(bytes.fromhex(case["counterSignature"]), receipt, requester)
            found = "holds" if holds else "refused"
        except objects.Refused:
            found = "malformed"
        yield f"counter-signature: {case['reason']}", case["verdict"], found


def results(given):
    receipt = objects.Receipt(bytes.fromhex(given["receipt"]))
    for text, expected in [(given["matches"], True), *((case["result"], False) for case in given["differs"])]:
        yield "result", expected, objects.content_id(bytes.fromhex(text)) == receipt.body[7]


def decodes(text):
    try:
        objects.decode(bytes.fromhex(text))
        return True
    except objects.Refused:
        return False


def read(path):
    return json.loads(path.read_text())


def described(case):
    return {"aid": case["aid"], "seq": case["seq"], "public_key": case["public_key"]}


def describe_log(log):
    try:
        verified = objects.verify_log(bytes.fromhex(log))
    except objects.Refused:
        return None
    key = verified.key_at(verified.seq)
    return {"aid": objects.aid_text(verified.aid), "seq": verified.seq, "public_key": key.hex()}


def receipt_digest(receipt, provider):
    try:
        parsed = objects.Receipt(bytes.fromhex(receipt))
    except objects.Refused:
        return None
    return parsed.digest.hex() if parsed.holds(provider) else None
