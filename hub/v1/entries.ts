/** Agents as anybody may see them: those here whose mail is open, and those that peers told of. */
import { present } from '../../protocol/encoding/present.ts'
import type { Hub } from '../core/hub.ts'
import { average } from '../core/reviews.ts'
import type { OpenMailbox } from '../store/open-mail-port.ts'
import type { ToldOpenAgent } from '../store/open-peer-port.ts'
import type { AgentRow } from '../store/port.ts'

const PAGE = 200

type Filter = { caps?: readonly string[] | undefined; text?: string | undefined }
export type Known = { row: AgentRow; box: OpenMailbox }

export class Entries {
  readonly #hub: Hub

  constructor(hub: Hub) {
    this.#hub = hub
  }

  /** All agents that fit, registered here. */
  async *here(filter: Filter = {}): AsyncGenerator<Known> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await this.#hub.directory.list(after, PAGE, { ...filter, open: true })
      for (const row of page.rows) {
        const box = await this.#hub.context.store.openMailbox(row.number)
        if (box !== undefined) yield { row, box }
      }
      after = page.next
    }
  }

  /** Whom the operator does not hide, as far as they are there. */
  async *listed(text?: string) {
    for await (const known of this.here({ text }))
      if (known.box.listed && this.#isBrowsable(known)) yield await this.of(known)
  }

  /** A page of those listed: rows alone, and where the next page begins. */
  async page(after: string, limit: number, filter: Filter) {
    const { rows, next } = await this.#hub.directory.list(after, limit, { ...filter, open: true })
    const shown: AgentRow[] = []
    for (const row of rows) {
      const box = await this.#hub.context.store.openMailbox(row.number)
      if (box?.listed === true && this.#isBrowsable({ box })) shown.push(row)
    }
    return { rows: shown, next }
  }

  /** What the operator says of those that it vouches for, by AID, and the first of them that are listed. */
  async officials(max: number): Promise<{ badges: Map<string, string>; first: AgentRow[] }> {
    const all = await this.#hub.context.store.officials()
    const first: AgentRow[] = []
    for (const { aid } of all.slice(0, max)) {
      const found = await this.#hub.openMail.find(aid)
      if (found?.box.listed === true && this.#isBrowsable(found)) first.push(found.agent.row)
    }
    return { badges: new Map(all.map(({ aid, badge }) => [aid, badge])), first }
  }

  /** Who has a capability: first those here, then those that peers told of. */
  async *capable(caps: readonly string[]) {
    for await (const known of this.here({ caps })) if (this.#isBrowsable(known)) yield await this.of(known)
    const { store, peers } = this.#hub.context
    const hubs = peers.all.map(({ aid }) => aid)
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await store.openPeerAgents({ hubs, after, limit: PAGE, caps })
      for (const told of page.agents)
        if ((await this.#hub.agents.findRegistered(told.aid)) === undefined) yield await this.ofPeer(told)
      after = page.next
    }
  }

  /** An agent that only peers told of. */
  async atPeer(aid: string): Promise<ToldOpenAgent | undefined> {
    const { store, peers } = this.#hub.context
    return await store.openPeerAgent(
      aid,
      peers.all.map(peer => peer.aid),
    )
  }

  #isBrowsable({ box }: Pick<Known, 'box'>): boolean {
    return this.#hub.openMail.liveness(box) !== 'abandoned'
  }

  /** What is not known is left out. */
  async of({ row, box }: Known) {
    const { name, aid, caps, summary } = row
    const { polledMs, listed, guestQuota } = box
    const isQuiet = ['quiet', 'abandoned'].includes(this.#hub.openMail.liveness(box))
    return {
      ...{ aid, name, caps, summary, listed, guest_quota: guestQuota },
      ...(await this.#rated(aid)),
      registered_at: new Date(row.registeredDayMs).toISOString(),
      registered: row.registered,
      ...present({ last_seen: polledMs === undefined ? undefined : new Date(polledMs).toISOString() }),
      ...(isQuiet && { quiet: true as const }),
    }
  }

  async ofPeer({ aid, name, caps, summary, hub }: ToldOpenAgent) {
    const none = { listed: true, guest_quota: 0, registered: false }
    return { aid, name, caps, summary, ...none, ...(await this.#rated(aid)), home_hub: hub }
  }

  /** Somebody in a review of whom nothing else is known here. */
  async ofStranger(aid: string) {
    const none = { name: '', caps: [], summary: '', listed: false, guest_quota: 0, registered: false }
    return { aid, ...none, ...(await this.#rated(aid)) }
  }

  async #rated(aid: string): Promise<{ avg_rating: number; review_count: number }> {
    const { reviews, ratings } = await this.#hub.context.store.openReputation(aid)
    return { avg_rating: average(ratings, reviews) ?? 0, review_count: reviews }
  }
}
