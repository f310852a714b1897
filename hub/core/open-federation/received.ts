/**
 * Open mail that peers hand on to agents of this hub. What is wrong is told in the order of the checks, and each message
 * is queued once. Attacker: whoever says to be a peer; a peer that repeats, or sends in a circle.
 */
import { sha256 } from '../../../protocol/crypto/engine.node.ts'
import { cidText, contentIdOfDigest } from '../../../protocol/crypto/hash.ts'
import { utf8 } from '../../../protocol/encoding/bytes.ts'
import { keyAt } from '../../../protocol/identity/kel.ts'
import { type Forward, forwardText, HOPS_MAX } from '../../../protocol/mail/forward.ts'
import type { OpenKind, OpenOnce } from '../../store/open-mail-port.ts'
import type { HubContext } from '../context.ts'
import type { Federation } from '../federation/federation.ts'
import type { Peer } from '../federation/peers.ts'
import { CLOCK_WINDOW_MS, DAY_MS } from '../limits.ts'
import type { Payload } from '../open-mail/letter-files.ts'
import type { OpenMail } from '../open-mail/open-mail.ts'
import { Refusal } from '../refusal.ts'
import type { SenderLogs } from './sender-logs.ts'

/** For so long a message that comes again is known. */
export const REMEMBERED_MS = 7 * DAY_MS
/** Of one peer; beyond, its oldest are forgotten. */
const REMEMBERED_MAX = 500_000

/** `payload`: read once the way of the record is judged; throws what its reader throws. */
export type GivenForward = Forward & { kind: OpenKind; signature: Uint8Array; payload: () => Payload }

type Parts = {
  openMail: OpenMail
  federation: Federation
  senders: Pick<SenderLogs, 'note'> | undefined
}

export class ReceivedForwards {
  readonly #context: HubContext
  readonly #openMail: OpenMail
  readonly #federation: Federation
  readonly #senders: Pick<SenderLogs, 'note'> | undefined

  constructor(context: HubContext, { openMail, federation, senders }: Parts) {
    this.#context = context
    this.#senders = senders
    this.#openMail = openMail
    this.#federation = federation
  }

  /** Queues it for its agent, or tells that it was before. */
  async take(given: GivenForward): Promise<'queued' | 'repeated'> {
    const listed = this.#context.peers.find(given.origin)
    if (listed === undefined) throw new Refusal('notPeer')
    this.#checkWay(given)
    const payload = given.payload()
    if (cidText(contentIdOfDigest(payload.digest)) !== given.payloadCid)
      throw new Refusal('requestMalformed', { why: 'payload_cid is not that of the payload' })
    const peer = await this.#federation.under(listed, given.kelSeq)
    await this.#checkSigned(given, peer)
    await this.#federation.count(peer)
    this.#checkTime(given)
    const once = this.#onceOf(given)
    if (await this.#context.store.wasForwarded(once.digest, once.sinceMs)) return 'repeated'
    const { dest: to, from, kind, interaction } = given
    // before it can be read
    this.#senders?.note(from, given.origin)
    const { isRepeat } = await this.#openMail.send({ to, from, kind, interaction, payload }, { once })
    return isRepeat ? 'repeated' : 'queued'
  }

  #checkWay({ hop, seenHubs }: Forward): void {
    if (hop > HOPS_MAX) throw new Refusal('hopExceeded', { why: 'it came through too many hubs' })
    if (seenHubs.includes(this.#context.identity.aid))
      throw new Refusal('hopExceeded', { why: 'it has been at this hub before' })
  }

  /** A key that was rotated away signs nothing more, whatever time it names. */
  async #checkSigned({ signature, ...forward }: GivenForward, { log }: Peer): Promise<void> {
    const key = keyAt(log, forward.kelSeq)
    if (key === undefined) throw new Refusal('keyStateUnknown')
    if (!(await this.#context.verifier.verify(key, forwardText(forward), signature)))
      throw new Refusal('signatureInvalid')
    if (forward.kelSeq < log.seq) throw new Refusal('keyRetired')
    if (log.deactivated) throw new Refusal('identityDeactivated')
  }

  /** What is no longer remembered could be taken again. */
  #checkTime({ ts }: Forward): void {
    const aheadMs = ts - this.#context.now()
    if (aheadMs > CLOCK_WINDOW_MS || -aheadMs > REMEMBERED_MS)
      throw new Refusal('requestMalformed', { why: 'its time is to come, or more than 7 days past' })
  }

  /** The same payload to somebody else, or from another hub, is another message. */
  #onceOf({ origin, dest, payloadCid }: Forward): OpenOnce {
    const digest = sha256(utf8([origin, dest, payloadCid].join('\n')))
    const sinceMs = this.#context.now() - this.#keptMs
    return { origin, digest, sinceMs, max: REMEMBERED_MAX }
  }

  /** As long as any record is taken. */
  get #keptMs(): number {
    return REMEMBERED_MS + CLOCK_WINDOW_MS
  }

  /** Forgets what is remembered too long, at most `limit`; whether there is more. */
  async sweep(limit: number): Promise<boolean> {
    const { store, now } = this.#context
    return (await store.sweepForwarded({ beforeMs: now() - this.#keptMs, limit })).more
  }
}
