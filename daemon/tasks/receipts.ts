/**
 * Receipts of an interaction (objects: receipt): the provider signs over the transcript, the requester compares with
 * what it holds and counter-signs. Every function runs inside a transaction of its caller.
 */

import { cidText, contentId, parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodePayload, encodePayload, kinds, MISSING_MAX } from '../../protocol/mail/payload.ts'
import { documentBytes, emptyResult, parseResultDocument } from '../../protocol/proof/documents.ts'
import type { Status } from '../../protocol/proof/effect.ts'
import {
  CounterSignature,
  counterSignatureHolds,
  coveredNumbers,
  Receipt,
  type ReceiptBody,
  receiptBodyHash,
  receiptFault,
  transcriptDigest,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import type { Context } from '../context.ts'
import { noteReceiptRecord } from '../store/interactions.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { noteDelivered } from './delivery.ts'

/** Longer than any mail that was sent before a receipt can still be on its way. */
const RECEIPT_WAIT_MS = 14 * 86_400_000 + 3_600_000

export type Result = { bytes: Uint8Array; cid: Uint8Array; status: Status }

/** The provider's answer among its covered messages: the last result, else the last message, else nothing. */
export function resultOf(covered: readonly Message[]): Result {
  const answer =
    covered.findLast(message => message.kind === kinds.result) ??
    covered.findLast(message => message.kind === kinds.message)
  if (answer === undefined) {
    const bytes = documentBytes(emptyResult)
    return { bytes, cid: contentId(bytes), status: 'FAILED' }
  }
  const decoded = decodePayload(answer.kind, answer.payload)
  const bytes =
    decoded.kind === kinds.result || decoded.kind === kinds.message
      ? decoded.payload.document
      : new Uint8Array(0)
  const document = parseResultDocument(bytes)
  return {
    bytes,
    cid: contentId(bytes),
    status: 'status' in document ? (document.status as Status) : 'UNVERIFIED',
  }
}

/** Messages of one direction in the cut, by number, without those in `missing`. */
function covered(
  ctx: Context,
  interaction: Interaction,
  direction: 'out' | 'in',
  side: [number, number[]],
): Message[] {
  return coveredNumbers(side).flatMap(
    number => ctx.threads.byNumber(interaction.key, direction, number) ?? [],
  )
}

/**
 * Signs the receipt of an ended interaction and queues it for the requester. Where more messages are missing than a
 * cover may name there is none, and the interaction says so.
 */
export function makeReceipt(ctx: Context, interaction: Interaction): Interaction {
  if (ctx.chain.isQuarantined)
    return ctx.threads.update(interaction, { reason: 'no receipt: the evidence chain is quarantined' })
  const requesterSide: [number, number[]] = [interaction.peerLast as number, lacking(ctx, interaction)]
  const providerSide: [number, number[]] = [interaction.ownLast as number, undelivered(ctx, interaction)]
  if (requesterSide[1].length > MISSING_MAX || providerSide[1].length > MISSING_MAX)
    return ctx.threads.update(interaction, { reason: 'no receipt: too many messages are missing' })
  const theirs = covered(ctx, interaction, 'in', requesterSide)
  const ours = covered(ctx, interaction, 'out', providerSide)
  const result = resultOf(ours)
  const end = ctx.hubNow()
  const body: ReceiptBody = {
    v: 1,
    interactionId: fromBase64url(interaction.id),
    provider: ctx.identity.aid,
    providerKelSeq: ctx.identity.log.seq,
    requesterCommitment: interaction.commitment as Uint8Array,
    requestCid: parseCid(interaction.requestCid),
    resultCid: result.cid,
    start: Math.min(interaction.startedAt, end),
    end,
    status: result.status,
    providerHead: ctx.chain.position,
    cover: [requesterSide, providerSide],
    transcriptDigest: transcriptDigest(
      theirs.map(message => message.digest),
      ours.map(message => message.digest),
    ),
  }
  const receipt = Receipt.sign(ctx.identity.seed, body)
  if (interaction.receipt === null)
    noteReceiptRecord(
      ctx.store,
      interaction.key,
      ctx.chain.append('svc.interaction.receipt', {
        interaction_id: interaction.id,
        requester_aid: interaction.delegator,
        result_cid: cidText(result.cid),
      }),
    )
  const queued = ctx.threads.queue(interaction, {
    kind: kinds.receipt,
    payload: encodePayload(kinds.receipt, { receipt }),
    text: '',
    numbered: false,
  })
  return ctx.threads.update(queued.interaction, {
    receipt: Receipt.encode(receipt),
    receiptState: 'made',
    resultCid: cidText(result.cid),
    status: result.status,
  })
}

/** Numbers of the requester up to its last one that this provider does not hold; no longer than one too many. */
function lacking(ctx: Context, interaction: Interaction): number[] {
  const missing: number[] = []
  for (
    let n = interaction.heldTo + 1;
    n <= (interaction.peerLast as number) && missing.length <= MISSING_MAX;
    n++
  )
    if (ctx.threads.byNumber(interaction.key, 'in', n) === undefined) missing.push(n)
  return missing
}

/** Own numbers that the requester said it lacks, and those whose refusal is held here. */
function undelivered(ctx: Context, interaction: Interaction): number[] {
  const failed = ctx.store.all<{ number: number }>(
    `SELECT number FROM messages WHERE interaction = ? AND direction = 'out' AND number > 0 AND delivery = 'failed'`,
    interaction.key,
  )
  const missing = new Set([
    ...(JSON.parse(interaction.peerLacks) as number[]),
    ...failed.map(row => row.number),
  ])
  return [...missing].filter(number => number <= (interaction.ownLast as number)).sort((a, b) => a - b)
}

/** The requester's answer to a receipt: counter-signature, a wait for a message still on its way, or a dispute. */
export function takeReceipt(ctx: Context, interaction: Interaction, receipt: Receipt): Interaction {
  if (interaction.counterSignature !== null)
    return sendCounterSignature(ctx, interaction, interaction.counterSignature)
  const held = ctx.threads.update(interaction, { receipt: Receipt.encode(receipt), receiptState: 'waiting' })
  return settleReceipt(ctx, held, receipt)
}

/** Judges a receipt that is held; called again when a message arrives that it waited for. */
export function settleReceipt(ctx: Context, interaction: Interaction, receipt: Receipt): Interaction {
  const provider = ctx.peers.find(interaction.peer)
  if (provider === undefined || verifyReceipt(receipt, provider.log) === undefined)
    return dispute(ctx, interaction, receipt, 'the signature of the provider does not hold')
  const fault = compare(ctx, interaction, receipt, provider.log.seq)
  if (fault?.fault === 'missing_message')
    return ctx.threads.update(interaction, { receiptNote: describe(fault) })
  if (fault !== undefined) return dispute(ctx, interaction, receipt, describe(fault))
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
  return sendCounterSignature(ctx, signed, counterSignature)
}

function counterSign(ctx: Context, receipt: Receipt): Uint8Array {
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

/** Signs an unconfirmed counter-signature anew after a rotation. */
export function remakeCounterSignature(ctx: Context, interaction: Interaction): Interaction {
  if (interaction.receipt === null || interaction.counterSignature === null) return interaction
  const counterSignature = counterSign(ctx, Receipt.decode(interaction.receipt))
  return sendCounterSignature(ctx, ctx.threads.update(interaction, { counterSignature }), counterSignature)
}

type Fault = { fault: string; number?: number }

/** How a receipt differs from what is held here; `missing_message` alone may still be healed by mail on its way. */
function compare(
  ctx: Context,
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
  const result = resultOf(covered(ctx, interaction, 'in', providerSide))
  // While a message is on its way only what it cannot change is compared.
  const { resultCid, status } = lacking === undefined ? { ...result, resultCid: result.cid } : receipt.body
  const fault = receiptFault(receipt.body, {
    interactionId: fromBase64url(interaction.id),
    provider: interaction.peer,
    providerKelSeq: kelSeq,
    commitment: interaction.commitment as Uint8Array,
    requestCid: parseCid(interaction.requestCid),
    resultCid,
    status,
    now: ctx.hubNow(),
    ownEndAt: interaction.ownEndAt ?? 0,
    own,
    peer,
  })
  return fault
}

type Numbered = { direction: 'out' | 'in'; number: number; digest: Uint8Array; delivery: string | null }

function numbered(ctx: Context, interaction: Interaction): Numbered[] {
  return ctx.store.all<Numbered>(
    'SELECT direction, number, digest, delivery FROM messages WHERE interaction = ? AND number > 0',
    interaction.key,
  )
}

/** A receipt that names a message which never came is disputed once no mail of its time can be on its way. */
export function disputeOverdueReceipts(ctx: Context): void {
  const overdue = ctx.store.all<{ key: number }>(
    `SELECT i.key FROM interactions AS i WHERE i.receipt_state = 'waiting' AND
       (SELECT max(m.at) FROM messages AS m
         WHERE m.interaction = i.key AND m.kind = ${kinds.receipt} AND m.retired = 0) < ?`,
    ctx.now() - RECEIPT_WAIT_MS,
  )
  for (const { key } of overdue) {
    const interaction = ctx.threads.byKey(key)
    if (interaction.receipt === null) continue
    const note = interaction.receiptNote ?? 'a covered message never arrived'
    dispute(ctx, interaction, Receipt.decode(interaction.receipt), note)
  }
}

function describe({ fault, number }: Fault): string {
  const what = fault.replaceAll('_', ' ')
  return number === undefined
    ? `the receipt differs in: ${what}`
    : `the receipt differs in: ${what}, number ${number}`
}

function dispute(ctx: Context, interaction: Interaction, receipt: Receipt, note: string): Interaction {
  recordAccepted(ctx, interaction, receipt, false)
  return ctx.threads.update(interaction, { receiptState: 'disputed', receiptNote: note })
}

function recordAccepted(ctx: Context, interaction: Interaction, receipt: Receipt, verified: boolean): void {
  const seq = ctx.chain.append('svc.result.accepted', {
    interaction_id: interaction.id,
    result_cid: cidText(receipt.body.resultCid),
    receipt_bytes: Receipt.encode(receipt),
    receipt_verified: verified,
  })
  noteReceiptRecord(ctx.store, interaction.key, seq)
}

function sendCounterSignature(ctx: Context, interaction: Interaction, encoded: Uint8Array): Interaction {
  const counterSignature = CounterSignature.decode(encoded)
  return ctx.threads.queue(interaction, {
    kind: kinds.counterSignature,
    payload: encodePayload(kinds.counterSignature, { counterSignature }),
    text: '',
    numbered: false,
  }).interaction
}

/** The provider keeps a counter-signature that covers its receipt; undefined when it does not. */
export function takeCounterSignature(
  ctx: Context,
  interaction: Interaction,
  counter: CounterSignature,
): Interaction | undefined {
  const requester = ctx.peers.find(interaction.peer)
  if (requester === undefined) return undefined
  // Rotations may have made the receipt anew, more than once, while the requester had already signed an earlier one.
  const sent = sentReceipts(ctx, interaction)
  const receipt = sent.map(one => one.receipt).find(one => counterSignatureHolds(counter, one, requester.log))
  if (receipt === undefined) return undefined
  for (const { key, delivery } of sent) if (delivery !== 'failed') noteDelivered(ctx, key)
  return ctx.threads.update(interaction, {
    receipt: Receipt.encode(receipt),
    counterSignature: CounterSignature.encode(counter),
    receiptState: 'signed',
  })
}

/** Every receipt of an interaction that was ever queued, the newest first. */
function sentReceipts(ctx: Context, interaction: Interaction) {
  const rows = ctx.store.all<{ key: number; payload: Uint8Array; delivery: string | null }>(
    `SELECT key, payload, delivery FROM messages WHERE interaction = ? AND direction = 'out' AND kind = ${kinds.receipt}
     ORDER BY key DESC`,
    interaction.key,
  )
  return rows.flatMap(({ key, payload, delivery }) => {
    const decoded = decodePayload(kinds.receipt, payload)
    return decoded.kind === kinds.receipt ? [{ key, delivery, receipt: decoded.payload.receipt }] : []
  })
}
