import * as crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import { AEAD_ChaCha20Poly1305, CipherSuite, KDF_HKDF_SHA256, KEM_MLKEM768_X25519 } from 'hpke'
import { describe, expect, test } from 'vitest'
import { hmacSha256 } from '#crypto'
import { concat, fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { chachaOpen, chachaSeal } from './engine.node.ts'
import { exportSecret, keySchedule, open, receiveExport, SUITE_ID, seal, sendExport } from './hpke.ts'
import { decapsulate, xwingPublicKey } from './xwing.ts'

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/vectors/${name}`, import.meta.url), 'utf8'))

type Vector = { [member: string]: string } & {
  kem_id: number
  kdf_id: number
  aead_id: number
  encryptions: { aad: string; ct: string; nonce: string; pt: string }[]
  exports: { exporter_context: string; exported_value: string }[]
}
const ofSuite = (vectors: Vector[], kem: number) =>
  vectors.filter(vector => vector.kem_id === kem && vector.kdf_id === 1 && vector.aead_id === 3)
const ours = ofSuite(read('hpke-pq_test-vectors.json'), 25722)
const classic = ofSuite(read('rfc9180_filippo.json'), 32)
const seed = new Uint8Array(32).fill(4)
const publicKey = xwingPublicKey(seed)
const [info, aad, plaintext] = [utf8('info'), utf8('aad'), utf8('plaintext')]

describe('HPKE with X-Wing', () => {
  test(`agrees with the ${ours.length} vector set of its suite: keys, 10 ciphertexts, 5 exports`, () => {
    expect(ours.length).toBe(1)
    const vector = ours[0]!
    expect(toHex(SUITE_ID)).toBe(vector['suite_id'])
    const sharedSecret = decapsulate(fromHex(vector['skRm']!), fromHex(vector['enc']!))
    expect(toHex(sharedSecret)).toBe(vector['shared_secret'])
    expect(toHex(xwingPublicKey(fromHex(vector['skRm']!)))).toBe(vector['pkRm'])
    const context = keySchedule(sharedSecret, fromHex(vector['info']!))
    expect(toHex(context.key)).toBe(vector['key'])
    expect(toHex(context.baseNonce)).toBe(vector['base_nonce'])
    expect(toHex(context.exporterSecret)).toBe(vector['exporter_secret'])
    expect(vector.encryptions.length).toBe(10)
    for (const { aad: bound, ct, nonce, pt } of vector.encryptions) {
      expect(toHex(chachaSeal(context.key, fromHex(nonce), fromHex(bound), fromHex(pt)))).toBe(ct)
    }
    expect(vector.exports.length).toBe(5)
    for (const { exporter_context, exported_value } of vector.exports) {
      expect(toHex(exportSecret(context, fromHex(exporter_context)))).toBe(exported_value)
    }
    const first = vector.encryptions[0]!
    const opened = open(
      fromHex(vector['skRm']!),
      fromHex(vector['enc']!),
      fromHex(vector['info']!),
      fromHex(first.aad),
      fromHex(first.ct),
    )
    expect(toHex(opened)).toBe(first.pt)
  })

  test('its key schedule and AEAD give the 1,000 accumulated ciphertexts of RFC 9180 over X25519', () => {
    expect(classic.length).toBe(1)
    const vector = classic[0]!
    const suiteId = concat(utf8('HPKE'), fromHex('002000010003'))
    const context = keySchedule(dhSharedSecret(vector), fromHex(vector['info']!), suiteId)
    const draw = drawer()
    const sink = crypto.createHash('shake128', { outputLength: 16 })
    for (let sequence = 0; sequence < 1000; sequence++) {
      const bound = draw()
      const nonce = context.baseNonce.slice()
      nonce[10] = nonce[10]! ^ (sequence >> 8)
      nonce[11] = nonce[11]! ^ (sequence & 255)
      sink.update(chachaSeal(context.key, nonce, bound, draw()))
    }
    expect(sink.digest('hex')).toBe(vector['encryptions_accumulated'])
  })

  test('opens what another implementation seals, and the reverse', async () => {
    const suite = new CipherSuite(KEM_MLKEM768_X25519, KDF_HKDF_SHA256, AEAD_ChaCha20Poly1305)
    const theirKey = await suite.DeserializePublicKey(publicKey)
    const theirSeed = await suite.DeserializePrivateKey(seed)
    const theirs = await suite.Seal(theirKey, plaintext, { info, aad })
    expect(open(seed, theirs.encapsulatedSecret, info, aad, theirs.ciphertext)).toEqual(plaintext)
    const mine = seal(publicKey, info, aad, plaintext)
    expect(toHex(await suite.Open(theirSeed, mine.enc, mine.ciphertext, { info, aad }))).toBe(
      toHex(plaintext),
    )
    const sent = await suite.SendExport(theirKey, utf8('svc-content/v1'), 32, { info })
    const received = receiveExport(seed, sent.encapsulatedSecret, info, utf8('svc-content/v1'))
    expect(toHex(received)).toBe(toHex(sent.exportedSecret))
    const exported = sendExport(publicKey, info, utf8('svc-content/v1'))
    const theirExport = await suite.ReceiveExport(theirSeed, exported.enc, utf8('svc-content/v1'), 32, {
      info,
    })
    expect(toHex(theirExport)).toBe(toHex(exported.secret))
  })

  test('a message opens under its own key, info and aad only', () => {
    const { enc, ciphertext } = seal(publicKey, info, aad, plaintext)
    expect(open(seed, enc, info, aad, ciphertext)).toEqual(plaintext)
    const damaged = ciphertext.slice()
    damaged[0] = damaged[0]! ^ 1
    const faults: (() => unknown)[] = [
      () => open(seed, enc, aad, aad, ciphertext),
      () => open(seed, enc, info, info, ciphertext),
      () => open(new Uint8Array(32), enc, info, aad, ciphertext),
      () => open(seed, enc, info, aad, damaged),
      () => open(seed, enc, info, aad, ciphertext.subarray(0, 15)),
      () => open(seed, enc, info, aad, ciphertext.subarray(1)),
    ]
    for (const fault of faults) expect(fault).toThrow(Malformed)
    expect(() => chachaOpen(seed, new Uint8Array(12), aad, new Uint8Array(0))).toThrow(Malformed)
  })
})

/** DHKEM(X25519, HKDF-SHA256), which only the vectors of RFC 9180 need. */
function dhSharedSecret(vector: Vector): Uint8Array {
  const load = (key: string, format: string): unknown => ({
    key: fromHex(key),
    format,
    asymmetricKeyType: 'x25519',
  })
  const dh = crypto.diffieHellman({
    privateKey: crypto.createPrivateKey(load(vector['skRm']!, 'raw-private') as never),
    publicKey: crypto.createPublicKey(load(vector['enc']!, 'raw-public') as never),
  })
  const kem = concat(utf8('HPKE-v1KEM'), fromHex('0020'))
  const secret = hmacSha256(new Uint8Array(0), concat(kem, utf8('eae_prk'), dh))
  const both = fromHex(vector['enc']! + vector['pkRm']!)
  return hmacSha256(secret, concat(fromHex('0020'), kem, utf8('shared_secret'), both, Uint8Array.of(1)))
}

/** The vectors' inputs: a length byte and so many bytes, from an endless SHAKE128. */
function drawer(): () => Uint8Array {
  const stream = crypto.createHash('shake128', { outputLength: 600_000 }).digest()
  let offset = 0
  return () => {
    const length = stream[offset++]!
    offset += length
    return new Uint8Array(stream.subarray(offset - length, offset))
  }
}
