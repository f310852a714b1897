"""Runs the second client by orders on standard input, one JSON object a line, answers likewise; for tests.

    {"do": "start", "hub": URL, "name": NAME}      {"do": "delegate", "to": AID, "task": TEXT}
    {"do": "register"}                             {"do": "say" | "end" | "accept_end", "id": ID}
    {"do": "poll"}
"""

import json
import sys

import agent as agents
import interaction as interactions
from agent import b64, unb64


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
