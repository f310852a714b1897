/**
 * The verdict on a chain that was read whole, beside what its owner signed about it elsewhere: the line of an export, and
 * heads in receipts and counter-signatures that correspondents hold. What the chain does not show of them was cut off or
 * rewritten, and its owner's own signature proves it.
 */
import { cidText } from '../crypto/hash.ts'
import { equal } from '../encoding/bytes.ts'
import { present } from '../encoding/present.ts'
import type { ChainExport } from './chain-export.ts'
import type { ChainReader } from './chain-reader.ts'
import { type ChainInvalid, chainDid } from './evidence.ts'
import { type HeldHead, headIn, signedHead } from './held-head.ts'

/** Of a head: the chain shows it, ends before it, has another record there, or this owner never signed it. */
export type HeadVerdict = 'shown' | 'beyond' | 'contradicted' | 'foreign'
/** A head beside the chain that was read: `length` in records, `head_id` a content id as text. */
export type JudgedHead = {
  verdict: HeadVerdict
  /** In what its owner signed it. */
  signed_in: 'receipt' | 'counter_signature' | 'export'
  length: number
  head_id: string
}

/** Ids as text, times in Unix milliseconds; `length` and `events` count records (objects §14). */
export type ChainVerdict = {
  verdict: 'valid' | 'cut' | 'rewritten' | 'invalid'
  says: string
  owner: string
  chain_did: string
  length: number
  head_id: string
  state: 'ACTIVE' | 'QUARANTINED'
  first_at?: number
  last_at?: number
  /** When its owner exported it. */
  exported_at?: number
  events: Record<string, number>
  heads: JudgedHead[]
  fault?: { seq: number; code: string }
}

/** What the owner signed elsewhere: the first line of its export, and heads that correspondents hold. */
export type Claims = { exported?: ChainExport | undefined; heads?: readonly HeldHead[] }

/** Lengths at which the reader is asked for an id. */
export const lengthsOf = ({ exported, heads = [] }: Claims): number[] => [
  ...(exported === undefined ? [] : [exported.body.length]),
  ...heads.map(head => headIn(head).length),
]

/** `fault`: the record at which reading ended, or whose signature does not hold. */
export function judgeChain(
  reader: ChainReader,
  claims: Claims,
  fault?: Pick<ChainInvalid, 'seq' | 'code'>,
): ChainVerdict {
  const { exported } = claims
  const heads = [
    ...(exported === undefined ? [] : [judgeExport(reader, exported)]),
    ...(claims.heads ?? []).map(head => judgeHead(reader, head)),
  ]
  const verdict = fault === undefined ? verdictOf(heads) : 'invalid'
  const { times } = reader
  return {
    verdict,
    says: fault === undefined ? sayChain(reader, heads, verdict) : sayFault(fault),
    owner: reader.owner.aid,
    chain_did: chainDid(reader.owner.aid),
    length: reader.length,
    head_id: cidText(reader.head),
    state: reader.anchor === undefined ? 'ACTIVE' : 'QUARANTINED',
    ...present({ first_at: times?.first, last_at: times?.last, exported_at: exported?.body.ts }),
    events: Object.fromEntries([...reader.events].sort(([a], [b]) => (a < b ? -1 : 1))),
    heads,
    ...present({ fault: fault && { seq: fault.seq, code: fault.code } }),
  }
}

function judgeExport(reader: ChainReader, { body }: ChainExport): JudgedHead {
  const verdict = body.owner === reader.owner.aid ? place(reader, body.length, body.head) : 'foreign'
  return { verdict, signed_in: 'export', length: body.length, head_id: cidText(body.head) }
}

function judgeHead(reader: ChainReader, held: HeldHead): JudgedHead {
  const { length, id } = headIn(held)
  const isSigned = signedHead(held, reader.owner) !== undefined
  return {
    verdict: isSigned ? place(reader, length, id) : 'foreign',
    signed_in: held.receipt === undefined ? 'counter_signature' : 'receipt',
    length,
    head_id: cidText(id),
  }
}

function place(reader: ChainReader, length: number, id: Uint8Array): HeadVerdict {
  const own = reader.idAt(length)
  if (own === undefined) return 'beyond'
  return equal(own, id) ? 'shown' : 'contradicted'
}

function verdictOf(heads: readonly JudgedHead[]): ChainVerdict['verdict'] {
  if (heads.some(({ verdict }) => verdict === 'contradicted')) return 'rewritten'
  return heads.some(({ verdict }) => verdict === 'beyond') ? 'cut' : 'valid'
}

const NAMES = {
  receipt: 'a receipt that its owner signed',
  counter_signature: 'a counter-signature of its owner',
  export: 'the first line of the export',
} as const

function sayFault({ seq, code }: Pick<ChainInvalid, 'seq' | 'code'>): string {
  return `Record ${seq} does not hold (${FAULTS[code]}); the file was altered, or it is not the chain of this key history.`
}

const FAULTS: Record<ChainInvalid['code'], string> = {
  malformed: 'it is no record',
  id: 'its id is not that of its content',
  chain: 'it is of another chain',
  seq: 'its number is not the next one',
  previous: 'it does not follow the record before',
  signer: 'somebody else is named as its signer',
  signature: 'its signature does not hold',
  extension: 'it needs an extension that nobody knows',
  key: 'it names a key that the key history does not have',
}

function sayChain(
  { length, anchor }: ChainReader,
  heads: readonly JudgedHead[],
  verdict: ChainVerdict['verdict'],
): string {
  const records = `${length} ${length === 1 ? 'record' : 'records'}`
  const linked = length === 0 ? 'The chain is empty' : `${records}, each linked to the one before and signed`
  const fork =
    anchor === undefined
      ? ''
      : ` Its owner says in record ${anchor} that two records of one number were signed: the chain is quarantined.`
  const of = (wanted: HeadVerdict) => heads.filter(head => head.verdict === wanted)
  if (verdict === 'rewritten') return `${linked}. ${sayRewritten(of('contradicted'))}${fork}`
  if (verdict === 'cut') return `${linked}. ${sayCut(of('beyond'), length)}${fork}`
  return `${linked}. ${sayShown(of('shown'), of('foreign'))}${fork}`
}

function sayRewritten([head]: readonly JudgedHead[]): string {
  if (head === undefined) return ''
  return `It was rewritten: ${NAMES[head.signed_in]} names another record as the last of ${head.length}, and no chain has both.`
}

function sayCut(beyond: readonly JudgedHead[], length: number): string {
  const head = beyond.reduce((far, one) => (one.length > far.length ? one : far))
  const older = head.signed_in === 'export' ? '' : ', or is from before that signature'
  return `It ends too early: ${NAMES[head.signed_in]} names ${head.length} records, the file holds ${length}. It was cut off${older}.`
}

function sayShown(shown: readonly JudgedHead[], foreign: readonly JudgedHead[]): string {
  const checked = shown.filter(({ signed_in }) => signed_in !== 'export').length
  const heads =
    checked === 0
      ? 'No head that others hold was given, so nothing shows that the chain goes no further.'
      : `It shows ${checked === 1 ? 'the head' : `all ${checked} heads`} that others hold of it.`
  const others =
    foreign.length === 0
      ? ''
      : ` ${foreign.length} of those given ${foreign.length === 1 ? 'is' : 'are'} not of this chain.`
  return `${heads}${others}`
}
