/** The hub's own identity: a key event log whose events name no witness, and its seed, in one file of mode 0600. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { decode } from '../../protocol/encoding/cbor.ts'
import { blob, bytes, literal, record, required } from '../../protocol/encoding/record.ts'
import { decodeKel, encodeKel, incept, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'

export const IDENTITY_FILE = 'identity.kel'
const NEXT_FILE = 'identity.next'
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

/** The identity of a data directory; the first call there creates it. */
export function ensureIdentity(
  directory: string,
  now: () => number,
  random: (count: number) => Uint8Array,
): { identity: HubIdentity; created: boolean } {
  const path = join(directory, IDENTITY_FILE)
  if (existsSync(path)) return { identity: readIdentity(path), created: false }
  const seed = random(SEED_BYTES)
  const nextSeed = random(SEED_BYTES)
  const kel = incept({ seed, nextSeed, ts: now() })
  writeWhole(join(directory, NEXT_FILE), NextFile.encode({ v: 1, seed: nextSeed }))
  writeWhole(path, IdentityFile.encode({ v: 1, seed, kel: encodeKel(kel.events) }))
  return { identity: readIdentity(path), created: true }
}

function readIdentity(path: string): HubIdentity {
  const file = IdentityFile.read(decode(readFileSync(path)), path)
  const kel = verifyKel(decodeKel(file.kel))
  return { aid: kel.aid, seq: kel.seq, seed: file.seed, kel, kelBytes: encodeKel(kel.events) }
}

/** Replaces a file so that a crash leaves the old or the new one. */
function writeWhole(path: string, content: Uint8Array): void {
  const fresh = `${path}.new`
  const file = openSync(fresh, 'w', 0o600)
  writeSync(file, content)
  fsyncSync(file)
  closeSync(file)
  renameSync(fresh, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
