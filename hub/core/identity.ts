/**
 * The hub's own identity: a key event log whose events name no witness, and its seed, in one file of mode 0600; the
 * seed of the committed next key lies beside it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { publicKey } from '../../protocol/crypto/engine.node.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { decode } from '../../protocol/encoding/cbor.ts'
import { Refusal, wordsOf } from '../../protocol/encoding/errors.ts'
import { blob, bytes, literal, record, required } from '../../protocol/encoding/record.ts'
import {
  decodeKel,
  encodeKel,
  incept,
  keyCommitment,
  rotate,
  type VerifiedKel,
  verifyKel,
} from '../../protocol/identity/kel.ts'
import { faultPoint } from '../faults.ts'

export const IDENTITY_FILE = 'identity.kel'
export const NEXT_FILE = 'identity.next'
/** The key after the next one, while a rotation is on its way. */
const COMING_FILE = 'identity.next.new'
const SEED_BYTES = 32
const FILE_BYTES_MAX = 300 * 1024

const IdentityFile = record('identity file', {
  v: required(1, literal(1)),
  seed: required(2, bytes(SEED_BYTES)),
  kel: required(3, blob(FILE_BYTES_MAX)),
})
const NextFile = record('next key file', { v: required(1, literal(1)), seed: required(2, bytes(SEED_BYTES)) })

export type HubIdentity = {
  aid: string
  seq: number
  seed: Uint8Array
  kel: VerifiedKel
  kelBytes: Uint8Array
}

/** The hub's own key can't be rotated. */
export class RotationRefused extends Refusal<'rotation'> {
  override name = 'RotationRefused'
  constructor(sentence: string) {
    super('rotation', sentence)
  }
}

/** The file of the identity is there and can't be used. */
export class IdentityRefused extends Refusal<'identity'> {
  override name = 'IdentityRefused'
  readonly why: string
  readonly found: string
  readonly next =
    `restore ${IDENTITY_FILE} and ${NEXT_FILE} from a backup; without them this would be another hub`
  constructor(path: string, cause: unknown) {
    const why = wordsOf(cause)
    const found = `${path} cannot be used: ${why}`
    super('identity', found, { cause })
    this.why = why
    this.found = found
    this.message = `${found}; ${this.next}`
  }
}

/** The identity of a data directory; the first call there creates it. */
export function ensureIdentity(
  directory: string,
  now: () => number,
  random: (count: number) => Uint8Array,
): { identity: HubIdentity; created: boolean } {
  const path = join(directory, IDENTITY_FILE)
  if (existsSync(path)) return { identity: readIdentity(directory), created: false }
  const seed = random(SEED_BYTES)
  const nextSeed = random(SEED_BYTES)
  const kel = incept({ seed, nextSeed, ts: now() })
  writeWhole(join(directory, NEXT_FILE), NextFile.encode({ v: 1, seed: nextSeed }))
  writeWhole(path, IdentityFile.encode({ v: 1, seed, kel: encodeKel(kel.events) }))
  return { identity: readIdentity(directory), created: true }
}

/** Reveals the next key and commits to another; a crash at any step leaves the old or the new identity whole. */
export function rotateIdentity(
  directory: string,
  held: HubIdentity,
  now: () => number,
  random: (count: number) => Uint8Array,
): HubIdentity {
  settleRotation(directory, held.kel)
  const seed = readNext(join(directory, NEXT_FILE))
  if (seed === undefined || !isCommitted(held.kel, seed))
    throw new RotationRefused(
      `the next key in ${directory} is missing or not the one this hub committed to; restore ${NEXT_FILE} from a backup`,
    )
  const comingSeed = random(SEED_BYTES)
  const kel = rotate(held.kel, { seed, nextSeed: comingSeed, ts: now() })
  writeWhole(join(directory, COMING_FILE), NextFile.encode({ v: 1, seed: comingSeed }))
  faultPoint('hub.rotate.before-kel')
  writeWhole(join(directory, IDENTITY_FILE), IdentityFile.encode({ v: 1, seed, kel: encodeKel(kel.events) }))
  faultPoint('hub.rotate.after-kel')
  settleRotation(directory, kel)
  return readIdentity(directory)
}

/** Finishes or drops a rotation that was interrupted; for whoever has the directory for himself. */
export function settleRotation(directory: string, kel: VerifiedKel): void {
  // What writes that found no room have left.
  for (const name of [IDENTITY_FILE, COMING_FILE]) rmSync(join(directory, `${name}.new`), { force: true })
  const coming = join(directory, COMING_FILE)
  const seed = readNext(coming)
  if (seed !== undefined && isCommitted(kel, seed)) renameSync(coming, join(directory, NEXT_FILE))
  else if (existsSync(coming)) rmSync(coming)
  else return
  syncFolder(directory)
}

/** Whether the next key lies where a rotation will look for it. */
export function hasNextKey(directory: string, kel: VerifiedKel): boolean {
  return [NEXT_FILE, COMING_FILE].some(name => {
    const seed = readNext(join(directory, name))
    return seed !== undefined && isCommitted(kel, seed)
  })
}

function readNext(path: string): Uint8Array | undefined {
  try {
    return NextFile.read(decode(readFileSync(path)), path).seed
  } catch {
    return undefined
  }
}

function isCommitted(kel: VerifiedKel, seed: Uint8Array): boolean {
  const commitment = kel.events.at(-1)?.body.next[0]
  return commitment !== undefined && equal(commitment, keyCommitment(publicKey(seed)))
}

/** The identity that a folder holds; makes none. */
export function readIdentity(directory: string): HubIdentity {
  const path = join(directory, IDENTITY_FILE)
  try {
    const file = IdentityFile.read(decode(readFileSync(path)), path)
    const kel = verifyKel(decodeKel(file.kel))
    if (!equal(publicKey(file.seed), kel.publicKey))
      throw new Malformed('its private key is not the one that its key history names')
    return { aid: kel.aid, seq: kel.seq, seed: file.seed, kel, kelBytes: encodeKel(kel.events) }
  } catch (error) {
    throw new IdentityRefused(path, error)
  }
}

/** Replaces a file so that a crash leaves the old or the new one. */
function writeWhole(path: string, content: Uint8Array): void {
  const fresh = `${path}.new`
  try {
    writeFileSync(fresh, content, { mode: 0o600, flush: true })
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
  renameSync(fresh, path)
  syncFolder(dirname(path))
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
