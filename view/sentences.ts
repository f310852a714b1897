/** What a person reads about a task, a message, a payment or a receipt: words of ours around cleaned words of others. */
import type { Delivery, InteractionState, InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import { clock, size, span } from './ages.ts'
import { cleanLine } from './clean.ts'
import type { Thread, View } from './state.ts'

/** How much a reader should care; the screens give each a colour and, without colours, a form. */
export type Tone = 'plain' | 'quiet' | 'good' | 'wait' | 'warn' | 'bad'

type Said = { readonly word: string; readonly mark: string; readonly tone: Tone }

/** What a state is called, by direction where it differs; the mark tells it where the word does not fit. */
export function sayState(state: InteractionState, side: 'sent' | 'received'): Said {
  if (state === 'pending')
    return side === 'received'
      ? { word: 'asks you', mark: '?', tone: 'warn' }
      : { word: 'waits for them', mark: '?', tone: 'wait' }
  return STATES[state]
}

const STATES: Record<Exclude<InteractionState, 'pending'>, Said> = {
  queued: { word: 'queued here', mark: '↑', tone: 'wait' },
  delivered: { word: 'delivered', mark: '→', tone: 'wait' },
  open: { word: 'running', mark: '●', tone: 'plain' },
  end_proposed: { word: 'end proposed', mark: '◐', tone: 'warn' },
  ended: { word: 'ended', mark: '✓', tone: 'quiet' },
  declined: { word: 'declined', mark: '×', tone: 'bad' },
  cancelled: { word: 'cancelled', mark: '×', tone: 'quiet' },
  failed: { word: 'failed', mark: '!', tone: 'bad' },
  expired: { word: 'unanswered', mark: '×', tone: 'bad' },
}

/** What a person is told before a task that had a price is delegated once more. */
export const PAID_ANEW =
  'what was paid for this one is not paid again by itself: a price for the new one waits for your yes'

/** Who the other side is: petname, else the beginning of the AID. Names of the directory are never shown for it. */
export const peerName = (peer: { peer: string; peer_name: string | null }): string =>
  peer.peer_name === null || cleanLine(peer.peer_name) === ''
    ? shortAid(peer.peer)
    : cleanLine(peer.peer_name, 64)

export const shortAid = (aid: string): string => `${cleanLine(aid).slice(0, 10)}…`

/** What keeps messages on this machine: nothing, a hub that does not answer, or a node that is not there. */
export type WayOut = 'open' | 'hub_away' | 'node_away'

export function wayOut({ status, connection }: Pick<View, 'status' | 'connection'>): WayOut {
  if (connection.state === 'lost' || connection.state === 'stopped') return 'node_away'
  return status?.hub?.state === 'offline' ? 'hub_away' : 'open'
}

/** Where an outgoing message is; always true, never a guess. */
export function sayDelivery(
  delivery: Delivery,
  peer: string,
  { now, way = 'open' }: { now: number; way?: WayOut },
): { says: string; tone: Tone } {
  const why = delivery.reason === undefined ? '' : `: ${cleanLine(delivery.reason)}`
  switch (delivery.state) {
    case 'queued':
      if (delivery.held === true) return { says: 'held back on this machine, by you', tone: 'warn' }
      return { says: `waits on this machine${why}${sayNext(delivery, now, way)}`, tone: 'wait' }
    case 'at_hub':
      return { says: `at the hub; ${peer} has not confirmed it yet${why}`, tone: 'wait' }
    case 'delivered':
      return {
        says: `delivered${delivery.direct === true ? ' directly' : ''}: ${peer}'s node confirmed it`,
        tone: 'good',
      }
    case 'failed':
      return { says: `not delivered${why}`, tone: 'bad' }
    case 'unknown':
      return { says: `no proof that it arrived${why}`, tone: 'warn' }
  }
}

/** How far a message is on its way to the hub. */
export function saySending({ sent, total }: { sent: number; total: number }): string {
  return `${percent(sent, total)} of ${size(total)} sent to the hub`
}

export const percent = (part: number, whole: number): string =>
  `${Math.min(100, Math.floor((100 * part) / whole))} %`

function sayNext({ next_try_at: at }: Delivery, now: number, way: WayOut): string {
  if (at === undefined) return ''
  if (way === 'node_away') return '; nothing is tried while the node is away'
  if (at > now) return `; next try in ${span(at - now + 999)}`
  // one message at a time looks for the hub, so that others are due and not tried
  return way === 'hub_away' ? '; the hub did not answer, and is tried every few seconds' : '; trying now'
}

/** The delivery in one word and mark, for where a sentence has no room. */
export const shortDelivery: Record<Delivery['state'], Said> = {
  queued: { word: 'queued', mark: '↑', tone: 'wait' },
  at_hub: { word: 'at hub', mark: '→', tone: 'wait' },
  delivered: { word: 'delivered', mark: '✓', tone: 'good' },
  failed: { word: 'failed', mark: '!', tone: 'bad' },
  unknown: { word: 'unproven', mark: '?', tone: 'warn' },
}

export type MessageFacts = {
  /** Who wrote it: `you`, `you, by auto-reply`, or the peer. */
  who: string
  when: string
  /** What it is where that is not plain words: `proposes to end`, … */
  what: string | undefined
  /** Sealed or not, and who signed it. */
  proof: { says: string; tone: Tone }
  delivery: { says: string; tone: Tone } | undefined
}

/** What a message is: sealed, signed, by whom, delivered. */
export function messageFacts(
  turn: Turn,
  thread: Pick<Thread, 'sealed' | 'local' | 'peer' | 'peer_name'>,
  at: { now: number; way?: WayOut },
): MessageFacts {
  const peer = peerName(thread)
  const by = turn.mine ? 'you' : peer
  const isDirect = turn.delivery?.direct === true
  const reader = isDirect ? 'it went as it is, past the hub' : 'the hub can read it'
  const sealed = thread.sealed ? 'sealed' : `NOT sealed: ${reader}`
  const signed = turn.retired_key === true ? `signed by ${by} under a retired key` : `signed by ${by}`
  const gap = sayGap(turn)
  const tone = !thread.sealed || turn.retired_key === true || gap !== '' ? 'warn' : 'quiet'
  return {
    who: turn.auto === true ? `${by}, by auto-reply` : by,
    when: clock(turn.at, at.now),
    what: sayKind(turn),
    proof:
      thread.local === true
        ? { says: 'over the A2A interface of this node', tone: 'quiet' }
        : { says: `${sealed} · ${signed}${gap}`, tone },
    delivery:
      turn.delivery === undefined || thread.local === true ? undefined : sayDelivery(turn.delivery, peer, at),
  }
}

/** Words that were said before a message and did not come with it. */
function sayGap({ missing_before: missing }: Turn): string {
  if (missing === undefined) return ''
  return missing === 1
    ? ' · a message before it has not come yet'
    : ` · ${missing} messages before it have not come yet`
}

const KINDS: Readonly<Record<string, readonly [mine: string, theirs: string]>> = {
  delegate: ['the task', 'the task'],
  call: ['a call of a capability', 'a call of a capability'],
  result: ['the result', 'the result'],
  quote: ['a price', 'a price'],
  end: ['propose to end', 'proposes to end'],
  accept_end: ['agree to end', 'agrees to end'],
  receipt: ['signed the receipt', 'signed the receipt'],
  no_receipt: ['signed no receipt', 'signed no receipt'],
  counter_signature: ['counter-signed the receipt', 'counter-signed the receipt'],
  declined: ['declined', 'declined'],
  cancelled: ['withdrew the task', 'withdrew the task'],
}

/** What a message is where that is more than words. */
function sayKind({ kind, mine }: Turn): string | undefined {
  if (kind === 'message') return undefined
  const [own, theirs] = KINDS[kind] ?? [
    cleanLine(kind.replaceAll('_', ' ')),
    cleanLine(kind.replaceAll('_', ' ')),
  ]
  return mine ? own : theirs
}

/** The receipt of a task in one sentence. */
export function sayReceipt(
  { receipt, side }: Pick<InteractionSummary, 'receipt' | 'side'>,
  peer: string,
): { says: string; tone: Tone } | undefined {
  if (receipt === undefined) return undefined
  const provider = side === 'sent' ? peer : 'you'
  if (receipt.fault !== undefined)
    return { says: `receipt NOT verified: ${cleanLine(receipt.fault)}`, tone: 'bad' }
  if (!receipt.verified)
    return { says: `receipt not verified yet (${cleanLine(receipt.status)})`, tone: 'warn' }
  const status = RECEIPTS[receipt.status] ?? `: ${cleanLine(receipt.status)}`
  return {
    says: `receipt verified, signed by ${provider}${status}`,
    tone: 'good',
  }
}

/** What a verified receipt records, where its status alone could be read as the outcome of the verification. */
const RECEIPTS: Readonly<Record<string, string>> = {
  UNVERIFIED: '; an answer in words, not checked by a program (UNVERIFIED)',
  FAILED: '; it records that the task failed: ended without an answer (FAILED)',
}

/** What became of words when they were given to the node. */
export const saySent = (reply: { delivery?: { held?: true | undefined } | undefined }): string =>
  reply.delivery?.held === true ? 'held back, with what waits before it' : 'sent'

type Payment = NonNullable<InteractionSummary['payment']>

/** A price that was asked, and no task of its own: that is what is paid, under another id. */
export const isQuote = ({ side, payment }: Pick<InteractionSummary, 'side' | 'payment'>): boolean =>
  side === 'sent' && (payment?.paid_as !== undefined || payment?.state === 'open')

/** What a payment is, in one sentence, to who pays it or to who gets it. */
export function sayPayment(
  payment: Payment,
  peer: string,
  side: 'sent' | 'received' = 'sent',
): { says: string; tone: Tone } {
  if (side === 'received') return sayIncome(payment, peer)
  const price = sayCredits(payment.amount)
  const why = payment.reason === undefined ? '' : `: ${cleanLine(payment.reason)}`
  if (payment.paid_as !== undefined)
    return {
      says: `the price was ${price}; the payment stands with task ${cleanLine(payment.paid_as)}`,
      tone: 'quiet',
    }
  switch (payment.state) {
    case 'open':
      return { says: `${peer} asks ${price}; you decide${why}${sayTerms(payment)}`, tone: 'warn' }
    case 'authorized':
    case 'paying':
      return { says: `${price} on the way${sayWaiting(payment)}`, tone: toneOf(payment.problem) }
    case 'held':
      return payment.problem === undefined
        ? { says: `${price} held by the hub until the work is done${sayTerms(payment)}`, tone: 'wait' }
        : { says: `${price} held by the hub${sayProblem(payment.problem)}`, tone: 'warn' }
    case 'taken':
      return { says: `${sayTaken(payment)} paid${sayGivenBack(payment.given_back)}`, tone: 'good' }
    case 'returned':
      return { says: `${price} given back${why}`, tone: 'quiet' }
    case 'refused':
      return { says: `${price} not paid${why}`, tone: 'bad' }
  }
}

/** What a payment is to its payee. */
function sayIncome(payment: Payment, peer: string): { says: string; tone: Tone } {
  const price = sayCredits(payment.amount)
  const why = payment.reason === undefined ? '' : `: ${cleanLine(payment.reason)}`
  switch (payment.state) {
    case 'open':
      return { says: `you ask ${price}; ${peer} decides`, tone: 'wait' }
    case 'authorized':
    case 'paying':
      return { says: `${price} of ${peer} on the way${sayWaiting(payment)}`, tone: toneOf(payment.problem) }
    case 'held':
      return payment.problem === undefined
        ? { says: `${price} of ${peer} held by the hub until the work is done`, tone: 'wait' }
        : { says: `${price} of ${peer} held by the hub${sayProblem(payment.problem)}`, tone: 'warn' }
    case 'taken':
      return { says: `${sayTaken(payment)} received${sayGivenBack(payment.given_back)}`, tone: 'good' }
    case 'returned':
      return { says: `${price} went back to ${peer}${why}`, tone: 'quiet' }
    case 'refused':
      return { says: `${price} not received${why}`, tone: 'bad' }
  }
}

/** What a payment on its way waits for: two hubs make it together, where each side has another one. */
function sayWaiting({ state, problem }: Payment): string {
  const made = state === 'paying' ? ' between two hubs; the work begins once both have made the payment' : ''
  return `${made}${sayProblem(problem)}`
}

const sayTaken = ({ amount, taken }: Pick<Payment, 'amount' | 'taken'>): string =>
  taken === undefined ? sayCredits(amount) : `${taken} of ${sayCredits(amount)}`

/** What may be lost of a payment, and what the provider says beside its price. */
export function sayTerms({ amount, unheld, starts, says }: Payment): string {
  const words = says === undefined ? '' : `; its own words: “${cleanLine(says)}”`
  if (unheld === true) return `; paid at once, nothing of it comes back${words}`
  if (starts === undefined) return words
  const cost = starts === 0 ? 'nothing' : starts >= amount ? 'all of it' : sayCredits(starts)
  return `; to withdraw it costs ${cost} once the work has begun${words}`
}

type Problem = NonNullable<NonNullable<InteractionSummary['payment']>['problem']>

/** Why a payment waits. */
const PROBLEMS: Readonly<Record<Problem, string>> = {
  unanswered: 'the hub does not answer, and is asked again',
  no_account: 'this node has no account at its hub any more',
  key_unknown: 'the hub does not know the newest key yet, and is asked again',
  refused: 'the hub refused the order, and is asked again',
  hold_ended: 'the hub says that the hold has ended, and signed nothing',
  hold_lost: 'the hub does not have what it signed; svc audit-hub',
  bad_receipt: 'the hub signed what does not hold, and is asked again',
  false_receipt: 'the other side sent a receipt that does not hold; the hub is asked',
  said_refused: 'the other side says that it was refused; the hub is asked, and it may still be taken',
  still_held: 'the task is over, and they are not back yet',
  unproven: 'the hub shows that the hold has ended, and has not signed that',
  other_hub: 'the hub of the payer has not answered, and is asked again',
}
export const sayProblem = (problem: Problem | undefined): string =>
  problem === undefined ? '' : `: ${PROBLEMS[problem]}`
const toneOf = (problem: Problem | undefined): Tone => (problem === undefined ? 'wait' : 'warn')

const sayGivenBack = (amount: number | undefined): string =>
  amount === undefined ? '' : `, ${sayCredits(amount)} of it given back`

export const sayCredits = (amount: number): string => (amount === 1 ? '1 credit' : `${amount} credits`)

/** What a record of the chain says, in words; the type where there are none. */
export function sayRecord(type: string): string {
  return RECORDS[type] ?? cleanLine(type)
}

const RECORDS: Readonly<Record<string, string>> = {
  'svc.delegation.sent': 'you delegated a task',
  'svc.delegation.expired': 'a task that nobody answered',
  'svc.interaction.receipt': 'you signed a receipt',
  'svc.result.accepted': 'you accepted a result',
  'svc.payment.authorized': 'you authorized a payment',
  'svc.payment.settled': 'a payment was settled',
  'svc.payment.lost': 'a hub lost a hold that it signed',
  'svc.peer.rewritten': 'a correspondent rewrote its chain',
}
