/**
 * A chain as its owner hands it to strangers (objects: evidence chain): a first line that the owner signed, with its key
 * history and how long the chain is, then a line for each record. Whoever has it can check all of it offline.
 */
import { CID_BYTES } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { fromBase64, Malformed, toBase64 } from '../encoding/bytes.ts'
import { bytes, checked, type Infer, literal, record, required, uint } from '../encoding/record.ts'
import { aid } from '../identity/aid.ts'
import { type KeyEvent, kelItem, keyAt, type VerifiedKel, verifyKel } from '../identity/kel.ts'
import { requirePossible } from './chain-head.ts'

const OPENING = '#svc-chain-export/v1 '
/** A key history is the greater part of it. */
export const EXPORT_LINE_CHARACTERS_MAX = 400_000

/** Keys 1 to 6 of an export, objects §14; a head that no chain can have throws {@link Malformed}. */
export const ExportBody = checked(
  record('chain export', {
    v: required(1, literal(1)),
    owner: required(2, aid),
    kelSeq: required(3, uint),
    length: required(4, uint),
    head: required(5, bytes(CID_BYTES)),
    ts: required(6, uint),
  }),
  ({ length, head }) => requirePossible(length, head),
)
/** `length` in records, `head` a content id of 36 bytes, `ts` in Unix milliseconds. */
export type ExportBody = Infer<typeof ExportBody>

/** `[body, sig]` by the owner's identity key, body of at most 512 bytes, objects §14. */
export const ChainExport = signed('svc-ael-export/v1', ExportBody, 512)
/** As parsed: its signature is not verified yet. */
export type ChainExport = Signed<ExportBody>

const header = record('head of a chain export', {
  signed: required(1, ChainExport),
  kel: required(2, kelItem),
})

/** What the first line of an export says; `owner` is verified, and the signature holds under its key. */
export type ExportHead = { signed: ChainExport; owner: VerifiedKel }

/** Whether a line begins as the first of an export does (objects §14); the rest of it is not read. */
export const isExportLine = (line: string): boolean => line.startsWith(OPENING)

/** The first line, without its newline. */
export function exportLine(chainExport: ChainExport, kel: readonly KeyEvent[]): string {
  return `${OPENING}${toBase64(header.encode({ signed: chainExport, kel: [...kel] }))}`
}

/** Throws {@link Malformed} for what is no such line, and where its owner did not sign it; KelInvalid for its log. */
export function parseExportLine(line: string): ExportHead {
  if (!isExportLine(line) || line.length > EXPORT_LINE_CHARACTERS_MAX)
    throw new Malformed('the first line is not that of a chain export')
  const read = header.decode(fromBase64(line.slice(OPENING.length), 'first line'))
  const owner = verifyKel(read.kel)
  const { owner: named, kelSeq } = read.signed.body
  const key = named === owner.aid ? keyAt(owner, kelSeq) : undefined
  if (key === undefined || !ChainExport.verify(key, read.signed))
    throw new Malformed('the first line of the export is not signed by the owner of its key history')
  return { signed: read.signed, owner }
}
