/**
 * The node's standing at its hubs: who is home, joining and leaving, sending log and key set until they are answered,
 * weekly renewal, proof of work. A move to another hub is a rotation that names it, durable before it is sent.
 */

import { fromBase64url } from '../protocol/bytes.ts'
import { Refused } from '../protocol/client.ts'
import { decodeKel, encodeKel, verifyKel } from '../protocol/kel.ts'
import { KeySet, STRANGER_BYTES_MIN, type StrangerLimits } from '../protocol/keyset.ts'
import type { Context } from './context.ts'
import {
  type HubLine,
  HubStopped,
  type PowChallenge,
  type PowSolution,
  type Profile,
  type RegisterReply,
} from './hub-line.ts'
import { Wire3Hub } from './hub-wire3.ts'
import { describe } from './outbox.ts'
import type { PowSolver } from './pow.ts'
import { refuse } from './refusal.ts'
import { announceMove, remakeReceipts } from './reseal.ts'
import { Waker } from './waker.ts'
import { fetchHubIdentity, type HubInputs } from './wire3-calls.ts'

const RETRY_MS = 60_000
/** How long the mailbox at a former hub is still emptied. */
const DRAIN_MS = 14 * 86_400_000 + 3_600_000
const STRANGER_BYTES = 4 * STRANGER_BYTES_MIN

type HubRow = {
  url: string
  aid: string
  wire: number
  log: Uint8Array
  bits: number
  role: string
  registered_seq: number | null
}

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
  #syncing: Promise<void> = Promise.resolve()
  #waker = new Waker()
  #onChange: () => void

  constructor(ctx: Context, inputs: HubInputs, solver: PowSolver, onChange: () => void) {
    this.#ctx = ctx
    this.#inputs = inputs
    this.#solver = solver
    this.#onChange = onChange
    const row = this.#homeRow()
    if (row !== undefined) this.#home = this.#lineOf(row)
  }

  /** The hub that this node lives at; undefined before it registered anywhere. */
  get home(): HubLine | undefined {
    return this.#home
  }

  get state(): HubState {
    const stopped = this.#home?.stopped
    return stopped === undefined ? this.#state : { state: 'stopped', reason: stopped }
  }

  /** Ends the pause before the next attempt. */
  wake(): void {
    this.#waker.wake()
  }

  /** Notes how the last call to the hub went. */
  noteContact(error: string | undefined): void {
    if (this.#state.state === 'registering') return
    const before = this.#state.state
    this.#state = error === undefined ? { state: 'online' } : { state: 'offline', reason: error }
    if (before !== this.#state.state) this.#ctx.events.emit('hub', { state: this.#state.state })
  }

  /** Joins a hub: asks first whether it would take us, then rotates to it where needed, then registers. */
  async join(url: string, signal: AbortSignal): Promise<{ hub: HubLine; reply: RegisterReply }> {
    const address = url.replace(/\/+$/, '')
    const identity = await fetchHubIdentity(address, this.#inputs.connections.signed)
    if (identity.wire !== 3)
      throw new HubStopped(`the hub speaks wire version ${identity.wire}, this node 3; update the older one`)
    const line = new Wire3Hub(address, identity, this.#inputs)
    await line.checkAdmission(this.#ctx.identity.log)
    this.#settleAt(line)
    const reply = await this.sync({ signal, profile: true })
    return { hub: line, reply: reply as RegisterReply }
  }

  /** Makes a hub the home: the row first, then the rotation, so that a crash between them is finished by `sync`. */
  #settleAt(line: Wire3Hub): void {
    const { store, identity, keys, capabilities, now } = this.#ctx
    const former = this.#home
    const moves = former !== undefined && former.identity.aid !== line.identity.aid
    store.transaction(() => {
      if (moves)
        store.run("UPDATE hubs SET role = 'draining', drain_until = ? WHERE role = 'home'", now() + DRAIN_MS)
      store.run("DELETE FROM hubs WHERE role = 'home' OR url = ?", line.url)
      store.run(
        `INSERT INTO hubs (url, aid, wire, log, bits, role) VALUES (?, ?, ?, ?, ?, 'home')`,
        line.url,
        line.identity.aid,
        line.identity.wire,
        encodeKel(line.identity.log.events),
        line.identity.bitsMax,
      )
      store.run(
        'INSERT INTO wires_seen VALUES (?, ?) ON CONFLICT (hub) DO UPDATE SET wire = max(wire, excluded.wire)',
        line.identity.aid,
        line.identity.wire,
      )
    }, 'node.join')
    this.#home = line
    if (identity.log.home !== line.identity.aid) identity.rotate(line.identity.aid, line.timeMs)
    if (moves) {
      keys.startEpoch()
      capabilities.voidIssued()
      announceMove(this.#ctx)
    }
    this.#onChange()
  }

  /** Tells former hubs of key events that they have not seen, so that their mailboxes can still be emptied. */
  async pushToFormer(): Promise<void> {
    const { identity, store } = this.#ctx
    for (const hub of this.draining()) {
      const row = store.get<HubRow>('SELECT * FROM hubs WHERE url = ?', hub.url)
      if (row?.registered_seq === identity.log.seq) continue
      await hub.pushLog(identity.log)
      store.run('UPDATE hubs SET registered_seq = ? WHERE url = ?', identity.log.seq, hub.url)
    }
  }

  /** Learns a new key of the home hub, and notices when another hub answers in its place. */
  async refreshHome(): Promise<void> {
    const home = this.#home
    if (home === undefined) return
    await home.refresh()
    this.#ctx.store.run(
      'UPDATE hubs SET log = ?, bits = ? WHERE url = ?',
      encodeKel(home.identity.log.events),
      home.identity.bitsMax,
      home.url,
    )
  }

  /** Rotates the identity key and sends log and set until the hub answered. */
  async rotate(signal: AbortSignal): Promise<void> {
    this.#ctx.identity.rotate(this.#home?.identity.aid, this.#home?.timeMs)
    remakeReceipts(this.#ctx)
    this.#home?.dropSession()
    this.#onChange()
    if (this.#home !== undefined) await this.sync({ signal, profile: false }).catch(() => undefined)
    await this.pushToFormer().catch(error =>
      this.#ctx.log.info({ reason: describe(error) }, 'former hub not told'),
    )
  }

  /** Ends the identity; the log goes out as a push, because a registration of a deactivated identity is refused. */
  async deactivate(): Promise<void> {
    const log = this.#ctx.identity.deactivate()
    await this.#home?.pushLog(log)
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
    if (home === undefined || identity.log.deactivated) return undefined
    const set = keys.ensureSet(identity.log, identity.seed, this.#strangers())
    const registered = this.#homeRow()?.registered_seq === identity.log.seq
    if (registered && keys.isConfirmed && !options.profile) return undefined
    if (registered && !options.profile) {
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
        return await this.#registerOnce(home, pow)
      } catch (error) {
        if (!(error instanceof Refused) || attempt >= 4) {
          this.#state = { state: 'offline', reason: describe(error) }
          throw error
        }
        if (error.code === 'pow_required') pow = await this.#solve(home, error, signal)
        else if (error.code === 'kel_ts_out_of_window' && !rotatedForTime) {
          this.#ctx.identity.rotate(home.identity.aid, home.timeMs)
          rotatedForTime = true
        } else if (this.#setAfterRollback(error) === undefined) {
          this.#state = { state: 'offline', reason: describe(error) }
          throw error
        }
      }
    }
  }

  async #registerOnce(home: Wire3Hub, pow: PowSolution | undefined): Promise<RegisterReply> {
    const { identity, keys, store } = this.#ctx
    const set = keys.ensureSet(identity.log, identity.seed, this.#strangers())
    const reply = await home.register({
      log: identity.log,
      profile: this.#profile(),
      keySet: KeySet.encode(set),
      ...(pow === undefined ? {} : { pow }),
    })
    keys.confirm(set)
    store.run('UPDATE hubs SET registered_seq = ? WHERE url = ?', identity.log.seq, home.url)
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
    const given = error.members['challenge'] as
      | { seed?: unknown; bits?: unknown; not_after?: unknown }
      | undefined
    if (
      typeof given?.seed !== 'string' ||
      typeof given.bits !== 'number' ||
      typeof given.not_after !== 'number'
    )
      throw new HubStopped('the hub asks for proof of work without a challenge; update it')
    const challenge: PowChallenge = {
      seed: fromBase64url(given.seed),
      bits: given.bits,
      notAfterMs: given.not_after,
    }
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
    this.#ctx.store.run('DELETE FROM hubs WHERE url = ?', address)
    if (current) {
      this.#home = undefined
      this.#state = { state: 'offline' }
      this.#onChange()
    }
    return { url: address, current }
  }

  async updateProfile(): Promise<void> {
    await this.#home?.updateProfile(this.#profile())
  }

  /** Hubs whose mailbox is still emptied after a move. */
  draining(): Wire3Hub[] {
    const rows = this.#ctx.store.all<HubRow>(
      "SELECT * FROM hubs WHERE role = 'draining' AND drain_until > ?",
      this.#ctx.now(),
    )
    return rows.map(row => this.#lineOf(row))
  }

  /** Repeats `sync` until it succeeds; for start and for the maintenance clock. */
  async keepInSync(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.refreshHome()
        await this.sync({ signal, profile: false })
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

  #homeRow(): HubRow | undefined {
    return this.#ctx.store.get<HubRow>("SELECT * FROM hubs WHERE role = 'home'")
  }

  async #lineAt(url: string): Promise<Wire3Hub> {
    const row = this.#ctx.store.get<HubRow>('SELECT * FROM hubs WHERE url = ?', url)
    if (row !== undefined) return this.#lineOf(row)
    return new Wire3Hub(url, await fetchHubIdentity(url, this.#inputs.connections.signed), this.#inputs)
  }

  #lineOf(row: HubRow): Wire3Hub {
    const log = verifyKel(decodeKel(row.log))
    return new Wire3Hub(row.url, { aid: row.aid, wire: row.wire, log, bitsMax: row.bits }, this.#inputs)
  }
}
