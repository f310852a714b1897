/** Agents and seeded randomness for tests; nothing of the product imports this file. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect } from 'vitest'
import { publicKey } from '#crypto'
import { contentId, contentIdOfDigest } from '../crypto/hash.ts'
import { xwingPublicKey } from '../crypto/xwing.ts'
import { Malformed, toHex } from '../encoding/bytes.ts'
import { aidOfInception } from '../identity/aid.ts'
import { incept, type VerifiedKel } from '../identity/kel.ts'
import { KEY_SET_LIFE_MS, KeySet, kidOf } from '../identity/keyset.ts'
import { Capability, type GrantedCapability, latestEnd } from '../mail/capability.ts'
import type { Attachment, MessageBody } from '../mail/message.ts'
import { encodePayload, kinds } from '../mail/payload.ts'
import type { ClaimedHead } from '../proof/chain-head.ts'
import { GENESIS } from '../proof/evidence.ts'

export const NOW_MS = 1_780_000_000_000
export const DAY_MS = 86_400_000

/** A stream of bytes that depends on its name alone. */
export function seeded(name: string): (length: number) => Uint8Array {
  let drawn = 0
  return length => {
    const hash = createHash('shake256', { outputLength: length })
    return new Uint8Array(hash.update(`${name}/${drawn++}`).digest())
  }
}

export type Agent = {
  aid: string
  log: VerifiedKel
  identitySeed: Uint8Array
  nextSeed: Uint8Array
  encryptionSeed: Uint8Array
  mailboxSeed: Uint8Array
  epoch: Uint8Array
  kid: Uint8Array
  encryptionKey: Uint8Array
  keySet: KeySet
  random: (length: number) => Uint8Array
}

/** An agent whose every key follows from its name. */
export function agent(name: string): Agent {
  const random = seeded(name)
  const identitySeed = random(32)
  const nextSeed = random(32)
  const encryptionSeed = random(32)
  const mailboxSeed = random(32)
  const epoch = random(16)
  const log = incept({ seed: identitySeed, nextSeed, ts: NOW_MS - DAY_MS })
  const encryptionKey = xwingPublicKey(encryptionSeed)
  const kid = kidOf(encryptionKey)
  const keySet = KeySet.sign(identitySeed, {
    v: 1,
    aid: log.aid,
    kelSeq: 0,
    setSeq: 1,
    ts: NOW_MS - DAY_MS,
    exp: NOW_MS - DAY_MS + KEY_SET_LIFE_MS,
    keys: [
      { kid, suite: 1, publicKey: encryptionKey, notBefore: NOW_MS - DAY_MS, notAfter: NOW_MS + 6 * DAY_MS },
    ],
    mailboxKey: publicKey(mailboxSeed),
    mailboxEpoch: epoch,
    strangers: { bytes: 512 * 1024, perDay: 20 },
  })
  return {
    aid: log.aid,
    log,
    identitySeed,
    nextSeed,
    encryptionSeed,
    mailboxSeed,
    epoch,
    kid,
    encryptionKey,
    keySet,
    random,
  }
}

/** A capability that `issuer` hands out, with a fresh holder key. */
export function grant(issuer: Agent, expMs = latestEnd(NOW_MS)): GrantedCapability {
  const holderSeed = issuer.random(32)
  const capability = Capability.sign(issuer.mailboxSeed, {
    v: 1,
    id: issuer.random(16),
    recipient: issuer.aid,
    epoch: issuer.epoch,
    holderKey: publicKey(holderSeed),
    expMs,
    usesPerDayMax: 4,
    bytesMax: 96 * 1024 * 1024,
  })
  return { capability, holderSeed }
}

/** The entry of an attachment with these bytes. */
export function attachmentOf(name: string, content: Uint8Array): Attachment {
  return { name, mediaType: 'application/octet-stream', size: content.length, cid: contentId(content) }
}

/** The body of a message `from` one agent `to` another: a first delegation unless told otherwise. */
export function bodyOf(from: Agent, to: Agent, more: Partial<MessageBody> = {}): MessageBody {
  return {
    v: 1,
    from: from.aid,
    kelSeq: 0,
    to: to.aid,
    messageId: from.random(16),
    tsMs: NOW_MS,
    kind: kinds.delegate,
    interactionId: from.random(16),
    number: 1,
    storedUpTo: 0,
    payload: encodePayload(kinds.delegate, {
      document: new TextEncoder().encode('{"attachments":[],"task":"say hello"}'),
      requesterCommitment: from.random(32),
    }),
    kelHeadDigest: from.log.headDigest,
    handleSecret: from.random(32),
    attachments: [],
    ...more,
  }
}

/** The three properties of a byte format: decode∘encode = id; any bytes decode or are refused; accepted bytes re-encode. */
export function checkByteFormat<T>(
  codec: { encode(value: T): Uint8Array; decode(bytes: Uint8Array): T },
  values: fc.Arbitrary<T>,
  runs = 200,
): void {
  const once = { numRuns: runs }
  fc.assert(
    fc.property(values, value => {
      expect(codec.decode(codec.encode(value))).toEqual(value)
    }),
    once,
  )
  const mutated = fc
    .tuple(values, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }), fc.nat(3))
    .map(([value, edits, cut]) => {
      const bytes = codec.encode(value)
      for (const [at, byte] of edits) bytes[at % bytes.length] = byte
      return cut === 3 ? bytes.subarray(0, (edits[0]?.[0] ?? 0) % bytes.length) : bytes
    })
  fc.assert(
    fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 80 })), bytes => {
      let value: T
      try {
        value = codec.decode(bytes)
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        return
      }
      expect(toHex(codec.encode(value))).toBe(toHex(bytes))
    }),
    { numRuns: runs * 5 },
  )
}

/** Byte strings of one length. */
export const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
/** AIDs of no particular agent. */
export const anyAid = fc.uint8Array({ maxLength: 8 }).map(aidOfInception)
/** Unsigned integers of the safe range, small ones often. */
export const anyUint = fc.oneof(fc.nat(100), fc.maxSafeNat())

/** Texts of any UTF-16 units, surrogates without a partner among them. */
export const anyText = fc.array(fc.nat(0xffff), { maxLength: 40 }).map(units => String.fromCharCode(...units))

/** Reads a fixture by its path under `fixtures/`. */
export function fixture<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(`../../fixtures/${path}`, import.meta.url), 'utf8')) as T
}

/** The head of a chain, empty or not. */
export const anyHead: fc.Arbitrary<ClaimedHead> = fc
  .tuple(anyUint, bytesOf(32))
  .map(([length, digest]) => [length, length === 0 ? GENESIS : contentIdOfDigest(digest)])
