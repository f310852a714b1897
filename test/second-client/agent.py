"""An agent in Python: identity, key set, hub calls, sealed mail. It is written from the documents alone and shares no
code with the programs; what it reads of objects comes from examples/verify-receipt."""

import base64
import hashlib
import hmac
import json
import secrets
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "verify-receipt"))

import objects  # noqa: E402
import sealing  # noqa: E402

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
DELEGATE, RESULT, MESSAGE, END, ACCEPT_END, RECEIPT, COUNTER = range(7)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def now_ms():
    return int(time.time() * 1000)


def sign(seed, message):
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def signed(label, seed, body):
    encoded = objects.encode(body)
    return [encoded, sign(seed, objects.labelled(label, encoded))]


def public_of(seed):
    return sealing._raw(Ed25519PrivateKey.from_private_bytes(seed).public_key())


def cid_text(cid):
    return "b" + base64.b32encode(cid).decode().lower().rstrip("=")


class Refusal(Exception):
    """What a hub answered instead."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body.get('reason')}: {body.get('error')}")
        self.status, self.reason = status, body.get("reason")


class Hub:
    """Calls of wire 3. Anonymous calls and signed ones never share a connection here: each opens its own."""

    def __init__(self, url):
        self.url = url
        identity = self.call("GET", "/hub/identity")
        self.log = objects.verify_log(unb64(identity["kel"]))
        self.aid = self.log.aid
        objects.need(objects.aid_text(self.aid) == identity["aid"], "the hub names another AID than its log")

    def call(self, method, path, body=None, headers=None):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        for name, value in {"X-Svc-Wire": "3", "Content-Type": "application/json", **(headers or {})}.items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=70) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise Refusal(error.code, json.loads(error.read())) from None


class Agent:
    """One identity with its keys, its peers and the interactions it takes part in."""

    def __init__(self, url, name):
        self.hub, self.name = Hub(url), name
        self.seed, self.next_seed = secrets.token_bytes(32), secrets.token_bytes(32)
        self.events, self.last_ts = [], 0
        self._add_event(0)
        self.aid = b"\x01" + objects.digest("svc-aid/v1", self.events[0][0])
        self.encryption_seed, self.mailbox_seed = secrets.token_bytes(32), secrets.token_bytes(32)
        self.mailbox_epoch, self.set_seq, self.key_set = secrets.token_bytes(16), 0, None
        self.peers, self.interactions = {}, {}

    # --- identity ---------------------------------------------------------------------------------------------------

    @property
    def kel(self):
        return objects.encode(self.events)

    @property
    def seq(self):
        return len(self.events) - 1

    @property
    def head_digest(self):
        return objects.digest("svc-kel-id/v1", self.events[-1][0])

    def _add_event(self, kind):
        commitment = objects.digest("svc-kel-next/v1", objects.encode([1, public_of(self.next_seed)]))
        body = {1: 1, 2: kind, 4: len(self.events), 6: now_ms(), 7: [[1, public_of(self.seed)]], 8: [commitment]}
        body |= {9: [], 10: []} if kind == 0 else {3: self.aid, 5: self.head_digest, 9: [self.hub.aid], 10: []}
        encoded, signature = signed("svc-kel/v1", self.seed, body)
        self.events.append([encoded, [[0, signature]], []])

    def rotate(self):
        """Reveals the committed key and names the hub as witness."""
        self.seed, self.next_seed = self.next_seed, secrets.token_bytes(32)
        time.sleep(0.002)
        self._add_event(1)

    def _make_key_set(self):
        public = sealing.public_key(self.encryption_seed)
        now = now_ms()
        self.set_seq += 1
        key = {1: objects.digest("svc-kid/v1", public)[:8], 2: 1, 3: public, 4: now, 5: now + 14 * DAY_MS}
        body = {1: 1, 2: self.aid, 3: self.seq, 4: self.set_seq, 5: now, 6: now + 90 * DAY_MS, 7: [key]}
        body |= {8: public_of(self.mailbox_seed), 9: self.mailbox_epoch, 10: {1: 1 << 20, 2: 50}}
        self.key_set = signed("svc-keys/v1", self.seed, body)

    # --- signed requests (wire 3, section "Signed requests") ----------------------------------------------------------

    def signed_call(self, action, path, body, method="POST"):
        data = b"" if body is None else json.dumps(body).encode()
        ts = self.last_ts = max(now_ms(), self.last_ts + 1)
        zero = b"\0"
        digest = hashlib.sha256(method.encode() + zero + path.encode() + zero + data).digest()
        text = f"svc-relay/v2/{action}/{b64(self.aid)}/{b64(self.hub.aid)}/{ts}/{b64(digest)}"
        headers = {
            "X-Svc-AID": b64(self.aid),
            "X-Svc-TS": str(ts),
            "X-Svc-Seq": str(self.seq),
            "X-Svc-Sig": b64(sign(self.seed, text.encode())),
        }
        try:
            return self.hub.call(method, path, data, headers)
        except Refusal as refusal:
            if refusal.reason != "ts_stale":
                raise
            time.sleep(2.1)
            return self.signed_call(action, path, body, method)

    def register(self, capabilities=()):
        """Asks first, then rotates to this hub and registers log and key set together."""
        inception = {"aid": b64(self.aid), "kel": b64(self.kel)}
        self.signed_call("register", "/register", {**inception, "check_only": True})
        self.rotate()
        self._make_key_set()
        return self.signed_call("register", "/register", {
            "aid": b64(self.aid),
            "kel": b64(self.kel),
            "name": self.name,
            "caps": list(capabilities),
            "enc_keys": b64(objects.encode(self.key_set)),
            "prev_seq": 0,
        })

    # --- directory (objects, section 13) ------------------------------------------------------------------------------

    def look_up(self, aid):
        """Log and key set of an agent, from the bucket it is hidden in."""
        prk = hmac.new(b"svc-dir/v1", aid, "sha256").digest()
        wanted = sealing.hkdf_expand("sha256", prk, b"h", 32)
        query = {"prefix": "", "bits": 0}
        while True:
            page = self.hub.call("POST", "/directory:bucket", query)
            for entry in page["entries"]:
                if unb64(entry["h"]) == wanted:
                    return self._learn(aid, *self._open_box(prk, wanted, unb64(entry["box"])))
            if "next" not in page:
                raise LookupError("not in the directory")
            query = {"prefix": "", "bits": 0, "cursor": page["next"]}

    def _open_box(self, prk, wanted, box):
        salt, sealed = box[:32], box[32:]
        key = sealing.hkdf_expand("sha256", prk, b"box" + salt, 32)
        plain = ChaCha20Poly1305(key).decrypt(bytes(12), sealed, wanted)
        entry, end = objects.decode_first(plain)
        objects.need(plain[end:] == bytes(len(plain) - end), "the padding of a box is not zero")
        return entry[1], entry[2]

    def _learn(self, aid, events, key_set):
        """Verifies a log and a key set and keeps them."""
        log = objects.verify_log(objects.encode(events))
        objects.need(log.aid == aid, "the log of somebody else")
        body_bytes, signature = objects.signed_item(key_set)
        body = objects.decode(body_bytes)
        key = log.key_at(log.seq)
        objects.need(objects.verifies("svc-keys/v1", key, body_bytes, signature), "the key set does not verify")
        objects.need(body[2] == aid and body[3] == log.seq and body[6] > now_ms(), "not the present key set")
        newest = max(body[7], key=lambda entry: entry[4])
        objects.need(newest[1] == objects.digest("svc-kid/v1", newest[3])[:8], "a kid that is not of its key")
        known = self.peers.setdefault(aid, {"capabilities": []})
        known |= {"log": log, "kid": newest[1], "public": newest[3], "mailbox": body[8], "epoch": body[9]}
        return known

    # --- sending ------------------------------------------------------------------------------------------------------

    def send(self, to, kind, interaction, number, payload, highest=0):
        """Seals one message and hands it to the hub; returns its digest and what is needed to read a confirmation."""
        peer = self.peers.get(to) or self.look_up(to)
        capability = peer["capabilities"].pop() if peer["capabilities"] else None
        static = {1: 0} if capability is None else {1: 1, 2: capability[0], 3: capability[1]}
        exp = (now_ms() + 7 * DAY_MS) // HOUR_MS * HOUR_MS
        context = hashlib.sha256(objects.encode([3, to, 1, peer["kid"], exp, static])).digest()
        message = {"id": secrets.token_bytes(16), "kind": kind, "number": number, "payload": objects.encode(payload)}
        message |= {"handle_secret": secrets.token_bytes(32), "interaction": interaction}
        head = objects.encode(self._head(to, message, highest, context))
        shared, enc = sealing.encapsulate(peer["public"])
        key = sealing.Context(shared, b"svc-env/v1\0" + context).export(b"svc-content/v1", 32)
        plain = len(head).to_bytes(4, "big") + head
        content = sealing.encrypt_chunks(key, context, plain.ljust(sealing.padded_length(len(plain)), b"\0"))
        outer = {1: 3, 2: to, 3: 1, 4: peer["kid"], 5: exp, 6: enc, 8: hashlib.sha256(content).digest()}
        digest = objects.digest("svc-env-id/v1", objects.encode(outer))
        access, credentials = self._credentials(peer, capability, static, digest)
        envelope = objects.encode({**outer, 7: access, 9: content})
        headers = {"X-Svc-Access": b64(access), "Content-Type": "application/vnd.svc.envelope+cbor", **credentials}
        answer = self.hub.call("POST", "/relay/send", envelope, headers)
        return {"digest": message_digest(self.aid, to, message), "rid": answer["rid"], "envelope": digest, **message}

    def _head(self, to, message, highest, context):
        body = {1: 1, 2: self.aid, 3: self.seq, 4: to, 5: message["id"], 6: now_ms(), 7: message["kind"]}
        body |= {8: message["interaction"], 9: message["number"], 10: highest, 11: message["payload"]}
        body |= {12: self._issue(to, 4), 13: self.head_digest, 14: message["handle_secret"], 15: []}
        body |= {16: self.events, 17: self.key_set}
        encoded = objects.encode(body)
        return [encoded, sign(self.seed, objects.labelled("svc-seal/v1", context + hashlib.sha256(encoded).digest()))]

    def _issue(self, to, count):
        """Capabilities for the answers of a peer; a whole day as expiry says nothing about the batch."""
        exp = (now_ms() + 30 * DAY_MS) // DAY_MS * DAY_MS
        issued = []
        for _ in range(count):
            holder = secrets.token_bytes(32)
            body = {1: 1, 2: secrets.token_bytes(16), 3: self.aid, 4: self.mailbox_epoch, 5: public_of(holder)}
            body |= {6: exp, 7: 8, 8: 96 << 20}
            issued.append([*signed("svc-cap/v1", self.mailbox_seed, body), holder])
        return issued

    def _credentials(self, peer, capability, static, digest):
        if capability is not None:
            home = peer["log"].bodies[-1][9][0]
            proof = sign(capability[2], objects.labelled("svc-cap-use/v1", home + digest))
            return objects.encode({**static, 15: proof}), {}
        access = objects.encode(static)
        seed = secrets.token_bytes(32)
        grant = self.signed_call("session", "/relay/session", {"epk": b64(sealing.public_key(seed))})
        sid = unb64(grant["sid"])
        info = b"svc-session/v1\0" + self.hub.aid + sid + self.aid
        context = sealing.Context(sealing.decapsulate(seed, unb64(grant["enc"])), info)
        mac_key = objects.decode(context.open_first(unb64(grant["ct"])))[1]
        ts = now_ms()
        bound = sid + ts.to_bytes(8, "big") + digest + hashlib.sha256(access).digest()
        mac = hmac.new(mac_key, b"svc-session-mac/v1\0" + bound, "sha256").digest()
        return access, {"X-Svc-TS": str(ts), "X-Svc-Session": grant["sid"], "X-Svc-MAC": b64(mac)}

    def confirmation(self, sent, to):
        """The code of the recipient's confirmation; None while there is none."""
        handle = objects.digest("svc-dack-handle/v1", sent["handle_secret"])[:16]
        query = {"items": [{"rid": sent["rid"], "handle": b64(handle)}]}
        item = self.hub.call("POST", "/relay/status", query)["items"][0]
        if "dack" not in item:
            return None
        dack = unb64(item["dack"])
        key = sealing.hkdf(sent["handle_secret"], b"svc-dack/v1")
        plain = ChaCha20Poly1305(key).decrypt(dack[:12], dack[12:], handle)
        value, _ = objects.decode_first(plain)
        body_bytes, signature = objects.signed_item(value)
        body = objects.decode(body_bytes)
        log = self.peers[to]["log"]
        objects.need(objects.verifies("svc-dack/v1", log.key_at(body[5]), body_bytes, signature), "not the recipient's")
        objects.need(body[1] == sent["envelope"] and body[4] == to, "of another envelope or recipient")
        objects.need(body[2] == sent["id"] and body[3] == sent["digest"], "of another message")
        return body[7]

    # --- receiving ----------------------------------------------------------------------------------------------------

    def poll(self, wait_s=5):
        """Opens, verifies and confirms what waits; returns the messages."""
        opened, items = [], []
        for waiting in self._waiting(wait_s):
            message = self.open(unb64(waiting["envelope"]))
            opened.append(message)
            items.append({"id": waiting["id"], **self._confirm(message)})
        if items:
            self.signed_call("ack", "/relay/ack", {"items": items})
        return opened

    def _waiting(self, wait_s):
        deadline = time.time() + wait_s
        while True:
            found = self.signed_call("poll", "/relay/poll", {})["messages"]
            if found or time.time() > deadline:
                return found
            time.sleep(0.1)

    def open(self, envelope):
        outer = objects.fields(objects.decode(envelope), range(1, 10))
        objects.need(outer[1] == 3 and outer[2] == self.aid and outer[3] == 1, "not for this agent")
        objects.need(hashlib.sha256(outer[9]).digest() == outer[8], "another content")
        access = objects.decode(outer[7])
        static = {key: value for key, value in access.items() if key != 15}
        context = hashlib.sha256(objects.encode([3, self.aid, 1, outer[4], outer[5], static])).digest()
        shared = sealing.decapsulate(self.encryption_seed, outer[6])
        key = sealing.Context(shared, b"svc-env/v1\0" + context).export(b"svc-content/v1", 32)
        plain = sealing.decrypt_chunks(key, context, outer[9])
        length = int.from_bytes(plain[:4], "big")
        head = plain[4 : 4 + length]
        rest = plain[4 + length :]
        objects.need(len(plain) == sealing.padded_length(len(plain)), "not a padded length")
        digest = objects.digest("svc-env-id/v1", objects.encode({k: outer[k] for k in (1, 2, 3, 4, 5, 6, 8)}))
        return {**self._read_head(head, context, rest), "envelope": digest}

    def _read_head(self, head, context, rest):
        body_bytes, signature = objects.signed_item(objects.decode(head))
        body = objects.fields(objects.decode(body_bytes), (*range(1, 8), 9, 10, 11, 13, 15), (8, 12, 14, 16, 17))
        sender = body[2]
        if 16 in body and 17 in body:
            self._learn(sender, body[16], body[17])
        peer = self.peers.get(sender) or self.look_up(sender)
        objects.need(body[3] == peer["log"].seq, "signed under another key state than the newest")
        text = objects.labelled("svc-seal/v1", context + hashlib.sha256(body_bytes).digest())
        key = peer["log"].key_at(body[3])
        objects.need(verifies_raw(key, text, signature), "the sender did not sign this")
        objects.need(body[4] == self.aid, "meant for somebody else")
        self._keep_capabilities(peer, sender, body.get(12, []))
        message = {"from": sender, "id": body[5], "kind": body[7], "interaction": body.get(8, b""), "number": body[9]}
        message |= {"payload": body[11], "handle_secret": body.get(14), "files": self._files(body[15], rest)}
        message["digest"] = message_digest(sender, self.aid, message, body[15])
        return message

    def _keep_capabilities(self, peer, sender, issued):
        for body_bytes, signature, holder in issued:
            body = objects.decode(body_bytes)
            fits = body[3] == sender and body[4] == peer["epoch"] and body[5] == public_of(holder)
            objects.need(fits, "a capability that is not for its holder")
            objects.need(objects.verifies("svc-cap/v1", peer["mailbox"], body_bytes, signature), "a forged capability")
            peer["capabilities"].append((body_bytes, signature, holder))

    def _files(self, attachments, rest):
        files = {}
        for entry in attachments:
            content, rest = rest[: entry[3]], rest[entry[3] :]
            objects.need(objects.content_id(content) == entry[4], "an attachment with another content id")
            files[entry[1]] = content
        objects.need(rest == bytes(len(rest)), "the padding is not zero")
        return files

    def _confirm(self, message):
        if message["handle_secret"] is None:
            return {}
        secret = message["handle_secret"]
        handle = objects.digest("svc-dack-handle/v1", secret)[:16]
        body = {1: message["envelope"], 2: message["id"], 3: message["digest"], 4: self.aid, 5: self.seq}
        body |= {6: now_ms(), 7: 0}
        plain = objects.encode(signed("svc-dack/v1", self.seed, body)).ljust(512, b"\0")
        nonce = secrets.token_bytes(12)
        sealed = ChaCha20Poly1305(sealing.hkdf(secret, b"svc-dack/v1")).encrypt(nonce, plain, handle)
        return {"handle": b64(handle), "dack": b64(nonce + sealed)}


def verifies_raw(key, text, signature):
    """Like objects.verifies, for a text that already has its label."""
    label, _, message = text.partition(b"\0")
    return objects.verifies(label.decode(), key, message, signature)


def message_digest(sender, to, message, attachments=()):
    listed = [[entry[1], entry[2], entry[3], entry[4]] for entry in attachments]
    payload = hashlib.sha256(message["payload"]).digest()
    fields = [sender, to, message["id"], message["kind"], message["interaction"], message["number"], payload, listed]
    return objects.digest("svc-msg/v1", objects.encode(fields))
