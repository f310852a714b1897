/** What was dropped on the page or pasted: receipts, key histories, chains and heads are told apart by their own form. */
import { fromBase64url, fromUtf8, Malformed } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { decodeKel, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import { isExportLine } from '../../protocol/proof/chain-export.ts'
import { type HeldHead, readHead } from '../../protocol/proof/held-head.ts'
import { Attestation, Receipt } from '../../protocol/proof/receipt.ts'

export type Item =
  | { kind: 'receipt'; receipt: Receipt }
  | { kind: 'attestation'; attestation: Attestation }
  | { kind: 'log'; log: VerifiedKel }
  | { kind: 'head'; head: HeldHead }
  | { kind: 'chain'; name: string; text: string }
  | { kind: 'file'; name: string; bytes: Uint8Array }
  | { kind: 'refused'; name: string; why: string }

/** Members of the replies of svc and of a hub that hold one of these as base64. */
const MEMBERS = { receipt: receiptItem, attestation: attestationItem, kel: logItem, head: headItem } as const
const FORMS = Object.values(MEMBERS)
/** The longest text that may be base64 of one object: a key history of 256 KiB. */
const OBJECT_CHARACTERS_MAX = 400_000

function receiptItem(bytes: Uint8Array): Item {
  return { kind: 'receipt', receipt: Receipt.decode(bytes) }
}
function attestationItem(bytes: Uint8Array): Item {
  return { kind: 'attestation', attestation: Attestation.decode(bytes) }
}
function logItem(bytes: Uint8Array): Item {
  return { kind: 'log', log: verifyKel(decodeKel(bytes)) }
}
function headItem(bytes: Uint8Array): Item {
  return { kind: 'head', head: readHead(bytes) }
}

/** Everything in one file or one pasted text; what is none of ours is a file, to be held against results. */
export function itemsOf(name: string, bytes: Uint8Array): Item[] {
  const whole = textOf(bytes)
  if (whole === undefined) return [{ kind: 'file', name, bytes }]
  if (isExportLine(whole)) return [{ kind: 'chain', name, text: whole }]
  const text = whole.trim()
  const found = text.startsWith('{') || text.startsWith('[') ? inJson(name, text) : inText(text)
  return found.length > 0 ? found : [{ kind: 'file', name, bytes }]
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
function inText(text: string): Item[] {
  const bytes = bytesOf(text)
  if (bytes === undefined) return []
  for (const form of FORMS) {
    const item = tryForm(form, bytes)
    if (item !== undefined && item.kind !== 'refused') return [item]
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

function tryForm(form: (bytes: Uint8Array) => Item, bytes: Uint8Array): Item | undefined {
  try {
    return form(bytes)
  } catch (error) {
    if (error instanceof Malformed || error instanceof Refusal)
      return { kind: 'refused', name: '', why: error.message }
    throw error
  }
}

function inJson(name: string, text: string): Item[] {
  try {
    return inValue(name, parseJson(text))
  } catch (error) {
    if (error instanceof Malformed) return []
    throw error
  }
}

function inValue(name: string, value: unknown): Item[] {
  if (Array.isArray(value)) return value.flatMap(one => inValue(name, one))
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([member, inner]) => {
    const form = MEMBERS[member as keyof typeof MEMBERS]
    if (typeof inner !== 'string' || form === undefined)
      return typeof inner === 'object' ? inValue(name, inner) : []
    const bytes = bytesOf(inner)
    const item = bytes === undefined ? undefined : tryForm(form, bytes)
    if (item === undefined) return []
    return [item.kind === 'refused' ? { ...item, name: `${name}: ${member}` } : item]
  })
}
