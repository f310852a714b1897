/**
 * Bringing the home hub up to date with log, key set, profile and card: registering with proof of work where the hub
 * asks for it, publishing a renewed set, going above a set that the hub says it holds.
 */
import { Refused } from '../../protocol/contract/client.ts'
import { present } from '../../protocol/encoding/present.ts'
import { verifyKel } from '../../protocol/identity/kel.ts'
import { isAhead } from '../../protocol/identity/kel-times.ts'
import { KeySet, STRANGER_BYTES_MIN } from '../../protocol/identity/keyset.ts'
import type { Context } from '../context.ts'
import { datedAhead, hubTime } from '../hubs/clocks.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient, PowSolution, Profile, RegisterReply } from '../hubs/hub.ts'
import { type PowSolver, powChallenge } from '../hubs/pow.ts'
import { hubRow, noteRegistered } from '../store/hubs.ts'
import { isCardDue, learnAddress, noteCard, ownCard } from './card.ts'
import { eventTime, isClockFollowed, settleKeyState } from './key-state.ts'
import { pushLog } from './push-log.ts'

export type SyncNeeds = Pick<
  Context,
  | 'dir'
  | 'identity'
  | 'keys'
  | 'store'
  | 'chain'
  | 'peers'
  | 'capabilities'
  | 'threads'
  | 'hub'
  | 'settings'
  | 'modules'
  | 'wakers'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
  | 'timers'
  | 'timings'
>

const STRANGER_BYTES = 4 * STRANGER_BYTES_MIN
const ATTEMPTS_MAX = 5

/** `profile`: register also where only the profile may have changed. */
export type SyncOptions = { signal: AbortSignal; profile: boolean }

type Work = { signal: AbortSignal; onProgress: (share: number) => void }
type Attempts = { pow: PowSolution | undefined; mayRotate: boolean; work: Work }

export class Sync {
  #ctx: SyncNeeds
  #solver: PowSolver
  #running: Promise<void> = Promise.resolve()

  constructor(ctx: SyncNeeds, solver: PowSolver) {
    this.#ctx = ctx
    this.#solver = solver
  }

  /** Tells the hub what it does not know yet; one call after another. Undefined when it had not to register. */
  run(options: SyncOptions): Promise<RegisterReply | undefined> {
    return this.#inTurn(() => this.#run(options))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#running.then(work)
    this.#running = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  /** Publishes the profile; the card follows, at the latest with the next round. */
  async updateProfile(signal: AbortSignal): Promise<void> {
    await this.#ctx.hub.last?.updateProfile(this.#profile())
    await this.run({ signal, profile: false }).catch(() => undefined)
  }

  async #run({ signal, profile }: SyncOptions): Promise<RegisterReply | undefined> {
    const { hub, identity, keys, store } = this.#ctx
    const home = hub.last
    settleKeyState(this.#ctx, home)
    if (home === undefined) return undefined
    if (identity.log.deactivated) {
      // A registration of a deactivated identity is refused; a push is taken.
      await pushLog(this.#ctx, home)
      return undefined
    }
    const set = this.#set()
    const isRegistered = hubRow(store, home.url)?.registeredSeq === identity.log.seq
    if (!isRegistered || profile || isCardDue(this.#ctx, home)) return this.#register(home, signal)
    if (!keys.isConfirmed) await this.#publish(home, set)
    return undefined
  }

  async #publish(home: HubClient, set: KeySet): Promise<void> {
    const { identity, keys } = this.#ctx
    try {
      await home.publishKeys(KeySet.encode(set), keys.previousSeq(identity.log))
      keys.confirm(set)
    } catch (error) {
      const stored = storedSeq(error)
      if (stored === undefined) throw error
      const next = this.#set(stored + 1)
      await home.publishKeys(KeySet.encode(next), stored)
      keys.confirm(next)
    }
  }

  async #register(home: HubClient, signal: AbortSignal): Promise<RegisterReply> {
    const registering = this.#ctx.hub.beginRegistering()
    try {
      const reply = await this.#attempts(home, { signal, onProgress: registering.progress })
      registering.end(undefined)
      return reply
    } catch (error) {
      registering.end(describe(error))
      throw error
    }
  }

  async #attempts(home: HubClient, work: Work): Promise<RegisterReply> {
    const attempts = { pow: this.#solver.kept(home.identity.aid), mayRotate: true, work }
    for (let n = 1; ; n++) {
      try {
        const reply = await this.#registerOnce(home, attempts.pow)
        if (!(await this.#isAddressNews(home, reply))) return reply
      } catch (error) {
        if (!(error instanceof Refused) || n >= ATTEMPTS_MAX) throw error
        await this.#makeUpFor(home, error, attempts)
      }
    }
  }

  /** The card named another address than the hub gives itself: once more with that one. */
  async #isAddressNews(home: HubClient, reply: RegisterReply): Promise<boolean> {
    return reply.cardStatus === 'refused' && learnAddress(this.#ctx, home).catch(() => false)
  }

  /** Does what the refusal asks for; throws it again where nothing helps. */
  async #makeUpFor(home: HubClient, refused: Refused, attempts: Attempts): Promise<void> {
    if (refused.code === 'pow_required') attempts.pow = await this.#solve(home, refused, attempts.work)
    else if (refused.code === 'kel_ts_out_of_window' && attempts.mayRotate && this.#isBehind(home)) {
      this.#rotateForTime(home)
      attempts.mayRotate = false
    } else if (refused.code === 'kel_ts_out_of_window' && this.#isAhead(home))
      throw datedAhead(this.#ctx.identity.log.ts, hubTime(home))
    else if (this.#setAfterRollback(refused) === undefined) throw refused
  }

  /** The last event is too old for the hub: one more, at its time. */
  #rotateForTime(home: HubClient): void {
    this.#ctx.identity.rotate(home.identity.aid, eventTime(this.#ctx, home))
    settleKeyState(this.#ctx, home)
    home.mail?.dropSession()
  }

  #isAhead(home: HubClient): boolean {
    return isAhead(this.#ctx.identity.log.ts, hubTime(home))
  }

  /** Whether a further event could come nearer to the hub's time; none falls behind one that lies ahead. */
  #isBehind(home: HubClient): boolean {
    const { log } = this.#ctx.identity
    return isClockFollowed(this.#ctx, home) && !isAhead(log.ts, hubTime(home))
  }

  async #registerOnce(home: HubClient, pow: PowSolution | undefined): Promise<RegisterReply> {
    const { hub, identity, keys, settings, store, wakers } = this.#ctx
    const set = this.#set()
    const card = ownCard(this.#ctx, home)
    const reply = await home.register({
      log: identity.log,
      profile: this.#profile(),
      keySet: KeySet.encode(set),
      ...present({ card, pow }),
    })
    keys.confirm(set)
    // A new account is hub-local, whatever its agent was elsewhere.
    const { visibility } = settings.current
    if (visibility !== undefined && reply.probationUntilMs !== undefined) await home.setVisibility(visibility)
    noteRegistered(store, home.url, identity.log.seq)
    if (card !== undefined) noteCard(this.#ctx, home, card, reply.cardStatus)
    this.#solver.forget(home.identity.aid)
    hub.noteContact(undefined)
    await this.#adoptWitness(home)
    wakers.relay.wake()
    wakers.outbox.wake()
    return reply
  }

  /** The hub added its witness entry to our last event; messages carry it from now on. */
  async #adoptWitness(home: HubClient): Promise<void> {
    const { identity, log } = this.#ctx
    try {
      identity.adoptWitnesses(verifyKel(await home.fetchLog(identity.aid)))
    } catch (error) {
      log.info({ reason: describe(error) }, 'witness entry not fetched')
    }
  }

  /** A set above the one that the hub says it holds, after `keys_rollback`. */
  #setAfterRollback(error: unknown): KeySet | undefined {
    const stored = storedSeq(error)
    return stored === undefined ? undefined : this.#set(stored + 1)
  }

  async #solve(home: HubClient, error: Refused, work: Work): Promise<PowSolution> {
    const challenge = powChallenge(error)
    const task = { hub: home.identity.aid, aid: this.#ctx.identity.aid, seed: challenge.seed }
    return this.#solver.solve(task, challenge, work)
  }

  /** Gives a hub that has registered this node the newest set; any other gets it with the registration. */
  publishSet(): Promise<void> {
    return this.#inTurn(async () => {
      const { hub, identity, keys, store } = this.#ctx
      const home = hub.home
      if (home === undefined || keys.isConfirmed) return
      if (hubRow(store, home.url)?.registeredSeq === identity.log.seq) await this.#publish(home, this.#set())
    })
  }

  /** A set above every one that this identity gave out; the hub gets it with the next round. */
  raiseSet(): void {
    const { keys } = this.#ctx
    if (keys.set !== undefined) this.#set(keys.set.body.setSeq + 1)
  }

  #set(atLeastSeq?: number): KeySet {
    const { identity, keys, settings } = this.#ctx
    const strangers = { bytes: STRANGER_BYTES, perDay: settings.current.guest_messages }
    return keys.ensureSet(identity.log, identity.seed, strangers, atLeastSeq)
  }

  #profile(): Profile {
    const { name, summary, readme } = this.#ctx.settings.current
    return { name, caps: this.#ctx.modules.offered(), summary, readme }
  }
}

/** The number of the set that a hub holds, where it refused an older one. */
function storedSeq(error: unknown): number | undefined {
  const stored =
    error instanceof Refused && error.code === 'keys_rollback' ? error.members['stored_seq'] : undefined
  return typeof stored === 'number' ? stored : undefined
}
