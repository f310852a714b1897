/** The provider's half of a receipt (objects: receipt): it signs over the transcript. Inside a transaction of its caller. */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodePayload, kinds, MISSING_MAX, noReceiptReasons } from '../../protocol/mail/payload.ts'
import { coveredNumbers, Receipt, type ReceiptBody, transcriptDigest } from '../../protocol/proof/receipt.ts'
import type { Chain } from '../chain/chain.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { Clocks } from '../platform/clock.ts'
import type { Store } from '../store/open.ts'
import { noReason } from '../store/reasons.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'
import { failedNumbers, unsignedPaidTasks } from '../store/transcripts.ts'
import { guestHub } from './guests.ts'
import { refuseReceipt, withoutSigner } from './no-receipt.ts'
import { paidMarkOf } from './quotes.ts'
import type { ReceiptRecords } from './receipt-records.ts'
import { coveredMessages, inHubTime, isAnswer, resultOf } from './receipts.ts'

/** A receipt is mended for as long as its other side may still sign it. */
const MENDED_MS = 60 * 86_400_000

type OwnReceiptParts = {
  identity: Identity
  store: Store
  chain: Chain
  threads: Threads
  records: ReceiptRecords
  hub: Pick<CurrentHub, 'home'>
}

export class OwnReceipts {
  readonly #parts: OwnReceiptParts
  readonly #clocks: Clocks

  constructor(parts: OwnReceiptParts, { now, hubNow }: Clocks) {
    this.#parts = parts
    this.#clocks = { now, hubNow }
  }

  /**
   * Signs the receipt of an ended interaction and queues it for the requester. Where it can sign none, it tells both sides
   * why. `mended`: the digest of the transcript, where the receipt that was made first has a wrong one.
   */
  make(interaction: Interaction, mended?: Uint8Array): Interaction {
    const { identity, store, chain, threads, records, hub } = this.#parts
    if (interaction.peer === guestHub(hub)) return withoutSigner(threads, interaction)
    if (chain.isQuarantined) return refuseReceipt(threads, interaction, noReceiptReasons.chainQuarantined)
    const requesterSide: [number, number[]] = [interaction.peerLast as number, lacking(threads, interaction)]
    const providerSide: [number, number[]] = [interaction.ownLast as number, undelivered(store, interaction)]
    if (requesterSide[1].length > MISSING_MAX || providerSide[1].length > MISSING_MAX)
      return refuseReceipt(threads, interaction, noReceiptReasons.tooManyMissing)
    const theirs = coveredMessages(threads, interaction, 'in', requesterSide)
    const ours = coveredMessages(threads, interaction, 'out', providerSide)
    if (isAnswerLost(ours, interaction))
      return refuseReceipt(threads, interaction, noReceiptReasons.answerLost)
    const result = resultOf(ours)
    const end = this.#clocks.hubNow()
    const body: ReceiptBody = {
      v: 1,
      interactionId: fromBase64url(interaction.id),
      provider: identity.aid,
      providerKelSeq: identity.log.seq,
      requesterCommitment: interaction.commitment as Uint8Array,
      requestCid: parseCid(interaction.requestCid),
      resultCid: result.cid,
      start: Math.min(inHubTime(this.#clocks, interaction.startedAt), end),
      end,
      status: result.status,
      ...present({ settlement: paidMarkOf(store, interaction, ours) }),
      providerHead: chain.position,
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
      identity.seed,
      before === undefined
        ? body
        : { ...before, providerKelSeq, providerHead, end, ...present({ transcriptDigest: mended }) },
    )
    if (interaction.receipt === null) records.made(interaction, result.cid)
    const queued = threads.queue(interaction, {
      kind: kinds.receipt,
      payload: encodePayload(kinds.receipt, { receipt }),
      text: '',
      numbered: false,
    })
    return threads.update(queued.interaction, {
      receipt: Receipt.encode(receipt),
      receiptState: 'made',
      resultCid: cidText(result.cid),
      status: result.status,
      ...reasonBeside(interaction),
    })
  }

  /**
   * Earlier releases changed the answer to a paid task after its receipt covered it. Such a receipt is signed again over
   * the messages as they went; whoever holds the same ones takes it in place of the first.
   */
  mend(): void {
    const { store, threads } = this.#parts
    for (const key of unsignedPaidTasks(store, this.#clocks.now() - MENDED_MS)) {
      const interaction = threads.byKey(key)
      const digest =
        interaction.receipt && this.#digestNow(interaction, Receipt.decode(interaction.receipt).body)
      if (digest) this.make(interaction, digest)
    }
  }

  /** The digest of what a receipt covers, where all of it is here and it is another one than the receipt names. */
  #digestNow(interaction: Interaction, body: ReceiptBody): Uint8Array | undefined {
    const covered = (['in', 'out'] as const).map((direction, side) => {
      const cover = body.cover[side] as [number, number[]]
      const messages = coveredMessages(this.#parts.threads, interaction, direction, cover)
      return messages.length === coveredNumbers(cover).length
        ? messages.map(({ digest }) => digest)
        : undefined
    })
    const [theirs, ours] = covered
    const digest = theirs && ours && transcriptDigest(theirs, ours)
    return digest === undefined || equal(digest, body.transcriptDigest) ? undefined : digest
  }
}

/** An ended task has no other reason than why its provider signed no receipt, which it has now. */
export const reasonBeside = ({
  state,
  reason,
  reasonBy,
}: Interaction): Pick<Interaction, 'reason' | 'reasonBy'> =>
  state === 'ended' ? noReason : { reason, reasonBy }

/** Numbers of the requester up to its last one that this provider does not hold; no longer than one too many. */
function lacking(threads: Threads, interaction: Interaction): number[] {
  const missing: number[] = []
  for (
    let n = interaction.heldTo + 1;
    n <= (interaction.peerLast as number) && missing.length <= MISSING_MAX;
    n++
  )
    if (threads.byNumber(interaction.key, 'in', n) === undefined) missing.push(n)
  return missing
}

/** Own numbers that the requester said it lacks, and those whose refusal is held here. */
function undelivered(store: Store, interaction: Interaction): number[] {
  const missing = new Set([
    ...(JSON.parse(interaction.peerLacks) as number[]),
    ...failedNumbers(store, interaction.key),
  ])
  return [...missing].filter(number => number <= (interaction.ownLast as number)).sort((a, b) => a - b)
}

/** Whether a copy of this node that is lost may have said the last answer: nobody signs for what is not here. */
function isAnswerLost(ours: readonly Message[], { ownLast }: Interaction): boolean {
  const answered = ours.findLastIndex(isAnswer)
  const words = ours.findLastIndex(one => one.kind === kinds.message && one.claimed === 0)
  const last = answered < 0 ? words : answered
  return ours.slice(last + 1).some(one => one.claimed === 1 && one.number !== ownLast)
}
