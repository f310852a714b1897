/**
 * Joining with open mail, which the hub can read. Whoever is known here comes back by itself; a new one needs the word of
 * the operator, or an invitation. An agent whose mail is sealed never comes this way.
 */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { encodeKel, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { timesAcceptable } from '../../../protocol/identity/kel-times.ts'
import { witnessKel } from '../../../protocol/identity/kel-witness.ts'
import { verifyOpenCard } from '../../../protocol/identity/open-card.ts'
import type { OpenProfile } from '../../store/open-mail-port.ts'
import type { Visibility } from '../../store/port.ts'
import { type Agent, type Agents, withLog, withoutAccount } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { Issuance } from '../ledger/issuance.ts'
import { DAY_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import type { Admission } from './admission.ts'
import { type Invites, inviteGone } from './invites.ts'
import { eventsOf, type KeyLogs, newest } from './key-logs.ts'
import { required } from './leaving.ts'
import type { Profile } from './registry.ts'

export const GUEST_QUOTA_MAX = 100
export const GUEST_QUOTA_DEFAULT = 5

export type OpenRegistration = {
  aid: string
  kel: Uint8Array
  profile: Profile
  pricing: string | undefined
  guestQuota: number | undefined
  /** The text of its signed card. */
  card: string | undefined
  /** The code of an invitation. */
  invite: string | undefined
}
/** What an agent says of itself later; what is absent stays. */
export type OpenChange = Profile & { pricing?: string | undefined; address?: string | undefined }

type Parts = {
  agents: Agents
  keyLogs: KeyLogs
  admission: Admission
  invites: Invites
  issuance: Issuance
}

export class OpenJoining {
  readonly #context: HubContext
  readonly #parts: Parts

  constructor(context: HubContext, parts: Parts) {
    this.#context = context
    this.#parts = parts
  }

  /** `verify` holds the request to the history that came with it. */
  async register(
    given: OpenRegistration,
    address: string,
    verify: (log: VerifiedKel) => Promise<void>,
  ): Promise<void> {
    const { agents, keyLogs, admission, issuance } = this.#parts
    const events = eventsOf(given.aid, given.kel)
    const held = await agents.find(given.aid)
    const log = await keyLogs.judge({ aid: given.aid, events, address }, given.kel, held?.log)
    await verify(log)
    if (!timesAcceptable(log, held?.log.events.length ?? 0, this.#context.now()))
      throw new Refusal('keyEventTimeOutside')
    await admission.checkBlocked(given.aid)
    if (held?.row.mail === 'sealed') throw new Refusal('mailSealed')
    const invite = held === undefined ? await this.#wayIn(given) : undefined
    const terms = { ...(invite && { invite }), refused: inviteGone }
    if (given.card !== undefined)
      await this.#putCard(given.card, held === undefined ? log : newest(held.log, log))
    const { agent } = await agents.update(
      given.aid,
      newestHeld => this.#joined(given, log, newestHeld),
      newestHeld => (newestHeld === undefined ? terms : undefined),
    )
    await this.#putProfile(agent.row.number, {
      ...(given.guestQuota !== undefined && { guestQuota: clamped(given.guestQuota) }),
      ...(given.pricing !== undefined && { pricing: given.pricing }),
    })
    await this.#context.store.noteLeft({ number: agent.row.number, leftMs: undefined })
    if (held === undefined) await issuance.trialOfNew(given.aid, false)
  }

  /** Keeps a card to the byte, if its agent signed it and has had none of a higher number here. */
  async #putCard(card: string, log: VerifiedKel): Promise<void> {
    const verified = readCard(card, log)
    if (verified === undefined)
      throw new Refusal('requestMalformed', { why: 'the card does not verify as that of its agent' })
    const { aid, seq: kelSeq } = log
    const { outcome } = await this.#context.store.putOpenCard({ aid, seq: verified.number, kelSeq, card })
    if (outcome === 'older')
      throw new Refusal('requestMalformed', { why: 'the number of the card is not higher than the one held' })
  }

  /** The card of an agent, as its agent signed it under its present key. */
  async cardOf({ log }: Agent): Promise<string | undefined> {
    const held = await this.#context.store.openCard(log.aid)
    return held?.kelSeq === log.seq ? held.card : undefined
  }

  /** What a new account takes: nothing where the operator let it in, else the invitation that it shows. */
  async #wayIn({ aid, invite }: OpenRegistration): Promise<{ hash: Uint8Array; nowMs: number } | undefined> {
    const { admission, invites } = this.#parts
    if (invite === undefined) {
      await admission.checkAdmitted(aid)
      return undefined
    }
    return { hash: await invites.checked(invite), nowMs: this.#context.now() }
  }

  #joined({ aid, profile }: OpenRegistration, log: VerifiedKel, held: Agent | undefined): Agent {
    if (held?.row.mail === 'sealed') throw new Refusal('mailSealed')
    const merged = this.#witnessed(held === undefined ? log : newest(held.log, log))
    const base = held === undefined ? this.#newAgent(aid, merged) : withLog(held, merged)
    const named = Object.entries(profile).filter(([, value]) => value !== undefined)
    return {
      ...base,
      row: { ...base.row, ...Object.fromEntries(named), registered: true, mail: 'open' },
    }
  }

  #witnessed(log: VerifiedKel): VerifiedKel {
    const { identity, now } = this.#context
    return log.home === identity.aid ? witnessKel(log, identity, now()) : log
  }

  #newAgent(aid: string, log: VerifiedKel): Agent {
    const nowMs = this.#context.now()
    const row = {
      ...{ number: 0, aid, version: 0, registered: true, name: '', caps: [], summary: '', readme: '' },
      ...{ visibility: 'hub-local' as const, kel: encodeKel(log.events), mail: 'open' as const },
      ...{ keys: undefined, keysBefore: undefined, keysBeforeUntilMs: 0, card: undefined },
      registeredDayMs: Math.floor(nowMs / DAY_MS) * DAY_MS,
      probationUntilMs: nowMs,
      seenHourMs: 0,
    }
    return { row, log, keys: undefined, keysBefore: undefined }
  }

  async #putProfile(number: number, change: Partial<OpenProfile>): Promise<void> {
    const { store } = this.#context
    const held = await store.openMailbox(number)
    const { guestQuota = GUEST_QUOTA_DEFAULT, pricing = '', address } = { ...held, ...change }
    await store.putOpenProfile({ number, guestQuota, pricing, address })
  }

  async update(aid: string, { pricing, address, ...profile }: OpenChange): Promise<void> {
    const { agent } = await this.#parts.agents.update(aid, held => {
      const known = required(held)
      const given = Object.entries(profile).filter(([, value]) => value !== undefined)
      return { ...known, row: { ...known.row, ...Object.fromEntries(given) } }
    })
    await this.#putProfile(agent.row.number, {
      ...(pricing !== undefined && { pricing }),
      ...(address !== undefined && { address: address === '' ? undefined : address }),
    })
  }

  async setVisibility(aid: string, visibility: Visibility): Promise<void> {
    let before: Visibility | undefined
    await this.#parts.agents.update(aid, held => {
      const agent = required(held)
      before = agent.row.visibility
      return { ...agent, row: { ...agent.row, visibility } }
    })
    // peers that have read on would not come to it
    if (before === 'hub-local' && visibility !== before) await this.#context.store.retellOpenCard(aid)
  }

  /** Takes an agent off the registry; its mail is kept for when it comes again. Tells how much waits. */
  async leave(aid: string): Promise<number> {
    const { store, now } = this.#context
    const { agent } = await this.#parts.agents.update(aid, held => withoutAccount(required(held)))
    const { number } = agent.row
    await store.noteLeft({ number, leftMs: now() })
    await store.removeOpenCard(aid)
    await this.#putProfile(number, { pricing: '', address: undefined })
    return (await store.openMailbox(number))?.messages ?? 0
  }
}

function readCard(card: string, log: VerifiedKel): { number: number } | undefined {
  try {
    return verifyOpenCard(card, log)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

const clamped = (quota: number): number => Math.min(Math.max(0, Math.trunc(quota)), GUEST_QUOTA_MAX)
