/**
 * Registration, key sets, pushed logs, profile, visibility and leaving (hub API §4.2, §4.5). The order of checks is the
 * order of their cost: size, one hash, admission or proof of work, and only then signatures.
 */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { CARD_BYTES_MAX, cardText, isPlainCard, verifyCard } from '../../../protocol/identity/card.ts'
import {
  compareKel,
  DEACTIVATION,
  encodeKel,
  type KeyEvent,
  type VerifiedKel,
} from '../../../protocol/identity/kel.ts'
import { isFresh, timesAcceptable } from '../../../protocol/identity/kel-times.ts'
import { witnessKel } from '../../../protocol/identity/kel-witness.ts'
import {
  KEY_GRACE_MS,
  KeySet,
  type KeySetFault,
  KeySetInvalid,
  keySetVerdict,
  verifyKeySet,
} from '../../../protocol/identity/keyset.ts'
import type { Visibility } from '../../store/port.ts'
import { addressBucket } from '../address.ts'
import { type Agent, type Agents, type SignUpTerms, withKeys, withLog, withoutAccount } from '../agents.ts'
import type { Acceptance } from '../clocks.ts'
import type { HubContext } from '../context.ts'
import type { Issuance, Trial } from '../ledger/issuance.ts'
import { CLOCK_WINDOW_MS, DAY_MS } from '../limits.ts'
import type { Buckets } from '../ports/rates.ts'
import { Refusal } from '../refusal.ts'
import type { Admission } from './admission.ts'
import { eventsOf, type KeyLogs, lastBody, newest } from './key-logs.ts'
import { required } from './leaving.ts'
import { RefusedNewcomers } from './refused-lately.ts'

const MEND_FIRST = 'mend that first, then solve the challenge and register again'

export type Profile = { name?: string; caps?: string[]; summary?: string; readme?: string }
export type Registration = {
  aid: string
  kel: Uint8Array
  profile: Profile
  keys: Uint8Array | undefined
  prevSeq: number | undefined
  pow: { seed: Uint8Array; nonce: Uint8Array } | undefined
  checkOnly: boolean
  /** The card that came along, not yet judged, and the address of this hub that it must name. */
  card?: { value: unknown; baseUrl: string } | undefined
}
export type CardStatus = 'none' | 'stored' | 'unchanged' | 'refused'
export type KeysStatus = 'none' | 'stored' | 'unchanged'
export type Registered =
  | { checked: 'admitted' | 'open' }
  | {
      keysStatus: KeysStatus
      cardStatus: CardStatus
      /** Of a new account only. */
      probationUntilMs: number | undefined
      trial: Trial | undefined
    }

/** Verifies the request's own signature under the key state of a log; throws its refusal. */
export type VerifySigner = (log: VerifiedKel, acceptance?: Acceptance) => Promise<unknown>

/** Ends what the signer still holds open after its key state or registration changed. */
export type EndSigner = (agent: Agent) => Promise<void>

type Parts = { keyLogs: KeyLogs; endSigner: EndSigner; issuance: Issuance; admission: Admission }

export class Registry {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #endSigner: EndSigner
  readonly #pushes: Buckets
  readonly #admission: Admission
  readonly #keyLogs: KeyLogs
  readonly #issuance: Issuance
  readonly refused = new RefusedNewcomers()

  constructor(context: HubContext, agents: Agents, { keyLogs, endSigner, issuance, admission }: Parts) {
    this.#context = context
    this.#agents = agents
    this.#endSigner = endSigner
    this.#pushes = context.memory.rates.of('pushed logs', context.limits.pushRate)
    this.#admission = admission
    this.#keyLogs = keyLogs
    this.#issuance = issuance
  }

  /** Refuses an agent that has not registered while admission is closed. */
  checkOpen(aid: string): Promise<void> {
    return this.#admission.checkOpen(aid)
  }

  async register(given: Registration, address: string, verifySigner: VerifySigner): Promise<Registered> {
    const events = eventsOf(given.aid, given.kel)
    const held = await this.#agents.find(given.aid)
    const isNew = held?.row.registered !== true
    const admitted = isNew ? await this.#judgeNewcomer(given, address, events) : 'admitted'
    const log = await this.#keyLogs.judge({ aid: given.aid, events, address }, given.kel, held?.log)
    if (log.deactivated) throw new Refusal('identityDeactivated')
    await verifySigner(log, { changesNothing: given.checkOnly })
    if (given.checkOnly) return { checked: admitted }
    const { identity, now } = this.#context
    if (!timesAcceptable(log, held?.log.events.length ?? 0, now(), identity.aid))
      throw new Refusal('keyEventTimeOutside')
    if (log.home !== identity.aid) throw new Refusal('witnessElsewhere')
    return await this.#store(given, address, log, admitted === 'open')
  }

  async #judgeNewcomer(
    given: Registration,
    address: string,
    events: readonly KeyEvent[],
  ): Promise<'admitted' | 'open'> {
    try {
      return await this.#admission.judge(given, address)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.code === 'powRequired') throw this.#warned(error, given, events)
      this.refused.note(given.aid, error, this.#context.now())
      throw error
    }
  }

  /** Nobody works for an account that his log or key set, as he shows them, would not be given. */
  #warned({ code, facts }: Refusal, { keys }: Registration, events: readonly KeyEvent[]): Refusal {
    const fault = this.#faultOfClaims(lastBody(events), keys)
    if (fault === undefined) return new Refusal(code, facts)
    return new Refusal(code, { ...facts, why: `${facts.why}, and ${fault}`, step: MEND_FIRST })
  }

  #faultOfClaims(last: KeyEvent['body'], keys: Uint8Array | undefined): string | undefined {
    const { identity, now } = this.#context
    if (last.type === DEACTIVATION) return 'the log ends its identity'
    if (last.witnesses[0] !== identity.aid)
      return 'the last event of the log does not name this hub as witness'
    if (!isFresh(last.ts, now())) return "the time of its last event is too far from this hub's clock"
    const isOfLast = keys === undefined || decodedSet(keys).body.kelSeq === last.seq
    return isOfLast ? undefined : 'the key set is not that of the last event'
  }

  async #store(
    given: Registration,
    address: string,
    submitted: VerifiedKel,
    byWork: boolean,
  ): Promise<Registered> {
    const { identity, limits, now } = this.#context
    let keysStatus: KeysStatus = 'none'
    let cardStatus: CardStatus = 'none'
    let isNew = false
    let rotated = false
    const change = async (held: Agent | undefined): Promise<Agent> => {
      await this.#admission.checkBlocked(given.aid)
      const merged = held === undefined ? submitted : newest(held.log, submitted)
      const log = witnessKel(merged, identity, now())
      isNew = held?.row.registered !== true
      rotated = held !== undefined && held.log.seq !== log.seq
      const base = held === undefined ? this.#newAgent(given.aid, log) : withLog(held, log)
      const probationUntilMs = held === undefined ? now() + limits.probationMs : base.row.probationUntilMs
      const named = withProfile(base, given.profile)
      const judged = judgeCard(given.card, log, named.row.card)
      cardStatus = judged.cardStatus
      const row = { ...named.row, registered: true, probationUntilMs, card: judged.card }
      const agent = { ...named, row }
      if (given.keys === undefined) return agent
      const published = this.#withKeySet(agent, given.keys, given.prevSeq)
      keysStatus = published.keysStatus
      return published.agent
    }
    const signUpOf = (held: Agent | undefined): SignUpTerms | undefined => {
      if (!byWork || held?.row.registered === true) return undefined
      const signUp = this.#admission.signUp(given, address)
      return { signUp, refused: why => this.#admission.refused(why, given.aid) }
    }
    const { agent } = await this.#agents.update(given.aid, change, signUpOf)
    if (rotated) await this.#endSigner(agent)
    const { probationUntilMs } = agent.row
    if (!isNew) return { keysStatus, cardStatus, probationUntilMs: undefined, trial: undefined }
    const trial = await this.#issuance.trialOfNew(given.aid, byWork)
    return { keysStatus, cardStatus, probationUntilMs, trial }
  }

  #newAgent(aid: string, log: VerifiedKel): Agent {
    const nowMs = this.#context.now()
    const row = {
      number: 0,
      aid,
      version: 0,
      registered: true,
      name: '',
      caps: [],
      summary: '',
      readme: '',
      visibility: 'hub-local' as const,
      kel: encodeKel(log.events),
      keys: undefined,
      keysBefore: undefined,
      keysBeforeUntilMs: 0,
      registeredDayMs: Math.floor(nowMs / DAY_MS) * DAY_MS,
      probationUntilMs: 0,
      seenHourMs: 0,
      card: undefined,
      mail: 'none' as const,
    }
    return { row, log, keys: undefined, keysBefore: undefined }
  }

  /** Publishes a key set for a registered agent. */
  async publishKeys(aid: string, keys: Uint8Array, prevSeq: number): Promise<KeysStatus> {
    let status: KeysStatus = 'none'
    await this.#agents.update(aid, held => {
      const published = this.#withKeySet(required(held), keys, prevSeq)
      status = published.keysStatus
      return published.agent
    })
    return status
  }

  #withKeySet(
    agent: Agent,
    bytes: Uint8Array,
    prevSeq: number | undefined,
  ): { agent: Agent; keysStatus: KeysStatus } {
    const set = this.#verifiedSet(agent.log, bytes)
    const stored = agent.keys
    const heldSet = stored && {
      kelSeq: stored.body.kelSeq,
      setSeq: stored.body.setSeq,
      bodyBytes: stored.bodyBytes,
    }
    const verdict = keySetVerdict(heldSet, set, prevSeq)
    if (verdict === 'rollback') throw new Refusal('keySetOlder', { storedSeq: stored?.body.setSeq ?? 0 })
    if (verdict === 'unchanged') return { agent, keysStatus: 'unchanged' }
    return { agent: withKeys(agent, set, this.#context.now() + KEY_GRACE_MS), keysStatus: 'stored' }
  }

  #verifiedSet(log: VerifiedKel, bytes: Uint8Array): KeySet {
    const nowMs = this.#context.now()
    try {
      const set = verifyKeySet(log, decodedSet(bytes))
      if (set.body.ts > nowMs + CLOCK_WINDOW_MS || set.body.exp <= nowMs)
        throw new Refusal('requestMalformed', {
          why: "the times of the key set do not fit this hub's clock",
        })
      return set
    } catch (error) {
      if (error instanceof KeySetInvalid) throw setInvalid(error.code)
      throw error
    }
  }

  /** Takes an extension of a held log from anybody who has it. */
  async push(
    aid: string,
    kel: Uint8Array,
    address: string,
  ): Promise<{ seq: number; head: Uint8Array; unchanged: boolean }> {
    const waitMs = await this.#pushes.take(addressBucket(address), this.#context.now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    const events = eventsOf(aid, kel)
    const held = await this.#agents.find(aid)
    if (held === undefined) throw new Refusal('unknownAgent')
    const answer = (log: VerifiedKel, unchanged: boolean) => ({
      seq: log.seq,
      head: log.headDigest,
      unchanged,
    })
    if (held.log.deactivated) {
      const same =
        events.length === held.log.events.length && compareKel(held.log, events).verdict === 'unchanged'
      return same ? answer(held.log, true) : refuse(new Refusal('keyLogOlder'))
    }
    const log = await this.#keyLogs.judge({ aid, events, address }, kel, held.log)
    if (log.seq === held.log.seq) return answer(held.log, true)
    if (!timesAcceptable(log, held.log.events.length, this.#context.now()))
      throw new Refusal('keyEventTimeOutside')
    const { agent } = await this.#agents.update(aid, newestHeld => {
      const merged = newest(required(newestHeld).log, log)
      const witnessed = merged.home === this.#context.identity.aid ? this.#witness(merged) : merged
      const next = withLog(required(newestHeld), witnessed)
      return witnessed.deactivated ? withoutAccount(next) : next
    })
    await this.#endSigner(agent)
    return answer(agent.log, false)
  }

  #witness(log: VerifiedKel): VerifiedKel {
    return witnessKel(log, this.#context.identity, this.#context.now())
  }

  async updateProfile(signer: Agent, profile: Profile): Promise<void> {
    await this.#agents.updateBy(signer, held => withProfile(held, profile))
  }

  async setVisibility(signer: Agent, visibility: Visibility): Promise<void> {
    await this.#agents.updateBy(signer, held => ({ ...held, row: { ...held.row, visibility } }))
  }

  /** Takes an agent off the registry; its log is still served. Tells how many envelopes nobody collected. */
  async deregister(signer: Agent): Promise<number> {
    const { agent, stored } = await this.#agents.updateBy(signer, withoutAccount, 'restored')
    await this.#endSigner(agent)
    return stored.dropped
  }
}

/** The card to keep: the one that came along when it verifies, else the one held. */
function judgeCard(
  given: Registration['card'],
  log: VerifiedKel,
  held: string | undefined,
): { cardStatus: CardStatus; card: string | undefined } {
  if (given === undefined) return { cardStatus: 'none', card: held }
  const card = verifyCard(given.value, log, given.baseUrl)
  if (card === undefined || !isPlainCard(card)) return { cardStatus: 'refused', card: held }
  const text = cardText(card)
  if (Buffer.byteLength(text) > CARD_BYTES_MAX) return { cardStatus: 'refused', card: held }
  return { cardStatus: text === held ? 'unchanged' : 'stored', card: text }
}

function withProfile(agent: Agent, profile: Profile): Agent {
  const given = Object.entries(profile).filter(([, value]) => value !== undefined)
  return { ...agent, row: { ...agent.row, ...Object.fromEntries(given) } }
}

function refuse(refusal: Refusal): never {
  throw refusal
}

function decodedSet(bytes: Uint8Array): KeySet {
  try {
    return KeySet.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}

const setInvalid = (fault: KeySetFault): Refusal =>
  new Refusal('keyLogInvalid', {
    part: 'key set',
    why: fault.replaceAll('_', ' '),
    step: 'sign a key set under the last event of the log',
  })
