/**
 * The node's standing at its hubs: which one is home, joining and leaving, the end of a key or of the identity. A move
 * to another hub is a rotation that names it, durable before it is sent.
 */

import { networkOf } from '../../protocol/proof/payment.ts'
import { describe } from '../hubs/failures.ts'
import { type HubClient, type HubInputs, HubStopped, presented, type RegisterReply } from '../hubs/hub.ts'
import { type HubDoors, hubDoors } from '../hubs/open.ts'
import { within } from '../platform/within.ts'
import { refuse } from '../refusal.ts'
import {
  highestWire,
  homeRow,
  hubRow,
  keepHubLog,
  leaveHub,
  leftRows,
  previousRows,
  writeHome,
} from '../store/hubs.ts'
import { watchCard } from './card.ts'
import { checkAdmission } from './clock-ahead.ts'
import { eventTime, markNewMailbox, requireClock, settleKeyState } from './key-state.ts'
import { HUB_WAIT_MS, Newest, type WaitingMail } from './newest.ts'
import { pushLog, pushLogTo } from './push-log.ts'
import { sendRevocations } from './revocations.ts'
import type { Sync, SyncNeeds } from './sync.ts'

export class Membership {
  #ctx: SyncNeeds
  #inputs: HubInputs
  #sync: Sync
  readonly #newest: Newest
  readonly #doors: HubDoors
  #begun = Promise.withResolvers<void>()

  constructor(ctx: SyncNeeds, inputs: HubInputs, sync: Sync, doors: HubDoors = hubDoors) {
    this.#ctx = ctx
    this.#doors = doors
    this.#inputs = inputs
    this.#sync = sync
    const others = () => this.accounts().filter(hub => hub !== ctx.hub.home)
    this.#newest = new Newest(ctx, sync, { refresh: () => this.#refresh(), others })
  }

  /** Takes up the hub of the store; until {@link begin} has ended nothing is signed. */
  open(): void {
    const { hub, store } = this.#ctx
    const row = homeRow(store)
    if (row !== undefined) hub.settleAt(this.#doors.open(row, this.#inputs))
    hub.comparing = this.#begun.promise
  }

  /** Asks the hub what it holds of us, then does what a crash or a failure interrupted. */
  async begin(): Promise<void> {
    await this.#newest.atStart()
    this.#resume()
    this.#ctx.hub.comparing = undefined
    this.#begun.resolve()
  }

  /** Resolves once the hub has answered to the question of the start. */
  asked(signal: AbortSignal): Promise<void> {
    return this.#newest.asked(signal)
  }

  /** Of a directory that came from an archive, or was in use elsewhere. */
  settle(mail: WaitingMail, signal: AbortSignal): Promise<void> {
    return this.#newest.settle(mail, signal)
  }

  /** What a crash or a failure interrupted; what it lacks is said, not fatal. */
  #resume(): void {
    const { hub, log } = this.#ctx
    if (hub.oldCopy !== undefined || hub.unsettled !== undefined) return
    try {
      settleKeyState(this.#ctx, hub.last)
    } catch (error) {
      hub.noteRefused(describe(error))
      log.error({ err: error }, 'a key event is not followed up')
    }
  }

  /** Joins a hub: asks first whether it would take us, then rotates to it where needed, then registers. */
  async join(url: string, signal: AbortSignal): Promise<{ hub: HubClient; reply: RegisterReply }> {
    const hub = await this.#doors.meet(url.replace(/\/+$/, ''), this.#inputs)
    const { aid, wire } = hub.identity
    const seen = highestWire(this.#ctx.store, aid)
    if (seen !== undefined && wire < seen)
      throw new HubStopped(
        `the hub spoke wire version ${seen} before and now only ${wire}; ask its operator why`,
      )
    await checkAdmission(this.#ctx, hub)
    this.#settleAt(hub)
    const reply = await this.#sync.run({ signal, profile: true })
    if (reply === undefined) return refuse('identity_deactivated', 'this identity is deactivated')
    return { hub, reply }
  }

  /** Makes a hub the home: row and duties in one transaction, then the duties, which a start repeats. */
  #settleAt(home: HubClient): void {
    const { hub, store, identity, now } = this.#ctx
    if (identity.log.home !== home.identity.aid) {
      requireClock(this.#ctx, home)
      identity.requireNextKey()
    }
    const moves = hub.last !== undefined && hub.last.identity.aid !== home.identity.aid
    store.transaction(() => {
      writeHome(store, presented(home), moves, now())
      if (moves) markNewMailbox(this.#ctx)
    }, 'node.join')
    hub.settleAt(home)
    if (moves) this.#newest.waive()
    settleKeyState(this.#ctx, home)
    this.#wakeMail()
  }

  /** Leaves a hub, once it agreed; that this identity has an account there stays known. */
  async leave(
    url: string | undefined,
  ): Promise<{ hub: HubClient | undefined; url: string; current: boolean }> {
    const { hub, store } = this.#ctx
    const address = url?.replace(/\/+$/, '') ?? hub.last?.url
    if (address === undefined) return refuse('no_hub', 'this node is registered at no hub')
    const current = hub.last?.url === address
    const left = current ? hub.last : await this.#hubAt(address)
    await left?.deregister()
    leaveHub(store, address)
    if (current) {
      hub.leave()
      this.#wakeMail()
    }
    return { hub: left, url: address, current }
  }

  /** Rotates the identity key and tells every hub of it; why the home does not know of it yet, where it does not. */
  async rotate(signal: AbortSignal): Promise<string | undefined> {
    const { hub, identity } = this.#ctx
    await this.#askTime()
    identity.rotate(hub.last?.identity.aid, eventTime(this.#ctx, hub.last))
    settleKeyState(this.#ctx, hub.last)
    hub.last?.mail?.dropSession()
    this.#wakeMail()
    const untold = await this.#tellHome(signal)
    await this.pushToFormer()
    return untold
  }

  /** Ends the identity: durable first, then told to every hub until each has it; gives what {@link rotate} gives. */
  async deactivate(signal: AbortSignal): Promise<string | undefined> {
    const { hub, identity } = this.#ctx
    await this.#askTime()
    identity.deactivate(eventTime(this.#ctx, hub.last))
    settleKeyState(this.#ctx, hub.last)
    this.#wakeMail()
    const [untold] = await Promise.all([this.#tellHome(signal), this.pushToFormer()])
    return untold
  }

  /** A key event is for good: a hub that has not told its time since the start is asked for it before one is dated. */
  async #askTime(): Promise<void> {
    const { last } = this.#ctx.hub
    if (last === undefined || last.knownTimeMs !== undefined) return
    await within(
      this.#ctx.timers,
      HUB_WAIT_MS,
      last.refresh().catch(() => undefined),
    )
  }

  async #tellHome(signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#sync.run({ signal, profile: false })
      return undefined
    } catch (error) {
      return describe(error)
    }
  }

  /** Tells previous hubs of key events that they have not seen: of a move while they are emptied, of the end always. */
  async pushToFormer(): Promise<void> {
    const { identity, now } = this.#ctx
    const told = identity.log.deactivated ? [...this.#previous(0), ...this.#left()] : this.#previous(now())
    await pushLogTo(this.#ctx, told)
  }

  /** The hub at an address, for the account there: told of every key event, also where this node left it. */
  async account(url: string): Promise<HubClient> {
    const address = url.replace(/\/+$/, '')
    const { home } = this.#ctx.hub
    if (home?.url === address) return home
    const found = await this.#hubAt(address)
    if (home?.identity.aid === found.identity.aid) return home
    await found.refresh()
    await pushLog(this.#ctx, found)
    return found
  }

  /** The hub whose credits a network is, told of every key event; undefined where there is no account. */
  async accountOf(network: string): Promise<HubClient | undefined> {
    const hub = this.accounts().find(({ identity }) => networkOf(identity.aid) === network)
    if (hub === undefined || hub === this.#ctx.hub.last) return hub
    await hub.refresh()
    await pushLog(this.#ctx, hub)
    return hub
  }

  /** Every hub that has an account of this identity. */
  accounts(): HubClient[] {
    const { last } = this.#ctx.hub
    const all = [...(last === undefined ? [] : [last]), ...this.#previous(0), ...this.#left()]
    return [...new Map(all.toReversed().map(hub => [hub.identity.aid, hub])).values()].toReversed()
  }

  /** Hubs whose mailbox is still emptied after a move. */
  draining(): HubClient[] {
    return this.#ctx.identity.log.deactivated ? [] : this.#previous(this.#ctx.now())
  }

  /** One look at everything that the home should know or tell; false when it has to be repeated. */
  async keepInSync(signal: AbortSignal): Promise<boolean> {
    const { hub, log } = this.#ctx
    try {
      if (hub.oldCopy !== undefined) return true
      await this.#newest.compare()
      if (hub.oldCopy === undefined) await this.#newest.askOthers(hub.retiredAt)
      if (hub.oldCopy !== undefined) return true
      if (hub.home !== undefined) await watchCard(this.#ctx, hub.home)
      await this.#sync.run({ signal, profile: false })
      await this.#revoke(signal)
      return true
    } catch (error) {
      if (hub.state.keptOut === undefined) hub.noteContact(describe(error))
      log.info({ reason: describe(error) }, 'registration not confirmed')
      return hub.last?.stopped !== undefined
    }
  }

  /** Looks at once whether a hub of another wire speaks ours again; true where this node talks to it. */
  async lookAgain(): Promise<boolean> {
    const { hub, wakers } = this.#ctx
    if (hub.last?.stopped === undefined) return hub.last !== undefined
    await hub.last.refresh(true).catch(() => undefined)
    if (hub.last.stopped !== undefined) return false
    wakers.rounds.wake()
    this.#talkAgain()
    return true
  }

  /** Learns a new key of the home hub, and notices when another hub answers in its place. */
  async #refresh(): Promise<void> {
    const home = this.#ctx.hub.last
    if (home === undefined) return
    const wasStopped = home.stopped !== undefined
    await home.refresh()
    if (wasStopped) this.#talkAgain()
    keepHubLog(this.#ctx.store, presented(home))
  }

  /** Takes back what is to be taken back, with a new mailbox where the hub's list is full. */
  async #revoke(signal: AbortSignal): Promise<void> {
    const { home } = this.#ctx.hub
    if (home === undefined || !(await sendRevocations(this.#ctx, home))) return
    await this.#sync.run({ signal, profile: false })
  }

  #previous(since: number): HubClient[] {
    return previousRows(this.#ctx.store, since).map(row => this.#doors.open(row, this.#inputs))
  }

  #left(): HubClient[] {
    return leftRows(this.#ctx.store).map(row => this.#doors.open(row, this.#inputs))
  }

  async #hubAt(url: string): Promise<HubClient> {
    const row = hubRow(this.#ctx.store, url)
    return row === undefined ? this.#doors.meet(url, this.#inputs) : this.#doors.open(row, this.#inputs)
  }

  /** The hub was found to be one to talk to again. */
  #talkAgain(): void {
    this.#ctx.hub.noteContact(undefined)
    this.#wakeMail()
  }

  #wakeMail(): void {
    this.#ctx.wakers.relay.wake()
    this.#ctx.wakers.outbox.wake()
  }
}
