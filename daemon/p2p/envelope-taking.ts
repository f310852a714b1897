/**
 * A sealed envelope that came to the address of this node. Attacker: anybody who reaches it. What lets an envelope in is judged
 * as its hub judges it, by the same functions: so this is no way around blocks, quotas and limits for strangers. A first
 * contact is the hub's: only it knows whose session that is.
 */
import type { Logger } from 'pino'
import { sha256, verify } from '#crypto'
import { equal, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import type { KeySet } from '../../protocol/identity/keyset.ts'
import { decodeAccess } from '../../protocol/mail/access.ts'
import { admittedBy, headFault, isKidAccepted } from '../../protocol/mail/admission.ts'
import { Capability, type CapabilityBody } from '../../protocol/mail/capability.ts'
import { type ParsedEnvelope, parseEnvelopeHead } from '../../protocol/mail/envelope.ts'
import type { Taker } from '../carrier/carrier.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { EnvelopeJudging } from '../sealed/judging.ts'
import type { Store } from '../store/open.ts'

/** Envelopes that are opened at once. */
const OPENED_MAX = 4
/** Confirmations that are given again without opening the envelope again. */
const GIVEN_MAX = 64

/**
 * `bad_envelope`: none, or none that can be opened here · `not_admitted`: nothing in it lets it in, and nothing says why ·
 * `busy`, `not_now`: the same one may be taken later.
 */
export type EnvelopeRefused = 'bad_envelope' | 'not_admitted' | 'busy' | 'not_now'
export type EnvelopeAnswered = { confirmation: Uint8Array } | { refused: EnvelopeRefused }

type TakingParts = {
  identity: Identity
  keys: MailboxKeys
  hub: CurrentHub
  store: Store
  capabilities: DeliveryCapabilities
  judging: EnvelopeJudging
  taker: Taker
}

export class EnvelopeTaking {
  readonly #parts: TakingParts
  readonly #log: Logger
  /** The last ones by the digest of their envelope, all under the key of that number. */
  readonly #given = new Map<string, Uint8Array>()
  #givenUnder = 0
  #underWay = 0

  constructor(parts: TakingParts, log: Logger) {
    this.#parts = parts
    this.#log = log
  }

  /** Whether an envelope of this size is let in, by its first bytes; undefined where it is. */
  async admit(head: Uint8Array, size: number): Promise<EnvelopeRefused | undefined> {
    const { home } = this.#parts.hub
    if (home?.mail === undefined) return 'not_now'
    const judged = await this.#judged(head, size, home)
    return typeof judged === 'string' ? judged : undefined
  }

  /** Stored durably where that is confirmed; throws what fails on this machine alone. */
  async take(envelope: Uint8Array): Promise<EnvelopeAnswered> {
    const { home } = this.#parts.hub
    if (home?.mail === undefined) return { refused: 'not_now' }
    if (this.#underWay >= OPENED_MAX) return { refused: 'busy' }
    this.#underWay += 1
    try {
      return await this.#taken(envelope, home)
    } catch (error) {
      if (isOwnFailure(error)) throw error
      this.#log.debug({ err: error }, 'a direct envelope was not taken')
      return { refused: error instanceof Malformed ? 'bad_envelope' : 'not_now' }
    } finally {
      this.#underWay -= 1
    }
  }

  async #taken(envelope: Uint8Array, home: HubClient): Promise<EnvelopeAnswered> {
    const { store, capabilities, judging, taker } = this.#parts
    const judged = await this.#judged(envelope, envelope.length, home)
    if (typeof judged === 'string') return { refused: judged }
    const { capability, parsed } = judged
    const { digest, head, contentOffset } = parsed
    if (!equal(sha256(envelope.subarray(contentOffset)), head.contentDigest))
      return { refused: 'bad_envelope' }
    // asked again: another one may have been counted since
    if (capabilities.isUsedUp(capability, digest)) return { refused: 'not_admitted' }
    // counted before it is opened: whoever sends what is none has used it as well
    store.unflushed(() => capabilities.noteUse(capability.id, digest), 'node.direct.use')
    const name = toBase64url(digest)
    const given = this.#givenNow.get(name)
    if (given !== undefined) return { confirmation: given }
    const came = { source: [envelope], acceptedAtMs: hubTime(home) }
    const { dack } = await judging.confirmed(came, home, taker)
    if (dack === undefined) return { refused: 'bad_envelope' }
    this.#keep(name, dack)
    return { confirmation: dack }
  }

  /** A repeat gets what the first one got, unless another key signs now. */
  get #givenNow(): Map<string, Uint8Array> {
    const { seq } = this.#parts.identity.log
    if (seq !== this.#givenUnder) this.#given.clear()
    this.#givenUnder = seq
    return this.#given
  }

  #keep(name: string, dack: Uint8Array): void {
    const given = this.#givenNow
    const [oldest] = given.keys()
    if (given.size >= GIVEN_MAX && oldest !== undefined) given.delete(oldest)
    given.set(name, dack)
  }

  /** What the head decides, in the order of a hub. */
  async #judged(bytes: Uint8Array, size: number, home: HubClient): Promise<Admitted | EnvelopeRefused> {
    const { identity, keys, capabilities } = this.#parts
    const parsed = parsedHead(bytes)
    if (parsed === undefined || parsed.contentOffset + parsed.contentLength !== size) return 'bad_envelope'
    const { head, digest } = parsed
    const { set } = keys
    const nowMs = hubTime(home)
    if (set === undefined || !isOfNow(set, keys, identity)) return 'not_now'
    const accepted = { keys: set, before: undefined, beforeUntilMs: 0 }
    const isFit =
      head.to === identity.aid &&
      headFault(head, head.access, nowMs) === undefined &&
      isKidAccepted(accepted, head.kid, nowMs)
    const access = decodeAccess(head.access)
    if (!isFit || access.kind === 0) return 'not_admitted'
    const recipient = { aid: identity.aid, epoch: set.body.mailboxEpoch, home: home.identity.aid }
    const capability = await admittedBy(access, recipient, { digest, size }, nowMs, {
      isRevoked: id => !capabilities.isIssued(id),
      isSigned: shown => Capability.verify(set.body.mailboxKey, shown),
      verify,
    })
    if (capability === undefined || capabilities.isUsedUp(capability, digest)) return 'not_admitted'
    return { capability, parsed }
  }
}

type Admitted = { capability: CapabilityBody; parsed: ParsedEnvelope }

/** Whether a set is that of the present key and mailbox; one that is to follow is made within moments. */
const isOfNow = (set: KeySet, keys: MailboxKeys, { log }: Identity): boolean =>
  set.body.kelSeq === log.seq && equal(set.body.mailboxEpoch, keys.epoch)

function parsedHead(bytes: Uint8Array): ParsedEnvelope | undefined {
  try {
    const parsed = parseEnvelopeHead(bytes)
    if (parsed === 'more') return undefined
    decodeAccess(parsed.head.access)
    return parsed
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
