"""The supply chain of a hub, its tree, checkpoints and witnesses: docs/objects.md section 19."""

import base64
import binascii
import re

import objects
from fixtures import unhex
from vectors_payment import CREDITS_MAX, aid_of, sha256, signed_cases, statement, whole

GENESIS = objects.content_id(b"svc-ael-genesis/v1")
CREDIT_TYPES = ("credit.issued", "credit.retired", "credit.opening")
REASONS = ("trial", "grant", "redemption", "cleared", "restored")
SUMS = ("day", "from_day", "issued", "retired", "outstanding", "held", "owed_by_peers", "due_to_peers")
SUMS = (*SUMS, "root_sum", "depth", "accounts", "ledger_hw", "chain_hw")


class Fault(Exception):
    """The first thing for which a chain is refused."""


def must(holds, fault):
    if not holds:
        raise Fault(fault)


def record_of(data, place, log):
    """A record whose form, id and place hold; its signature is looked at after its payload."""
    try:
        value = objects.decode(data)
        record = objects.fields(value, (*range(1, 10), 11, 12), (10, 13, 14))
        objects.fixed(record[3], 36), objects.fixed(record[11], 36), objects.fixed(record[12], 64)
        objects.uint(record[2]), objects.uint(record[7]), objects.aid_bytes(record[8]), objects.uint(record[9])
    except objects.Refused:
        raise Fault("malformed") from None
    preimage = objects.encode({key: record[key] for key in record if key <= 10})
    must(record[11] == objects.content_id(preimage), "id")
    must(10 not in record, "extension")
    must(record[1] == "did:svc:" + objects.aid_text(log.aid), "chain")
    must(record[8] == log.aid, "signer")
    must(record[2] == place[0], "seq")
    must(record[3] == place[1], "previous")
    must(log.key_at(record[9]) is not None, "key")
    return record, preimage


class Chain:
    """Reads a supply chain record by record."""

    def __init__(self, log):
        self.log, self.ids, self.sums, self.day = log, [], [], None

    @property
    def total(self):
        return self.sums[-1] if self.sums else (0, 0)

    def add(self, data):
        place = (len(self.ids), self.ids[-1] if self.ids else GENESIS)
        record, preimage = record_of(data, place, self.log)
        kind, payload = record[4], record[6]
        issued, retired = self.total
        if kind in CREDIT_TYPES:
            amount = self._credit(payload)
            issued, retired = (issued, retired + amount) if kind == "credit.retired" else (issued + amount, retired)
        elif kind == "svc.supply.epoch":
            self._epoch_members(payload)
        key = self.log.key_at(record[9])
        must(objects.verifies("svc-ael/v1", key, preimage, record[12]), "supply")
        self.ids.append(record[11])
        self.sums.append((issued, retired))
        if kind == "svc.supply.epoch":
            self._epoch(payload, place[0])
        return payload

    def _credit(self, payload):
        must(isinstance(payload, dict) and set(payload) == {"aid", "amount", "reason"}, "payload")
        try:
            aid_of(payload["aid"])
        except objects.Refused:
            raise Fault("payload") from None
        must(payload["reason"] in REASONS and whole(payload["amount"], 1, CREDITS_MAX), "payload")
        return payload["amount"]

    def _epoch_members(self, payload):
        must(isinstance(payload, dict) and set(payload) == {*SUMS, "root"}, "payload")
        must(isinstance(payload["root"], bytes) and len(payload["root"]) == 32, "payload")
        must(all(whole(payload[name], 0, CREDITS_MAX) for name in SUMS), "payload")

    def _epoch(self, epoch, seq):
        owed = epoch["issued"] - epoch["retired"] + epoch["owed_by_peers"] - epoch["due_to_peers"]
        must(epoch["outstanding"] == owed == epoch["root_sum"] and epoch["held"] <= owed, "supply")
        must(epoch["from_day"] <= epoch["day"], "supply")
        must(epoch["chain_hw"] <= max(0, seq - 1), "supply")
        must(seq == 0 or (epoch["issued"], epoch["retired"]) == self.sums[epoch["chain_hw"]], "supply")
        must(self.day is None or epoch["from_day"] > self.day, "supply")
        self.day = epoch["day"]


def supply(held):
    given = held.read("payment/supply.json")
    log = objects.verify_log(unhex(given["kel"]))
    chain = Chain(log)
    for case in given["records"]:
        payload = chain.add(unhex(case["record"]))
        plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in payload.items()}
        found = (chain.ids[-1].hex(), plain, *chain.total)
        held.same("supply", (case["id"], case["payload"], case["issued"], case["retired"]), found)
    held.same("tree of the supply", given["treeRoot"], root_of(chain.ids).hex())
    for case in given["alsoValid"]:
        chain = Chain(log)
        for record in case["records"]:
            chain.add(unhex(record))
        held.same(f"supply: {case['reason']}", (case["issued"], case["retired"]), chain.total)
    for case in given["invalid"]:
        held.same(f"supply: {case['reason']}", (case["at"], case["fault"]), first_fault(log, case["records"]))


def first_fault(log, records):
    chain = Chain(log)
    for seq, record in enumerate(records):
        try:
            chain.add(unhex(record))
        except Fault as fault:
            return seq, str(fault)
    return None


# --- the tree (RFC 6962; proofs verified as RFC 9162 sections 2.1.3.2 and 2.1.4.2 have it) ----------------------------


def root_of(leaves):
    if not leaves:
        return sha256()
    if len(leaves) == 1:
        return sha256(b"\0", leaves[0])
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1", root_of(leaves[:half]), root_of(leaves[half:]))


def includes(leaf, index, size, root, proof):
    if index >= size:
        return False
    at, last, node = index, size - 1, sha256(b"\0", leaf)
    for beside in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = sha256(b"\1", beside, node)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            node = sha256(b"\1", node, beside)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


def goes_on(old, old_root, size, root, proof):
    if old > size:
        return False
    if old in (0, size):
        return not proof and (old == 0 or old_root == root)
    nodes = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not nodes:
        return False
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = sha256(b"\1", node, before), sha256(b"\1", node, after)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            after = sha256(b"\1", after, node)
        at, last = at >> 1, last >> 1
    return last == 0 and (before, after) == (old_root, root)


def merkle(held):
    given = held.read("payment/merkle.json")
    leaves, roots = [unhex(leaf) for leaf in given["leaves"]], [unhex(root) for root in given["roots"]]
    held.same("roots", roots, [root_of(leaves[:size]) for size in range(len(roots))])
    for case in given["inclusion"]["valid"]:
        proof, size = [unhex(node) for node in case["proof"]], case["size"]
        held.same("inclusion", True, includes(leaves[case["index"]], case["index"], size, roots[size], proof))
    for case in given["inclusion"]["invalid"]:
        proof = [unhex(node) for node in case["proof"]]
        found = includes(unhex(case["leaf"]), case["index"], case["size"], unhex(case["root"]), proof)
        held.same(f"inclusion: {case['reason']}", False, found)
    for case in given["consistency"]["valid"]:
        old, size, proof = case["old"], case["size"], [unhex(node) for node in case["proof"]]
        held.same(f"consistency {old} {size}", True, goes_on(old, roots[old], size, roots[size], proof))
    for case in given["consistency"]["invalid"]:
        proof = [unhex(node) for node in case["proof"]]
        found = goes_on(case["old"], unhex(case["old_root"]), case["size"], unhex(case["root"]), proof)
        held.same(f"consistency: {case['reason']}", False, found)


# --- checkpoints and witnesses ----------------------------------------------------------------------------------------


def raw_verifies(key, message, signature):
    """A signature over exactly these bytes, with no label before them."""
    from vectors_encoding import strict

    return strict(key, message, signature)


def base64_of(text):
    try:
        raw = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""
    return raw if base64.b64encode(raw).decode() == text else b""


def note_holds(note, origin, key, size, root):
    text = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    head, blank, lines = note.partition("\n\n")
    if not blank or head + "\n" != text:
        return False
    key_hash = sha256(origin.encode(), b"\n\1", key)[:4]
    signatures = [base64_of(line[len(f"— {origin} ") :]) for line in lines.split("\n") if line.startswith(f"— {origin} ")]
    return any(raw[:4] == key_hash and raw_verifies(key, text.encode(), raw[4:]) for raw in signatures)


def verifier_key(text):
    match = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)", text)
    objects.need(match, "not a verifier key")
    name, key_hash, typed = match[1], unhex(match[2]), base64_of(match[3])
    objects.need(len(typed) == 33 and typed[0] == 4, "not the key of a witness")
    objects.need(sha256(name.encode(), b"\n", typed)[:4] == key_hash, "the hash of another key")
    return name, key_hash, typed[1:]


def cosigned_at(line, text, cosigner):
    name, key_hash, key = cosigner
    match = re.fullmatch(r"— (\S+) (\S+)\n", line)
    raw = base64_of(match[2]) if match and match[1] == name else b""
    if len(raw) != 76 or raw[:4] != key_hash:
        return None
    seconds = int.from_bytes(raw[4:12], "big")
    message = f"cosignature/v1\ntime {seconds}\n{text}".encode()
    return seconds if raw_verifies(key, message, raw[12:]) else None


def checkpoints(held):
    given = held.read("payment/checkpoints.json")
    key, origin, first = unhex(given["publicKey"]), given["origin"], given["valid"][0]
    for case in given["valid"]:
        found = note_holds(case["note"], origin, key, case["size"], unhex(case["root"]))
        held.same(f"checkpoint: {case['reason']}", True, found)
    for case in given["invalid"]:
        found = note_holds(case["note"], origin, key, first["size"], unhex(first["root"]))
        held.same(f"checkpoint: {case['reason']}", False, found)
    cosigned, text = given["cosignatures"], first["note"].partition("\n\n")[0] + "\n"
    cosigner = verifier_key(cosigned["verifierKey"])
    for case in cosigned["valid"]:
        held.same(f"cosignature: {case['reason']}", case["seconds"], cosigned_at(case["line"], text, cosigner))
    for case in cosigned["invalid"]:
        held.same(f"cosignature: {case['reason']}", None, cosigned_at(case["line"], text, cosigner))
    for case in cosigned["invalidKeys"]:
        held.refuses(f"verifier key: {case['reason']}", verifier_key, case["key"])


def witnesses(held):
    given = held.read("payment/witnesses.json")
    signed_cases(held, "statement", "svc-wit/v1", statement, given["publicKey"], given, "statement")
    logs = {name: objects.verify_log(unhex(kel)) for name, kel in given["histories"]["kels"].items()}
    for case in given["histories"]["cases"]:
        raw, signature, body = statement(unhex(case["statement"]))
        log = logs[case["kel"]]
        key = log.key_at(body[7]) if body[6] == log.aid else None
        found = key is not None and objects.verifies("svc-wit/v1", key, raw, signature)
        held.same(f"statement: {case['reason']}", case["holds"], found)


def check(held):
    for part in (supply, merkle, checkpoints, witnesses):
        part(held)
