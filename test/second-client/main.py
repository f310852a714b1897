"""Runs the second client by orders on standard input, one JSON object a line, answers likewise; for tests.

    {"do": "start", "hub": URL, "name": NAME}      {"do": "delegate", "to": AID, "task": TEXT}
    {"do": "register"}                             {"do": "say" | "end" | "accept_end", "id": ID}
    {"do": "poll"}                                 {"do": "vectors", "folder": PATH}
"""

import json
import sys
from pathlib import Path

import agent as agents
import interaction as interactions
import sealing
from agent import b64, unb64


def check_vectors(folder):
    count = 0
    for case in json.loads((folder / "vectors/xwing_test-vectors.json").read_text()):
        seed, public = bytes.fromhex(case["seed"]), bytes.fromhex(case["pk"])
        shared, ciphertext = sealing.encapsulate(public, bytes.fromhex(case["eseed"]))
        assert sealing.public_key(seed) == public, "X-Wing public key"
        assert (shared.hex(), ciphertext.hex()) == (case["ss"], case["ct"]), "X-Wing encapsulation"
        assert sealing.decapsulate(seed, ciphertext) == shared, "X-Wing decapsulation"
        altered = bytes([ciphertext[0] ^ 1]) + ciphertext[1:]
        assert sealing.decapsulate(seed, altered) != shared, "an altered ciphertext"
        count += 1
    for case in json.loads((folder / "vectors/hpke-pq_test-vectors.json").read_text()):
        if (case["kem_id"], case["kdf_id"], case["aead_id"], case["mode"]) != (0x647A, 1, 3, 0):
            continue
        context = sealing.Context(bytes.fromhex(case["shared_secret"]), bytes.fromhex(case["info"]))
        assert context.key.hex() == case["key"], "HPKE key"
        for export in case["exports"]:
            made = context.export(bytes.fromhex(export["exporter_context"]), export["L"])
            assert made.hex() == export["exported_value"], "HPKE export"
            count += 1
    return {"checked": count}


class Client:
    def __init__(self):
        self.agent = None

    def start(self, order):
        self.agent = agents.Agent(order["hub"], order["name"])
        return {"aid": b64(self.agent.aid), "kel": b64(self.agent.kel)}

    def register(self, order):
        answer = self.agent.register(order.get("caps", ()))
        return {**answer, "kel": b64(self.agent.kel)}

    def delegate(self, order):
        made = interactions.Interaction.delegate(self.agent, unb64(order["to"]), order["task"])
        self.agent.interactions[made.id] = made
        return made.described()

    def poll(self, order):
        interactions.take_mail(self.agent, order.get("wait_s", 5))
        return {"interactions": [each.described() for each in self.agent.interactions.values()]}

    def say(self, order):
        self._of(order).say(order["text"])
        return self._of(order).described()

    def end(self, order):
        self._of(order).end()
        return self._of(order).described()

    def accept_end(self, order):
        self._of(order).accept_end()
        return self._of(order).described()

    def confirmation(self, order):
        each = self._of(order)
        return {"code": self.agent.confirmation(each.mine[order["number"]], each.peer)}

    def vectors(self, order):
        return check_vectors(Path(order["folder"]))

    def _of(self, order):
        return self.agent.interactions[unb64(order["id"])]


def main():
    client = Client()
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(client, order["do"])(order)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
