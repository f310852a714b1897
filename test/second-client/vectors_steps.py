"""What a receiver answers to each kind in each state: docs/objects.md sections 7 and 9."""

from agent import ACCEPT_END, COUNTER, DELEGATE, END, MESSAGE, RECEIPT, RESULT

QUOTE, CAPABILITIES, DECLINED, CANCELLED, HELD_HEAD, NUMBERS_HELD, SETTLEMENTS, NO_RECEIPT = 7, 8, 9, 10, 11, 12, 13, 14
STORED, MALFORMED, ENDED = 0, 2, 5

OUTSIDE = {RECEIPT, COUNTER, CAPABILITIES, HELD_HEAD, NUMBERS_HELD, SETTLEMENTS, NO_RECEIPT}
OF_NO_INTERACTION = {CAPABILITIES, HELD_HEAD, NUMBERS_HELD}
FROM = {
    "provider": {RESULT, MESSAGE, END, ACCEPT_END, RECEIPT, QUOTE, DECLINED, SETTLEMENTS, NO_RECEIPT},
    "requester": {DELEGATE, MESSAGE, END, ACCEPT_END, COUNTER, CANCELLED},
}
OVER = {"ended", "declined", "cancelled", "failed"}
NUMBER_MAX = 100_000
ANSWERS = {RESULT, MESSAGE, QUOTE}


def step(receiver, standing, kind, number):
    """The code of the confirmation, and the state after it."""
    state = standing["state"]
    if not belongs(receiver, kind, number):
        return MALFORMED, state
    if number == 0:
        return outside(receiver, standing, kind), state
    if waits_for(standing, number):
        return (STORED if kind in ANSWERS | {END} else MALFORMED), state
    if state in OVER or number > cut_of_peer(standing):
        return ENDED, state
    if kind == ACCEPT_END and standing.get("endBy") != "me":
        return MALFORMED, state
    return STORED, after(receiver, standing, kind)


def belongs(receiver, kind, number):
    """Whether the other side may send this kind in an interaction, under such a number."""
    sender = "requester" if receiver == "provider" else "provider"
    if kind == DELEGATE and number != 1:
        return False
    return kind not in OF_NO_INTERACTION and kind in FROM[sender] and (kind in OUTSIDE) == (number == 0)


def outside(receiver, standing, kind):
    """A receipt comes once there is an end; the one that a counter-signature of the vectors names is not held."""
    has_end = standing["state"] in ("end_proposed", "ended")
    return STORED if receiver == "requester" and kind in (RECEIPT, NO_RECEIPT) and has_end else MALFORMED


def waits_for(standing, number):
    return standing.get("receiptWaits") is True and number <= standing["peerLast"]


def cut_of_peer(standing):
    """The last number of a side that proposed the end."""
    return standing.get("peerLast", NUMBER_MAX)


def after(receiver, standing, kind):
    state = standing["state"]
    if kind in (DECLINED, CANCELLED):
        return "declined" if kind == DECLINED else "cancelled"
    if kind == ACCEPT_END:
        return "ended"
    if state == "pending":
        # its person decides first
        return state
    if kind == END:
        # of two ends that cross the delegator's counts, and that of the provider accepts nothing
        crossed = standing.get("endBy") == "me"
        return "ended" if crossed and receiver == "provider" else "end_proposed"
    opens = receiver == "requester" and state in ("queued", "delivered", "expired")
    return "open" if opens else state


def check(held):
    vectors = held.read("interaction/steps.json")
    standings = {
        (receiver, one["name"]): one for receiver, listed in vectors["standings"].items() for one in listed
    }
    for case in vectors["cases"]:
        receiver, kind, number = case["receiver"], case["kind"], case["number"]
        found = step(receiver, standings[receiver, case["standing"]], kind, number)
        name = f"steps: {receiver}, {case['standing']}, kind {kind}, number {number}"
        held.same(name, (case["code"], case["becomes"]), found)
