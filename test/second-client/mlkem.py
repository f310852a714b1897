"""ML-KEM-768 (FIPS 203) over hashlib's SHAKE: key generation from a seed, encapsulation and decapsulation. For tests:
slow, and not constant in time."""

import hashlib

Q = 3329
N = 256
K = 3
ETA = 2
DU, DV = 10, 4
PUBLIC_BYTES = 384 * K + 32
CIPHERTEXT_BYTES = 32 * (DU * K + DV)


def _reversed_bits(i):
    return int(f"{i:07b}"[::-1], 2)


ZETAS = [pow(17, _reversed_bits(i), Q) for i in range(128)]
GAMMAS = [pow(17, 2 * _reversed_bits(i) + 1, Q) for i in range(128)]


def _hash_g(data):
    digest = hashlib.sha3_512(data).digest()
    return digest[:32], digest[32:]


def _prf(seed, counter):
    return hashlib.shake_256(seed + bytes([counter])).digest(64 * ETA)


def _ntt(f):
    f, i = list(f), 1
    for length in (128, 64, 32, 16, 8, 4, 2):
        for start in range(0, N, 2 * length):
            zeta = ZETAS[i]
            i += 1
            for j in range(start, start + length):
                t = zeta * f[j + length] % Q
                f[j + length], f[j] = (f[j] - t) % Q, (f[j] + t) % Q
    return f


def _inverse_ntt(f):
    f, i = list(f), 127
    for length in (2, 4, 8, 16, 32, 64, 128):
        for start in range(0, N, 2 * length):
            zeta = ZETAS[i]
            i -= 1
            for j in range(start, start + length):
                t = f[j]
                f[j] = (t + f[j + length]) % Q
                f[j + length] = zeta * (f[j + length] - t) % Q
    return [x * 3303 % Q for x in f]


def _multiply(f, g):
    h = [0] * N
    for i in range(128):
        a0, a1, b0, b1 = f[2 * i], f[2 * i + 1], g[2 * i], g[2 * i + 1]
        h[2 * i] = (a0 * b0 + a1 * b1 * GAMMAS[i]) % Q
        h[2 * i + 1] = (a0 * b1 + a1 * b0) % Q
    return h


def _add(f, g):
    return [(a + b) % Q for a, b in zip(f, g)]


def _subtract(f, g):
    return [(a - b) % Q for a, b in zip(f, g)]


def _inner(row, column):
    total = [0] * N
    for f, g in zip(row, column):
        total = _add(total, _multiply(f, g))
    return total


def _sample_ntt(seed):
    """A uniform element of the NTT domain, by rejection."""
    stream, values, size = hashlib.shake_128(seed), [], 840
    while True:
        data = stream.digest(size)
        values = []
        for i in range(0, size - 2, 3):
            d1 = data[i] + 256 * (data[i + 1] % 16)
            d2 = data[i + 1] // 16 + 16 * data[i + 2]
            values += [d for d in (d1, d2) if d < Q]
        if len(values) >= N:
            return values[:N]
        size *= 2


def _sample_cbd(data):
    bits = [byte >> i & 1 for byte in data for i in range(8)]
    return [(sum(bits[4 * i : 4 * i + 2]) - sum(bits[4 * i + 2 : 4 * i + 4])) % Q for i in range(N)]


def _pack(f, d):
    total = 0
    for i, value in enumerate(f):
        total |= value << (d * i)
    return total.to_bytes(32 * d, "little")


def _unpack(data, d):
    total, mask = int.from_bytes(data, "little"), (1 << d) - 1
    return [total >> (d * i) & mask for i in range(N)]


def _compress(f, d):
    return [((x << d) + Q // 2) // Q % (1 << d) for x in f]


def _decompress(f, d):
    return [(x * Q + (1 << (d - 1))) >> d for x in f]


def _matrix(rho):
    return [[_sample_ntt(rho + bytes([j, i])) for j in range(K)] for i in range(K)]


def keygen(d, z):
    """(public key, private key) of the seeds d and z, 32 bytes each."""
    rho, sigma = _hash_g(d + bytes([K]))
    a = _matrix(rho)
    s = [_ntt(_sample_cbd(_prf(sigma, i))) for i in range(K)]
    e = [_ntt(_sample_cbd(_prf(sigma, K + i))) for i in range(K)]
    t = [_add(_inner(a[i], s), e[i]) for i in range(K)]
    public = b"".join(_pack(f, 12) for f in t) + rho
    private = b"".join(_pack(f, 12) for f in s) + public + hashlib.sha3_256(public).digest() + z
    return public, private


def _encrypt(public, message, coins):
    t = [_unpack(public[384 * i : 384 * (i + 1)], 12) for i in range(K)]
    a = _matrix(public[384 * K :])
    y = [_ntt(_sample_cbd(_prf(coins, i))) for i in range(K)]
    e1 = [_sample_cbd(_prf(coins, K + i)) for i in range(K)]
    e2 = _sample_cbd(_prf(coins, 2 * K))
    u = [_add(_inverse_ntt(_inner([a[j][i] for j in range(K)], y)), e1[i]) for i in range(K)]
    mu = _decompress(_unpack(message, 1), 1)
    v = _add(_add(_inverse_ntt(_inner(t, y)), e2), mu)
    return b"".join(_pack(_compress(f, DU), DU) for f in u) + _pack(_compress(v, DV), DV)


def public_is_valid(public):
    """The modulus check of FIPS 203 section 7.2."""
    packed = public[: 384 * K]
    parts = (packed[384 * i : 384 * (i + 1)] for i in range(K))
    return len(public) == PUBLIC_BYTES and all(_pack([x % Q for x in _unpack(p, 12)], 12) == p for p in parts)


def encapsulate(public, message):
    """(shared secret, ciphertext) with the 32 random bytes `message`."""
    if not public_is_valid(public):
        raise ValueError("not an ML-KEM-768 public key")
    shared, coins = _hash_g(message + hashlib.sha3_256(public).digest())
    return shared, _encrypt(public, message, coins)


def decapsulate(private, ciphertext):
    """The shared secret; another one, not an error, where the ciphertext was altered."""
    s = [_unpack(private[384 * i : 384 * (i + 1)], 12) for i in range(K)]
    public, rest = private[384 * K : 768 * K + 32], private[768 * K + 32 :]
    digest, z = rest[:32], rest[32:]
    u = [_decompress(_unpack(ciphertext[320 * i : 320 * (i + 1)], DU), DU) for i in range(K)]
    v = _decompress(_unpack(ciphertext[320 * K :], DV), DV)
    w = _subtract(v, _inverse_ntt(_inner(s, [_ntt(f) for f in u])))
    message = _pack(_compress(w, 1), 1)
    shared, coins = _hash_g(message + digest)
    if _encrypt(public, message, coins) == ciphertext:
        return shared
    return hashlib.shake_256(z + ciphertext).digest(32)
