"""Vectors of other projects, the archive of an identity and the certificate of tests."""

import base64
import hashlib
import hmac
import json
import re
import unicodedata
import zlib

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import load_pem_private_key

import objects
import sealing
from fixtures import REFUSED, outcome, unhex
from vectors_encoding import members
from vectors_payment import whole

ARCHIVE_PATHS = ("identity.kel", "identity.next", "mailbox.keys", "config.json", "interactions/store.db")


def wycheproof(held, name):
    for group in held.read(f"vectors/wycheproof_{name}_test.json")["testGroups"]:
        for case in group["tests"]:
            yield group, case, f"{name} {case['tcId']}"


def aead(held, name, cipher):
    for _, case, label in wycheproof(held, name):
        given = [unhex(case[member]) for member in ("key", "iv", "aad", "msg", "ct", "tag")]
        key, nonce, extra, message, ciphertext, tag = given
        if len(nonce) != 12 or len(tag) != 16:
            continue
        found = outcome(lambda: cipher(key).decrypt(nonce, ciphertext + tag, extra))
        held.same(label, message if case["result"] == "valid" else REFUSED, found)


def chunked(held):
    for _, case, label in wycheproof(held, "c2sp_chunked_encryption_aes_256_gcm"):
        content = zlib.decompress(unhex(case["ct"]))
        found = outcome(sealing.decrypt_chunks, unhex(case["key"]), unhex(case["ctx"]), content)
        if case["result"] == "valid":
            held.same(label, case["msgSha512"], hashlib.sha512(found).hexdigest() if found != REFUSED else found)
        else:
            held.same(label, REFUSED, found)


def derived(held):
    for _, case, label in wycheproof(held, "hkdf_sha256"):
        prk = hmac.new(unhex(case["salt"]), unhex(case["ikm"]), "sha256").digest()
        if case["result"] == "valid":
            found = sealing.hkdf_expand("sha256", prk, unhex(case["info"]), case["size"]).hex()
            held.same(label, case["okm"], found)
        else:
            held.same(label, True, case["size"] > 255 * 32)
    for group, case, label in wycheproof(held, "hmac_sha256"):
        found = hmac.new(unhex(case["key"]), unhex(case["msg"]), "sha256").hexdigest()[: group["tagSize"] // 4]
        held.same(label, case["result"] == "valid", found == case["tag"])


def exchanged(held):
    for _, case, label in wycheproof(held, "x25519"):
        private = X25519PrivateKey.from_private_bytes(unhex(case["private"]))
        try:
            found = private.exchange(X25519PublicKey.from_public_bytes(unhex(case["public"]))).hex()
        except ValueError:
            found = "00" * 32
        held.same(label, case["shared"], found)


def hybrid(held):
    """X-Wing, and the key schedule of HPKE in our suite."""
    for case in held.read("vectors/xwing_test-vectors.json"):
        seed, public = unhex(case["seed"]), unhex(case["pk"])
        shared, ciphertext = sealing.encapsulate(public, unhex(case["eseed"]))
        held.same("X-Wing", (case["pk"], case["ss"], case["ct"]), (sealing.public_key(seed).hex(), shared.hex(), ciphertext.hex()))
        held.same("X-Wing", shared, sealing.decapsulate(seed, ciphertext))
        altered = bytes([ciphertext[0] ^ 1]) + ciphertext[1:]
        held.same("X-Wing, altered", True, sealing.decapsulate(seed, altered) != shared)
    for case in held.read("vectors/hpke-pq_test-vectors.json"):
        if (case["kem_id"], case["kdf_id"], case["aead_id"], case["mode"]) != (0x647A, 1, 3, 0):
            continue
        context = sealing.Context(unhex(case["shared_secret"]), unhex(case["info"]))
        held.same("HPKE key", (case["key"], case["base_nonce"]), (context.key.hex(), context.nonce.hex()))
        for export in case["exports"]:
            found = context.export(unhex(export["exporter_context"]), export["L"]).hex()
            held.same("HPKE export", export["exported_value"], found)


def accumulated(held):
    """Key schedule and AEAD of RFC 9180 over X25519, which differs from our suite in the KEM: 1,000 ciphertexts."""
    for case in held.read("vectors/rfc9180_filippo.json"):
        if (case["kem_id"], case["kdf_id"], case["aead_id"]) != (0x20, 1, 3):
            continue
        enc, public = unhex(case["enc"]), unhex(case["pkRm"])
        private = X25519PrivateKey.from_private_bytes(unhex(case["skRm"]))
        secret = private.exchange(X25519PublicKey.from_public_bytes(enc))
        prk = sealing.labelled_extract(b"KEM\x00\x20", b"", b"eae_prk", secret)
        shared = sealing.labelled_expand(b"KEM\x00\x20", prk, b"shared_secret", enc + public, 32)
        context = sealing.Context(shared, unhex(case["info"]), b"HPKE" + bytes.fromhex("002000010003"))
        stream, at, made = hashlib.shake_128(b"").digest(1 << 19), 0, hashlib.shake_128()
        for sequence in range(1000):
            drawn = []
            for _ in range(2):
                drawn.append(stream[at + 1 : at + 1 + stream[at]])
                at += 1 + stream[at]
            nonce = (int.from_bytes(context.nonce, "big") ^ sequence).to_bytes(12, "big")
            made.update(ChaCha20Poly1305(context.key).encrypt(nonce, drawn[1], drawn[0]))
        held.same("RFC 9180", case["encryptions_accumulated"], made.hexdigest(16))


# --- archives (docs/objects.md section 20) ----------------------------------------------------------------------------


def archive_head(data):
    line, newline, content = data.partition(b"\n")
    objects.need(newline and len(line) < 4096, "no first line")
    try:
        head = json.loads(line, object_pairs_hook=members)
    except ValueError as error:
        raise objects.Refused("the first line is no JSON") from error
    names = ("svc_archive", "kind", "aid", "made_at", "release", "kdf", "n", "r", "p", "salt")
    objects.need(isinstance(head, dict) and set(head) == set(names), "other members")
    objects.need(head["svc_archive"] == 1 and head["kdf"] == "scrypt" and head["kind"] in ("backup", "export"), "another kind")
    objects.need(whole(head["made_at"], 0, objects.INTEGER_MAX), "no time")
    n, r, p = (head[name] for name in "nrp")
    objects.need(whole(n, 2, 2**19) and n & (n - 1) == 0 and whole(r, 1, 32) and whole(p, 1, 4), "another cost")
    objects.need(n * r * p <= 2**22, "it costs too much")
    objects.need(re.fullmatch("[A-Za-z0-9+/]{21}[AQgw]==", head["salt"]), "no salt of 16 bytes")
    return head, line + newline, content


def archive_files(passphrase, head, line, content):
    words = unicodedata.normalize("NFC", passphrase).encode()
    cost = {name: head[name] for name in "nrp"}
    key = hashlib.scrypt(words, salt=base64.b64decode(head["salt"]), dklen=32, maxmem=2**30, **cost)
    plain, at, files = sealing.decrypt_chunks(key, line, content), 0, []

    def take(count):
        nonlocal at
        objects.need(at + count <= len(plain), "cut short")
        at += count
        return plain[at - count : at]

    while True:
        length = int.from_bytes(take(8), "big")
        if length == 0:
            break
        objects.need(length <= 1024, "the path is too long")
        path = take(length).decode()
        files.append({"path": path, "bytes": take(int.from_bytes(take(8), "big")).hex()})
    objects.need(at == len(plain), "something follows the end")
    return files


def archive_fault(case):
    opened = outcome(archive_head, unhex(case["archive"]))
    if opened == REFUSED:
        return "head"
    files = outcome(archive_files, case["passphrase"], *opened)
    if files == REFUSED:
        return "content"
    known = re.compile("|".join([*map(re.escape, ARCHIVE_PATHS), "interactions/attachments/b[a-z2-7]+"]))
    return None if all(known.fullmatch(each["path"]) for each in files) else "path"


def archives(held):
    given = held.read("archive/archives.json")
    for case in given["valid"]:
        head, line, content = archive_head(unhex(case["archive"]))
        wanted = [case[name] for name in ("kind", "aid", "made_at", "release")]
        held.same(f"archive: {case['reason']}", wanted, [head[name] for name in ("kind", "aid", "made_at", "release")])
        held.same(f"archive: {case['reason']}", case["entries"], archive_files(case["passphrase"], head, line, content))
        held.same(f"archive: {case['reason']}", None, archive_fault(case))
    for case in given["invalid"]:
        held.same(f"archive: {case['reason']}", case["fault"], archive_fault(case))


def certificate(held):
    authority = x509.load_pem_x509_certificate(held.raw("tls/authority.pem"))
    hub = x509.load_pem_x509_certificate(held.raw("tls/hub.pem"))
    key = load_pem_private_key(held.raw("tls/hub.key.pem"), None)
    signed = (hub.signature, hub.tbs_certificate_bytes, ec.ECDSA(hub.signature_hash_algorithm))
    authority.public_key().verify(*signed)
    held.same("tls", True, hub.public_key().public_numbers() == key.public_key().public_numbers())
    names = hub.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    held.same("tls", ["hub.test"], names.get_values_for_type(x509.DNSName))


def check(held):
    aead(held, "aes_gcm", AESGCM)
    aead(held, "chacha20_poly1305", ChaCha20Poly1305)
    for part in (chunked, derived, exchanged, hybrid, accumulated, archives, certificate):
        part(held)
