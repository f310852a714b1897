/** What the page says of what it was given: a card for each receipt, chain and file, in words, with the facts below. */
import { verify } from '#crypto'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { KelInvalid } from '../../protocol/identity/kel.ts'
import { type ExportHead, parseExportLine } from '../../protocol/proof/chain-export.ts'
import { ChainReader } from '../../protocol/proof/chain-reader.ts'
import { type ChainVerdict, judgeChain, lengthsOf } from '../../protocol/proof/chain-verdict.ts'
import { ChainInvalid, parseRecordLine } from '../../protocol/proof/evidence.ts'
import { type HeldHead, headIn } from '../../protocol/proof/held-head.ts'
import { type Judgement, sayJudgement } from '../../protocol/proof/judge.ts'
import { type Receipt, receiptId } from '../../protocol/proof/receipt.ts'
import { gatherHistories, type Histories, judgeShown, sayFork } from '../../protocol/proof/shown.ts'
import type { Item } from './material.ts'

/** How a card is to be taken; the word stands on it, so that nothing hangs on a colour. `read`: nothing was to check. */
export type Tone = 'good' | 'open' | 'bad' | 'read'
export type Card = { tone: Tone; word: string; title: string; says: string; facts: [string, string][] } & {
  /** Bad as it stands: nothing of it was checked. */
  unchecked?: true
}
export type Progress = (done: number, of: number) => Promise<void>
/** What the person at the page says beside the files: hubs whose word counts, by AID. */
export type Named = { hubs: ReadonlySet<string> }

const WORDS = {
  valid: 'valid',
  valid_retired_key: 'valid, key since retired',
  open: 'open',
  invalid: 'invalid',
} as const
const TONES: Record<Judgement['verdict'], Tone> = {
  valid: 'good',
  valid_retired_key: 'good',
  open: 'open',
  invalid: 'bad',
}
const CHAIN_WORDS = { valid: 'valid', cut: 'cut', rewritten: 'rewritten', invalid: 'invalid' } as const
const GIVEN_KEY = 'the newest key of the key history that was given'
/** So many signatures are checked before the page may draw again. */
const AT_ONCE = 20
/** A longer line is no record of a chain. */
const LINE_CHARACTERS_MAX = 1024 * 1024
/** A page with more is none that anybody reads. */
const CARDS_MAX = 400
const FACTS_MAX = 60

const when = (ms: number): string => {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString()
}
const of = <K extends Item['kind']>(items: readonly Item[], kind: K) =>
  items.filter((item): item is Extract<Item, { kind: K }> => item.kind === kind)

type ChainFile = Extract<Item, { kind: 'chain' }> & { head: ExportHead | { fault: string } }

/** The first lines of chains, which hold a key history each. */
async function openChains(items: readonly Item[], progress: Progress): Promise<ChainFile[]> {
  const [chains, opened] = [of(items, 'chain'), [] as ChainFile[]]
  for (const chain of chains) {
    await progress(opened.length, chains.length)
    opened.push({ ...chain, head: headOf(chain.text) })
  }
  return opened
}

function headOf(text: string): ChainFile['head'] {
  try {
    return parseExportLine(linesOf(text).next().value ?? '')
  } catch (error) {
    if (error instanceof Malformed || error instanceof KelInvalid) return { fault: error.message }
    throw error
  }
}

/** All cards; chains last, because their signatures take time. */
export async function cardsOf(items: readonly Item[], named: Named, progress: Progress): Promise<Card[]> {
  const chains = await openChains(items, progress)
  const histories = gatherHistories([
    ...of(items, 'log').map(({ log }) => log),
    ...chains.flatMap(({ head }) => ('owner' in head ? head.owner : [])),
  ])
  const cards: Card[] = [...histories.forks].map(forkCard)
  const receipts = of(items, 'receipt').map(({ receipt }) => receipt)
  for (const [n, receipt] of receipts.entries()) {
    if (n % AT_ONCE === 0) await progress(n, receipts.length)
    cards.push(receiptCard(receipt, { items, named, histories }))
  }
  const word = wordOf(receipts)
  cards.push(...of(items, 'file').map(word), ...of(items, 'refused').map(refusedCard))
  const heads = [...of(items, 'head').map(({ head }) => head), ...receipts.map(receipt => ({ receipt }))]
  for (const chain of chains) cards.push(await chainCard(chain, { heads, histories, progress }))
  if (chains.length === 0 && of(items, 'head').length > 0) cards.push(HEADS_ALONE)
  return cards.length <= CARDS_MAX
    ? cards
    : [...cards.slice(0, CARDS_MAX), moreCard(cards.length - CARDS_MAX)]
}

const moreCard = (left: number): Card => ({
  tone: 'open',
  word: 'not shown',
  title: `${left} more`,
  says: `Only the first ${CARDS_MAX} are shown; drop fewer files at once.`,
  facts: [],
})

const forkCard = ([aid, seq]: [string, number]): Card => ({
  tone: 'bad',
  word: 'contradiction',
  title: aid,
  says: sayFork(seq),
  facts: [],
  unchecked: true,
})

const HEADS_ALONE: Card = {
  tone: 'open',
  word: 'waiting',
  title: 'Heads of a chain',
  says: 'They say something beside the chain whose owner signed them: drop its export here too.',
  facts: [],
}

type Around = { items: readonly Item[]; named: Named; histories: Histories }

function receiptCard(receipt: Receipt, { items, named, histories }: Around): Card {
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
  const provider = histories.logs.get(body.provider)
  if (provider === undefined) {
    const says = histories.forks.has(body.provider)
      ? 'The key histories of its provider contradict each other, so that neither can check it.'
      : 'The key history of its provider is missing; drop what svc key-history or svc verify prints.'
    return { tone: 'open', word: 'not checked', title, says, facts }
  }
  const attestations = of(items, 'attestation').map(({ attestation }) => attestation)
  const shown = { attestations, logs: histories.logs, named: named.hubs }
  const judgement = judgeShown(receipt, provider, shown)
  const says = `${sayJudgement(judgement, GIVEN_KEY)}${sayContent(judgement, receipt, items)}`
  return { tone: TONES[judgement.verdict], word: WORDS[judgement.verdict], title, says, facts }
}

function sayContent(judgement: Judgement, { body }: Receipt, items: readonly Item[]): string {
  if (judgement.verdict === 'invalid') return ''
  const hasResult = of(items, 'file').some(({ cid }) => equal(cid, body.resultCid))
  return hasResult
    ? ' The result file is the one it names.'
    : ' Drop the result file to check the content too.'
}

/** What a file is beside the receipts: request, result, or neither, whatever else it holds. */
function wordOf(receipts: readonly Receipt[]): (file: Extract<Item, { kind: 'file' }>) => Card {
  const results = new Set(receipts.map(({ body }) => cidText(body.resultCid)))
  const requests = new Set(receipts.map(({ body }) => cidText(body.requestCid)))
  return ({ name: title, cid, holds }) => {
    const id = cidText(cid)
    const facts: [string, string][] = [['content id', id], ...holdsIn(holds)]
    if (results.has(id) || requests.has(id)) {
      const says = `This is the ${results.has(id) ? 'result' : 'request'} that a receipt here names.`
      return { tone: 'good', word: 'matches', title, says, facts }
    }
    if (holds.length > 0) {
      const says = 'Read for what it holds. As a file it is neither request nor result of a receipt here.'
      return { tone: 'read', word: 'read', title, says, facts }
    }
    const says =
      receipts.length === 0
        ? 'Neither receipt nor chain nor key history; drop the receipt that names it.'
        : 'No receipt here names this file: it was altered, or belongs to something else.'
    return { tone: receipts.length === 0 ? 'open' : 'bad', word: 'no match', title, says, facts }
  }
}

function holdsIn(holds: readonly string[]): [string, string][] {
  const counts = new Map<string, number>()
  for (const one of holds) counts.set(one, (counts.get(one) ?? 0) + 1)
  return [...counts].map(([one, count]) => ['holds', count === 1 ? one : `${one}, ${count} times`])
}

const refusedCard = ({ name, why }: Extract<Item, { kind: 'refused' }>): Card => ({
  tone: 'bad',
  word: 'unreadable',
  title: name,
  says: `It is not what its name says: ${why}.`,
  facts: [],
  unchecked: true,
})

type Beside = { heads: readonly HeldHead[]; histories: Histories; progress: Progress }

async function chainCard({ name, text, head }: ChainFile, beside: Beside): Promise<Card> {
  if ('fault' in head) {
    const says = `The first line of the export does not hold: ${head.fault}.`
    return { tone: 'bad', word: 'invalid', title: name, says, facts: [] }
  }
  if (!beside.histories.forks.has(head.owner.aid)) return showChain(name, await readChain(text, head, beside))
  const says = 'The key histories of its owner contradict each other, so that neither can check it.'
  const facts: [string, string][] = [['owner', head.owner.aid]]
  return { tone: 'open', word: 'not checked', title: `Chain: ${name}`, says, facts }
}

async function readChain(
  text: string,
  { signed: exported, owner }: ExportHead,
  { heads, histories, progress }: Beside,
): Promise<ChainVerdict> {
  // a receipt of somebody else is here for its own sake
  const own = heads.filter(head => head.receipt === undefined || headIn(head).owner === owner.aid)
  const claims = { exported, heads: own }
  const reader = new ChainReader(histories.logs.get(owner.aid) ?? owner, lengthsOf(claims))
  const count = countOf(text)
  const lines = linesOf(text)
  lines.next()
  for (const line of lines) {
    const fault = readLine(reader, line)
    if (fault !== undefined) return judgeChain(reader, claims, fault)
    if (reader.length % AT_ONCE === 0) await progress(reader.length, count - 1)
  }
  return judgeChain(reader, claims)
}

/** Line by line: a file at the limit of the page is never held twice. */
function* linesOf(text: string): Generator<string, undefined> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from)
    const to = end < 0 ? text.length : end
    yield text.slice(from, Math.min(to, from + LINE_CHARACTERS_MAX))
    from = to + 1
  }
  return undefined
}

function countOf(text: string): number {
  let count = text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
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
  const left = facts.length - FACTS_MAX
  if (left > 0) facts.splice(FACTS_MAX, left, ['more', `${left} facts that are not shown`])
  const isGood = verdict.verdict === 'valid'
  const tone = isGood ? (verdict.state === 'ACTIVE' ? 'good' : 'open') : 'bad'
  return { tone, word: CHAIN_WORDS[verdict.verdict], title: `Chain: ${name}`, says: verdict.says, facts }
}
