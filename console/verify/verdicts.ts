/** What the page says of what it was given: a card for each receipt, chain and file, in words, with the facts below. */
import { verify } from '#crypto'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { equal, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { KelInvalid, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { parseExportLine } from '../../protocol/proof/chain-export.ts'
import { ChainReader } from '../../protocol/proof/chain-reader.ts'
import { type ChainVerdict, judgeChain, lengthsOf } from '../../protocol/proof/chain-verdict.ts'
import { ChainInvalid, parseRecordLine } from '../../protocol/proof/evidence.ts'
import { type HeldHead, headIn } from '../../protocol/proof/held-head.ts'
import {
  attestedTime,
  type Judgement,
  judgeReceipt,
  sayJudgement,
  type TimeEvidence,
} from '../../protocol/proof/judge.ts'
import { type Receipt, receiptId } from '../../protocol/proof/receipt.ts'
import type { Item } from './material.ts'

/** How a card is to be taken; the word stands on it, so that nothing hangs on a colour. */
export type Tone = 'good' | 'open' | 'bad'
export type Card = { tone: Tone; word: string; title: string; says: string; facts: [string, string][] }
export type Progress = (done: number, of: number) => Promise<void>

const WORDS = { valid: 'valid', valid_retired_key: 'valid, key since retired', invalid: 'invalid' } as const
const CHAIN_WORDS = { valid: 'valid', cut: 'cut', rewritten: 'rewritten', invalid: 'invalid' } as const
const GIVEN_KEY = 'the newest key of the key history that was given'
/** So many signatures are checked before the page may draw again. */
const AT_ONCE = 20

const when = (ms: number): string => {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString()
}
const of = <K extends Item['kind']>(items: readonly Item[], kind: K) =>
  items.filter((item): item is Extract<Item, { kind: K }> => item.kind === kind)

/** The longest history of each that was given; one that is shorter, and agrees, says nothing more. */
export function logsOf(items: readonly Item[]): Map<string, VerifiedKel> {
  const logs = new Map<string, VerifiedKel>()
  for (const { log } of of(items, 'log')) {
    const known = logs.get(log.aid)
    if (known === undefined || known.seq < log.seq) logs.set(log.aid, log)
  }
  return logs
}

/** All cards; chains last, because their signatures take time. */
export async function cardsOf(items: readonly Item[], progress: Progress): Promise<Card[]> {
  const logs = logsOf(items)
  const receipts = of(items, 'receipt').map(({ receipt }) => receipt)
  const cards = [
    ...receipts.map(receipt => receiptCard(receipt, items, logs)),
    ...of(items, 'file').map(({ name, bytes }) => fileCard(name, bytes, receipts)),
    ...of(items, 'refused').map(refusedCard),
  ]
  const heads = [...of(items, 'head').map(({ head }) => head), ...receipts.map(receipt => ({ receipt }))]
  const chains = of(items, 'chain')
  for (const { name, text } of chains) cards.push(await chainCard(name, text, { heads, logs, progress }))
  if (chains.length === 0 && of(items, 'head').length > 0) cards.push(HEADS_ALONE)
  return cards
}

const HEADS_ALONE: Card = {
  tone: 'open',
  word: 'waiting',
  title: 'Heads of a chain',
  says: 'They say something beside the chain whose owner signed them: drop its export here too.',
  facts: [],
}

function receiptCard(receipt: Receipt, items: readonly Item[], logs: Map<string, VerifiedKel>): Card {
  const { body } = receipt
  const facts: [string, string][] = [
    ['provider', body.provider],
    ['status', body.status],
    ['task', toBase64url(body.interactionId)],
    ['started', when(body.start)],
    ['ended', when(body.end)],
    ['request', cidText(body.requestCid)],
    ['result', cidText(body.resultCid)],
    ['receipt', receiptId(receipt)],
  ]
  const title = 'Receipt'
  const provider = logs.get(body.provider)
  if (provider === undefined) {
    const says = 'The key history of its provider is missing; drop what svc key-history or svc verify prints.'
    return { tone: 'open', word: 'not checked', title, says, facts }
  }
  const judgement = judgeReceipt(receipt, provider, evidenceFor(receipt, items, logs))
  const tone = judgement.verdict === 'invalid' ? 'bad' : 'good'
  const says = `${sayJudgement(judgement, GIVEN_KEY)}${sayContent(judgement, receipt, items)}`
  return { tone, word: WORDS[judgement.verdict], title, says, facts }
}

/** The word of a hub that had the receipt, where its own key history is there as well. */
function evidenceFor(
  receipt: Receipt,
  items: readonly Item[],
  logs: Map<string, VerifiedKel>,
): { evidence?: TimeEvidence; hub?: VerifiedKel } {
  for (const { attestation } of of(items, 'attestation')) {
    const hub = logs.get(attestation.body.hub)
    const evidence = hub && attestedTime(attestation, receipt, hub)
    if (evidence !== undefined) return present({ evidence, hub })
  }
  return {}
}

function sayContent(judgement: Judgement, { body }: Receipt, items: readonly Item[]): string {
  if (judgement.verdict === 'invalid') return ''
  const files = of(items, 'file')
  const hasResult = files.some(({ bytes }) => equal(contentId(bytes), body.resultCid))
  return hasResult
    ? ' The result file is the one it names.'
    : ' Drop the result file to check the content too.'
}

function fileCard(name: string, bytes: Uint8Array, receipts: readonly Receipt[]): Card {
  const cid = contentId(bytes)
  const facts: [string, string][] = [['content id', cidText(cid)]]
  const title = name
  const isResult = receipts.some(({ body }) => equal(body.resultCid, cid))
  if (isResult || receipts.some(({ body }) => equal(body.requestCid, cid))) {
    const says = `This is the ${isResult ? 'result' : 'request'} that a receipt here names.`
    return { tone: 'good', word: 'matches', title, says, facts }
  }
  const says =
    receipts.length === 0
      ? 'Neither receipt nor chain nor key history; drop the receipt that names it.'
      : 'No receipt here names this file: it was altered, or belongs to something else.'
  return { tone: receipts.length === 0 ? 'open' : 'bad', word: 'no match', title, says, facts }
}

const refusedCard = ({ name, why }: Extract<Item, { kind: 'refused' }>): Card => ({
  tone: 'bad',
  word: 'unreadable',
  title: name,
  says: `It is not what its name says: ${why}.`,
  facts: [],
})

type Beside = { heads: readonly HeldHead[]; logs: Map<string, VerifiedKel>; progress: Progress }

async function chainCard(name: string, text: string, beside: Beside): Promise<Card> {
  try {
    return showChain(name, await readChain(text, beside))
  } catch (error) {
    if (!(error instanceof Malformed || error instanceof KelInvalid)) throw error
    const says = `The first line of the export does not hold: ${error.message}.`
    return { tone: 'bad', word: 'invalid', title: name, says, facts: [] }
  }
}

async function readChain(text: string, { heads, logs, progress }: Beside): Promise<ChainVerdict> {
  const lines = text.replace(/\n$/, '').split('\n')
  const { signed: exported, owner } = parseExportLine(lines[0] ?? '')
  const known = logs.get(owner.aid)
  // a receipt of somebody else is here for its own sake
  const own = heads.filter(head => head.receipt === undefined || headIn(head).owner === owner.aid)
  const claims = { exported, heads: own }
  const reader = new ChainReader(
    known !== undefined && known.seq > owner.seq ? known : owner,
    lengthsOf(claims),
  )
  for (const line of lines.slice(1)) {
    const fault = readLine(reader, line)
    if (fault !== undefined) return judgeChain(reader, claims, fault)
    if (reader.length % AT_ONCE === 0) await progress(reader.length, lines.length - 1)
  }
  return judgeChain(reader, claims)
}

function readLine(reader: ChainReader, line: string): Pick<ChainInvalid, 'seq' | 'code'> | undefined {
  const seq = reader.length
  try {
    const { key, message, signature } = reader.add(parseRecordLine(line)).toVerify
    return verify(key, message, signature) ? undefined : { seq, code: 'signature' }
  } catch (error) {
    if (error instanceof ChainInvalid) return error
    if (error instanceof Malformed) return { seq, code: 'malformed' }
    throw error
  }
}

const HEAD_WORDS = {
  shown: 'on this chain',
  beyond: 'beyond its end',
  contradicted: 'contradicts it',
  foreign: 'not of this chain',
} as const
const SIGNED_IN = { receipt: 'receipt', counter_signature: 'counter-signature', export: 'export' } as const

function showChain(name: string, verdict: ChainVerdict): Card {
  const heads = verdict.heads.map((head): [string, string] => [
    `head in ${head.signed_in === 'export' ? 'the' : 'a'} ${SIGNED_IN[head.signed_in]}`,
    `${HEAD_WORDS[head.verdict]}: length ${head.length}, ${head.head_id}`,
  ])
  const facts: [string, string][] = [
    ['owner', verdict.owner],
    ['records', String(verdict.length)],
    ['state', verdict.state],
    ...(verdict.first_at === undefined ? [] : [['first', when(verdict.first_at)] as [string, string]]),
    ...(verdict.last_at === undefined ? [] : [['last', when(verdict.last_at)] as [string, string]]),
    ...(verdict.exported_at === undefined
      ? []
      : [['exported', when(verdict.exported_at)] as [string, string]]),
    ['last record', verdict.head_id],
    ...Object.entries(verdict.events).map(([type, count]): [string, string] => [type, String(count)]),
    ...heads,
  ]
  const isGood = verdict.verdict === 'valid'
  const tone = isGood ? (verdict.state === 'ACTIVE' ? 'good' : 'open') : 'bad'
  return { tone, word: CHAIN_WORDS[verdict.verdict], title: `Chain: ${name}`, says: verdict.says, facts }
}
