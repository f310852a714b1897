/**
 * Agents as the hub works with them: the registry's row with its log and key sets read, cached, and written back only
 * over the version that was read.
 */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { cardTerms, keptCard } from '../../protocol/identity/card.ts'
import { directoryHash, sealBox } from '../../protocol/identity/directory.ts'
import { encodeKel, storedKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../protocol/identity/kel-lazy.ts'
import { KeySet, KeyStateNotice } from '../../protocol/identity/keyset.ts'
import type { Archiving } from '../store/moderation-port.ts'
import type { Account, AgentRow, JudgedBy, PutAgent, PutAgentResult, SignUpRefused } from '../store/port.ts'
import { makeRoom } from './bounded.ts'
import type { HubContext } from './context.ts'
import { HOUR_MS, QUIET_AFTER_MS } from './limits.ts'
import type { Cache } from './ports/caches.ts'
import type { Memory } from './ports/memory.ts'
import { Refusal } from './refusal.ts'

const CACHED_MAX = 10_000
const ATTEMPTS_MAX = 5
const NOTICE_LIFE_MS = 10 * 60_000
const SALT_BYTES = 32

export type Agent = {
  row: AgentRow
  log: VerifiedKel
  keys: KeySet | undefined
  keysBefore: KeySet | undefined
}

/** What a new account takes, and what its agent is told where there is none left. */
export type SignUpTerms = Pick<PutAgent, 'signUp' | 'invite'> & { refused: (why: SignUpRefused) => Refusal }
type Stored = Extract<PutAgentResult, { outcome: 'stored' }>

/** What agents need of the hub; the commands of a stopped one have no more. */
export type AgentsContext = Pick<HubContext, 'identity' | 'store' | 'blobs' | 'now' | 'random'> & {
  memory: Pick<Memory, 'caches'>
}

export class Agents {
  readonly #context: AgentsContext
  readonly #cached: Cache<Agent>
  readonly #accounts: Cache<Account>
  readonly #seenMs = new Map<number, number>()
  readonly #listed = new Map<string, { notice: KeyStateNotice; madeMs: number; version: number }>()
  readonly #notices = new Map<string, { notice: KeyStateNotice; madeMs: number; head: string }>()

  constructor(context: AgentsContext) {
    this.#context = context
    const { caches } = context.memory
    this.#cached = caches.of('agents', CACHED_MAX)
    this.#accounts = caches.of('accounts', CACHED_MAX)
  }

  /** The agent of an AID that is or was registered here. */
  async find(aid: string): Promise<Agent | undefined> {
    return await this.#cached.find(aid, async () => {
      const row = await this.#context.store.findAgent(aid)
      return row === undefined ? undefined : readAgent(row)
    })
  }

  /** The same for who has signed under this key event, which another process may have taken a moment ago. */
  async findUnder(aid: string, seq: number): Promise<Agent | undefined> {
    const known = await this.find(aid)
    if (known === undefined || known.log.seq >= seq) return known
    this.#cached.refresh(aid)
    return await this.find(aid)
  }

  /** Whether the agent is as it was found; `version`: that of its row now, where another process may have written it. */
  async isAsOf({ log, row }: Agent, version: number | undefined): Promise<boolean> {
    if (version === row.version) return true
    if (version !== undefined) this.#cached.refresh(log.aid)
    return (await this.find(log.aid))?.row.version === row.version
  }

  /** Whether an agent is registered still, under the key by which it was judged, whatever other processes wrote. */
  async isUnderSameKey({ log }: Agent): Promise<boolean> {
    this.#cached.refresh(log.aid)
    return (await this.findRegistered(log.aid))?.log.seq === log.seq
  }

  /** {@link update} by the agent itself, which is refused where its key was retired since it was judged. */
  async updateBy(signer: Agent, change: (held: Agent) => Agent, archiving?: Archiving) {
    const { aid, seq } = signer.log
    const judged = (held: Agent | undefined): Agent => {
      if (held?.log.seq !== seq) throw new Refusal('keyRetired')
      return change(held)
    }
    return await this.update(aid, judged, undefined, archiving)
  }

  /** What the operator set for an AID. */
  async account(aid: string): Promise<Account> {
    const read = () => this.#context.store.account(aid)
    return (await this.#accounts.find(aid, read)) ?? (await read())
  }

  /** The operator changed something about an AID. */
  forgetAccount(aid: string): void {
    this.#accounts.forget(aid)
  }

  /** Frees what the store gives again. */
  freeMemory(): void {
    this.#cached.clear()
    this.#accounts.clear()
  }

  /** The agent of an AID that is registered here now. */
  async findRegistered(aid: string): Promise<Agent | undefined> {
    const agent = await this.find(aid)
    return agent?.row.registered === true ? agent : undefined
  }

  /** The same, where its mail is not open: what is shown to whoever seals. */
  async findShown(aid: string): Promise<Agent | undefined> {
    const agent = await this.findRegistered(aid)
    return agent?.row.mail === 'open' ? undefined : agent
  }

  /**
   * Changes an agent's row: `change` sees the newest row and returns the next one; it runs again when somebody else
   * wrote meanwhile. `signUpOf` says what a new row takes that comes by work or an invitation; `archiving` marks the agent
   * with the same write.
   */
  async update(
    aid: string,
    change: (held: Agent | undefined) => Agent | Promise<Agent>,
    signUpOf: (held: Agent | undefined) => SignUpTerms | undefined = () => undefined,
    archiving?: Archiving,
  ): Promise<{ agent: Agent; stored: Stored }> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const held = await this.find(aid)
      const next = await change(held)
      const terms = signUpOf(held)
      const stored = await this.#context.store.putAgent({
        row: next.row,
        entry: this.#entry(next),
        terms: next.row.card === undefined ? [] : termsOf(next.row.card),
        signUp: terms?.signUp,
        invite: terms?.invite,
        archiving,
      })
      this.#cached.forget(aid)
      if (stored.outcome === 'conflict') continue
      if (stored.outcome === 'archived') throw new Refusal('admissionRequired', { aid, keptOut: 'archived' })
      if (stored.outcome !== 'stored') throw terms?.refused(stored.outcome)
      await this.#context.blobs.remove(stored.files)
      const row = { ...next.row, number: stored.number, version: stored.version }
      const agent = { ...next, row }
      this.#cached.put(aid, agent)
      return { agent, stored }
    }
    // as often as this only its own agent, or somebody with its key, writes it
    throw new Refusal('overloaded')
  }

  /**
   * A write that names the rows by which it was judged: while one of them has moved on, it is judged anew by the newest.
   * `attempt` judges and writes; it is told whether it has done so before.
   */
  async judged<R extends { outcome: string; by: readonly JudgedBy[] }>(
    attempt: (isAgain: boolean) => Promise<R>,
  ): Promise<R> {
    for (let tried = 0; tried < ATTEMPTS_MAX; tried++) {
      const written = await attempt(tried > 0)
      if (written.outcome !== 'moved') return written
      for (const { aid } of written.by) this.#cached.forget(aid)
    }
    throw new Refusal('overloaded')
  }

  /** Notes that an agent collected mail; written at most once an hour. */
  noteSeen(agent: Agent): void {
    const nowMs = this.#context.now()
    const { number } = agent.row
    this.#seenMs.set(number, nowMs)
    const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
    if (agent.row.seenHourMs >= hourMs) return
    agent.row.seenHourMs = hourMs
    this.#context.store.markSeen(number, hourMs).catch(() => undefined)
  }

  /** Whether the agent has collected nothing for an hour. */
  isQuiet({ row }: Pick<Agent, 'row'>): boolean {
    const nowMs = this.#context.now()
    const lastMs = this.#seenMs.get(row.number)
    if (lastMs !== undefined) return nowMs - lastMs > QUIET_AFTER_MS
    return nowMs - row.seenHourMs > QUIET_AFTER_MS + HOUR_MS
  }

  /** The hub's signed word on the agent's key state, made anew every few minutes. */
  notice(agent: Pick<Agent, 'log'>): KeyStateNotice {
    const { identity, now } = this.#context
    const { log } = agent
    const head = toBase64url(log.headDigest)
    const held = this.#notices.get(log.aid)
    if (held !== undefined && held.head === head && now() - held.madeMs < NOTICE_LIFE_MS) return held.notice
    const notice = KeyStateNotice.sign(identity.seed, {
      aid: log.aid,
      seq: log.seq,
      headDigest: log.headDigest,
      hubTs: now(),
      hub: identity.aid,
      hubSeq: identity.seq,
    })
    if (this.#notices.size >= CACHED_MAX) this.#notices.clear()
    this.#notices.set(log.aid, { notice, madeMs: now(), head })
    return notice
  }

  /** The hub signs under another key: what it said before is said anew. */
  forgetNotices(): void {
    this.#notices.clear()
    this.#listed.clear()
  }

  /** The same of an agent as it is stored; its log is read only when there is no notice of this version of it. */
  noticeOf(row: AgentRow): KeyStateNotice {
    const { now } = this.#context
    const made = this.#listed.get(row.aid)
    if (made !== undefined && made.version === row.version && now() - made.madeMs < NOTICE_LIFE_MS)
      return made.notice
    const notice = this.notice({ log: storedKel(decodeKelLazily(row.kel)) })
    makeRoom(this.#listed, CACHED_MAX)
    this.#listed.set(row.aid, { notice, madeMs: now(), version: row.version })
    return notice
  }

  /** Whoever is registered and has a key set can be found by its bucket. */
  #entry(agent: Agent): { h: Uint8Array; box: Uint8Array } | undefined {
    if (!agent.row.registered || agent.keys === undefined) return undefined
    const { aid } = agent.log
    const box = sealBox(aid, this.#context.random(SALT_BYTES), {
      kel: [...agent.log.events],
      keySet: agent.keys,
      notice: this.notice(agent),
    })
    return { h: directoryHash(aid), box }
  }
}

/** The words by which the store finds a card. */
function termsOf(card: string): string[] {
  const { skills, tags } = cardTerms(keptCard(card))
  return [...skills.map(id => `skill:${id}`), ...tags.map(tag => `tag:${tag}`)]
}

/** What was verified when it was written is not verified again. */
export function readAgent(row: AgentRow): Agent {
  return {
    row,
    log: storedKel(decodeKelLazily(row.kel)),
    keys: row.keys === undefined ? undefined : KeySet.decode(row.keys),
    keysBefore: row.keysBefore === undefined ? undefined : KeySet.decode(row.keysBefore),
  }
}

/** The agent with another log in its row; a log under a newer key state drops the key sets of the older one. */
export function withLog(agent: Agent, log: VerifiedKel): Agent {
  const kept = agent.keys !== undefined && agent.keys.body.kelSeq === log.seq
  const card = agent.log.seq === log.seq ? agent.row.card : undefined
  const row: AgentRow = { ...agent.row, kel: encodeKel(log.events), card }
  if (kept) return { ...agent, log, row }
  return {
    row: { ...row, keys: undefined, keysBefore: undefined, keysBeforeUntilMs: 0 },
    log,
    keys: undefined,
    keysBefore: undefined,
  }
}

/** The agent as it is remembered once it is not registered any more: its log, its times, its reviews elsewhere. */
export function withoutAccount({ row, log }: Agent): Agent {
  return {
    log,
    keys: undefined,
    keysBefore: undefined,
    row: {
      ...row,
      registered: false,
      name: '',
      caps: [],
      summary: '',
      readme: '',
      visibility: 'hub-local',
      card: undefined,
      keys: undefined,
      keysBefore: undefined,
      keysBeforeUntilMs: 0,
    },
  }
}

/** The agent with another key set; the one it replaces is remembered until `beforeUntilMs`. */
export function withKeys(agent: Agent, keys: KeySet, beforeUntilMs: number): Agent {
  const before =
    agent.keys !== undefined && agent.keys.body.kelSeq === keys.body.kelSeq ? agent.keys : undefined
  return {
    ...agent,
    keys,
    keysBefore: before,
    row: {
      ...agent.row,
      keys: KeySet.encode(keys),
      mail: 'sealed',
      keysBefore: before === undefined ? undefined : KeySet.encode(before),
      keysBeforeUntilMs: before === undefined ? 0 : beforeUntilMs,
    },
  }
}
