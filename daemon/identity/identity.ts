/**
 * The identity of a node on disk: `identity.kel` (current seed and key event log) and `identity.next` (the seed that
 * the last event commits to). A rotation is durable before anyone hears of it, and after a crash at any step the
 * file that the last event commits to is the next key (objects: identity).
 */

import * as fs from 'node:fs'
import { join } from 'node:path'
import { publicKey, sha256 } from '#crypto'
import { concat, equal } from '../../protocol/encoding/bytes.ts'
import { Failure, Refusal, wordsOf } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { bytes, literal, record, required } from '../../protocol/encoding/record.ts'
import { decodeIdentity, encodeIdentity, SEED_BYTES } from '../../protocol/identity/identity-file.ts'
import { deactivate, incept, keyCommitment, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { faultPoint } from '../platform/faults.ts'
import {
  ensureSecretDirectory,
  findFile,
  removeDurably,
  renameDurably,
  replaceFile,
  writeDurably,
} from '../platform/files.ts'

const PHRASE_CHECK_BYTES = 3
const PHRASE_GROUP_CHARACTERS = 5

const NextFile = record('next key file', { v: required(1, literal(1)), seed: required(2, bytes(SEED_BYTES)) })

export type IdentityInputs = { now: () => number; random: (length: number) => Uint8Array }

/** The files of an identity do not hold what they must. */
export class IdentityDamaged extends Failure {
  override name = 'IdentityDamaged'
}

/** No key event can be made with what was given and what lies here. */
export class KeyRefused extends Refusal<'deactivated' | 'next_key_missing' | 'wrong_phrase'> {
  override name = 'KeyRefused'
}

/** Opens the identity of a data directory, or makes one where there is none. */
export function openIdentity(dir: string, inputs: IdentityInputs): Identity {
  ensureSecretDirectory(dir)
  const identity = readIdentity(dir, inputs)
  if (identity === undefined) return createIdentity(dir, inputs)
  settleNextKey(dir, identity.log)
  return identity
}

/** The identity of a data directory as its file has it; nothing is written. */
export function readIdentity(dir: string, inputs: IdentityInputs): Identity | undefined {
  const file = join(dir, 'identity.kel')
  const stored = findFile(file)
  if (stored === undefined) return undefined
  const { seed, log } = parseIdentity(stored, file)
  return new Identity(dir, inputs, seed, log)
}

/** Reads the public half of an identity without opening it, for listings. */
export function peekIdentity(dir: string): IdentityState | undefined {
  const log = peekLog(dir)
  if (log === undefined) return undefined
  const next = readNextSeed(join(dir, 'identity.next'))
  const hasNextKey = next !== undefined && isCommitted(log, next)
  return { aid: log.aid, seq: log.seq, deactivated: log.deactivated, hasNextKey }
}

/** The key event log of an identity, without opening it. */
export function peekLog(dir: string): VerifiedKel | undefined {
  const file = join(dir, 'identity.kel')
  const stored = findFile(file)
  return stored === undefined ? undefined : parseIdentity(stored, file).log
}

export type IdentityState = { aid: string; seq: number; deactivated: boolean; hasNextKey: boolean }

/** What a data directory holds of an identity whose own file is gone. */
const REMAINS = ['identity.next', 'mailbox.keys', 'evidence.ael.jsonl', 'interactions']

/** Throws where an identity was here: a new one would be another one, beside the records of the first. */
export function requireNoRemains(dir: string): void {
  const remains = REMAINS.filter(name => fs.existsSync(join(dir, name)))
  if (remains.length > 0)
    throw new IdentityDamaged(
      `${dir} holds ${remains.join(', ')} but no identity.kel; restore identity.kel from its backup`,
    )
}

function createIdentity(dir: string, inputs: IdentityInputs): Identity {
  requireNoRemains(dir)
  const seed = inputs.random(SEED_BYTES)
  const nextSeed = inputs.random(SEED_BYTES)
  const log = incept({ seed, nextSeed, ts: inputs.now() })
  storeSuccessor(dir, seed, log, nextSeed)
  return new Identity(dir, inputs, seed, log)
}

function parseIdentity(stored: Uint8Array, file: string): { seed: Uint8Array; log: VerifiedKel } {
  try {
    return decodeIdentity(stored)
  } catch (error) {
    const why = wordsOf(error)
    throw new IdentityDamaged(`${file} is damaged (${why}); restore it from its backup`, { cause: error })
  }
}

/** Writes seed and log; with a next seed in the order that survives a crash at every step. */
function storeSuccessor(
  dir: string,
  seed: Uint8Array,
  log: VerifiedKel,
  nextSeed: Uint8Array | undefined,
): void {
  const fresh = join(dir, 'identity.next.new')
  faultPoint('node.rotate.before-next')
  if (nextSeed !== undefined) {
    writeDurably(fresh, NextFile.encode({ v: 1, seed: nextSeed }))
    faultPoint('node.rotate.after-next')
  }
  replaceFile(join(dir, 'identity.kel'), encodeIdentity(seed, log), 'node.rotate.kel')
  faultPoint('node.rotate.after-kel')
  if (nextSeed !== undefined) renameDurably(fresh, join(dir, 'identity.next'))
  else removeDurably(join(dir, 'identity.next'))
  faultPoint('node.rotate.after-rename')
}

/** Finishes or drops a rotation that a crash interrupted. */
function settleNextKey(dir: string, log: VerifiedKel): void {
  const fresh = join(dir, 'identity.next.new')
  const seed = readNextSeed(fresh)
  if (seed !== undefined && isCommitted(log, seed)) renameDurably(fresh, join(dir, 'identity.next'))
  else if (fs.existsSync(fresh)) removeDurably(fresh)
}

function readNextSeed(path: string): Uint8Array | undefined {
  const stored = findFile(path)
  if (stored === undefined) return undefined
  try {
    return NextFile.decode(stored).seed
  } catch {
    return undefined
  }
}

function isCommitted(log: VerifiedKel, seed: Uint8Array): boolean {
  const commitment = log.events.at(-1)?.body.next[0]
  return commitment !== undefined && equal(commitment, keyCommitment(publicKey(seed)))
}

/** One identity with its files; the only place that changes them. */
export class Identity {
  readonly dir: string
  #inputs: IdentityInputs
  #seed: Uint8Array
  #log: VerifiedKel

  constructor(dir: string, inputs: IdentityInputs, seed: Uint8Array, log: VerifiedKel) {
    this.dir = dir
    this.#inputs = inputs
    this.#seed = seed
    this.#log = log
  }

  get aid(): string {
    return this.#log.aid
  }

  get log(): VerifiedKel {
    return this.#log
  }

  /** Seed of the current identity key. */
  get seed(): Uint8Array {
    return this.#seed
  }

  /** Whether the next key lies on this machine, so that a rotation can be made without the phrase. */
  get hasNextKey(): boolean {
    return this.#nextSeed() !== undefined
  }

  /** The seed of the next key, where it lies on this machine: as secret as the present one. */
  get nextSeed(): Uint8Array | undefined {
    return this.#nextSeed()
  }

  /** Throws when no further event can be made here. */
  requireNextKey(): void {
    this.#requireNextSeed()
  }

  /**
   * Reveals the committed key in a durable rotation event, naming `home` as witness where given; `ts` is the time of
   * that hub where it is known to differ from ours.
   */
  rotate(home?: string, ts = this.#inputs.now()): VerifiedKel {
    const seed = this.#requireNextSeed()
    const nextSeed = this.#inputs.random(SEED_BYTES)
    const log = rotate(this.#log, { seed, nextSeed, ts, ...present({ home }) })
    storeSuccessor(this.dir, seed, log, nextSeed)
    this.#seed = seed
    this.#log = log
    return log
  }

  /** Takes another AID, at this time; only for an identity that nobody has seen. */
  renew(ts: number): void {
    const seed = this.#inputs.random(SEED_BYTES)
    const nextSeed = this.#inputs.random(SEED_BYTES)
    const log = incept({ seed, nextSeed, ts })
    storeSuccessor(this.dir, seed, log, nextSeed)
    this.#seed = seed
    this.#log = log
  }

  /** Ends the identity in a durable event. */
  deactivate(ts = this.#inputs.now()): VerifiedKel {
    const seed = this.#requireNextSeed()
    const log = deactivate(this.#log, { seed, ts })
    storeSuccessor(this.dir, seed, log, undefined)
    this.#seed = seed
    this.#log = log
    return log
  }

  /** Keeps witness entries that a hub added to the log; the events themselves must be ours. */
  adoptWitnesses(log: VerifiedKel): void {
    if (log.aid !== this.aid || log.seq !== this.#log.seq || !equal(log.headDigest, this.#log.headDigest))
      return
    replaceFile(join(this.dir, 'identity.kel'), encodeIdentity(this.#seed, log), 'node.witness')
    this.#log = log
  }

  /** The next key as a phrase that can be written down. */
  exportNext(): string {
    return phraseOfSeed(this.#requireNextSeed())
  }

  /** Takes the next key off this machine, as long as it is the one that this phrase brings back. */
  removeNext(phrase: string): void {
    const seed = readNextSeed(join(this.dir, 'identity.next'))
    if (seed === undefined || !equal(seed, seedOfPhrase(phrase)))
      throw new KeyRefused('wrong_phrase', 'the next key has changed meanwhile; export it again')
    removeDurably(join(this.dir, 'identity.next'))
  }

  /** Brings the next key back from its phrase; refuses any other key. */
  importNext(phrase: string): void {
    const seed = seedOfPhrase(phrase)
    if (!isCommitted(this.#log, seed))
      throw new KeyRefused(
        'wrong_phrase',
        'this phrase is not the next key of this identity; look for the newest export',
      )
    replaceFile(join(this.dir, 'identity.next'), NextFile.encode({ v: 1, seed }))
  }

  #nextSeed(): Uint8Array | undefined {
    const seed = readNextSeed(join(this.dir, 'identity.next'))
    return seed !== undefined && isCommitted(this.#log, seed) ? seed : undefined
  }

  #requireNextSeed(): Uint8Array {
    if (this.#log.deactivated)
      throw new KeyRefused('deactivated', 'this identity is deactivated; make a new one: svc id new <name>')
    const seed = this.#nextSeed()
    if (seed === undefined)
      throw new KeyRefused(
        'next_key_missing',
        'the next key is not on this machine; bring it back, with its phrase on standard input: svc id next import',
      )
    return seed
  }
}

const PHRASE_ALPHABET = 'abcdefghjkmnpqrstuvwxyz023456789'

/** Seed and check bytes in groups of letters that cannot be mistaken for one another. */
export function phraseOfSeed(seed: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(concat(seed, phraseCheck(seed))).toString('hex')}`)
  const characters: string[] = []
  for (let i = 0; i < ((SEED_BYTES + PHRASE_CHECK_BYTES) * 8) / 5; i++) {
    characters.unshift(PHRASE_ALPHABET[Number(value & 31n)] as string)
    value >>= 5n
  }
  const groups: string[] = []
  for (let i = 0; i < characters.length; i += PHRASE_GROUP_CHARACTERS)
    groups.push(characters.slice(i, i + PHRASE_GROUP_CHARACTERS).join(''))
  return groups.join(' ')
}

function seedOfPhrase(phrase: string): Uint8Array {
  let value = 0n
  const characters = phrase.toLowerCase().replaceAll(/[\s-]/g, '')
  for (const character of characters) {
    const digit = PHRASE_ALPHABET.indexOf(character)
    if (digit < 0)
      throw new KeyRefused('wrong_phrase', `unexpected character in the phrase: ${character}; copy it again`)
    value = (value << 5n) | BigInt(digit)
  }
  const length = SEED_BYTES + PHRASE_CHECK_BYTES
  const all = new Uint8Array(Buffer.from(value.toString(16).padStart(length * 2, '0'), 'hex'))
  const seed = all.slice(0, SEED_BYTES)
  if (all.length !== length || !equal(all.slice(SEED_BYTES), phraseCheck(seed)))
    throw new KeyRefused(
      'wrong_phrase',
      'the phrase does not match its check; a group is missing or mistyped',
    )
  return seed
}

function phraseCheck(seed: Uint8Array): Uint8Array {
  return sha256(concat(Buffer.from('svc-next-phrase\0'), seed)).slice(0, PHRASE_CHECK_BYTES)
}
