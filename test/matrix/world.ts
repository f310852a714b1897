/**
 * Two nodes with every part that works by itself, a hub and a second one, all in memory and driven by hand: what waits
 * stays where it is until a test lets time pass.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Carriers } from '../../daemon/carrier/carrier.ts'
import type { Ground } from '../../daemon/context.ts'
import type { HubDoors } from '../../daemon/hubs/open.ts'
import { keepLasting } from '../../daemon/store/lasting.ts'
import { TestWorld } from '../../daemon/testing/node.ts'
import { OPEN, Post, type PostSnapshot, ScriptedHub } from '../../daemon/testing/scripted-hub.ts'
import { openWarm } from '../../daemon/testing/warm-stores.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import { systemTimers, type Timers } from '../../protocol/timers.ts'
import { DirectLines } from './direct.ts'
import { fillEmpty, fillFolder, type KeptFolder, keptFolder } from './folders.ts'
import { Outside, SAID_BY_MODEL } from './outside.ts'
import { Side } from './side.ts'

export const PRICE = 5
export const GRANTED = 100
/** What the hub of the payer may owe that of the payee. */
export const LIMIT = 4 * PRICE
/** So often a model answers what it is asked: a turn may be asked about twice, and its answer may never come. */
const MODEL_LOOKS = 5
const MODEL_LOOKS_MAX = 20
const TASK_PRICES = { [TASK]: PRICE }
const { signal } = new AbortController()

/** What a person asked for may be refused with a sentence. */
function refusedOnly(error: unknown): void {
  if (!(error instanceof OperationRefused)) throw error
}

const hasAnswered = ({ ctx }: Side): boolean =>
  ctx.store.get("SELECT 1 FROM messages WHERE direction = 'out' AND text = ?", SAID_BY_MODEL) !== undefined

export type Said = { by: Side; to: Side; id: string; text: string }

/** What was said before the backup, and which messages of others a side had before it was put back. */
export type Loss = { saidBefore: number; held: ReadonlySet<string> }

/** A world of which nothing runs. */
export type KeptWorld = {
  folders: { alice: KeptFolder; bob: KeptFolder }
  post: PostSnapshot
  other: PostSnapshot
  isAcross: boolean
  said: { by: 'alice' | 'bob'; id: string; text: string }[]
  granted: number
  ms: number
}

/** The directory of a side that ends, as one that may be used at any place. */
async function keepDirectory(side: Side): Promise<KeptFolder> {
  await side.stop()
  await side.node.close()
  const store = openWarm(side.node.dir)
  keepLasting(store, { place: null })
  store.close()
  rmSync(join(side.node.dir, 'run'), { recursive: true, force: true })
  return keptFolder(side.node.dir)
}

/** Nobody waits for a hub that holds no poll. */
const atOnce: Timers = { ...systemTimers, after: (_, work) => systemTimers.after(0, work) }

export class MatrixWorld extends TestWorld {
  override readonly post: Post
  readonly other: Post
  /** A hub of sealed mail, for those that leave open mail. */
  readonly sealed: Post | undefined
  /** Whether both hubs read the mail that they carry. */
  readonly isOpen: boolean
  protected override readonly timers: Timers
  readonly direct = new DirectLines()
  readonly said: Said[] = []
  readonly copies: Side[] = []
  readonly #lost = new Map<Side, Loss>()
  /** Events of tasks up to this one were told to nobody, since nobody wanted to be told yet. */
  pushesFrom = 0
  /** What a person asks for once more, since no answer came. */
  again: (() => Promise<unknown>) | undefined
  outside: Outside | undefined
  /** A task that its person put away, and how many messages of the other side it had then. */
  readonly archived = new Map<Side, { id: string; heard: number }>()
  granted = 0
  isHubRestored = false
  alice!: Side
  bob!: Side
  readonly #clients = new Map<string, ScriptedHub>()
  /** Whether the two live at two hubs that list each other. */
  isAcross = false

  constructor({ isOpen = false }: { isOpen?: boolean } = {}) {
    super()
    this.isOpen = isOpen
    this.timers = isOpen ? { ...atOnce, monotonic: () => this.clock.ms } : systemTimers
    const given = { now: () => this.clock.ms, ...(isOpen && { wire: OPEN }) }
    this.post = new Post(given)
    this.other = new Post({ ...given, seed: new Uint8Array(32).fill(203), url: 'http://other.test' })
    const last = { now: given.now, seed: new Uint8Array(32).fill(204), url: 'http://sealed.test' }
    this.sealed = isOpen ? new Post(last) : undefined
  }

  get posts(): Post[] {
    return [this.post, this.other, ...(this.sealed === undefined ? [] : [this.sealed])]
  }

  /** The hub of a side. */
  homeOf(side: Side): Post {
    return this.posts.find(({ url }) => url === side.hub.url) ?? this.post
  }

  protected override postOf(name: string): Post {
    return this.isAcross && name.endsWith('bob') ? this.other : this.post
  }

  protected override carriersOf(below: Ground): Carriers {
    return this.direct.carriersOf(below)
  }

  /** The hub of alice pays, that of bob is owed so much at most. */
  listPeers(): void {
    this.post.list(this.other)
    this.other.list(this.post, LIMIT)
  }

  /** The same as {@link begin}, with a hub for each. */
  beginAcross(): Promise<this> {
    this.isAcross = true
    this.listPeers()
    return this.begin()
  }

  /** Two nodes that have joined their hub and know each other by name. */
  async begin(): Promise<this> {
    const { alice, bob } = await this.pair()
    for (const { ctx } of [alice, bob]) ctx.settings.change({ guest_messages: 5 })
    this.alice = new Side(this, 'alice', alice)
    this.bob = new Side(this, 'bob', bob)
    for (const side of this.sides) {
      await side.parts.membership.join(this.homeOf(side).url, signal)
      side.parts.calls.start()
    }
    return this
  }

  /** Ends both processes and keeps what is left, for other worlds to go on from. */
  async keep(): Promise<KeptWorld> {
    const { post, other, isAcross, said, granted, clock } = this
    const [alice, bob] = [await keepDirectory(this.alice), await keepDirectory(this.bob)]
    const saidBy = said.map(({ by, id, text }) => ({ by: by.name as 'alice' | 'bob', id, text }))
    // whoever goes on draws other random bytes by the time, also where none passed
    const hubs = { post: post.snapshot(), other: other.snapshot(), isAcross }
    return { folders: { alice, bob }, ...hubs, said: saidBy, granted, ms: clock.ms + 1 }
  }

  /** Both start on copies of directories that were kept, at a hub that has what it had then. */
  async goOn({ folders, post, other, isAcross, said, granted, ms }: KeptWorld): Promise<this> {
    this.clock.ms = ms
    this.granted = granted
    this.post.restore(post)
    this.other.restore(other)
    this.isAcross = isAcross
    if (isAcross) this.listPeers()
    const start = async (name: 'alice' | 'bob') => {
      const dir = mkdtempSync(join(tmpdir(), `svc-matrix-${name}-`))
      fillEmpty(dir, folders[name])
      // what was drawn before is not drawn again
      const side = new Side(this, name, await this.openQuietly(dir, `${name} at ${ms}`, name))
      await side.begin()
      return side
    }
    this.alice = await start('alice')
    this.bob = await start('bob')
    for (const { by, id, text } of said)
      this.said.push({ by: this[by], to: this.opposite(this[by]), id, text })
    return this
  }

  get sides(): Side[] {
    return [this.alice, this.bob]
  }

  opposite(side: Side): Side {
    return side === this.alice ? this.bob : this.alice
  }

  /** A copy of a side's directory is started on another machine, while that side goes on. */
  async startCopy(of: Side): Promise<void> {
    const dir = mkdtempSync(join(tmpdir(), 'svc-matrix-copy-'))
    await of.restart(own => fillFolder(dir, keptFolder(own)))
    rmSync(join(dir, 'run'), { recursive: true, force: true })
    const copy = new Side(
      this,
      `copy of ${of.name}`,
      await this.openQuietly(dir, `copy of ${of.name}`, `copy of ${of.name}`),
      true,
    )
    this.copies.push(copy)
    for (const { letters } of this.posts) letters.twins.add(copy.aid)
    await copy.begin()
    for (const { letters } of this.posts) letters.twins.clear()
  }

  /** The clients of one side at the hubs of this world. */
  doorsOf({ aid, name: of }: Side): HubDoors {
    const at = (url: string) => {
      const post = this.posts.find(one => one.url === url)
      if (post === undefined) throw new Error(`there is no hub ${url}`)
      const name = `${of} ${url}`
      const client = this.#clients.get(name) ?? new ScriptedHub(post, aid, () => this.clock.ms)
      this.#clients.set(name, client)
      return client
    }
    return { open: ({ url }) => at(url), meet: async url => at(url) }
  }

  /** Credits for alice, and prices for what bob does. */
  grant(prices: Record<string, number> = TASK_PRICES): void {
    this.granted += GRANTED
    this.post.ledger.grant(this.alice.aid, GRANTED)
    this.bob.ctx.settings.change({ prices })
  }

  /** The programs of others that this world needs. */
  async openOutside(): Promise<Outside> {
    this.outside ??= await Outside.open()
    return this.outside
  }

  fileOf(text: string): string {
    const path = join(mkdtempSync(join(tmpdir(), 'svc-matrix-')), 'report.txt')
    writeFileSync(path, text)
    return path
  }

  unreached(): Error {
    return Object.assign(new Error('nothing listens there'), { code: 'ECONNREFUSED' })
  }

  /** The next envelope of this side is cut off in the middle of its content. */
  breakNextSend({ hub }: Side): void {
    hub.answers({
      send: async ({ content }) => {
        hub.answers({})
        for await (const _ of content()) break
        throw Object.assign(new Error('the connection was cut'), { code: 'ECONNRESET' })
      },
    })
  }

  /** `of` has no capability of `peer` left. */
  emptyStock(of: Side, peer: Side): void {
    of.ctx.store.transaction(() => {
      of.ctx.store.run('UPDATE capabilities_held SET uses = 99 WHERE peer = ?', peer.aid)
    })
  }

  /** What this side did after the moment to which it is put back may be gone. */
  noteLost(side: Side, loss: Loss): void {
    this.#lost.set(side, loss)
  }

  /** What a restore of this side explains; undefined where it was not restored. */
  lossOf(side: Side): Loss | undefined {
    return this.#lost.get(side)
  }

  grantedTo(aid: string): number {
    return aid === this.alice.aid ? this.granted : 0
  }

  noteHubRestored(): void {
    this.isHubRestored = true
  }

  hasLost(side: Side): boolean {
    return this.#lost.has(side)
  }

  /** The hubs answer as usual again. */
  heal(): void {
    for (const { ledger } of this.posts) {
      ledger.heal()
      ledger.isAway = false
    }
    for (const { hub } of this.sides) hub.answers({})
  }

  /** Everything that can go on does. */
  async calm(): Promise<void> {
    this.heal()
    if (this.outside !== undefined) this.outside.refuses = false
    await this.turns(3)
    await this.again?.().catch(refusedOnly)
    await this.finishWork()
    await this.turns(3)
  }

  /** Calls at work come to their end; the model answers, and its answer is taken. */
  async finishWork(): Promise<void> {
    for (const side of this.sides) for (const call of side.running.splice(0)) call.end()
    const agents = this.sides.filter(({ ctx }) => ctx.settings.current.auto_reply !== undefined)
    if (agents.length === 0) return
    for (let n = 0; n < MODEL_LOOKS_MAX && (n < MODEL_LOOKS || !agents.every(hasAnswered)); n++) {
      this.outside?.answer()
      await pause(2)
    }
  }

  /** Everybody takes turns, a minute after each; who would find everything as it left it, and nothing due, just waits. */
  async turns(count: number): Promise<void> {
    const leftAt = new Map<Side, number>()
    let activity = this.#activity()
    for (let turn = 0; turn < count; turn++) {
      for (const side of [...this.sides, ...this.copies]) {
        const before = activity
        if (leftAt.get(side) === before && !side.isDue) continue
        await side.turn()
        activity = this.#activity()
        if (activity === before) leftAt.set(side, before)
      }
      for (const { ledger } of this.posts) ledger.across.tick()
      this.pass(60_000)
    }
  }

  /** Grows with everything that a node stores or says to its hub, but for looks at the mailbox. */
  #activity(): number {
    return [...this.sides, ...this.copies].reduce((sum, { ctx, hub, kills }) => {
      const stored = ctx.store.get<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0
      return sum + stored + kills + hub.calls.filter(call => call !== 'poll').length
    }, this.post.ledger.asked.length + this.other.ledger.asked.length)
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.outside?.[Symbol.dispose]()
    const sides = [this.alice, this.bob, ...this.copies]
    for (const side of sides) await side?.stop()
    await super[Symbol.asyncDispose]()
  }
}
