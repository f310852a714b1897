/**
 * Registration, key sets, pushed logs, profile, visibility and leaving (hub API §4.2, §4.5). The order of checks is the
 * order of their cost: size, one hash, admission or proof of work, and only then signatures.
 */
import { aidOfInception } from '../../protocol/aid.ts'
import { Malformed, toBase64url } from '../../protocol/bytes.ts'
import { encode } from '../../protocol/cbor.ts'
import { sha256 } from '../../protocol/crypto.node.ts'
import {
  compareKel,
  decodeKel,
  encodeKel,
  KelInvalid,
  type KeyEvent,
  kelItem,
  timesAcceptable,
  type VerifiedKel,
  verifyKel,
  witnessKel,
} from '../../protocol/kel.ts'
import { KEY_GRACE_MS, KeySet, KeySetInvalid, keySetVerdict, verifyKeySet } from '../../protocol/keyset.ts'
import { POW_LIFE_MS, powBits, powSeed, powSeedNotAfter } from '../../protocol/pow.ts'
import type { Visibility } from '../store/port.ts'
import { addressBucket, addressRange } from './address.ts'
import { type Agent, type Agents, withKeys, withLog } from './agents.ts'
import type { HubContext } from './context.ts'
import { CLOCK_WINDOW_MS, DAY_MS } from './limits.ts'
import { RateBuckets, WindowCounts } from './rate.ts'
import { Refusal } from './refusal.ts'

const VERDICT_LIFE_MS = 10 * 60_000
const VERDICTS_MAX = 10_000
export const MODE_SETTING = 'admission'

export type Profile = { name?: string; caps?: string[]; summary?: string; readme?: string }
export type Registration = {
  aid: string
  kel: Uint8Array
  profile: Profile
  keys: Uint8Array | undefined
  prevSeq: number | undefined
  pow: { seed: Uint8Array; nonce: Uint8Array } | undefined
  checkOnly: boolean
}
export type KeysStatus = 'none' | 'stored' | 'unchanged'
export type Registered =
  | { checked: 'admitted' | 'open' }
  | { keysStatus: KeysStatus; probationUntilMs: number | undefined }

/** Verifies the request's own signature under the key state of a log; throws its refusal. */
export type VerifySigner = (log: VerifiedKel) => Promise<void>

/** Ends what the signer still holds open after its key state or registration changed. */
export type EndSigner = (agent: Agent) => void

export class Registry {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #endSigner: EndSigner
  readonly #pushes: RateBuckets
  readonly #signUps = new WindowCounts(DAY_MS)
  readonly #verdicts = new Map<string, { refusal: Refusal; untilMs: number }>()

  constructor(context: HubContext, agents: Agents, endSigner: EndSigner) {
    this.#context = context
    this.#agents = agents
    this.#endSigner = endSigner
    this.#pushes = new RateBuckets(context.limits.pushRate)
  }

  async register(given: Registration, address: string, verifySigner: VerifySigner): Promise<Registered> {
    const events = eventsOf(given.aid, given.kel)
    const held = await this.#agents.find(given.aid)
    const isNew = held?.row.registered !== true
    const admitted = isNew ? await this.#admission(given, address) : 'admitted'
    const log = await this.#judge(given.aid, given.kel, held?.log, events)
    if (log.deactivated) throw new Refusal('identityDeactivated')
    await verifySigner(log)
    if (given.checkOnly) return { checked: admitted }
    const { identity, now } = this.#context
    if (!timesAcceptable(log, held?.log.events.length ?? 0, now(), identity.aid))
      throw new Refusal('keyEventTimeOutside')
    if (log.home !== identity.aid) throw new Refusal('witnessElsewhere')
    return await this.#store(given, address, log, isNew && admitted === 'open')
  }

  async #store(
    given: Registration,
    address: string,
    submitted: VerifiedKel,
    counts: boolean,
  ): Promise<Registered> {
    const { identity, limits, now } = this.#context
    let keysStatus: KeysStatus = 'none'
    let isNew = false
    let rotated = false
    const { agent } = await this.#agents.update(given.aid, held => {
      const merged = held === undefined ? submitted : newest(held.log, submitted.events)
      const log = witnessKel(merged, identity, now())
      isNew = held?.row.registered !== true
      rotated = held !== undefined && held.log.seq !== log.seq
      const base = held === undefined ? this.#newAgent(given.aid, log) : withLog(held, log)
      const probationUntilMs = held === undefined ? now() + limits.probationMs : base.row.probationUntilMs
      const named = withProfile(base, given.profile)
      const agent = { ...named, row: { ...named.row, registered: true, probationUntilMs } }
      if (given.keys === undefined) return agent
      const published = this.#withKeySet(agent, given.keys, given.prevSeq)
      keysStatus = published.keysStatus
      return published.agent
    })
    if (rotated) this.#endSigner(agent)
    if (counts) this.#signUps.add(addressRange(address), now())
    const { probationUntilMs } = agent.row
    return { keysStatus, probationUntilMs: isNew ? probationUntilMs : undefined }
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
    }
    return { row, log, keys: undefined, keysBefore: undefined }
  }

  /** Who may become a new account here: those the operator admitted, or in open mode whoever has worked for it. */
  async #admission(given: Registration, address: string): Promise<'admitted' | 'open'> {
    const { store, limits, now } = this.#context
    if ((await store.account(given.aid)).admitted) return 'admitted'
    if ((await store.setting(MODE_SETTING)) !== 'open')
      throw new Refusal('admissionRequired', { aid: given.aid })
    if (given.checkOnly) return 'open'
    const range = addressRange(address)
    if (this.#signUps.count(range, now()) >= limits.registrationsPerDay)
      throw new Refusal('registrationQuota', { retryAfterMs: this.#signUps.remainingMs(now()) })
    if (!this.#hasWorked(given)) throw new Refusal('powRequired', { challenge: this.#challenge(given.aid) })
    return 'open'
  }

  #hasWorked({ aid, pow }: Registration): boolean {
    if (pow === undefined) return false
    const { secret, identity, limits, now } = this.#context
    const notAfterMs = powSeedNotAfter(secret, aid, pow.seed)
    if (notAfterMs === undefined || notAfterMs < now()) return false
    return powBits({ hub: identity.aid, aid, seed: pow.seed }, pow.nonce) >= limits.powBits
  }

  #challenge(aid: string): { seed: Uint8Array; bits: number; notAfterMs: number } {
    const { secret, limits, now } = this.#context
    const notAfterMs = now() + POW_LIFE_MS
    return { seed: powSeed(secret, aid, notAfterMs), bits: limits.powBits, notAfterMs }
  }

  /** The log after the submitted one was judged; only verdicts on the bytes themselves are remembered. */
  async #judge(
    aid: string,
    bytes: Uint8Array,
    held: VerifiedKel | undefined,
    events: KeyEvent[],
  ): Promise<VerifiedKel> {
    const name = `${aid} ${toBase64url(sha256(bytes))}`
    const { now } = this.#context
    const known = this.#verdicts.get(name)
    if (known !== undefined && known.untilMs > now()) throw known.refusal
    try {
      return await this.#verdict(aid, held, events)
    } catch (error) {
      const refusal =
        error instanceof KelInvalid ? new Refusal('keyLogInvalid', { why: error.message }) : error
      if (
        refusal instanceof Refusal &&
        (refusal.reason === 'keyLogInvalid' || refusal.reason === 'keyLogForked')
      ) {
        if (this.#verdicts.size >= VERDICTS_MAX) this.#verdicts.clear()
        this.#verdicts.set(name, { refusal, untilMs: now() + VERDICT_LIFE_MS })
      }
      throw refusal
    }
  }

  async #verdict(aid: string, held: VerifiedKel | undefined, events: KeyEvent[]): Promise<VerifiedKel> {
    if (held === undefined) return verifyKel(events)
    if (held.deactivated) throw new Refusal('identityDeactivated')
    const verdict = compareKel(held, events)
    if (verdict.verdict === 'extends') return verdict.log
    if (verdict.verdict === 'unchanged') return held
    if (verdict.verdict === 'rollback') throw new Refusal('keyLogOlder')
    const { store, now, alert } = this.#context
    alert('key log forked', { aid, seq: verdict.seq })
    await store.keepForkProof({
      aid,
      seq: verdict.seq,
      held: encode(kelItem.write([verdict.held])),
      submitted: encode(kelItem.write([verdict.submitted])),
      seenMs: now(),
    })
    throw new Refusal('keyLogForked')
  }

  /** Publishes a key set for a registered agent. */
  async publishKeys(aid: string, keys: Uint8Array, prevSeq: number | undefined): Promise<KeysStatus> {
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
      const set = verifyKeySet(log, KeySet.decode(bytes))
      if (set.body.ts > nowMs + CLOCK_WINDOW_MS || set.body.exp <= nowMs)
        throw new Refusal('requestMalformed', {
          why: 'the times of the key set do not fit the clock of this hub',
        })
      return set
    } catch (error) {
      if (error instanceof KeySetInvalid) throw new Refusal('keyLogInvalid', { why: error.message })
      if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
      throw error
    }
  }

  /** Takes an extension of a held log from anybody who has it. */
  async push(
    aid: string,
    kel: Uint8Array,
    address: string,
  ): Promise<{ seq: number; head: Uint8Array; unchanged: boolean }> {
    const waitMs = this.#pushes.take(addressBucket(address), this.#context.now())
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
    const log = await this.#judge(aid, kel, held.log, events)
    if (log.seq === held.log.seq) return answer(held.log, true)
    if (!timesAcceptable(log, held.log.events.length, this.#context.now()))
      throw new Refusal('keyEventTimeOutside')
    const { agent } = await this.#agents.update(aid, newestHeld => {
      const merged = newest(required(newestHeld).log, log.events)
      const witnessed = merged.home === this.#context.identity.aid ? this.#witness(merged) : merged
      const next = withLog(required(newestHeld), witnessed)
      return { ...next, row: { ...next.row, registered: next.row.registered && !witnessed.deactivated } }
    })
    this.#endSigner(agent)
    return answer(agent.log, false)
  }

  #witness(log: VerifiedKel): VerifiedKel {
    return witnessKel(log, this.#context.identity, this.#context.now())
  }

  async updateProfile(aid: string, profile: Profile): Promise<void> {
    await this.#agents.update(aid, held => withProfile(required(held), profile))
  }

  async setVisibility(aid: string, visibility: Visibility): Promise<void> {
    await this.#agents.update(aid, held => {
      const agent = required(held)
      return { ...agent, row: { ...agent.row, visibility } }
    })
  }

  /** Takes an agent off the registry; its log is still served. Tells how many envelopes nobody collected. */
  async deregister(aid: string): Promise<number> {
    const { agent, stored } = await this.#agents.update(
      aid,
      held => {
        const { row, log } = required(held)
        const keyless = { keys: undefined, keysBefore: undefined, keysBeforeUntilMs: 0 }
        const empty = { name: '', caps: [], summary: '', readme: '', visibility: 'hub-local' as const }
        return {
          log,
          keys: undefined,
          keysBefore: undefined,
          row: { ...row, ...keyless, ...empty, registered: false },
        }
      },
      { emptyMailbox: true },
    )
    this.#endSigner(agent)
    return stored.dropped
  }
}

function withProfile(agent: Agent, profile: Profile): Agent {
  const given = Object.entries(profile).filter(([, value]) => value !== undefined)
  return { ...agent, row: { ...agent.row, ...Object.fromEntries(given) } }
}

/** The events of a log whose inception gives this AID; anything else costs no signature check. */
function eventsOf(aid: string, kel: Uint8Array): KeyEvent[] {
  try {
    const events = decodeKel(kel)
    const inception = events[0]
    if (inception === undefined) throw new KelInvalid('empty')
    if (aidOfInception(inception.bodyBytes) !== aid) throw new KelInvalid('wrong_aid')
    return events
  } catch (error) {
    if (error instanceof KelInvalid || error instanceof Malformed)
      throw new Refusal('keyLogInvalid', { why: error.message })
    throw error
  }
}

/** The longer of the held log and what extends it; a log that lost the race to a longer one stays as held. */
function newest(held: VerifiedKel, events: readonly KeyEvent[]): VerifiedKel {
  const verdict = compareKel(held, events)
  if (verdict.verdict === 'extends') return verdict.log
  if (verdict.verdict === 'fork') throw new Refusal('keyLogForked')
  return held
}

function required(agent: Agent | undefined): Agent {
  if (agent === undefined) throw new Refusal('unknownAgent')
  return agent
}

function refuse(refusal: Refusal): never {
  throw refusal
}
