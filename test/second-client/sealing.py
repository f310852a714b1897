"""Sealing as docs/objects.md section 6 has it: X-Wing, HPKE in base mode, C2SP chunked encryption, padding."""

import hashlib
import hmac
import secrets

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import mlkem

XWING_LABEL = b"\\.//^\\"
SUITE = b"HPKE" + bytes.fromhex("647a00010003")
CHUNK = 16 * 1024
CHUNKED_LABEL = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM"


class NotOpened(Exception):
    """The bytes were altered, or sealed to another key."""


# --- X-Wing (draft-connolly-cfrg-xwing-kem-06) ----------------------------------------------------------------------


def _raw(key):
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _combine(shared_m, shared_x, cipher_x, public_x):
    return hashlib.sha3_256(shared_m + shared_x + cipher_x + public_x + XWING_LABEL).digest()


def _expand(seed):
    expanded = hashlib.shake_256(seed).digest(96)
    public_m, private_m = mlkem.keygen(expanded[:32], expanded[32:64])
    return public_m, private_m, X25519PrivateKey.from_private_bytes(expanded[64:])


def public_key(seed):
    public_m, _, private_x = _expand(seed)
    return public_m + _raw(private_x.public_key())


def encapsulate(public, randomness=None):
    """(shared secret, 1,120 bytes of ciphertext) for a public key of 1,216 bytes."""
    randomness = randomness or secrets.token_bytes(64)
    public_m, public_x = public[: mlkem.PUBLIC_BYTES], public[mlkem.PUBLIC_BYTES :]
    ephemeral = X25519PrivateKey.from_private_bytes(randomness[32:])
    cipher_x = _raw(ephemeral.public_key())
    shared_x = ephemeral.exchange(X25519PublicKey.from_public_bytes(public_x))
    shared_m, cipher_m = mlkem.encapsulate(public_m, randomness[:32])
    return _combine(shared_m, shared_x, cipher_x, public_x), cipher_m + cipher_x


def decapsulate(seed, ciphertext):
    _, private_m, private_x = _expand(seed)
    cipher_m, cipher_x = ciphertext[: mlkem.CIPHERTEXT_BYTES], ciphertext[mlkem.CIPHERTEXT_BYTES :]
    shared_x = private_x.exchange(X25519PublicKey.from_public_bytes(cipher_x))
    return _combine(mlkem.decapsulate(private_m, cipher_m), shared_x, cipher_x, _raw(private_x.public_key()))


# --- HPKE (RFC 9180, base mode, HKDF-SHA256, ChaCha20Poly1305) --------------------------------------------------------


def hkdf_expand(hash_name, key, info, length):
    output, block = b"", b""
    while len(output) < length:
        block = hmac.new(key, block + info + bytes([len(output) // hashlib.new(hash_name).digest_size + 1]), hash_name)
        block = block.digest()
        output += block
    return output[:length]


def hkdf(secret, info, length=32):
    return hkdf_expand("sha256", hmac.new(bytes(32), secret, "sha256").digest(), info, length)


def labelled_extract(suite, salt, label, secret):
    return hmac.new(salt or bytes(32), b"HPKE-v1" + suite + label + secret, "sha256").digest()


def labelled_expand(suite, key, label, info, length):
    return hkdf_expand("sha256", key, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, length)


class Context:
    """The key schedule of a shared secret."""

    def __init__(self, shared, info, suite=SUITE):
        psk_id = labelled_extract(suite, b"", b"psk_id_hash", b"")
        schedule = b"\0" + psk_id + labelled_extract(suite, b"", b"info_hash", info)
        secret = labelled_extract(suite, shared, b"secret", b"")
        self.suite = suite
        self.key = labelled_expand(suite, secret, b"key", schedule, 32)
        self.nonce = labelled_expand(suite, secret, b"base_nonce", schedule, 12)
        self._exporter = labelled_expand(suite, secret, b"exp", schedule, 32)

    def export(self, context, length):
        return labelled_expand(self.suite, self._exporter, b"sec", context, length)

    def open_first(self, ciphertext):
        return ChaCha20Poly1305(self.key).decrypt(self.nonce, ciphertext, b"")


# --- C2SP chunked encryption ----------------------------------------------------------------------------------------


def _chunk_keys(key, salt, context):
    expanded = hkdf_expand("sha512", key, CHUNKED_LABEL + b"\0" + salt + context, 76)
    return expanded[:32], expanded[32:44], expanded[44:]


def _chunk_nonce(nonce, index):
    return nonce[:8] + (int.from_bytes(nonce[8:], "big") ^ index).to_bytes(4, "big")


def encrypt_chunks(key, context, plaintext, salt=None):
    salt = salt or secrets.token_bytes(24)
    chunk_key, nonce, commitment = _chunk_keys(key, salt, context)
    cipher, out = AESGCM(chunk_key), [salt, commitment]
    for index in range(len(plaintext) // CHUNK + 1):
        part = plaintext[index * CHUNK : (index + 1) * CHUNK]
        out.append(cipher.encrypt(_chunk_nonce(nonce, index), part, b""))
    return b"".join(out)


def decrypt_chunks(key, context, content):
    if len(key) != 32:
        raise NotOpened("the key is not 32 bytes")
    salt, commitment, rest = content[:24], content[24:56], content[56:]
    chunk_key, nonce, expected = _chunk_keys(key, salt, context)
    if not hmac.compare_digest(commitment, expected):
        raise NotOpened("the commitment does not match")
    cipher, out, index = AESGCM(chunk_key), [], 0
    while True:
        part, rest = rest[: CHUNK + 16], rest[CHUNK + 16 :]
        try:
            out.append(cipher.decrypt(_chunk_nonce(nonce, index), part, b""))
        except Exception as error:
            raise NotOpened(f"chunk {index} does not open") from error
        index += 1
        if len(part) < CHUNK + 16:
            break
    if rest:
        raise NotOpened("bytes follow the last chunk")
    return b"".join(out)


# --- padding ----------------------------------------------------------------------------------------------------------


def padded_length(length):
    for kib in (4, 8, 16, 32, 64):
        if length <= kib * 1024:
            return kib * 1024
    exponent = length.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())
    return -(-length // step) * step
