/** Agents as anybody may see them: those here whose mail is open, and those that peers told of. */
import { present } from '../../protocol/encoding/present.ts'
import type { Hub } from '../core/hub.ts'
import { average } from '../core/reviews.ts'
import type { OpenMailbox } from '../store/open-mail-port.ts'
import type { ToldOpenAgent } from '../store/open-peer-port.ts'
import type { OpenSums } from '../store/open-review-port.ts'
import type { AgentRow } from '../store/port.ts'

const PAGE = 200

type Filter = { caps?: readonly string[] | undefined; text?: string | undefined }
/** An entry as it is told; no list looks into it again. */
export type Shown = { aid: string }
type Sums = ReadonlyMap<string, OpenSums>
export type Known = { row: AgentRow; box: OpenMailbox }

export class Entries {
  readonly #hub: Hub

  constructor(hub: Hub) {
    this.#hub = hub
  }

  /** All agents that fit, registered here, page by page. */
  async *here(filter: Filter = {}): AsyncGenerator<Known[]> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await this.#hub.directory.list(after, PAGE, { ...filter, open: true })
      yield await this.#withBoxes(page.rows)
      after = page.next
    }
  }

  /** Whom the operator does not hide, as far as they are there, page by page. */
  async *listed(text?: string): AsyncGenerator<Shown[]> {
    for await (const page of this.here({ text })) yield await this.#shown(page.filter(this.#isListed))
  }

  /** A page of those listed: rows alone, and where the next page begins. */
  async page(after: string, limit: number, filter: Filter) {
    const { rows, next } = await this.#hub.directory.list(after, limit, { ...filter, open: true })
    const known = await this.#withBoxes(rows)
    return { rows: known.filter(this.#isListed).map(({ row }) => row), next }
  }

  /** What the operator says of those that it vouches for, by AID, and the first of them that are listed. */
  async officials(max: number): Promise<{ badges: Map<string, string>; first: AgentRow[] }> {
    const all = await this.#hub.context.store.officials()
    const first: AgentRow[] = []
    for (const { aid } of all.slice(0, max)) {
      const found = await this.#hub.openMail.find(aid)
      if (found !== undefined && this.#isListed(found)) first.push(found.agent.row)
    }
    return { badges: new Map(all.map(({ aid, badge }) => [aid, badge])), first }
  }

  /** Who has a capability, page by page: first those here, then those that peers told of. */
  async *capable(caps: readonly string[]): AsyncGenerator<Shown[]> {
    for await (const page of this.here({ caps })) yield await this.#shown(page.filter(this.#isBrowsable))
    const { store, peers } = this.#hub.context
    const hubs = peers.all.map(({ aid }) => aid)
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await store.openPeerAgents({ hubs, after, limit: PAGE, caps })
      yield await this.#shownOfPeers(page.agents)
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

  readonly #isBrowsable = ({ box }: Pick<Known, 'box'>): boolean =>
    this.#hub.openMail.liveness(box) !== 'abandoned'

  readonly #isListed = ({ box }: Pick<Known, 'box'>): boolean => box.listed && this.#isBrowsable({ box })

  async #withBoxes(rows: readonly AgentRow[]): Promise<Known[]> {
    const boxes = await this.#hub.context.store.openMailboxes(rows.map(({ number }) => number))
    return rows.flatMap(row => {
      const box = boxes.get(row.number)
      return box === undefined ? [] : [{ row, box }]
    })
  }

  async #shown(known: readonly Known[]) {
    const sums = await this.#sumsOf(known.map(({ row }) => row.aid))
    return known.map(one => this.#entry(one, sums))
  }

  /** What is not known is left out. */
  async of(known: Known) {
    return this.#entry(known, await this.#sumsOf([known.row.aid]))
  }

  #entry({ row, box }: Known, sums: Sums) {
    const { name, aid, caps, summary } = row
    const { polledMs, listed, guestQuota } = box
    const isQuiet = ['quiet', 'abandoned'].includes(this.#hub.openMail.liveness(box))
    return {
      ...{ aid, name, caps, summary, listed, guest_quota: guestQuota },
      ...rated(aid, sums),
      registered_at: new Date(row.registeredDayMs).toISOString(),
      registered: row.registered,
      ...present({ last_seen: polledMs === undefined ? undefined : new Date(polledMs).toISOString() }),
      ...(isQuiet && { quiet: true as const }),
    }
  }

  async ofPeer(told: ToldOpenAgent) {
    return entryOfPeer(told, await this.#sumsOf([told.aid]))
  }

  /** Those that are not of here by now. */
  async #shownOfPeers(told: readonly ToldOpenAgent[]) {
    const here = await Promise.all(told.map(({ aid }) => this.#hub.agents.findRegistered(aid)))
    const away = told.filter((_, at) => here[at] === undefined)
    const sums = await this.#sumsOf(away.map(({ aid }) => aid))
    return away.map(one => entryOfPeer(one, sums))
  }

  /** Those in reviews of whom nothing else is known here. */
  async ofStrangers(aids: readonly string[]) {
    const none = { name: '', caps: [], summary: '', listed: false, guest_quota: 0, registered: false }
    const sums = await this.#sumsOf(aids)
    return aids.map(aid => ({ aid, ...none, ...rated(aid, sums) }))
  }

  #sumsOf(aids: readonly string[]): Promise<Sums> {
    return this.#hub.context.store.openSums(aids)
  }
}

function entryOfPeer({ aid, name, caps, summary, hub }: ToldOpenAgent, sums: Sums) {
  const none = { listed: true, guest_quota: 0, registered: false }
  return { aid, name, caps, summary, ...none, ...rated(aid, sums), home_hub: hub }
}

function rated(aid: string, sums: Sums): { avg_rating: number; review_count: number } {
  const { reviews, ratings } = sums.get(aid) ?? { reviews: 0, ratings: 0 }
  return { avg_rating: average(ratings, reviews) ?? 0, review_count: reviews }
}
