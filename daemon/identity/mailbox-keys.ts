/**
 * Mailbox and encryption keys on disk (`mailbox.keys`): the weekly key sets, the mailbox key that signs capabilities,
 * its epoch, and the private keys that are still needed to open what is on its way (objects: key set).
 */
import { join } from 'node:path'
import { publicKey } from '#crypto'
import { XWING_SEED_BYTES, xwingPublicKey } from '../../protocol/crypto/xwing.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import {
  bytes,
  type Infer,
  list,
  literal,
  optional,
  record,
  required,
  uint,
} from '../../protocol/encoding/record.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import {
  KEY_DELETION_MS,
  KEY_RENEWAL_MS,
  KEY_SET_LIFE_MS,
  KeySet,
  kidOf,
  type StrangerLimits,
  SUITE,
} from '../../protocol/identity/keyset.ts'
import { findFile, replaceFile } from '../platform/files.ts'
import { IdentityDamaged, type IdentityInputs } from './identity.ts'

const PRIVATE_KEYS_MAX = 64
const EPOCH_BYTES = 16
/** What is dated later than this was made while a clock ran ahead. */
const AHEAD_MAX_MS = 5 * 60_000

const PrivateKey = record('encryption key file entry', {
  kid: required(1, bytes(8)),
  seed: required(2, bytes(XWING_SEED_BYTES)),
  notBefore: required(3, uint),
  notAfter: required(4, uint),
  /** When the hub confirmed a set that no longer holds this key. */
  droppedAt: optional(5, uint),
})
type PrivateKey = Infer<typeof PrivateKey>

const KeysFile = record('mailbox keys file', {
  v: required(1, literal(1)),
  mailboxSeed: required(2, bytes(32)),
  epoch: required(3, bytes(EPOCH_BYTES)),
  keys: required(4, list(PrivateKey, PRIVATE_KEYS_MAX)),
  set: optional(5, KeySet),
  /** Set seq and KEL seq that the hub confirmed last. */
  confirmedSet: required(6, uint),
  confirmedKel: required(7, uint),
})
type KeysFile = Infer<typeof KeysFile>

/** The file's content; a private key that is not that of its public half would fail only where others meet it. */
function readKeys(stored: Uint8Array, path: string): KeysFile {
  try {
    const file = KeysFile.decode(stored)
    for (const { kid, seed } of file.keys)
      if (!equal(kidOf(xwingPublicKey(seed)), kid))
        throw new Malformed('an encryption key is not the one that its number names')
    const body = file.set?.body
    const isOfSet = body !== undefined && equal(body.mailboxEpoch, file.epoch)
    if (isOfSet && !equal(publicKey(file.mailboxSeed), body.mailboxKey))
      throw new Malformed('the mailbox key is not the one of the key set')
    return file
  } catch (error) {
    throw new IdentityDamaged(
      `${path} is damaged (${wordsOf(error)}); restore it from its backup, or remove it for new keys, with which mail on its way cannot be opened`,
      { cause: error },
    )
  }
}

/** Throws where the file is there and no node could start on it; nothing is written. */
export function requireReadableKeys(dir: string): void {
  const path = join(dir, 'mailbox.keys')
  const stored = findFile(path)
  if (stored !== undefined) readKeys(stored, path)
}

export class MailboxKeys {
  #path: string
  #inputs: IdentityInputs
  #file: KeysFile

  constructor(dir: string, inputs: IdentityInputs) {
    this.#path = join(dir, 'mailbox.keys')
    this.#inputs = inputs
    const stored = findFile(this.#path)
    this.#file =
      stored === undefined
        ? {
            v: 1,
            mailboxSeed: inputs.random(32),
            epoch: inputs.random(EPOCH_BYTES),
            keys: [],
            confirmedSet: 0,
            confirmedKel: 0,
          }
        : readKeys(stored, this.#path)
    if (stored === undefined) this.#write()
  }

  /** The set as last made, confirmed or not. */
  get set(): KeySet | undefined {
    return this.#file.set
  }

  get mailboxSeed(): Uint8Array {
    return this.#file.mailboxSeed
  }

  get epoch(): Uint8Array {
    return this.#file.epoch
  }

  /** Seeds of every encryption key that is kept. */
  get encryptionSeeds(): Uint8Array[] {
    return this.#file.keys.map(key => key.seed)
  }

  /** Whether the hub has the newest set. */
  get isConfirmed(): boolean {
    const body = this.#file.set?.body
    return body?.setSeq === this.#file.confirmedSet && body.kelSeq === this.#file.confirmedKel
  }

  /** Set seq that the hub is known to hold under this key state; 0 for none. */
  previousSeq(log: VerifiedKel): number {
    return this.#file.confirmedKel === log.seq ? this.#file.confirmedSet : 0
  }

  /** Private key of a kid, as long as it is kept. */
  seedOf(kid: Uint8Array): Uint8Array | undefined {
    return this.#file.keys.find(key => equal(key.kid, kid))?.seed
  }

  /** The set to publish: the present one while it is good, else a new one, durable before anyone sees it. */
  ensureSet(log: VerifiedKel, seed: Uint8Array, strangers: StrangerLimits, atLeastSeq = 1): KeySet {
    const now = this.#inputs.now()
    const body = this.#file.set?.body
    const sameState = body?.aid === log.aid && body.kelSeq === log.seq
    const isGood =
      sameState &&
      body.setSeq >= atLeastSeq &&
      body.ts <= now + AHEAD_MAX_MS &&
      now < body.ts + KEY_RENEWAL_MS &&
      equal(body.mailboxEpoch, this.#file.epoch) &&
      body.strangers.bytes === strangers.bytes &&
      body.strangers.perDay === strangers.perDay
    if (isGood && this.#file.set !== undefined) return this.#file.set
    const key = this.#currentKey(now)
    const set = KeySet.sign(seed, {
      v: 1,
      aid: log.aid,
      kelSeq: log.seq,
      setSeq: Math.max(sameState ? body.setSeq + 1 : 1, atLeastSeq),
      ts: now,
      exp: now + KEY_SET_LIFE_MS,
      keys: [
        {
          kid: key.kid,
          suite: SUITE,
          publicKey: xwingPublicKey(key.seed),
          notBefore: key.notBefore,
          notAfter: key.notAfter,
        },
      ],
      mailboxKey: publicKey(this.#file.mailboxSeed),
      mailboxEpoch: this.#file.epoch,
      strangers,
    })
    this.#file = { ...this.#file, set }
    this.#write()
    return set
  }

  /** Notes that the hub holds the set; keys that it lacks begin their last fortnight. */
  confirm(set: KeySet): void {
    const now = this.#inputs.now()
    const held = (key: PrivateKey) => set.body.keys.some(published => equal(published.kid, key.kid))
    this.#file = {
      ...this.#file,
      confirmedSet: set.body.setSeq,
      confirmedKel: set.body.kelSeq,
      keys: this.#file.keys.map(key =>
        held(key) || key.droppedAt !== undefined ? key : { ...key, droppedAt: now },
      ),
    }
    this.#write()
  }

  /** The hub lost the newest set and has to be given one again. */
  unconfirm(): void {
    this.#file = { ...this.#file, confirmedSet: 0 }
    this.#write()
  }

  /** Deletes the private keys to which nothing that is still on its way can be sealed. */
  deleteOld(): void {
    const now = this.#inputs.now()
    const keys = this.#file.keys.filter(
      key => key.droppedAt === undefined || now < key.droppedAt + KEY_DELETION_MS,
    )
    if (keys.length === this.#file.keys.length) return
    this.#file = { ...this.#file, keys }
    this.#write()
  }

  /** Starts a new mailbox: every capability issued before is void. */
  startEpoch(): void {
    this.#file = {
      ...this.#file,
      mailboxSeed: this.#inputs.random(32),
      epoch: this.#inputs.random(EPOCH_BYTES),
    }
    this.#write()
  }

  #currentKey(now: number): PrivateKey {
    const newest = this.#file.keys.findLast(key => key.droppedAt === undefined)
    const isPresent = newest !== undefined && now < newest.notAfter && newest.notBefore <= now + AHEAD_MAX_MS
    if (isPresent) return newest
    const seed = this.#inputs.random(XWING_SEED_BYTES)
    const kid = kidOf(xwingPublicKey(seed))
    const key = { kid, seed, notBefore: now, notAfter: now + KEY_RENEWAL_MS }
    this.#file = { ...this.#file, keys: [...this.#file.keys, key] }
    return key
  }

  #write(): void {
    replaceFile(this.#path, KeysFile.encode(this.#file), 'node.keys')
  }
}
