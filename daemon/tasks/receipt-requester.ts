/**
 * The requester's half of a receipt (objects: receipt): it compares with what it holds, and counter-signs, waits for a
 * message on its way, or disputes. Every function runs inside a transaction of its caller.
 */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { decodePayload, encodePayload, kinds } from '../../protocol/mail/payload.ts'
import {
  CounterSignature,
  coveredNumbers,
  Receipt,
  receiptBodyHash,
  receiptFault,
  receiptsContradict,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import type { Context } from '../context.ts'
import { noteHead } from '../peers/heads.ts'
import { noteReceiptRecord } from '../store/interactions.ts'
import { noReason } from '../store/reasons.ts'
import type { Interaction } from '../store/threads.ts'
import { type Numbered, numberedMessages, receiptsWaitingSince } from '../store/transcripts.ts'
import { paidMarkOf } from './quotes.ts'
import { signKeptRating } from './ratings.ts'
import { coveredMessages, inHubTime, resultOf } from './receipts.ts'
import { isCut } from './standing.ts'

type Needs = Pick<
  Context,
  'identity' | 'store' | 'chain' | 'peers' | 'threads' | 'wakers' | 'log' | 'now' | 'hubNow'
>

/** What a receipt is compared with. */
type Judging = 'store' | 'peers' | 'threads' | 'now' | 'hubNow'

/** Longer than any mail that was sent before a receipt can still be on its way. */
const RECEIPT_WAIT_MS = 14 * 86_400_000 + 3_600_000

/** The requester's answer to a receipt: counter-signature, a wait for a message still on its way, or a dispute. */
export function takeReceipt(ctx: Needs, interaction: Interaction, receipt: Receipt): Interaction {
  const contradiction = contradicted(ctx, interaction, receipt)
  if (contradiction !== undefined) return contradiction
  if (interaction.counterSignature !== null)
    return sendCounterSignature(ctx, interaction, interaction.counterSignature)
  const encoded = Receipt.encode(receipt)
  const wasDisputed = interaction.receiptState === 'disputed'
  if (wasDisputed && interaction.receipt !== null && equal(interaction.receipt, encoded)) return interaction
  return settleReceipt(ctx, keepReceipt(ctx, interaction, receipt), receipt, wasDisputed)
}

/** Keeps a receipt until it is judged; why there was none is true no longer. */
export function keepReceipt(
  { threads }: Pick<Needs, 'threads'>,
  interaction: Interaction,
  receipt: Receipt,
): Interaction {
  return threads.update(interaction, {
    receipt: Receipt.encode(receipt),
    receiptState: 'waiting',
    ...(interaction.receiptState === 'none' ? noReason : {}),
  })
}

/** Whether the provider signed it: what it did not sign is no receipt, whoever sent it. */
export function isOfProvider(ctx: Needs, { peer }: Interaction, receipt: Receipt): boolean {
  const log = ctx.peers.find(peer)?.log
  return receipt.body.provider === peer && log !== undefined && verifyReceipt(receipt, log) !== undefined
}

/**
 * What becomes of the task when the provider signed something else before: both receipts are kept, with a record of
 * the chain that proves it, and nobody signs or reviews any more. Undefined when it did not.
 */
function contradicted(ctx: Needs, interaction: Interaction, receipt: Receipt): Interaction | undefined {
  const log = ctx.peers.find(interaction.peer)?.log
  if (interaction.contradicting !== null) return keepFitting(ctx, interaction, receipt, log)
  if (interaction.receipt === null || log === undefined) return undefined
  const first = Receipt.decode(interaction.receipt)
  const bothHold = [first, receipt].every(one => verifyReceipt(one, log) !== undefined)
  if (!bothHold || !receiptsContradict(first.body, receipt.body)) return undefined
  if (replaces(ctx, interaction, { first, second: receipt, kelSeq: log.seq })) return undefined
  const second = Receipt.encode(receipt)
  ctx.chain.append('svc.receipt.contradiction', {
    interaction_id: interaction.id,
    provider_aid: interaction.peer,
    receipt_bytes: interaction.receipt,
    contradicting_receipt_bytes: second,
  })
  ctx.log.warn({ interaction: interaction.id }, 'two receipts contradict each other')
  return ctx.threads.update(interaction, {
    contradicting: second,
    receiptState: 'disputed',
    receiptNote: 'the provider signed two receipts of this task that contradict each other; both are kept',
  })
}

/** Of later receipts, one that agrees with what is here takes the place of a second one that does not. */
function keepFitting(
  ctx: Needs,
  interaction: Interaction,
  receipt: Receipt,
  log: VerifiedKel | undefined,
): Interaction {
  if (interaction.counterSignature !== null || log === undefined) return interaction
  if (mayAcceptReceipt(ctx, interaction)) return interaction
  const fits = verifyReceipt(receipt, log) !== undefined && !compare(ctx, interaction, receipt, log.seq)
  return fits ? ctx.threads.update(interaction, { contradicting: Receipt.encode(receipt) }) : interaction
}

/**
 * Whether its person may take the second receipt of a task: the first one was disputed and nobody counter-signed it, and the
 * second agrees with all that is held here.
 */
export function mayAcceptReceipt(ctx: Pick<Needs, Judging>, interaction: Interaction): boolean {
  const { contradicting, counterSignature, receiptState } = interaction
  if (receiptState !== 'disputed' || contradicting === null || counterSignature !== null) return false
  const log = ctx.peers.find(interaction.peer)?.log
  const receipt = Receipt.decode(contradicting)
  if (log === undefined || verifyReceipt(receipt, log) === undefined) return false
  return compare(ctx, interaction, receipt, log.seq) === undefined
}

/** Signs the second receipt in the place of the first, which stays in the chain with the record of the contradiction. */
export function acceptReceipt(ctx: Needs, interaction: Interaction): Interaction {
  if (interaction.contradicting === null) return interaction
  const receipt = Receipt.decode(interaction.contradicting)
  const held = ctx.threads.update(interaction, {
    receipt: interaction.contradicting,
    contradicting: null,
    receiptState: 'waiting',
  })
  return settleReceipt(ctx, held, receipt, true)
}

/**
 * Whether a receipt may stand in the place of one that was disputed and that nobody counter-signed: it differs in nothing but
 * the digest of the transcript, and has it as it is here. The first one is in the chain.
 */
function replaces(
  ctx: Needs,
  interaction: Interaction,
  { first, second, kelSeq }: { first: Receipt; second: Receipt; kelSeq: number },
): boolean {
  if (interaction.receiptState !== 'disputed' || interaction.counterSignature !== null) return false
  const { transcriptDigest } = second.body
  if (receiptsContradict({ ...first.body, transcriptDigest }, second.body)) return false
  return compare(ctx, interaction, second, kelSeq) === undefined
}

/**
 * Judges a receipt that is held; called again when a message arrives that it waited for. `isRecorded`: the chain knows
 * already that a receipt of this task is disputed.
 */
export function settleReceipt(
  ctx: Needs,
  interaction: Interaction,
  receipt: Receipt,
  isRecorded = false,
): Interaction {
  const disputed = (note: string) => dispute(ctx, interaction, { receipt, note, isRecorded })
  const provider = ctx.peers.find(interaction.peer)
  if (provider === undefined || verifyReceipt(receipt, provider.log) === undefined)
    return disputed('the signature of the provider does not hold')
  noteHead(ctx, { receipt })
  const fault = compare(ctx, interaction, receipt, provider.log.seq)
  if (fault?.fault === 'missing_message')
    return ctx.threads.update(interaction, { receiptNote: describe(fault) })
  if (fault !== undefined) return disputed(describe(fault))
  if (ctx.chain.isQuarantined)
    return ctx.threads.update(interaction, { receiptNote: 'not signed: the evidence chain is quarantined' })
  const counterSignature = counterSign(ctx, receipt)
  recordAccepted(ctx, interaction, receipt, true)
  const signed = ctx.threads.update(interaction, {
    receiptState: 'signed',
    receiptNote: null,
    counterSignature,
    resultCid: cidText(receipt.body.resultCid),
    status: receipt.body.status,
  })
  signKeptRating(ctx, signed)
  return sendCounterSignature(ctx, signed, counterSignature)
}

/** A receipt that waited for a message is judged again once both last messages are here. */
export function settleWaiting(ctx: Needs, { key }: Interaction): void {
  const current = ctx.threads.byKey(key)
  if (current.receiptState === 'waiting' && current.receipt !== null && isCut(current))
    settleReceipt(ctx, current, Receipt.decode(current.receipt))
}

function counterSign(ctx: Pick<Needs, 'identity' | 'chain'>, receipt: Receipt): Uint8Array {
  const [chainLength, chainHead] = ctx.chain.position
  const counter = CounterSignature.sign(ctx.identity.seed, {
    requester: ctx.identity.aid,
    kelSeq: ctx.identity.log.seq,
    chainLength,
    chainHead,
    bodyHash: receiptBodyHash(receipt.bodyBytes),
  })
  return CounterSignature.encode(counter)
}

/**
 * Signs a receipt that was counter-signed anew, under the present key: after a rotation, and for a provider that may have lost
 * its receipt, which then goes along.
 */
export function remakeCounterSignature(
  ctx: Pick<Needs, 'identity' | 'chain' | 'threads'>,
  interaction: Interaction,
  { withReceipt }: { withReceipt: boolean },
): Interaction {
  if (interaction.receipt === null || interaction.counterSignature === null) return interaction
  const receipt = Receipt.decode(interaction.receipt)
  const counterSignature = counterSign(ctx, receipt)
  const signed = ctx.threads.update(interaction, { counterSignature })
  return sendCounterSignature(ctx, signed, counterSignature, withReceipt ? receipt : undefined)
}

type Fault = { fault: string; number?: number }

/** How a receipt differs from what is held here; `missing_message` alone may still be healed by mail on its way. */
function compare(
  ctx: Pick<Needs, Judging>,
  interaction: Interaction,
  receipt: Receipt,
  kelSeq: number,
): Fault | undefined {
  const own = new Map<number, { digest: Uint8Array; confirmed: boolean }>()
  const peer = new Map<number, Uint8Array>()
  for (const message of numbered(ctx, interaction)) {
    if (message.direction === 'in') peer.set(message.number, message.digest)
    else if (message.number <= (interaction.ownLast ?? 0))
      own.set(message.number, { digest: message.digest, confirmed: message.delivery === 'delivered' })
  }
  const [requesterSide, providerSide] = receipt.body.cover
  const invented = coveredNumbers(requesterSide).find(number => !own.has(number))
  if (invented !== undefined) return { fault: 'message_never_sent', number: invented }
  const covering = coveredNumbers(providerSide)
  const late = covering.find(number => number > (interaction.peerLast ?? 0))
  if (late !== undefined) return { fault: 'message_after_the_end', number: late }
  const lacking = covering.find(number => !peer.has(number))
  const covered = coveredMessages(ctx, interaction, 'in', providerSide)
  const { cid, status: told } = resultOf(covered)
  const ours = { resultCid: cid, status: told, settlement: paidMarkOf(ctx, interaction, covered) }
  // While a message is on its way only what it cannot change is compared.
  const { resultCid, status, settlement } = lacking === undefined ? ours : receipt.body
  const fault = receiptFault(receipt.body, {
    interactionId: fromBase64url(interaction.id),
    provider: interaction.peer,
    providerKelSeq: kelSeq,
    commitment: interaction.commitment as Uint8Array,
    requestCid: parseCid(interaction.requestCid),
    resultCid,
    status,
    ...present({ settlement }),
    now: ctx.hubNow(),
    startedAt: inHubTime(ctx, interaction.startedAt),
    ownEndAt: interaction.ownEndAt ?? 0,
    own,
    peer,
    peerLast: interaction.peerLast ?? 0,
    lacked: namedAsMissing(ctx, interaction),
  })
  return fault
}

/** Numbers of the provider that the last message of this side said it lacks. */
function namedAsMissing(ctx: Pick<Needs, Judging>, { key, ownLast }: Interaction): Set<number> {
  const last = ownLast === null ? undefined : ctx.threads.byNumber(key, 'out', ownLast)
  const said = last === undefined ? undefined : decodePayload(last.kind, last.payload)
  const names = said?.kind === kinds.end || said?.kind === kinds.acceptEnd
  return new Set(names ? said.payload.missing : [])
}

const numbered = (ctx: Pick<Needs, Judging>, { key }: Interaction): Numbered[] =>
  numberedMessages(ctx.store, key)

/** A receipt that names a message which never came is disputed once no mail of its time can be on its way. */
export function disputeOverdueReceipts(ctx: Needs): void {
  for (const key of receiptsWaitingSince(ctx.store, ctx.now() - RECEIPT_WAIT_MS)) {
    const interaction = ctx.threads.byKey(key)
    if (interaction.receipt === null) continue
    const note = interaction.receiptNote ?? 'a covered message never arrived'
    dispute(ctx, interaction, { receipt: Receipt.decode(interaction.receipt), note, isRecorded: false })
  }
}

function describe({ fault, number }: Fault): string {
  const what = fault.replaceAll('_', ' ')
  return number === undefined
    ? `the receipt differs in: ${what}`
    : `the receipt differs in: ${what}, number ${number}`
}

type Disputed = { receipt: Receipt; note: string; isRecorded: boolean }

function dispute(ctx: Needs, interaction: Interaction, { receipt, note, isRecorded }: Disputed): Interaction {
  if (!isRecorded) recordAccepted(ctx, interaction, receipt, false)
  return ctx.threads.update(interaction, { receiptState: 'disputed', receiptNote: note })
}

function recordAccepted(ctx: Needs, interaction: Interaction, receipt: Receipt, verified: boolean): void {
  const seq = ctx.chain.append('svc.result.accepted', {
    interaction_id: interaction.id,
    result_cid: cidText(receipt.body.resultCid),
    receipt_bytes: Receipt.encode(receipt),
    receipt_verified: verified,
  })
  noteReceiptRecord(ctx.store, interaction.key, seq)
}

function sendCounterSignature(
  ctx: Pick<Needs, 'threads'>,
  interaction: Interaction,
  encoded: Uint8Array,
  receipt?: Receipt,
): Interaction {
  const counterSignature = CounterSignature.decode(encoded)
  return ctx.threads.queue(interaction, {
    kind: kinds.counterSignature,
    payload: encodePayload(kinds.counterSignature, { counterSignature, ...present({ receipt }) }),
    text: '',
    numbered: false,
  }).interaction
}
