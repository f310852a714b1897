/**
 * What an operator does with agents whose mail the hub can read: takes them off the registry for a while with all that they
 * have, lists them or not, and vouches for some.
 */
import type { ArchivedAgent, OfficialAgent } from '../../store/moderation-port.ts'
import type { OpenMailbox } from '../../store/open-mail-port.ts'
import type { Agent, Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { required } from '../membership/leaving.ts'
import type { EndSigner } from '../membership/registry.ts'
import { Refusal, withoutRoom } from '../refusal.ts'

/** Agents that one operator vouches for at most. */
export const OFFICIALS_MAX = 200
/** Senders that one of them can be kept to. */
export const SENDERS_MAX = 100

const FIRST_PLACE = 100

export type Moderated = { agent: Agent; box: OpenMailbox }
/** What the operator says of one it vouches for; what is absent stays. */
export type OfficialChange = {
  badge?: string | undefined
  place?: number | undefined
  senders?: readonly string[] | 'anybody' | undefined
  visitors?: boolean | undefined
}

type Parts = Pick<HubContext, 'store' | 'now'> & {
  /** Of the hub. */
  aid: string
  agents: Agents
  endSigner: EndSigner
}

export class Moderation {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** An agent whose mail is open, registered or archived; refuses the hub itself, and all others. */
  async find(aid: string): Promise<Moderated & { archived: { atMs: number; reason: string } | undefined }> {
    const { store, agents } = this.#parts
    if (aid === this.#parts.aid) throw new Refusal('hubItself')
    const [agent, archived] = [await agents.find(aid), await store.archived(aid)]
    if (agent?.row.mail !== 'open' || !(agent.row.registered || archived !== undefined))
      throw new Refusal('unknownAgent')
    const box = await store.openMailbox(agent.row.number)
    if (box === undefined) throw new Refusal('unknownAgent')
    return { agent, box, archived }
  }

  /** Takes an agent off the registry; all that it has is kept. One that is archived stays so. */
  async archive(aid: string, reason: string): Promise<Moderated> {
    const { agents, now, endSigner } = this.#parts
    const found = await this.find(aid)
    if (found.archived !== undefined) return found
    const { agent } = await agents.update(aid, held => registered(required(held), false), undefined, {
      atMs: now(),
      reason,
    })
    await endSigner(agent)
    return { agent, box: found.box }
  }

  /** Puts it back as it was, unless the operator blocks it as well; false where it is not archived. */
  async restore(aid: string): Promise<boolean> {
    const { agents, store } = this.#parts
    if (aid === this.#parts.aid) throw new Refusal('hubItself')
    if ((await store.archived(aid)) === undefined) return false
    const { blocked } = await store.account(aid)
    await agents.update(aid, held => registered(required(held), !blocked), undefined, 'restored')
    return true
  }

  archivedAgents(query: { before: number | undefined; limit: number }): Promise<ArchivedAgent[]> {
    return this.#parts.store.archivedAgents(query)
  }

  /** Shows an agent in listings, or leaves it out; by its AID it is found all the same. */
  async list(aid: string, listed: boolean): Promise<void> {
    const { agent } = await this.find(aid)
    await this.#parts.store.listOpen({ number: agent.row.number, listed })
  }

  /** So many messages of one visitor its agent takes from now on, until the agent says otherwise. */
  async setGuestQuota(aid: string, guestQuota: number): Promise<void> {
    const { agent } = await this.find(aid)
    await this.#parts.store.setGuestQuota({ number: agent.row.number, guestQuota })
  }

  /** Vouches for an agent, or changes what is said of one; whether it is new. */
  async vouch(aid: string, change: OfficialChange): Promise<{ official: OfficialAgent; isNew: boolean }> {
    const { store, now } = this.#parts
    await this.find(aid)
    const held = await store.official(aid)
    const senders = change.senders ?? held?.senders
    const official: OfficialAgent = {
      aid,
      badge: change.badge ?? held?.badge ?? '',
      place: change.place ?? held?.place ?? FIRST_PLACE,
      addedMs: held?.addedMs ?? now(),
      senders: senders === 'anybody' ? undefined : senders,
      visitors: change.visitors ?? held?.visitors ?? true,
    }
    if (!(await store.putOfficial({ ...official, max: OFFICIALS_MAX })))
      throw withoutRoom('more agents that the operator vouches for')
    return { official, isNew: held === undefined }
  }

  /** One that the operator vouches for. */
  async official(aid: string): Promise<OfficialAgent> {
    const held = await this.#parts.store.official(aid)
    if (held === undefined) throw new Refusal('unknownAgent')
    return held
  }
}

const registered = (agent: Agent, isRegistered: boolean): Agent => ({
  ...agent,
  row: { ...agent.row, registered: isRegistered },
})
