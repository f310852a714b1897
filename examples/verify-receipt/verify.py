#!/usr/bin/env python3
"""Verifies a receipt offline, with nothing of svc's own code:

    python3 verify.py --receipt <base64> --kel <base64> [--result FILE] [--counter <base64> --requester-kel <base64>]
    python3 verify.py --vectors ../../fixtures      holds this program to the project's vectors

Prints JSON. Exit code 0 when all that was shown holds, 1 when it does not, 2 for wrong arguments.
"""

import argparse
import base64
import binascii
import json
import sys
from pathlib import Path

import objects
import vectors

RETIRED = (
    "signed with a key retired since; ask for evidence that the receipt is older than that"
)


def given_bytes(text):
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise argparse.ArgumentTypeError("expected base64") from error


def judge(arguments):
    provider = objects.verify_log(arguments.kel)
    receipt = objects.Receipt(arguments.receipt)
    verdict = {
        "receipt": receipt.digest.hex(),
        "provider": objects.aid_text(provider.aid),
        "status": receipt.body[10],
        "signed_by_provider": receipt.holds(provider),
        "key": "current" if receipt.body[4] == provider.seq else RETIRED,
    }
    holds = verdict["signed_by_provider"] and receipt.body[4] == provider.seq
    if arguments.result is not None:
        verdict["result_matches"] = objects.content_id(arguments.result.read_bytes()) == receipt.body[7]
        holds = holds and verdict["result_matches"]
    if arguments.counter is not None:
        requester = objects.verify_log(arguments.requester_kel)
        verdict["signed_by_requester"] = objects.counter_signature_holds(arguments.counter, receipt, requester)
        holds = holds and verdict["signed_by_requester"]
    return {"valid": holds, **verdict}


def main():
    parser = argparse.ArgumentParser(description="Verifies an svc receipt offline.")
    parser.add_argument("--receipt", type=given_bytes, help="the receipt, base64")
    parser.add_argument("--kel", type=given_bytes, help="the provider's key event log, base64 (svc id kel)")
    parser.add_argument("--result", type=Path, help="the result file that the receipt names")
    parser.add_argument("--counter", type=given_bytes, help="the requester's counter-signature, base64")
    parser.add_argument("--requester-kel", type=given_bytes, help="the requester's key event log, base64")
    parser.add_argument("--vectors", type=Path, help="check this program against the vectors in a folder")
    arguments = parser.parse_args()
    if arguments.vectors is not None:
        checked, wrong = vectors.check(arguments.vectors)
        print(json.dumps({"checked": checked, "wrong": wrong}, indent=2))
        return 0 if checked > 0 and not wrong else 1
    if arguments.receipt is None or arguments.kel is None:
        parser.error("--receipt and --kel are needed; see --help")
    if (arguments.counter is None) != (arguments.requester_kel is None):
        parser.error("--counter and --requester-kel go together")
    try:
        verdict = judge(arguments)
    except (objects.Refused, OSError) as refusal:
        verdict = {"valid": False, "why": str(refusal)}
    print(json.dumps(verdict, indent=2))
    return 0 if verdict["valid"] else 1


if __name__ == "__main__":
    sys.exit(main())
