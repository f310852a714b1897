"""Agent cards as a hub takes them: docs/objects.md section 21, with the members of A2A 1.0.1."""

import objects
from fixtures import REFUSED, outcome, unhex
from vectors_encoding import canonical, read_json, strict
from vectors_identity import b64url, unb64url

TEXT_MAX, ITEMS_MAX, DEPTH_MAX, CARD_MAX = 16 * 1024, 128, 8, 64 * 1024


def text(value):
    objects.need(isinstance(value, str) and 0 < len(value.encode()) <= TEXT_MAX, "no text, or too long")


def flag(value):
    objects.need(isinstance(value, bool), "neither true nor false")


def only_true(value):
    objects.need(value is True, "a default that one canonical form drops")


def listed(item):
    def read(value):
        objects.need(isinstance(value, list) and 1 <= len(value) <= ITEMS_MAX, "no list, or an empty one")
        for one in value:
            item(one)

    return read


def named(item):
    """Names of the author to values."""

    def read(value):
        objects.need(isinstance(value, dict) and value and "__proto__" not in value, "no members")
        for one in value.values():
            item(one)

    return read


def members(required, optional=None):
    shape = {**required, **(optional or {})}

    def read(value):
        objects.need(isinstance(value, dict) and value, "no object, or an empty one")
        objects.need(set(required) <= set(value) <= set(shape), "a member is missing or unknown")
        for name, held in value.items():
            shape[name](held)

    return read


def one_of(shapes):
    """An object with exactly one of these members."""

    def read(value):
        objects.need(isinstance(value, dict) and len(value) == 1 and set(value) <= set(shapes), "not one of the kinds")
        for name, held in value.items():
            shapes[name](held)

    return read


def own_data(value, depth=0):
    objects.need(depth <= DEPTH_MAX and value is not None and value != "", "null, empty or too deep")
    if isinstance(value, (dict, list)):
        objects.need(len(value) > 0 and "__proto__" not in value, "an empty value")
        for one in value.values() if isinstance(value, dict) else value:
            own_data(one, depth + 1)


texts = listed(text)
scoped = {"scopes": named(text)}
again = {"refreshUrl": text}
flows = one_of(
    {
        "authorizationCode": members(
            {"authorizationUrl": text, "tokenUrl": text, **scoped}, {"pkceRequired": only_true, **again}
        ),
        "clientCredentials": members({"tokenUrl": text, **scoped}, again),
        "implicit": members({"authorizationUrl": text, **scoped}, again),
        "password": members({"tokenUrl": text, **scoped}, again),
        "deviceCode": members({"deviceAuthorizationUrl": text, "tokenUrl": text, **scoped}, again),
    }
)
described = {"description": text}
scheme = one_of(
    {
        "apiKeySecurityScheme": members({"location": text, "name": text}, described),
        "httpAuthSecurityScheme": members({"scheme": text}, {"bearerFormat": text, **described}),
        "oauth2SecurityScheme": members({"flows": flows}, {"oauth2MetadataUrl": text, **described}),
        "openIdConnectSecurityScheme": members({"openIdConnectUrl": text}, described),
        "mtlsSecurityScheme": members(described),
    }
)
requirements = listed(members({"schemes": named(members({"list": texts}))}))
extension = members({"uri": text}, {"description": text, "required": only_true, "params": own_data})
capabilities = members(
    {},
    {"streaming": flag, "pushNotifications": flag, "extendedAgentCard": flag, "extensions": listed(extension)},
)
skill = members(
    {"id": text, "name": text, "description": text, "tags": texts},
    {"examples": texts, "inputModes": texts, "outputModes": texts, "securityRequirements": requirements},
)
interface = members({"url": text, "protocolBinding": text, "protocolVersion": text}, {"tenant": text})
card = members(
    {
        "name": text,
        "description": text,
        "version": text,
        "supportedInterfaces": listed(interface),
        "capabilities": capabilities,
        "defaultInputModes": texts,
        "defaultOutputModes": texts,
        "skills": listed(skill),
        "signatures": listed(members({"protected": text, "signature": text})),
    },
    {
        "provider": members({"url": text, "organization": text}),
        "documentationUrl": text,
        "iconUrl": text,
        "securitySchemes": named(scheme),
        "securityRequirements": requirements,
    },
)


def key_id(log):
    return f"{objects.aid_text(log.aid)}#{log.seq}"


def verified(given, log, base_url):
    """The canonical form of a card that its agent signed for this hub under its present key."""
    jku = f"{base_url}/agents/{objects.aid_text(log.aid)}/jwks.json"
    return signed_under(given, log, {"alg": "EdDSA", "jku": jku, "kid": key_id(log), "typ": "JOSE"})


def signed_under(given, log, header):
    card(given)
    unsigned = canonical({name: held for name, held in given.items() if name != "signatures"})
    objects.need(len(canonical(given).encode()) <= CARD_MAX, "the card is too large")
    objects.need(len(given["signatures"]) == 1, "not one signature")
    [shown] = given["signatures"]
    objects.need(read_json(unb64url(shown["protected"])) == header, "another header")
    signed = f"{shown['protected']}.{b64url(unsigned.encode())}".encode()
    objects.need(strict(log.key_at(log.seq), signed, unb64url(shown["signature"])), "the signature does not hold")
    return unsigned


def open_card(given, log):
    """The number of a card that its agent signed for a hub of wire 1."""
    shown = read_json(given.encode())
    signed_under(shown, log, {"alg": "EdDSA", "kid": key_id(log), "typ": "JOSE"})
    named = [each for each in shown["capabilities"].get("extensions", []) if each["uri"] == "svc.card"]
    objects.need(len(named) == 1, "not one extension of this name")
    params = named[0].get("params", {})
    objects.need(params.get("subject_did") == f"did:svc:{objects.aid_text(log.aid)}", "another subject")
    number = params.get("seq")
    objects.need(isinstance(number, float) and number.is_integer() and number >= 0, "no number")
    return int(number)


def open_cards(held):
    vectors = held.read("card/open-cards.json")
    log = objects.verify_log(unhex(vectors["kel"]))
    for case in vectors["valid"]:
        held.same(f"open card: {case['reason']}", case["number"], outcome(open_card, case["text"], log))
    for case in vectors["invalid"]:
        held.same(f"open card: {case['reason']}", REFUSED, outcome(open_card, case["text"], log))


def check(held):
    open_cards(held)
    vectors = held.read("card/cards.json")
    log = objects.verify_log(unhex(vectors["kel"]))
    base_url = vectors["base_url"]
    for case in vectors["valid"]:
        held.same(f"card: {case['reason']}", case["canonical"], outcome(verified, case["card"], log, base_url))
    for case in vectors["invalid"]:
        held.same(f"card: {case['reason']}", REFUSED, outcome(verified, case["card"], log, base_url))
    own = {"kty": "OKP", "crv": "Ed25519", "x": b64url(log.key_at(log.seq)), "kid": key_id(log)}
    held.same("card: key set", {"keys": [{**own, "alg": "EdDSA", "use": "sig"}]}, vectors["jwks"])
