/** For tests: what a rule of the store's contract works with, and samples that it writes. */
import type { AgentRow, Enqueue, Store } from '../../store/port.ts'

export const DAY_MS = 86_400_000
export const NOW_MS = 1_800_000_000_000

/** An engine with a store of its own, empty at first. */
export type Opened = { store: Store; reopen(): Promise<Store>; end(): Promise<void> }
export type Open = () => Promise<Opened>

/** One sentence of the contract; it throws where a store does otherwise. */
export type Rule = readonly [name: string, holds: (world: World) => Promise<void>]

export const rule = (name: string, holds: Rule[1]): Rule => [name, holds]

export const bytes = (length: number, fill: number): Uint8Array => new Uint8Array(length).fill(fill)

export const limits = {
  envelopesMax: 100,
  bytesMax: 1_000_000,
  strangerEnvelopesMax: 50,
  strangerBytesMax: 500_000,
  timesPerDayMax: 3,
}

export function item(mailbox: number, n: number, more: Partial<Enqueue> = {}): Enqueue {
  return {
    mailbox,
    digest: bytes(32, n),
    nowMs: NOW_MS,
    deleteAtMs: NOW_MS + DAY_MS,
    size: 100,
    stranger: false,
    content: bytes(100, n),
    file: undefined,
    use: undefined,
    limits,
    ...more,
  }
}

export const ackOf = (id: number) => ({ id, handle: undefined, dack: undefined })

export function agentRow(aid: string, more: Partial<AgentRow> = {}): AgentRow {
  return {
    number: 0,
    aid,
    version: 0,
    registered: true,
    name: 'name',
    caps: ['a.b'],
    summary: 'summary',
    readme: 'readme',
    visibility: 'hub-local',
    kel: bytes(10, 1),
    keys: undefined,
    keysBefore: undefined,
    keysBeforeUntilMs: 0,
    registeredDayMs: NOW_MS,
    probationUntilMs: NOW_MS,
    seenHourMs: 0,
    card: undefined,
    mail: 'none',
    ...more,
  }
}

/** A store with one agent, `agent-one`, whose mailbox is `box`. */
export class World {
  readonly #opened: Opened
  store: Store
  box = 0

  private constructor(opened: Opened) {
    this.#opened = opened
    this.store = opened.store
  }

  static async open(open: Open): Promise<World> {
    const world = new World(await open())
    world.box = await world.newMailbox('agent-one')
    return world
  }

  /** The same rows as a later start finds them. */
  async reopen(): Promise<void> {
    this.store = await this.#opened.reopen()
  }

  end(): Promise<void> {
    return this.#opened.end()
  }

  async newMailbox(aid: string): Promise<number> {
    const put = await this.put(agentRow(aid))
    if (put.outcome !== 'stored') throw new Error('a new agent was not stored')
    return put.number
  }

  put(row: AgentRow, terms: readonly string[] = []) {
    return this.store.putAgent({ row, entry: undefined, terms })
  }

  /** Queues what arrives together, as one group. */
  enqueueAll(items: Enqueue[]) {
    return Promise.all(items.map(one => this.store.enqueue(one)))
  }

  async outcomes(items: Enqueue[]) {
    return (await this.enqueueAll(items)).map(result => result.outcome)
  }

  async queued(one: Enqueue) {
    const result = await this.store.enqueue(one)
    if (result.outcome !== 'queued') throw new Error(result.outcome)
    return result
  }

  async pollIds(mailbox = this.box, afterId = 0, nowMs = NOW_MS): Promise<number[]> {
    const { envelopes } = await this.store.poll({ mailbox, afterId, limit: 100, bytesMax: 1e9, nowMs })
    return envelopes.map(({ id }) => id)
  }

  /** Collects without a confirmation. */
  ack(...ids: number[]) {
    return this.store.ack({ mailbox: this.box, items: ids.map(ackOf), keepUntilMs: NOW_MS + DAY_MS })
  }
}
