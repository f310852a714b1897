/** The engine that checks signatures: an optional one is used only with our verdict on every edge of Ed25519. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { verify as cofactored } from '@noble/ed25519'
import { describe, expect, test } from 'vitest'
import { fromHex } from '../encoding/bytes.ts'
import { publicKey, sign, verify } from './engine.node.ts'
import { goldenVerdicts } from './golden-verdicts.ts'
import { chooseEngine, installedEngine, type Verify } from './signature-engine.ts'

type Edge = { key: string; message: string; signature: string; valid: boolean }
const edges = ['edges', 'strict'].flatMap(
  name =>
    JSON.parse(readFileSync(new URL(`../../fixtures/crypto/ed25519-${name}.json`, import.meta.url), 'utf8'))
      .cases as Edge[],
)
const portable: Verify = (key, message, signature) => cofactored(signature, message, key, { zip215: false })

const seed = new Uint8Array(32).fill(3)
const key = publicKey(seed)

describe('the golden verdicts', () => {
  test('are those of node:crypto', () => {
    for (const { name, holds, ...given } of goldenVerdicts)
      expect([name, verify(given.key, given.message, given.signature)]).toEqual([name, holds])
  })

  test.each([
    ['small-order key', 14, 0],
    ['small-order R', 8, 0],
    ['mixed-order A (', 6, 3],
    ['mixed-order R', 3, 0],
    ['mixed-order A and R', 4, 2],
    ['non-canonical R', 1, 0],
    ['S ', 5, 0],
  ])('hold cases of: %s', (begin, count, holding) => {
    const found = goldenVerdicts.filter(({ name }) => name.startsWith(begin))
    expect([found.length >= count, found.filter(({ holds }) => holds).length]).toEqual([true, holding])
  })
})

describe('the engine', () => {
  test('is the optional one where it agrees, and then has our verdict on every known edge', () => {
    const engine = installedEngine(createRequire(import.meta.url))
    // It may not be installed, or not built for this machine; then there is a reason, and node:crypto.
    expect([engine.name, engine.why === undefined]).toEqual(
      engine.why === undefined ? ['sodium-native', true] : ['node:crypto', false],
    )
    for (const { valid, ...edge } of edges) {
      const [a, m, s] = [fromHex(edge.key), fromHex(edge.message), fromHex(edge.signature)]
      expect([edge.signature, engine.verify(a, m, s)]).toEqual([edge.signature, valid])
    }
  })

  test('agrees with node:crypto on valid signatures and on each of them with one bit changed', () => {
    const engine = installedEngine(createRequire(import.meta.url))
    for (let i = 0; i < 512; i++) {
      const message = Uint8Array.of(i & 255, i >> 8)
      const signature = sign(seed, message)
      expect(engine.verify(key, message, signature)).toBe(true)
      signature[i >> 3] = (signature[i >> 3] ?? 0) ^ (1 << (i & 7))
      expect(engine.verify(key, message, signature)).toBe(false)
    }
  })

  test.each<[string, () => Verify, RegExp]>([
    ['is not there', () => fail('MODULE_NOT_FOUND'), /not installed$/],
    ['was made for another machine', () => fail('ERR_DLOPEN_FAILED'), /does not load on this machine$/],
    ['multiplies by the cofactor', () => portable, /differs on: /],
    ['accepts everything', () => () => true, /differs on: /],
    ['refuses everything', () => () => false, /differs on: /],
    ['throws', () => () => fail('of its own'), /differs on: /],
  ])('is node:crypto when the optional one %s', (_, load, why) => {
    const engine = chooseEngine(load)
    expect([engine.name, engine.verify]).toEqual(['node:crypto', verify])
    expect(engine.why).toMatch(why)
  })

  test('refuses keys and signatures of another length', () => {
    const engine = installedEngine(createRequire(import.meta.url))
    const message = new Uint8Array(1)
    const signature = sign(seed, message)
    expect(engine.verify(key, message, signature)).toBe(true)
    for (const [a, s] of [
      [key.subarray(1), signature],
      [new Uint8Array([...key, 0]), signature],
      [key, signature.subarray(1)],
      [key, new Uint8Array([...signature, 0])],
    ] as const)
      expect(engine.verify(a, message, s)).toBe(false)
  })
})

function fail(code: string): never {
  throw Object.assign(new Error('it does not load'), { code })
}
