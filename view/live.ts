/**
 * Keeps a view fresh over a {@link NodeClient}: follows `GET /events`, asks anew what an event puts out of date, finds a lost
 * node again, and asks every few seconds where there is no stream. Methods named after what a screen opens never fail:
 * what went wrong stands in the view. `ask` and `act` throw what the client throws.
 */
import type { OperationInput, OperationName, OperationReply } from '../protocol/control/operations.ts'
import { present } from '../protocol/encoding/present.ts'
import { beginnings, hubCameBack, isNobody, quotedFor, refusalOf, settingsAsked, wordsOf } from './asked.ts'
import { clean, type Dirty, isClean, ROWS_ASKED_MAX, retryDelay, soiled } from './coalesce.ts'
import { HeldView, type Surroundings } from './held-view.ts'
import { type NodeClient, NodeGone, NoStream } from './node-client.ts'
import { isSameNarrowing, type Replied } from './reduce.ts'
import type { Narrowed, Side, View } from './state.ts'

const PAGE = 50
const EVIDENCE_PAGE = 100
/** A filter is asked for once so long nothing was typed. */
const TYPED_MS = 200
const TEXT_PART_CHARACTERS = 100_000
const sides: readonly Side[] = ['received', 'sent']
const POLL_MS = 5_000
/** A stream on which not even a heartbeat came for so long is dead. */
const SILENT_MS = 45_000
/** A connection that lasted so long was a good one. */
const GOOD_MS = 10_000

type Part = 'evidence' | 'settings' | 'account'
type When = 'at once' | 'soon'

export class Live {
  readonly #held: HeldView
  readonly #node: NodeClient
  readonly #around: Surroundings
  readonly #stopped = new AbortController()
  #dirty: Dirty = clean
  #isRefreshing = false
  #fault: unknown
  /** Parts of the node that a screen has opened; only those are kept fresh. */
  readonly #wanted = new Set<Part>()
  /** What calls off a narrowed list that is not asked for yet. */
  readonly #asking: Partial<Record<Side, () => void>> = {}
  #openThread: string | undefined
  #isRead = false

  constructor(node: NodeClient, around: Surroundings) {
    this.#node = node
    this.#around = around
    this.#held = new HeldView(around)
  }

  get view(): View {
    return this.#held.view
  }

  /** Calls after changes; gives what ends it. */
  subscribe(listener: () => void): () => void {
    return this.#held.subscribe(listener)
  }

  /** Follows the node until {@link stop}; never fails. */
  async run(): Promise<void> {
    for (let attempt = 0; !this.#stopped.signal.aborted; attempt += 1) {
      const startedAt = this.#around.now()
      const wasStopped = await this.#follow()
      if (this.#stopped.signal.aborted) return
      if (this.#around.now() - startedAt > GOOD_MS) attempt = 0
      const wait = retryDelay(attempt, this.#around.random())
      this.#lose(wasStopped, this.#around.now() + wait)
      await this.#pause(wait)
    }
  }

  stop(): void {
    this.#stopped.abort()
    this.#held.stop()
  }

  /** Calls an operation and shows at once that it is asked and what came of it. */
  async ask<N extends OperationName>(name: N, input: OperationInput<N>): Promise<OperationReply<N>> {
    this.#held.apply({ type: 'asking', name, input, at: this.#around.now() }, 'at once')
    return this.#fetch(name, input, 'at once')
  }

  /** Does something, and asks anew what it changes. */
  async act<N extends OperationName>(name: N, input: OperationInput<N>): Promise<OperationReply<N>> {
    const reply = await this.ask(name, input)
    // a payment goes on in a task of its own
    const rows = new Set(
      [input, reply].flatMap(one => (one as { interaction_id?: string }).interaction_id ?? []),
    )
    this.#soil({ ...clean, rows, status: true, settings: true })
    return reply
  }

  /** Older rows of a list as it is narrowed, one page; nothing where all are here. */
  async more(side: Side): Promise<void> {
    const { found, lists } = this.view
    const list = found[side] ?? lists[side]
    if (list.loading || (list.loaded && list.nextCursor === undefined)) return
    const cursor = list.loaded ? list.nextCursor : undefined
    await this.#quietly(() => this.#page(side, { cursor, of: found[side] }, 'at once'))
  }

  /** Narrows a list, and asks the node for what fits once nothing more is typed; undefined shows all of it again. */
  narrow(side: Side, to: Narrowed | undefined): void {
    const now = this.view.found[side]
    if (isSameNarrowing(to, now)) return
    this.#held.apply({ type: 'narrow', side, to }, 'at once')
    this.#asking[side]?.()
    if (to === undefined) return
    this.#asking[side] = this.#around.after(TYPED_MS, () => {
      void this.#quietly(() => this.#page(side, { of: to }, 'at once'))
    })
  }

  /** Messages of all tasks, or of one, that hold words; each by its beginning. */
  async search(words: string, within?: string): Promise<void> {
    const text = beginnings(words)
    if (text !== '')
      await this.#quietly(() =>
        this.ask('search', { words: text, ...present({ interaction_id: within }), limit: PAGE }),
      )
  }

  /** Older messages of what was searched last. */
  async moreMatches(): Promise<void> {
    const { words, within, nextCursor: cursor, loading } = this.view.search
    if (cursor === undefined || loading) return
    await this.#quietly(() =>
      this.ask('search', { words, ...present({ interaction_id: within }), limit: PAGE, cursor }),
    )
  }

  /** The next part of a text that is not here whole. */
  async moreText(id: string, n: number): Promise<void> {
    const turn = this.view.threads.get(id)?.thread?.turns.find(one => one.n === n)
    if (turn?.next_char === undefined) return
    const from = { from_turn: n, from_char: turn.next_char, max_chars: TEXT_PART_CHARACTERS }
    await this.#quietly(() => this.ask('thread', { interaction_id: id, ...from, mark_read: false }))
  }

  /** All rows of a list as it is narrowed. */
  async all(side: Side): Promise<void> {
    for (let before: string | undefined; !this.#stopped.signal.aborted; ) {
      const { nextCursor, loading, loaded, refusal } = this.view.found[side] ?? this.view.lists[side]
      if (loading || refusal !== undefined || (loaded && (nextCursor === undefined || nextCursor === before)))
        return
      before = nextCursor
      await this.more(side)
    }
  }

  /** Loads a thread and keeps it fresh until another one is opened; `markRead` says that a person sees it, also what comes. */
  async openThread(id: string, markRead: boolean): Promise<void> {
    this.#openThread = id
    this.#isRead = markRead
    await this.#quietly(() => this.#thread(id, markRead, 'at once'))
    if (markRead) this.#soil({ ...clean, rows: new Set([id]), status: true })
  }

  closeThread(): void {
    this.#openThread = undefined
  }

  /** Agents of the directory by words, or by a capability as `cap:<name>`. */
  async find(query: string): Promise<void> {
    await this.#quietly(() => this.ask('find', { ...wordsOf(query), others: true, limit: PAGE }))
  }

  async moreAgents(): Promise<void> {
    const { query, nextCursor: cursor, loading } = this.view.agents
    if (cursor === undefined || loading) return
    await this.#quietly(() => this.ask('find', { ...wordsOf(query), others: true, limit: PAGE, cursor }))
  }

  /** The newest records and the heads that peers hold; from then on they stay fresh. */
  async openEvidence(): Promise<void> {
    this.#wanted.add('evidence')
    await this.#evidence('at once')
  }

  async moreEvidence(): Promise<void> {
    const last = this.view.evidence.records.at(-1)
    if (last === undefined || last.seq === 0 || this.view.evidence.loading) return
    await this.#quietly(() => this.ask('evidence', { before: last.seq, limit: EVIDENCE_PAGE }))
  }

  /** Older records until there are enough, or no more. */
  async evidenceUntil(isEnough: () => boolean): Promise<void> {
    for (let before: number | undefined; !isEnough() && !this.#stopped.signal.aborted; ) {
      const last = this.view.evidence.records.at(-1)
      if (last === undefined || last.seq === 0 || last.seq === before) return
      before = last.seq
      await this.moreEvidence()
    }
  }

  /** Auto-reply, contacts, capabilities and A2A; from then on they stay fresh. */
  async openNode(): Promise<void> {
    this.#wanted.add('settings')
    await this.#settings()
  }

  /** Balance and what may be spent: before a payment is approved. */
  async openAccount(): Promise<void> {
    this.#wanted.add('account')
    await this.#account()
  }

  /** How the node stands, anew: while something goes on of which no event tells, as a proof of work. */
  refreshStatus(): void {
    this.#soil({ ...clean, status: true })
  }

  /** Everything that the screens show, anew. */
  refreshAll(): void {
    this.#soil({ ...clean, all: true })
  }

  /** True when the node said that it stops. */
  async #follow(): Promise<boolean> {
    this.#fault = undefined
    const stream = new AbortController()
    const end = () => stream.abort()
    this.#stopped.signal.addEventListener('abort', end)
    let callOff = this.#around.after(SILENT_MS, end)
    try {
      for await (const event of this.#node.events(this.view.cursor, stream.signal)) {
        callOff()
        callOff = this.#around.after(SILENT_MS, end)
        if (event.event === 'shutdown') return true
        this.#hear(event)
      }
    } catch (error) {
      this.#fault = error
      if (error instanceof NoStream) await this.#quietly(() => this.#poll())
    } finally {
      callOff()
      this.#stopped.signal.removeEventListener('abort', end)
    }
    return false
  }

  #hear(event: { id: string | null; event: string; data: unknown }): void {
    const at = this.#around.now()
    if (event.event === 'open')
      this.#held.apply({ type: 'connection', connection: { state: 'live' } }, 'soon')
    this.#held.apply({ type: 'event', event, at }, 'soon')
    this.#soil(soiled(this.#dirty, event))
  }

  async #poll(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#fetch('status', {}, 'soon')
      if (this.view.connection.state !== 'polling')
        this.#held.apply({ type: 'connection', connection: { state: 'polling' } }, 'soon')
      this.#soil({ ...clean, all: true })
      await this.#pause(POLL_MS)
    }
  }

  /** One refresh at a time, as often as frames are drawn; what gets out of date meanwhile waits for the next one. */
  #soil(dirty: Dirty): void {
    this.#dirty = {
      rows: new Set([...this.#dirty.rows, ...dirty.rows]),
      status: this.#dirty.status || dirty.status,
      evidence: this.#dirty.evidence || dirty.evidence,
      settings: this.#dirty.settings || dirty.settings,
      all: this.#dirty.all || dirty.all,
    }
    if (this.#isRefreshing || isClean(this.#dirty) || this.#stopped.signal.aborted) return
    this.#isRefreshing = true
    this.#around.after(this.#held.untilFrame(), () => void this.#freshen())
  }

  async #freshen(): Promise<void> {
    const [dirty, before] = [this.#dirty, this.view]
    this.#dirty = clean
    await this.#refreshTasks(dirty)
    const wants = (part: Part, isDirty: boolean) => (isDirty || dirty.all) && this.#wanted.has(part)
    if (dirty.status || dirty.all) await this.#quietly(() => this.#fetch('status', {}, 'soon'))
    if (wants('evidence', dirty.evidence)) await this.#evidence('soon')
    if (wants('settings', dirty.settings)) await this.#settings()
    if (wants('account', dirty.status)) await this.#account()
    if (hubCameBack(before, this.view)) await this.find(this.view.agents.query)
    this.#isRefreshing = false
    this.#soil(clean)
  }

  async #refreshTasks({ rows, all }: Dirty): Promise<void> {
    for (const side of all ? sides : []) {
      await this.#quietly(() => this.#page(side, {}, 'soon'))
      const of = this.view.found[side]
      if (of !== undefined) await this.#quietly(() => this.#page(side, { of }, 'soon'))
    }
    const open = this.#openThread
    const ids = [...rows, ...quotedFor(this.view, rows)]
    if (open !== undefined && (all || ids.includes(open)))
      await this.#quietly(() => this.#thread(open, this.#isRead, 'soon'))
    for (let at = 0; at < ids.length; at += ROWS_ASKED_MAX) {
      const part = { interaction_ids: ids.slice(at, at + ROWS_ASKED_MAX) }
      await this.#quietly(() => this.#fetch('interactions', part, 'soon'))
    }
  }

  #page(side: Side, { cursor, of }: { cursor?: string | undefined; of?: Narrowed | undefined }, when: When) {
    const from = present({ cursor, words: of?.words || undefined })
    const call = when === 'soon' ? this.#later : this.#now
    const needs = of?.needs === true || undefined
    const archived = of?.archived === true || undefined
    if (side === 'received') return call('inbox', { limit: PAGE, ...from, ...present({ needs, archived }) })
    const text = (flag: true | undefined) => flag && ('true' as const)
    const flags = present({ needs: text(needs), archived: text(archived) })
    return call('results', { limit: String(PAGE), ...from, ...flags })
  }

  readonly #now = <N extends OperationName>(name: N, input: OperationInput<N>) => this.ask(name, input)
  readonly #later = <N extends OperationName>(name: N, input: OperationInput<N>) =>
    this.#fetch(name, input, 'soon')

  async #thread(id: string, markRead: boolean, when: When): Promise<void> {
    const call = when === 'soon' ? this.#later : this.#now
    let next: number | undefined = 1
    while (next !== undefined && this.#openThread === id) {
      const input: OperationInput<'thread'> = {
        interaction_id: id,
        from_turn: next,
        mark_read: markRead,
        to_person: markRead,
      }
      const thread: OperationReply<'thread'> = await call('thread', input)
      next = thread.next_turn
    }
  }

  async #evidence(when: When): Promise<void> {
    const call = when === 'soon' ? this.#later : this.#now
    await this.#quietly(() => call('evidence', { limit: EVIDENCE_PAGE }))
    await this.#quietly(() => this.#fetch('evidenceHeads', {}, 'soon'))
  }

  async #settings(): Promise<void> {
    for (const name of settingsAsked) await this.#quietly(() => this.#fetch(name, {}, 'soon'))
  }

  async #account(): Promise<void> {
    await this.#quietly(() => this.#fetch('balance', {}, 'soon'))
    await this.#quietly(() => this.#fetch('spend', {}, 'soon'))
    await this.#quietly(() => this.#fetch('prices', {}, 'soon'))
  }

  async #fetch<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    when: When,
  ): Promise<OperationReply<N>> {
    const { now } = this.#around
    try {
      const reply = await this.#node.call(name, input)
      this.#held.apply({ type: 'reply', name, input, reply, at: now() } as Replied, when)
      return reply
    } catch (error) {
      this.#held.apply({ type: 'refused', name, input, refusal: refusalOf(error, now()) }, when)
      throw error
    }
  }

  /** What fails here stands in the view already. */
  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof NodeGone) this.#fault = error
    }
  }

  #lose(wasStopped: boolean, retryAt: number): void {
    const before = this.view.connection
    const since = before.state === 'lost' || before.state === 'stopped' ? before.since : this.#around.now()
    const { says, next } = refusalOf(this.#fault, this.#around.now())
    const lost = { state: 'lost' as const, says, since, retryAt, ...present({ next }) }
    const isStopped = wasStopped || (before.state === 'stopped' && isNobody(this.#fault))
    const connection = isStopped ? { state: 'stopped' as const, since, retryAt } : lost
    this.#held.apply({ type: 'connection', connection }, 'soon')
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const { signal } = this.#stopped
      const end = () => {
        callOff()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const callOff = this.#around.after(ms, end)
      signal.addEventListener('abort', end)
    })
  }
}
