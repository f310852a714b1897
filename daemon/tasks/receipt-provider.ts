/**
 * The provider's half of a receipt (objects: receipt): it signs over the transcript, and keeps the counter-signature.
 * Every function runs inside a transaction of its caller.
 */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  decodePayload,
  encodePayload,
  kinds,
  MISSING_MAX,
  noReceiptReasons,
  type Payload,
} from '../../protocol/mail/payload.ts'
import {
  CounterSignature,
  counterSignatureHolds,
  coveredNumbers,
  Receipt,
  type ReceiptBody,
  transcriptDigest,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import type { Context } from '../context.ts'
import { noteHead } from '../peers/heads.ts'
import { isNumberOpen, noteReceiptRecord } from '../store/interactions.ts'
import { noReason } from '../store/reasons.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { failedNumbers, receiptMessages, unsignedPaidTasks } from '../store/transcripts.ts'
import { noteDelivered } from './delivery.ts'
import { refuseReceipt } from './no-receipt.ts'
import { paidMarkOf } from './quotes.ts'
import { coveredMessages, inHubTime, isAnswer, resultOf } from './receipts.ts'
import { failAbove, isCut, isOver } from './standing.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'chain' | 'peers' | 'threads' | 'events' | 'now' | 'hubNow'>

/** A receipt is mended for as long as its other side may still sign it. */
const MENDED_MS = 60 * 86_400_000

/**
 * Signs the receipt of an ended interaction and queues it for the requester. Where it can sign none, it tells both sides
 * why. `mended`: the digest of the transcript, where the receipt that was made first has a wrong one.
 */
export function makeReceipt(ctx: Needs, interaction: Interaction, mended?: Uint8Array): Interaction {
  if (ctx.chain.isQuarantined) return refuseReceipt(ctx, interaction, noReceiptReasons.chainQuarantined)
  const requesterSide: [number, number[]] = [interaction.peerLast as number, lacking(ctx, interaction)]
  const providerSide: [number, number[]] = [interaction.ownLast as number, undelivered(ctx, interaction)]
  if (requesterSide[1].length > MISSING_MAX || providerSide[1].length > MISSING_MAX)
    return refuseReceipt(ctx, interaction, noReceiptReasons.tooManyMissing)
  const theirs = coveredMessages(ctx, interaction, 'in', requesterSide)
  const ours = coveredMessages(ctx, interaction, 'out', providerSide)
  if (isAnswerLost(ours, interaction)) return refuseReceipt(ctx, interaction, noReceiptReasons.answerLost)
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
    start: Math.min(inHubTime(ctx, interaction.startedAt), end),
    end,
    status: result.status,
    ...present({ settlement: paidMarkOf(ctx, interaction, ours) }),
    providerHead: ctx.chain.position,
    cover: [requesterSide, providerSide],
    transcriptDigest: transcriptDigest(
      theirs.map(message => message.digest),
      ours.map(message => message.digest),
    ),
  }
  // What was said once is said again: only key state, time and chain head are new.
  const before = interaction.receipt === null ? undefined : Receipt.decode(interaction.receipt).body
  const { providerKelSeq, providerHead } = body
  const receipt = Receipt.sign(
    ctx.identity.seed,
    before === undefined
      ? body
      : { ...before, providerKelSeq, providerHead, end, ...present({ transcriptDigest: mended }) },
  )
  if (interaction.receipt === null) recordReceipt(ctx, interaction, result.cid)
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
    ...reasonBeside(interaction),
  })
}

/** An ended task has no other reason than why its provider signed no receipt, which it has now. */
const reasonBeside = ({ state, reason, reasonBy }: Interaction): Pick<Interaction, 'reason' | 'reasonBy'> =>
  state === 'ended' ? noReason : { reason, reasonBy }

function recordReceipt(ctx: Needs, { id, key, delegator }: Interaction, resultCid: Uint8Array): void {
  const seq = ctx.chain.append('svc.interaction.receipt', {
    interaction_id: id,
    requester_aid: delegator,
    result_cid: cidText(resultCid),
  })
  noteReceiptRecord(ctx.store, key, seq)
}

/**
 * Earlier releases changed the answer to a paid task after its receipt covered it. Such a receipt is signed again over the
 * messages as they went; whoever holds the same ones takes it in place of the first.
 */
export function mendReceipts(ctx: Needs): void {
  for (const key of unsignedPaidTasks(ctx.store, ctx.now() - MENDED_MS)) {
    const interaction = ctx.threads.byKey(key)
    const digest =
      interaction.receipt && digestNow(ctx, interaction, Receipt.decode(interaction.receipt).body)
    if (digest) makeReceipt(ctx, interaction, digest)
  }
}

/** The digest of what a receipt covers, where all of it is here and it is another one than the receipt names. */
function digestNow(ctx: Needs, interaction: Interaction, body: ReceiptBody): Uint8Array | undefined {
  const covered = (['in', 'out'] as const).map((direction, side) => {
    const cover = body.cover[side] as [number, number[]]
    const messages = coveredMessages(ctx, interaction, direction, cover)
    return messages.length === coveredNumbers(cover).length ? messages.map(({ digest }) => digest) : undefined
  })
  const [theirs, ours] = covered
  const digest = theirs && ours && transcriptDigest(theirs, ours)
  return digest === undefined || equal(digest, body.transcriptDigest) ? undefined : digest
}

/** Numbers of the requester up to its last one that this provider does not hold; no longer than one too many. */
function lacking(ctx: Needs, interaction: Interaction): number[] {
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
function undelivered(ctx: Needs, interaction: Interaction): number[] {
  const missing = new Set([
    ...(JSON.parse(interaction.peerLacks) as number[]),
    ...failedNumbers(ctx.store, interaction.key),
  ])
  return [...missing].filter(number => number <= (interaction.ownLast as number)).sort((a, b) => a - b)
}

/** The provider keeps a counter-signature that covers its receipt; undefined when it does not. */
export function takeCounterSignature(
  ctx: Needs,
  interaction: Interaction,
  { counterSignature: counter, receipt: brought }: Payload<6>,
): Interaction | undefined {
  const requester = ctx.peers.find(interaction.peer)
  // A counter-signature counts under the newest key only: it is remade after a rotation.
  if (requester === undefined || counter.body.kelSeq !== requester.log.seq) return undefined
  // Rotations may have made the receipt anew, more than once, while the requester had already signed an earlier one.
  const sent = sentReceipts(ctx, interaction)
  const own = sent.map(one => one.receipt)
  if (brought !== undefined && isLost(ctx, interaction, brought)) own.push(brought)
  const receipt = own.find(one => counterSignatureHolds(counter, one, requester.log))
  if (receipt === undefined) return undefined
  const { resultCid, status } = receipt.body
  if (interaction.receipt === null) recordReceipt(ctx, interaction, resultCid)
  noteHead(ctx, { counterSignature: counter })
  for (const { key, delivery } of sent) if (delivery !== 'failed') noteDelivered(ctx, key)
  const signed = ctx.threads.update(interaction, {
    receipt: Receipt.encode(receipt),
    counterSignature: CounterSignature.encode(counter),
    receiptState: 'signed',
    resultCid: cidText(resultCid),
    status,
    ...reasonBeside(interaction),
  })
  return isNumberOpen(signed) ? signed : endAsSigned(ctx, signed)
}

/** A receipt that this node had signed, and lost, is its own word that the task ended, and where. */
export function endAsSigned(ctx: Needs, interaction: Interaction): Interaction {
  const { receipt, receiptState, endBy } = interaction
  if (receipt === null || receiptState !== 'signed' || isCut(interaction) || isOver(interaction))
    return interaction
  const { cover, end } = Receipt.decode(receipt).body
  const [[peerLast], [ownLast]] = cover
  failAbove(ctx, interaction, ownLast)
  const ended = { state: 'ended', endBy: endBy ?? 'me', ownLast, peerLast, ownEndAt: end } as const
  return ctx.threads.update(interaction, ended)
}

/** Whether this identity signed a receipt of the task in a copy of this node that is lost. */
function isLost({ identity }: Needs, { id }: Interaction, receipt: Receipt): boolean {
  const { body } = receipt
  const isOurs = body.provider === identity.aid && equal(body.interactionId, fromBase64url(id))
  return isOurs && verifyReceipt(receipt, identity.log) !== undefined
}

/** Whether a copy of this node that is lost may have said the last answer: nobody signs for what is not here. */
function isAnswerLost(ours: readonly Message[], { ownLast }: Interaction): boolean {
  const answered = ours.findLastIndex(isAnswer)
  const words = ours.findLastIndex(one => one.kind === kinds.message && one.claimed === 0)
  const last = answered < 0 ? words : answered
  return ours.slice(last + 1).some(one => one.claimed === 1 && one.number !== ownLast)
}

/** Every receipt of an interaction that was ever queued, the newest first. */
function sentReceipts(ctx: Needs, interaction: Interaction) {
  return receiptMessages(ctx.store, interaction.key).flatMap(({ key, payload, delivery }) => {
    const decoded = decodePayload(kinds.receipt, payload)
    return decoded.kind === kinds.receipt ? [{ key, delivery, receipt: decoded.payload.receipt }] : []
  })
}
