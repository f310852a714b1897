/**
 * What was dropped on the page or pasted: receipts, key histories, chains and heads are told apart by their own form.
 * Whoever made a file may want it to vanish, or the page to stop: each file stays one, whatever it holds as well.
 */
import { sha256Stream } from '#crypto'
import { contentIdOfDigest } from '../../protocol/crypto/hash.ts'
import { fromBase64url, fromUtf8, Malformed } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { decodeKel, extendKel, type KeyEvent, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { isExportLine } from '../../protocol/proof/chain-export.ts'
import { type HeldHead, readHead } from '../../protocol/proof/held-head.ts'
import { Attestation, Receipt } from '../../protocol/proof/receipt.ts'

export type Item =
  | { kind: 'receipt'; receipt: Receipt }
  | { kind: 'attestation'; attestation: Attestation }
  | { kind: 'log'; log: VerifiedKel }
  | { kind: 'head'; head: HeldHead }
  | { kind: 'chain'; name: string; text: string }
  | { kind: 'file'; name: string; cid: Uint8Array; holds: readonly string[] }
  | { kind: 'refused'; name: string; why: string }

/** What stands in a file, before the signatures of key histories are checked. */
type Found = Exclude<Item, { kind: 'log' }> | { kind: 'events'; name: string; events: KeyEvent[] }
type Form = (bytes: Uint8Array, name: string) => Found

/** Members of the replies of svc and of a hub that hold one of these as base64. */
const FORMS = new Map<string, Form>([
  ['receipt', bytes => ({ kind: 'receipt', receipt: Receipt.decode(bytes) })],
  ['attestation', bytes => ({ kind: 'attestation', attestation: Attestation.decode(bytes) })],
  ['kel', eventsIn],
  ['head', bytes => ({ kind: 'head', head: readHead(bytes) })],
])
/** Events that begin as a key history does; the rest is checked in steps. */
function eventsIn(bytes: Uint8Array, name: string): Found {
  const events = decodeKel(bytes)
  extendKel(undefined, events.slice(0, 1))
  return { kind: 'events', name, events }
}

const CALLED: Partial<Record<Found['kind'], string>> = {
  receipt: 'a receipt',
  attestation: 'an attestation',
  events: 'a key history',
  head: 'a head',
  chain: 'a chain',
}
/** The longest text that may be base64 of one object: a key history of 256 KiB. */
const OBJECT_CHARACTERS_MAX = 400_000
/** A larger JSON text is a file and nothing else. */
const JSON_CHARACTERS_MAX = 8 * 1024 * 1024
const VALUES_MAX = 200_000
/** More of one file are not looked at. */
const FOUND_MAX = 256
const HASHED_AT_ONCE = 4 * 1024 * 1024
/** So many signatures are checked before the page may draw again. */
const EVENTS_AT_ONCE = 16

export type Pause = () => Promise<void>

/** Everything in one dropped file, and the file itself, to be held against requests and results. */
export async function itemsOfFile(name: string, bytes: Uint8Array, pause: Pause): Promise<Item[]> {
  const found = foundIn(name, bytes)
  const holds = found.flatMap(({ kind }) => CALLED[kind] ?? [])
  const file: Item = {
    kind: 'file',
    name,
    cid: await cidSlowly(bytes, pause),
    holds: holds.slice(0, FOUND_MAX),
  }
  const isChain = found.some(({ kind }) => kind === 'chain')
  return [...(await verified(found, pause)), ...(isChain ? [] : [file])]
}

/** Everything in a pasted text; a text that is none of ours is a file. */
export async function itemsOfText(name: string, text: string, pause: Pause): Promise<Item[]> {
  const bytes = new TextEncoder().encode(text)
  const found = foundIn(name, bytes)
  return found.length > 0 ? verified(found, pause) : itemsOfFile(name, bytes, pause)
}

function foundIn(name: string, bytes: Uint8Array): Found[] {
  const whole = textOf(bytes)
  if (whole === undefined) return []
  if (isExportLine(whole)) return [{ kind: 'chain', name, text: whole }]
  const isJson = /^\s*[[{]/.test(whole)
  if (!isJson) return inText(name, whole)
  if (whole.length > JSON_CHARACTERS_MAX) return []
  const found = inJson(name, whole)
  if (found.length <= FOUND_MAX) return found
  const why = `it holds more than ${FOUND_MAX} things; the others were not looked at`
  return [...found.slice(0, FOUND_MAX), { kind: 'refused', name, why }]
}

async function cidSlowly(bytes: Uint8Array, pause: Pause): Promise<Uint8Array> {
  const hash = sha256Stream()
  for (let from = 0; from < bytes.length; from += HASHED_AT_ONCE) {
    hash.update(bytes.subarray(from, from + HASHED_AT_ONCE))
    await pause()
  }
  return contentIdOfDigest(hash.digest())
}

async function verified(found: readonly Found[], pause: Pause): Promise<Item[]> {
  const items: Item[] = []
  for (const one of found) items.push(one.kind === 'events' ? await logOf(one, pause) : one)
  return items
}

async function logOf({ name, events }: Extract<Found, { kind: 'events' }>, pause: Pause): Promise<Item> {
  let log: VerifiedKel | undefined
  try {
    for (let from = 0; from < events.length || log === undefined; from += EVENTS_AT_ONCE) {
      log = extendKel(log, events.slice(from, from + EVENTS_AT_ONCE))
      await pause()
    }
    return { kind: 'log', log }
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', name, why: error.message }
    throw error
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return fromUtf8(bytes)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** base64 with or without padding, or base64url, of one object. */
function inText(name: string, text: string): Found[] {
  const bytes = bytesOf(text)
  if (bytes === undefined) return []
  for (const form of FORMS.values()) {
    const found = tryForm(form, bytes, name)
    if (found.kind !== 'refused') return [found]
  }
  return []
}

function bytesOf(text: string): Uint8Array | undefined {
  if (text.length > OBJECT_CHARACTERS_MAX) return undefined
  const plain = text.replace(/\s+/g, '').replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  try {
    return plain === '' ? undefined : fromBase64url(plain)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

function tryForm(form: Form, bytes: Uint8Array, name: string): Found {
  try {
    return form(bytes, name)
  } catch (error) {
    if (error instanceof Malformed || error instanceof Refusal)
      return { kind: 'refused', name, why: error.message }
    throw error
  }
}

function inJson(name: string, text: string): Found[] {
  try {
    return [...inValue(name, parseJson(text, { valuesMax: VALUES_MAX }))]
  } catch (error) {
    if (error instanceof Malformed) return []
    throw error
  }
}

function* inValue(name: string, value: unknown): Generator<Found> {
  if (value === null || typeof value !== 'object') return
  const members = Array.isArray(value) ? value.map(one => ['', one] as const) : Object.entries(value)
  for (const [member, inner] of members) {
    const form = FORMS.get(member)
    const bytes = form !== undefined && typeof inner === 'string' ? bytesOf(inner) : undefined
    if (form !== undefined && bytes !== undefined) yield tryForm(form, bytes, `${name}: ${member}`)
    else if (form !== undefined && typeof inner === 'string')
      yield { kind: 'refused', name: `${name}: ${member}`, why: 'it is no base64' }
    else yield* inValue(name, inner)
  }
}
