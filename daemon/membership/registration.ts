/**
 * The node's standing at its hubs: who is home, joining and leaving, sending log and key set until they are answered,
 * weekly renewal, proof of work. A move to another hub is a rotation that names it, durable before it is sent.
 */

import { Refused } from '../../protocol/contract/client.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, EVENT_AHEAD_MAX_MS, verifyKel } from '../../protocol/identity/kel.ts'
import { KeySet, STRANGER_BYTES_MIN, type StrangerLimits } from '../../protocol/identity/keyset.ts'
import type { Context } from '../context.ts'
import { describe } from '../hubs/failures.ts'
import {
  type HubLine,
  HubStopped,
  type PowSolution,
  type Profile,
  presented,
  type RegisterReply,
} from '../hubs/hub.ts'
import { type PowSolver, powChallenge } from '../hubs/pow.ts'
import { fetchHubIdentity, type HubInputs } from '../hubs/wire3/calls.ts'
import { Wire3Hub } from '../hubs/wire3/hub.ts'
import { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import {
  formerRows,
  type HubRow,
  highestWire,
  homeRow,
  hubRow,
  keepHubLog,
  noteRegistered,
  removeHub,
  writeHome,
} from '../store/hubs.ts'
import { isCardDue, learnAddress, noteCard, ownCard, watchCard } from './card.ts'
import { pushLog, pushLogTo } from './former.ts'
import { eventTime, isClockFollowed, markNewMailbox, requireClock, settleKeyState } from './key-state.ts'
import { compareWithHub } from './own-log.ts'
import { sendRevocations } from './revocations.ts'

const RETRY_MS = 60_000
const STRANGER_BYTES = 4 * STRANGER_BYTES_MIN

export type HubState = {
  state: 'online' | 'offline' | 'stopped' | 'registering'
  reason?: string
  powProgress?: number
}

export class Registration {
  #ctx: Context
  #inputs: HubInputs
  #solver: PowSolver
  #home: Wire3Hub | undefined
  #state: HubState = { state: 'offline' }
  #oldCopy: string | undefined
  #syncing: Promise<void> = Promise.resolve()
  #waker = new Waker()
  #onChange: () => void

  constructor(ctx: Context, inputs: HubInputs, solver: PowSolver, onChange: () => void) {
    this.#ctx = ctx
    this.#inputs = inputs
    this.#solver = solver
    this.#onChange = onChange
    const row = homeRow(this.#ctx.store)
    if (row !== undefined) this.#home = this.#lineOf(row)
  }

  /** The hub that this node talks to; undefined before it registered anywhere, and after its identity ended. */
  get home(): HubLine | undefined {
    return this.#ctx.identity.log.deactivated ? undefined : this.#home
  }

  /** The hub that this node is, or was at its end, registered at. */
  get lastHome(): HubLine | undefined {
    return this.#home
  }

  get state(): HubState {
    const stopped = this.#home?.stopped
    return stopped === undefined ? this.#state : { state: 'stopped', reason: stopped }
  }

  /** Why this machine is an older copy of its identity, which signs nothing; undefined while it is not. */
  get oldCopy(): string | undefined {
    return this.#oldCopy
  }

  wake(): void {
    this.#waker.wake()
  }

  /** Notes how the last call to the hub went; true when contact was just lost. */
  noteContact(error: string | undefined): boolean {
    if (this.#state.state === 'registering') return false
    const before = this.#state.state
    this.#state = error === undefined ? { state: 'online' } : { state: 'offline', reason: error }
    if (before !== this.#state.state) this.#ctx.events.emit('hub', { state: this.#state.state })
    return before === 'online' && error !== undefined
  }

  /** Joins a hub: asks first whether it would take us, then rotates to it where needed, then registers. */
  async join(url: string, signal: AbortSignal): Promise<{ hub: HubLine; reply: RegisterReply }> {
    const address = url.replace(/\/+$/, '')
    const identity = await fetchHubIdentity(address, this.#inputs.connections.signed)
    if (identity.wire !== 3)
      throw new HubStopped(`the hub speaks wire version ${identity.wire}, this node 3; update the older one`)
    const seen = highestWire(this.#ctx.store, identity.aid)
    if (seen !== undefined && identity.wire < seen)
      throw new HubStopped(
        `the hub spoke wire version ${seen} before and now ${identity.wire}; ask its operator`,
      )
    const line = new Wire3Hub(address, identity, this.#inputs)
    await line.checkAdmission(this.#ctx.identity.log)
    this.#settleAt(line)
    const reply = await this.sync({ signal, profile: true })
    return { hub: line, reply: reply as RegisterReply }
  }

  /** Finishes what a crash or a failure interrupted; what it lacks (a next key, room on the disk) is said, not fatal. */
  settle(): void {
    try {
      settleKeyState(this.#ctx, this.#home)
    } catch (error) {
      this.#state = { state: 'offline', reason: describe(error) }
      this.#ctx.log.error({ err: error }, 'a key event is not followed up')
    }
  }

  /** Makes a hub the home: row and duties in one transaction, then the duties, which a start repeats. */
  #settleAt(line: Wire3Hub): void {
    const { store, identity, now } = this.#ctx
    if (identity.log.home !== line.identity.aid) {
      requireClock(this.#ctx, line)
      identity.requireNextKey()
    }
    const former = this.#home
    const moves = former !== undefined && former.identity.aid !== line.identity.aid
    store.transaction(() => {
      writeHome(store, presented(line), moves, now())
      if (moves) markNewMailbox(this.#ctx)
    }, 'node.join')
    this.#home = line
    settleKeyState(this.#ctx, line)
    this.#onChange()
  }

  /** Tells former hubs of key events that they have not seen: of a move while they are emptied, of the end always. */
  async pushToFormer(): Promise<void> {
    const since = this.#ctx.identity.log.deactivated ? 0 : this.#ctx.now()
    await pushLogTo(this.#ctx, this.#former(since))
  }

  /** Learns a new key of the home hub, and notices when another hub answers in its place. */
  async refreshHome(): Promise<void> {
    const home = this.#home
    if (home === undefined) return
    await home.refresh()
    keepHubLog(this.#ctx.store, presented(home))
  }

  /** Rotates the identity key and sends log and set until the hub answered. */
  async rotate(signal: AbortSignal): Promise<void> {
    this.#ctx.identity.rotate(this.#home?.identity.aid, eventTime(this.#ctx, this.#home))
    settleKeyState(this.#ctx, this.#home)
    this.#home?.dropSession()
    this.#onChange()
    if (this.#home !== undefined) await this.sync({ signal, profile: false }).catch(() => undefined)
    await this.pushToFormer()
  }

  /** Ends the identity: durable first, then told to every hub until each has it. */
  async deactivate(signal: AbortSignal): Promise<void> {
    this.#ctx.identity.deactivate(eventTime(this.#ctx, this.#home))
    settleKeyState(this.#ctx, this.#home)
    this.#onChange()
    await Promise.all([this.sync({ signal, profile: false }).catch(() => undefined), this.pushToFormer()])
  }

  /** Brings the hub up to date with log, key set and profile, where it is not; one call after another. */
  sync(options: { signal: AbortSignal; profile: boolean }): Promise<RegisterReply | undefined> {
    const turn = this.#syncing.then(() => this.#sync(options))
    this.#syncing = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  async #sync(options: { signal: AbortSignal; profile: boolean }): Promise<RegisterReply | undefined> {
    const home = this.#home
    const { identity, keys } = this.#ctx
    settleKeyState(this.#ctx, home)
    if (home === undefined) return undefined
    if (identity.log.deactivated) {
      // A registration of a deactivated identity is refused; a push is taken.
      await pushLog(this.#ctx, home)
      return undefined
    }
    const set = keys.ensureSet(identity.log, identity.seed, this.#strangers())
    const registered = homeRow(this.#ctx.store)?.registeredSeq === identity.log.seq
    const register = !registered || options.profile || isCardDue(this.#ctx, home)
    if (!register && keys.isConfirmed) return undefined
    if (!register) {
      await this.#publish(home, set)
      return undefined
    }
    return this.#register(home, options.signal)
  }

  async #publish(home: HubLine, set: KeySet): Promise<void> {
    const { identity, keys } = this.#ctx
    try {
      await home.publishKeys(KeySet.encode(set), keys.previousSeq(identity.log))
      keys.confirm(set)
    } catch (error) {
      const next = this.#setAfterRollback(error)
      if (next === undefined) throw error
      await home.publishKeys(KeySet.encode(next), undefined)
      keys.confirm(next)
    }
  }

  async #register(home: Wire3Hub, signal: AbortSignal): Promise<RegisterReply> {
    this.#state = { state: 'registering' }
    let pow = this.#solver.kept(home.identity.aid)
    let rotatedForTime = false
    for (let attempt = 0; ; attempt++) {
      try {
        const reply = await this.#registerOnce(home, pow)
        // The card names another address than the hub gives itself: once more with that one.
        if (reply.cardStatus !== 'refused' || !(await learnAddress(this.#ctx, home).catch(() => false)))
          return reply
      } catch (error) {
        if (!(error instanceof Refused) || attempt >= 4) {
          this.#state = { state: 'offline', reason: describe(error) }
          throw error
        }
        if (error.code === 'pow_required') pow = await this.#solve(home, error, signal)
        else if (error.code === 'kel_ts_out_of_window' && !rotatedForTime && this.#isBehind(home)) {
          this.#ctx.identity.rotate(home.identity.aid, eventTime(this.#ctx, home))
          settleKeyState(this.#ctx, home)
          home.dropSession()
          rotatedForTime = true
        } else if (this.#setAfterRollback(error) === undefined) {
          this.#state = { state: 'offline', reason: describe(error) }
          throw error
        }
      }
    }
  }

  /** Whether a further event could come nearer to the hub's time; none falls behind one that lies ahead. */
  #isBehind(home: HubLine): boolean {
    const { log } = this.#ctx.identity
    return isClockFollowed(this.#ctx, home) && log.ts < home.timeMs + EVENT_AHEAD_MAX_MS
  }

  async #registerOnce(home: Wire3Hub, pow: PowSolution | undefined): Promise<RegisterReply> {
    const { identity, keys, store } = this.#ctx
    const set = keys.ensureSet(identity.log, identity.seed, this.#strangers())
    const card = ownCard(this.#ctx, home)
    const reply = await home.register({
      log: identity.log,
      profile: this.#profile(),
      keySet: KeySet.encode(set),
      card,
      ...present({ pow }),
    })
    keys.confirm(set)
    noteRegistered(store, home.url, identity.log.seq)
    if (card !== undefined) noteCard(this.#ctx, home, card, reply.cardStatus)
    this.#solver.forget(home.identity.aid)
    this.#state = { state: 'online' }
    this.#ctx.events.emit('hub', { state: 'online' })
    await this.#adoptWitness(home)
    this.#onChange()
    return reply
  }

  /** The hub added its witness entry to our last event; messages carry it from now on. */
  async #adoptWitness(home: HubLine): Promise<void> {
    const { identity } = this.#ctx
    try {
      identity.adoptWitnesses(verifyKel(await home.fetchLog(identity.aid)))
    } catch (error) {
      this.#ctx.log.info({ reason: describe(error) }, 'witness entry not fetched')
    }
  }

  /** A set above the one that the hub says it holds, after `keys_rollback`. */
  #setAfterRollback(error: unknown): KeySet | undefined {
    const stored =
      error instanceof Refused && error.code === 'keys_rollback' ? error.members['stored_seq'] : undefined
    if (typeof stored !== 'number') return undefined
    const { identity, keys } = this.#ctx
    return keys.ensureSet(identity.log, identity.seed, this.#strangers(), stored + 1)
  }

  async #solve(home: HubLine, error: Refused, signal: AbortSignal): Promise<PowSolution> {
    const challenge = powChallenge(error)
    const task = { hub: home.identity.aid, aid: this.#ctx.identity.aid, seed: challenge.seed }
    return this.#solver.solve(task, challenge, {
      signal,
      onProgress: share => {
        this.#state = { state: 'registering', powProgress: share }
      },
    })
  }

  /** Leaves a hub; the current one is forgotten only when it agreed. */
  async leave(url: string | undefined): Promise<{ url: string; current: boolean }> {
    const address = url?.replace(/\/+$/, '') ?? this.#home?.url
    if (address === undefined) refuse('no_hub', 'this node is registered at no hub')
    const current = this.#home?.url === address
    const line = current ? this.#home : await this.#lineAt(address)
    await line?.deregister()
    removeHub(this.#ctx.store, address)
    if (current) {
      this.#home = undefined
      this.#state = { state: 'offline' }
      this.#onChange()
    }
    return { url: address, current }
  }

  /** Publishes the profile; the card follows, at the latest with the next round. */
  async updateProfile(signal: AbortSignal): Promise<void> {
    await this.#home?.updateProfile(this.#profile())
    await this.sync({ signal, profile: false }).catch(() => undefined)
  }

  /** Hubs whose mailbox is still emptied. */
  draining(): Wire3Hub[] {
    return this.#ctx.identity.log.deactivated ? [] : this.#former(this.#ctx.now())
  }

  #former(since: number): Wire3Hub[] {
    return formerRows(this.#ctx.store, since).map(row => this.#lineOf(row))
  }

  /** Takes back what is to be taken back, with a new mailbox where the hub's list is full. */
  async #revoke(signal: AbortSignal): Promise<void> {
    if (this.home === undefined || !(await sendRevocations(this.#ctx, this.home))) return
    await this.sync({ signal, profile: false })
  }

  /** Repeats `sync` until it succeeds; for start and for the maintenance clock. */
  async keepInSync(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.refreshHome()
        if (this.home !== undefined) {
          this.#oldCopy = await compareWithHub(this.#ctx, this.home)
          if (this.#oldCopy !== undefined) return
          await watchCard(this.#ctx, this.home)
        }
        await this.sync({ signal, profile: false })
        await this.#revoke(signal)
        return
      } catch (error) {
        this.noteContact(describe(error))
        this.#ctx.log.info({ reason: describe(error) }, 'registration not confirmed')
        if (signal.aborted || this.#home?.stopped !== undefined) return
        await this.#waker.sleep(RETRY_MS)
        if (signal.aborted) return
      }
    }
  }

  #strangers(): StrangerLimits {
    return { bytes: STRANGER_BYTES, perDay: this.#ctx.config().guest_messages }
  }

  #profile(): Profile {
    const { name, caps, summary, readme } = this.#ctx.config()
    return { name, caps, summary, readme }
  }

  async #lineAt(url: string): Promise<Wire3Hub> {
    const row = hubRow(this.#ctx.store, url)
    if (row !== undefined) return this.#lineOf(row)
    return new Wire3Hub(url, await fetchHubIdentity(url, this.#inputs.connections.signed), this.#inputs)
  }

  #lineOf(row: HubRow): Wire3Hub {
    const log = verifyKel(decodeKel(row.log))
    return new Wire3Hub(row.url, { aid: row.aid, wire: row.wire, log, bitsMax: row.bits }, this.#inputs)
  }
}
