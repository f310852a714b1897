"""Interactions of the second client: a task from delegation to the receipt that both sides signed."""

import hashlib
import json
import secrets

import objects
from agent import ACCEPT_END, COUNTER, DELEGATE, END, MESSAGE, RECEIPT, RESULT, b64, cid_text, now_ms, signed

GENESIS = objects.content_id(b"svc-ael-genesis/v1")


def document(value):
    """RFC 8785 for the few shapes used here: sorted members, no spaces, text as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Interaction:
    """One task between this agent and a peer; messages of both sides by number."""

    def __init__(self, agent, peer, identifier, delegator):
        self.agent, self.peer, self.id, self.delegator = agent, peer, identifier, delegator
        self.mine, self.theirs, self.start = {}, {}, now_ms()
        self.commitment = self.rsalt = self.request = self.receipt = self.counter = self.proposed = None
        self.counter_bytes = None

    @classmethod
    def delegate(cls, agent, to, task):
        interaction = cls(agent, to, secrets.token_bytes(16), agent.aid)
        interaction.rsalt = secrets.token_bytes(32)
        bound = agent.aid + interaction.id + interaction.rsalt
        interaction.commitment = objects.digest("svc-review/v1", bound)
        interaction.request = document({"attachments": [], "task": task})
        interaction._send(DELEGATE, {1: interaction.request, 2: interaction.commitment})
        return interaction

    @property
    def is_requester(self):
        return self.delegator == self.agent.aid

    def _highest(self):
        number = 0
        while number + 1 in self.theirs:
            number += 1
        return number

    def _send(self, kind, payload, numbered=True):
        number = max(self.mine, default=0) + 1 if numbered else 0
        sent = self.agent.send(self.peer, kind, self.id, number, payload, self._highest())
        if numbered:
            self.mine[number] = sent
        return sent

    def say(self, text):
        return self._send(MESSAGE, {1: document({"attachments": [], "text": text})})

    def end(self):
        number = max(self.mine, default=0) + 1
        return self._send(END, {1: number, 2: max(self.theirs, default=0), 3: []})

    def accept_end(self):
        number = max(self.mine, default=0) + 1
        self._send(ACCEPT_END, {1: self.proposed, 2: number, 3: max(self.theirs, default=0), 4: []})
        if not self.is_requester:
            self.sign_receipt()

    def take(self, message):
        """One message of the peer; protocol steps are followed at once."""
        kind, payload = message["kind"], objects.decode(message["payload"])
        if message["number"] > 0:
            self.theirs[message["number"]] = message
        if kind == DELEGATE:
            self.request, self.commitment = payload[1], payload[2]
        if kind == END:
            self.proposed = payload[1]
        if kind == ACCEPT_END and not self.is_requester:
            self.sign_receipt()
        if kind == RECEIPT:
            self.counter_sign(objects.encode(payload[1]))
        if kind == COUNTER:
            self.keep_counter(objects.encode(payload[1]))

    # --- proof --------------------------------------------------------------------------------------------------------

    def _transcript(self):
        requester, provider = (self.mine, self.theirs) if self.is_requester else (self.theirs, self.mine)
        sides = [[side[number]["digest"] for number in sorted(side)] for side in (requester, provider)]
        cover = [[max(side, default=0), []] for side in (requester, provider)]
        return cover, objects.digest("svc-transcript/v1", objects.encode(sides))

    def _result(self):
        provider = self.theirs if self.is_requester else self.mine
        for kind in (RESULT, MESSAGE):
            numbers = [number for number in sorted(provider) if provider[number]["kind"] == kind]
            if numbers:
                return objects.decode(provider[numbers[-1]]["payload"])[1], "UNVERIFIED"
        return document({"attachments": [], "text": ""}), "FAILED"

    def sign_receipt(self):
        """The provider's signature over request, result and the messages of both sides."""
        cover, transcript = self._transcript()
        result, status = self._result()
        body = {1: 1, 2: self.id, 3: self.agent.aid, 4: self.agent.seq, 5: self.commitment}
        body |= {6: objects.content_id(self.request), 7: objects.content_id(result), 8: self.start, 9: now_ms()}
        body |= {10: status, 12: [0, GENESIS], 13: cover, 14: transcript}
        receipt = signed("svc-receipt-p/v1", self.agent.seed, body)
        self.receipt = objects.Receipt(objects.encode(receipt))
        self._send(RECEIPT, {1: receipt}, numbered=False)

    def counter_sign(self, data):
        """Compares the provider's receipt with what is held here, then signs the same body."""
        receipt = objects.Receipt(data)
        log = self.agent.peers[self.peer]["log"]
        cover, transcript = self._transcript()
        result, status = self._result()
        expected = {2: self.id, 3: self.peer, 4: log.seq, 5: self.commitment, 10: status, 13: cover, 14: transcript}
        expected |= {6: objects.content_id(self.request), 7: objects.content_id(result)}
        differs = [key for key, value in expected.items() if receipt.body[key] != value]
        objects.need(receipt.holds(log) and not differs, f"the receipt differs in {differs}")
        objects.need(receipt.body[8] <= receipt.body[9] <= now_ms() + 300_000, "times of the receipt")
        self.receipt = receipt
        hashed = hashlib.sha256(receipt.body_bytes).digest()
        body = {1: self.agent.aid, 2: self.agent.seq, 3: 0, 4: GENESIS, 5: hashed}
        counter = signed("svc-receipt-r/v1", self.agent.seed, body)
        self.counter_bytes = objects.encode(counter)
        self._send(COUNTER, {1: counter}, numbered=False)
        self.counter = True

    def keep_counter(self, data):
        log = self.agent.peers[self.peer]["log"]
        self.counter = objects.counter_signature_holds(data, self.receipt, log)
        self.counter_bytes = data

    def described(self):
        texts = [json.loads(objects.decode(m["payload"])[1]) for m in self.theirs.values() if m["kind"] < END]
        return {
            "interaction_id": b64(self.id),
            "texts": [text.get("text", text.get("task")) for text in texts],
            "proposed_end": self.proposed is not None,
            "receipt": None if self.receipt is None else self.receipt.digest.hex(),
            "result_cid": None if self.receipt is None else cid_text(self.receipt.body[7]),
            "counter_signed": self.counter is True,
        }


def take_mail(agent, wait_s=5):
    """Collects mail into the interactions of an agent; a delegation opens one."""
    for message in agent.poll(wait_s):
        key = message["interaction"]
        if key not in agent.interactions and message["kind"] == DELEGATE:
            agent.interactions[key] = Interaction(agent, message["from"], key, message["from"])
        if key in agent.interactions and agent.interactions[key].peer == message["from"]:
            agent.interactions[key].take(message)

