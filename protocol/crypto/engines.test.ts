import * as crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import * as portable from './engine.browser.ts'
import * as engine from './engine.node.ts'

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/${path}`, import.meta.url), 'utf8'))

type Case = { [member: string]: string } & { tcId: number; size: number }
type Group = { ivSize: number; tagSize: number; tests: Case[] }
const wycheproof = (name: string): Group[] => read(`vectors/wycheproof_${name}_test.json`).testGroups
const counted = (groups: Group[]) => groups.reduce((sum, group) => sum + group.tests.length, 0)
const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })

const hmac = wycheproof('hmac_sha256')
const hkdf = wycheproof('hkdf_sha256')
const chacha = wycheproof('chacha20_poly1305')
const gcm = wycheproof('aes_gcm')
const x25519 = wycheproof('x25519')
const edges = read('crypto/ed25519-edges.json').cases as {
  name: string
  key: string
  message: string
  signature: string
  valid: boolean
}[]
const strict = read('crypto/ed25519-strict.json').cases as ((typeof edges)[number] & { class: string })[]

describe('primitives', () => {
  test(`HMAC-SHA256 agrees with ${counted(hmac)} Wycheproof cases`, () => {
    expect(counted(hmac)).toBe(174)
    for (const { tagSize, tests } of hmac) {
      for (const { key, msg, tag, result, tcId } of tests) {
        const made = engine.hmacSha256(fromHex(key!), fromHex(msg!)).subarray(0, tagSize / 8)
        expect(toHex(made) === tag, `case ${tcId}`).toBe(result === 'valid')
      }
    }
  })

  test(`HKDF-SHA256 agrees with ${counted(hkdf)} Wycheproof cases`, () => {
    expect(counted(hkdf)).toBe(86)
    for (const { ikm, salt, info, size, okm, result, tcId } of hkdf.flatMap(group => group.tests)) {
      const derive = () => engine.hkdfSha256(fromHex(ikm!), fromHex(info!), fromHex(salt!), size)
      if (result === 'valid') expect(toHex(derive()), `case ${tcId}`).toBe(okm)
      else expect(derive, `case ${tcId}`).toThrow()
    }
  })

  test(`ChaCha20-Poly1305 agrees with ${counted(chacha)} Wycheproof cases`, () => {
    expect(counted(chacha)).toBe(325)
    for (const { key, iv, aad, msg, ct, tag, result, tcId } of chacha.flatMap(group => group.tests)) {
      const open = () => engine.chachaOpen(fromHex(key!), fromHex(iv!), fromHex(aad!), fromHex(ct! + tag!))
      if (result === 'valid') expect(toHex(open()), `case ${tcId}`).toBe(msg)
      else expect(open, `case ${tcId}`).toThrow()
    }
  })

  test(`AES-GCM of this runtime agrees with the Wycheproof cases of our sizes, of ${counted(gcm)}`, () => {
    expect(counted(gcm)).toBe(316)
    const ours = wycheproof('aes_gcm').filter(group => group.ivSize === 96)
    expect(counted(ours)).toBeGreaterThan(100)
    for (const { key, iv, aad, msg, ct, tag, result, tcId } of ours.flatMap(group => group.tests)) {
      const name = `aes-${key!.length * 4}-gcm` as crypto.CipherGCMTypes
      const decipher = crypto.createDecipheriv(name, fromHex(key!), fromHex(iv!), { authTagLength: 16 })
      decipher.setAAD(fromHex(aad!))
      const open = () => {
        decipher.setAuthTag(fromHex(tag!))
        const body = decipher.update(fromHex(ct!))
        decipher.final()
        return toHex(body)
      }
      if (result === 'valid') expect(open(), `case ${tcId}`).toBe(msg)
      else expect(open, `case ${tcId}`).toThrow()
    }
  })

  test(`X25519 of this runtime agrees with ${counted(x25519)} Wycheproof cases and refuses 31 all-zero results`, () => {
    expect(counted(x25519)).toBe(518)
    const load = (key: string, format: 'raw-private' | 'raw-public'): unknown => ({
      key: fromHex(key),
      format,
      asymmetricKeyType: 'x25519',
    })
    let refused = 0
    for (const vector of x25519.flatMap(group => group.tests)) {
      const privateKey = crypto.createPrivateKey(load(vector['private']!, 'raw-private') as never)
      const publicKey = crypto.createPublicKey(load(vector['public']!, 'raw-public') as never)
      try {
        expect(toHex(crypto.diffieHellman({ privateKey, publicKey })), `case ${vector.tcId}`).toBe(
          vector['shared'],
        )
      } catch (error) {
        if (/^0*$/.test(vector['shared']!)) refused++
        else throw error
      }
    }
    expect(refused).toBe(31)
  })

  test('HKDF has an empty salt and 32 bytes unless told otherwise', () => {
    const secret = new Uint8Array(32).fill(7)
    const info = new Uint8Array([1])
    expect(engine.hkdfSha256(secret, info)).toEqual(engine.hkdfSha256(secret, info, new Uint8Array(0), 32))
  })

  test('secrets compare by content and length', () => {
    expect(engine.equalSecret(new Uint8Array([1]), new Uint8Array([1]))).toBe(true)
    expect(engine.equalSecret(new Uint8Array([1]), new Uint8Array([2]))).toBe(false)
    expect(engine.equalSecret(new Uint8Array([1]), new Uint8Array([1, 0]))).toBe(false)
  })
})

describe('Ed25519', () => {
  const counts = Object.entries(Object.groupBy(strict, vector => vector.class)).map(
    ([name, vectors]) => [name, vectors?.length ?? 0, vectors ?? []] as const,
  )
  const judged = ({ key, message, signature }: (typeof edges)[number]) =>
    [fromHex(key), fromHex(message), fromHex(signature)] as const

  test('there are vectors of every class in which verifiers differ, and at least 400 near misses', () => {
    const held = Object.fromEntries(counts)
    expect(Object.keys(held)).toEqual(
      expect.arrayContaining([
        'small-order A, the equation holds',
        'small-order R, the equation holds',
        'mixed-order A, its torsion cancels',
        'mixed-order A',
        'mixed-order R',
        'mixed-order A and R, their torsion cancels',
        'non-canonical A',
        'non-canonical R',
        'non-canonical s',
      ]),
    )
    expect(strict.filter(vector => vector.class.startsWith('near miss')).length).toBeGreaterThanOrEqual(400)
  })

  test.each(counts)('both engines give the one verdict: %s (%i)', async (_, __, vectors) => {
    for (const vector of vectors) {
      expect(engine.verify(...judged(vector)), `node: ${vector.signature}`).toBe(vector.valid)
      expect(portable.verify(...judged(vector)), `portable: ${vector.signature}`).toBe(vector.valid)
      expect(await engine.verifyAsync(...judged(vector)), `thread pool: ${vector.signature}`).toBe(
        vector.valid,
      )
    }
  })

  test(`both keep ${edges.length} golden verdicts on keys of small order and altered signatures`, () => {
    expect(edges.length).toBe(410)
    for (const vector of edges) {
      expect(engine.verify(...judged(vector)), vector.name).toBe(vector.valid)
      expect(portable.verify(...judged(vector)), vector.name).toBe(vector.valid)
    }
  })

  test('both engines make the same keys, hashes and signatures, and verify each other', () => {
    fc.assert(
      fc.property(seed, fc.uint8Array(), (secret, message) => {
        const signature = engine.sign(secret, message)
        expect(toHex(portable.publicKey(secret))).toBe(toHex(engine.publicKey(secret)))
        expect(toHex(portable.sign(secret, message))).toBe(toHex(signature))
        expect(toHex(portable.sha256(message))).toBe(toHex(engine.sha256(message)))
        expect(portable.verify(engine.publicKey(secret), message, signature)).toBe(true)
        expect(engine.verify(engine.publicKey(secret), message, signature)).toBe(true)
      }),
      { numRuns: 20 },
    )
  })

  test('a flipped bit anywhere in a signature is refused, also on the thread pool', async () => {
    const secret = new Uint8Array(32).fill(3)
    const key = engine.publicKey(secret)
    const signature = engine.sign(secret, key)
    expect(await engine.verifyAsync(key, key, signature)).toBe(true)
    for (let bit = 0; bit < 512; bit += 7) {
      const damaged = signature.slice()
      damaged[bit >> 3] = damaged[bit >> 3]! ^ (1 << (bit & 7))
      expect(engine.verify(key, key, damaged)).toBe(false)
      expect(await engine.verifyAsync(key, key, damaged)).toBe(false)
    }
    expect(await engine.verifyAsync(key, key, signature.subarray(1))).toBe(false)
    expect(await engine.verifyAsync(key.subarray(1), key, signature)).toBe(false)
  })

  test('a seed of another length is a mistake of ours', () => {
    expect(() => engine.sign(new Uint8Array(31), new Uint8Array(0))).toThrow(TypeError)
  })
})

describe('the portable engine beside the one of the machine', () => {
  const seed = new Uint8Array(32).fill(9)
  const text = Uint8Array.from({ length: 300 }, (_, i) => i & 255)
  const same = (name: string, made: (of: typeof portable) => Uint8Array) =>
    expect(toHex(made(portable)), name).toBe(toHex(made(engine as typeof portable)))

  test('has the same functions', () => {
    expect(Object.keys(portable).sort()).toEqual(Object.keys(engine).sort())
  })

  test('gives the same hashes, codes and derived keys', () => {
    same('sha3', of => of.sha3(text))
    same('shake256', of => of.shake256(text, 96))
    same('hmac', of => of.hmacSha256(seed, text))
    same('hmac 512', of => of.hmacSha512(seed, text))
    same('hkdf', of => of.hkdfSha256(seed, text, seed, 80))
    expect(portable.sha256Hex(text)).toBe(engine.sha256Hex(text))
    const stream = portable.sha256Stream()
    stream.update(text.subarray(0, 7))
    stream.update(text.subarray(7))
    expect(toHex(stream.digest())).toBe(engine.sha256Hex(text))
    expect(portable.equalSecret(seed, seed.slice())).toBe(true)
    expect(portable.equalSecret(seed, seed.subarray(1))).toBe(false)
    expect(portable.equalSecret(seed, seed.with(31, 1))).toBe(false)
    expect(portable.randomBytes(70_000).length).toBe(70_000)
  })

  test('seals what the other opens, and refuses what was altered', () => {
    const nonce = new Uint8Array(12).fill(1)
    same('chacha', of => of.chachaSeal(seed, nonce, text, text))
    same('gcm', of => of.gcmSeal(seed, nonce, text))
    const sealed = engine.gcmSeal(seed, nonce, text)
    const box = engine.chachaSeal(seed, nonce, text, text)
    for (const one of [portable, engine]) {
      expect(one.gcmOpen(seed, nonce, sealed)).toEqual(text)
      expect(one.chachaOpen(seed, nonce, text, box)).toEqual(text)
      expect(() => one.gcmOpen(seed, nonce, sealed.with(0, 0xaa))).toThrow(Malformed)
      expect(() => one.gcmOpen(seed, nonce, sealed.subarray(0, 15))).toThrow(Malformed)
      expect(() => one.chachaOpen(seed, nonce, text, box.with(0, 0xaa))).toThrow(Malformed)
      expect(() => one.chachaOpen(seed, nonce, text, box.subarray(0, 15))).toThrow(Malformed)
    }
  })

  test('agrees on keys: X25519 and ML-KEM-768', () => {
    const kemSeed = new Uint8Array(64).fill(5)
    same('x25519 key', of => of.x25519(seed).publicKey)
    same('x25519', of => of.x25519(seed).agree(engine.x25519(seed.with(0, 1)).publicKey))
    same('ml-kem key', of => of.mlkemPublicKey(kemSeed))
    const { sharedKey, ciphertext } = portable.mlkemEncapsulate(engine.mlkemPublicKey(kemSeed))
    expect(toHex(engine.mlkemDecapsulate(kemSeed, ciphertext))).toBe(toHex(sharedKey))
    same('ml-kem', of => of.mlkemDecapsulate(kemSeed, ciphertext))
    same('ml-kem, altered', of => of.mlkemDecapsulate(kemSeed, ciphertext.with(3, 7)))
    for (const one of [portable, engine]) {
      expect(() => one.x25519(seed).agree(new Uint8Array(32))).toThrow(Malformed)
      expect(() => one.mlkemEncapsulate(new Uint8Array(1184).fill(255))).toThrow(Malformed)
    }
  })
})
