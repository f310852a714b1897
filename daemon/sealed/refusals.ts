/** What follows from each refusal of a hub; a code that is not named here is tried again when the hub says so. */
import type { Refused } from '../../protocol/contract/client.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type CapabilityBody, isWithinLife, lifeBeginsMs } from '../../protocol/mail/capability.ts'
import type { Undelivered, Why } from '../carrier/carrier.ts'
import { foundIn, type Lookup } from '../carrier/lookup.ts'
import { sayClockFault, sayTooEarly } from '../hubs/clocks.ts'
import { finalRefusals, waitingRefusals } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { PeerBook } from '../peers/peers.ts'
import type { Store } from '../store/open.ts'
import {
  ACCESS_REFUSED,
  countCredential,
  countResending,
  type OutboxEntry,
  resetCredentials,
  type WaitsFor,
} from '../store/outbox.ts'
import { ownReason, reasonOfHub } from '../store/reasons.ts'
import { awaitedAfter, pauseOf, sentences } from './awaited-keys.ts'
import type { Directory } from './directory.ts'
import type { Sealed } from './sealing.ts'
import type { AskedCapabilities } from './top-ups.ts'

const REFUSED = 'the hub refused it for good'
const CREDENTIALS_TRIED_MAX = 2
/** How often a message is sealed anew before it counts as one that the hub can't read. */
const GARBLED_MAX = 3
export const AT_ANOTHER_HUB =
  'the recipient is at another hub than this node: it has left that hub, or the two hubs do not list each other; meet at one hub, or ask both operators to list the other hub'
export const GONE =
  'no reachable hub knows the recipient now; it may have left its hub, and gets this once it is back'
/** A recipient that let this node in again sends new capabilities at once; nobody who is refused waits for longer. */
const NEW_ACCESS_WAIT_MS = 60_000
const NEW_ACCESS_LOOK_MS = 3_600_000

export type RefusedAttempt = {
  hub: Pick<HubClient, 'fetchLog' | 'timeMs' | 'knownTimeMs' | 'apartMs' | 'identity'>
  entry: OutboxEntry
  sealed: Sealed | undefined
  refused: Refused
}
type Step = (attempt: RefusedAttempt) => Undelivered | Promise<Undelivered>

type RefusalParts = {
  store: Store
  peers: PeerBook
  capabilities: DeliveryCapabilities
  directory: Directory
  asked: AskedCapabilities
}

export class Refusals {
  readonly #parts: RefusalParts
  readonly #steps: ReadonlyMap<string, Step>

  constructor(parts: RefusalParts) {
    this.#parts = parts
    const sealAnew: Step = attempt => this.#sealAnew(attempt)
    const refreshPeer: Step = attempt => this.#refreshPeer(attempt)
    this.#steps = new Map([
      ['bad_envelope', sealAnew],
      ['bad_request', sealAnew],
      ['too_large', giveUp],
      ['bad_exp', awaitClock],
      ['expired', awaitClock],
      ['kid_stale', refreshPeer],
      ['recipient_unknown', refreshPeer],
      ['access_invalid', attempt => this.#changeCredential(attempt)],
      ['too_large_for_stranger', ({ entry, refused }) => this.awaitCapability(entry, asRefused(refused))],
      ['strangers_busy', attempt => this.#waitAsStranger(attempt)],
      ['session_invalid', changeSession],
      ['home_unreachable', attempt => this.#nameHome(attempt)],
    ])
  }

  async after(attempt: RefusedAttempt): Promise<Undelivered> {
    const { refused } = attempt
    const step = this.#steps.get(refused.code)
    return step === undefined ? again(asRefused(refused), refused.retryAfterMs) : await step(attempt)
  }

  /** The key set or the home of the recipient changed, or it left; its bucket tells, where it can be asked. */
  async #refreshPeer(attempt: RefusedAttempt): Promise<Undelivered> {
    const { peers, directory } = this.#parts
    const { entry, refused } = attempt
    const before = peers.find(entry.peer)
    const looked = await directory.lookup(entry.peer)
    const after = foundIn(looked)
    const changed = after !== undefined && (after.log !== before?.log || after.keys !== before?.keys)
    if (changed) return again(asRefused(refused), 0)
    if (refused.code === 'recipient_unknown') return this.#awaitRecipient(attempt, looked)
    return looked.outcome === 'found' ? again(asRefused(refused)) : awaitDirectory(attempt, looked)
  }

  /** Which hub did not answer this node's own one; whoever runs it can be asked. */
  #nameHome({ entry, refused }: RefusedAttempt): Undelivered {
    const home = this.#parts.peers.find(entry.peer)?.log.home
    const why =
      home === undefined
        ? asRefused(refused)
        : { ...ownReason(`the hub of the recipient, ${home}, did not answer`), refusedAs: refused.code }
    return again(why, refused.retryAfterMs)
  }

  /** The hub knows no such recipient. What the directory did not say ends nothing, and is no word against anybody. */
  async #awaitRecipient(attempt: RefusedAttempt, looked: Lookup): Promise<Undelivered> {
    const { peers } = this.#parts
    const { hub, entry, refused } = attempt
    const home = peers.find(entry.peer)?.log.home
    const isElsewhere = home !== undefined && home !== hub.identity.aid
    if (await this.#hasEnded(hub, entry.peer)) return final(sentences.ended)
    if (isElsewhere) return again(ownReason(AT_ANOTHER_HUB), refused.retryAfterMs)
    if (looked.outcome === 'not_known') return awaitDirectory(attempt, looked)
    return again(ownReason(GONE), refused.retryAfterMs)
  }

  /** Whether the recipient itself signed that its identity has ended: the directory lists such a one no more, its log stays. */
  async #hasEnded(hub: RefusedAttempt['hub'], aid: string): Promise<boolean> {
    const { store, peers } = this.#parts
    try {
      const log = peers.merge(aid, await hub.fetchLog(aid))
      if (log.deactivated) store.transaction(() => peers.learn(log, undefined))
      return log.deactivated
    } catch {
      // without a log that verifies nothing is proven
      return false
    }
  }

  /** Another epoch voids the stock; under the same epoch a hub must not make us name ourselves by refusing. */
  async #changeCredential({ hub, entry, sealed, refused }: RefusedAttempt): Promise<Undelivered> {
    const { directory, capabilities, store } = this.#parts
    const outOfLife = sealed?.capability && sayOutOfLife(hub, sealed.capability.body)
    if (outOfLife !== undefined) return again(ownReason(outOfLife), refused.retryAfterMs)
    const peer = foundIn(await directory.lookup(entry.peer))
    const isRenewed =
      sealed?.capability !== undefined && capabilities.dropRefused(entry.peer, sealed.capability.id)
    if (isRenewed) return again(asRefused(refused), 0)
    if (peer?.keys !== undefined && capabilities.dropOtherEpochs(entry.peer, peer.keys.body.mailboxEpoch))
      return again(asRefused(refused), 0)
    countCredential(store, entry.message)
    return entry.credentialsTried < CREDENTIALS_TRIED_MAX
      ? again(asRefused(refused), 0)
      : again(ownReason(ACCESS_REFUSED), NEW_ACCESS_WAIT_MS, 'access')
  }

  /**
   * Every credential was tried that may be. What the hub refuses ends nothing: the message waits for a new capability, or
   * for a mailbox that the recipient renewed. Of a stock that it holds nothing more is shown to the hub.
   */
  async awaitAccess(entry: OutboxEntry): Promise<Undelivered> {
    const { store, peers, capabilities, directory, asked } = this.#parts
    const looked = await directory.lookup(entry.peer)
    const epoch = foundIn(looked)?.keys?.body.mailboxEpoch
    const isRenewed = epoch !== undefined && capabilities.dropOtherEpochs(entry.peer, epoch)
    const hasNone = !capabilities.holdsAny(entry.peer)
    if (isRenewed || hasNone) resetCredentials(store, entry.message)
    const isListed = looked.outcome !== 'not_listed' && peers.find(entry.peer) !== undefined
    if (hasNone && isListed) asked.ask(entry.peer)
    return again(ownReason(ACCESS_REFUSED), isRenewed ? 0 : NEW_ACCESS_LOOK_MS, 'access')
  }

  /** Goes once a capability of the recipient is here; its arrival wakes what waits. */
  awaitCapability(entry: OutboxEntry, why: Why): Undelivered {
    const { peers, asked } = this.#parts
    if (peers.find(entry.peer) !== undefined) asked.ask(entry.peer)
    return again(why, undefined, 'stock')
  }

  /** A capability may have come while this was on its way; what comes later wakes it. */
  #waitAsStranger({ entry, refused }: RefusedAttempt): Undelivered {
    const { capabilities } = this.#parts
    const hasOne = capabilities.holdsAny(entry.peer)
    return again(asRefused(refused), hasOne ? undefined : refused.retryAfterMs, 'stock')
  }

  /** What a line has garbled arrives whole another time; what is refused whenever it is sealed is of another release. */
  #sealAnew(attempt: RefusedAttempt): Undelivered {
    const { store } = this.#parts
    const { entry, refused } = attempt
    if (entry.resent >= GARBLED_MAX) return giveUp(attempt)
    countResending(store, entry.message)
    return again(asRefused(refused))
  }
}

const again = (why: Why, afterMs?: number, waitsFor?: WaitsFor): Undelivered => ({
  outcome: 'again',
  why,
  ...present({ afterMs, waitsFor }),
})
const final = (reason: string): Undelivered => ({ outcome: 'final', reason })

/** A code that is not known may be any word of the hub. */
function asRefused({ code }: Refused): Why {
  const why = Object.hasOwn(waitingRefusals, code) ? waitingRefusals[code] : undefined
  return { ...(why === undefined ? reasonOfHub(code) : ownReason(why)), refusedAs: code }
}

/** The same message would be refused again, whatever is done. */
function giveUp({ refused }: Pick<RefusedAttempt, 'refused'>): Undelivered {
  return final(finalRefusals[refused.code] ?? REFUSED)
}

/** Refused for its times, which are those of this machine: once its clock is set, the same goes. */
function awaitClock({ hub, refused }: RefusedAttempt): Undelivered {
  const fault = sayClockFault(hub)
  return again(fault === undefined ? asRefused(refused) : ownReason(fault), refused.retryAfterMs)
}

function awaitDirectory(
  { refused }: RefusedAttempt,
  looked: Exclude<Lookup, { outcome: 'found' }>,
): Undelivered {
  const { why, afterMs = 0 } = pauseOf(awaitedAfter(looked))
  return again(why, Math.max(afterMs, refused.retryAfterMs ?? 0) || undefined)
}

/** Why a capability is out of its life by the hub's clock, which a clock that was set wrong can do; it stays in stock. */
function sayOutOfLife(hub: RefusedAttempt['hub'], body: CapabilityBody): string | undefined {
  const atHub = hub.knownTimeMs ?? hub.timeMs
  if (isWithinLife(body, atHub)) return undefined
  const beginsMs = lifeBeginsMs(body)
  return sayClockFault(hub) ?? (beginsMs > atHub ? sayTooEarly(beginsMs) : undefined)
}

/** Whether every credential was tried that may be, and no newer one came. */
export const isRefused = (entry: OutboxEntry): boolean => entry.credentialsTried > CREDENTIALS_TRIED_MAX

/** The hub client has forgotten the session; a new one is tried at once, and a second refusal waits. */
function changeSession({ entry, refused }: RefusedAttempt): Undelivered {
  return again(asRefused(refused), entry.refusedAs === refused.code ? undefined : 0)
}
