"""Reads every file of fixtures/ with the second client: what is valid must be taken, what is invalid refused. Run as
`python3 fixtures.py ../../fixtures`; prints one JSON object."""

import json
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag

import agent  # noqa: F401  (finds the objects of examples/verify-receipt)
import objects
import sealing

# Data directories of releases are for the programs that made them; a README is for people.
NO_VECTORS = ("homes/",)


class Fixtures:
    """The files, which of them were read, and what came out otherwise than they say."""

    def __init__(self, folder):
        self.folder, self.seen, self.checked, self.wrong = Path(folder), set(), 0, []

    def all(self):
        paths = (path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())
        return sorted(path for path in paths if not path.startswith(NO_VECTORS) and not path.endswith("README.md"))

    def raw(self, path):
        self.seen.add(path)
        return (self.folder / path).read_bytes()

    def read(self, path):
        return json.loads(self.raw(path))

    def under(self, prefix):
        return [path for path in self.all() if path.startswith(prefix)]

    def same(self, case, expected, found):
        self.checked += 1
        if expected != found:
            self.wrong.append({"case": case, "expected": repr(expected)[:200], "found": repr(found)[:200]})

    def refuses(self, case, reader, *given):
        self.same(case, REFUSED, outcome(reader, *given))


REFUSED = "refused"


def outcome(reader, *given):
    """What a reader makes of bytes, or that it refuses them; any other error is one of the reader."""
    try:
        return reader(*given)
    except (objects.Refused, sealing.NotOpened, InvalidTag):
        return REFUSED


def unhex(text):
    return bytes.fromhex(text)


def check(folder):
    import vectors_cards
    import vectors_compared
    import vectors_documents
    import vectors_effects
    import vectors_encoding
    import vectors_hostile
    import vectors_identity
    import vectors_mail
    import vectors_others
    import vectors_payment
    import vectors_proof
    import vectors_shown
    import vectors_steps

    held = Fixtures(folder)
    parts = [vectors_encoding, vectors_others, vectors_identity, vectors_mail, vectors_proof, vectors_shown]
    parts += [vectors_documents, vectors_compared, vectors_effects, vectors_hostile, vectors_payment, vectors_cards]
    parts += [vectors_steps]
    for part in parts:
        part.check(held)
    unread = [path for path in held.all() if path not in held.seen]
    return {"checked": held.checked, "wrong": held.wrong, "unread": unread}


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1])))
