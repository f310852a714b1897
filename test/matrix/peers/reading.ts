/** What one hub reads of another: that an agent lives there, and how it was rated there. */
import { callRoute, TestAgent } from '../../../hub/testing/hub.ts'
import { reviewUpload } from '../../../hub/testing/reviews.ts'
import type { HubSide } from './hub-side.ts'
import type { PeersWorld } from './world.ts'

type Given = { name: string; kind: 'card' | 'review'; reader: HubSide; teller: HubSide }
const RATING = 4

export class Reading {
  readonly name: string
  readonly reader: HubSide
  readonly teller: HubSide
  readonly #kind: 'card' | 'review'
  readonly #agent: TestAgent
  #isTold = true

  private constructor({ name, kind, reader, teller }: Given, agent: TestAgent) {
    this.name = name
    this.#kind = kind
    this.reader = reader
    this.teller = teller
    this.#agent = agent
  }

  /** An agent of the teller that lets itself be told of, rated once. */
  static async begin(world: PeersWorld, given: Given): Promise<Reading> {
    const { teller, kind } = given
    const agent = await world.registered(teller)
    await show(agent, 'federated')
    if (kind === 'review') {
      const requester = new TestAgent(teller.target)
      await teller.store.admit(requester.aid, true)
      await requester.register()
      await requester.call('uploadReview', reviewUpload(requester, agent, { rating: RATING }))
    }
    return new Reading(given, agent)
  }

  async withdraw(): Promise<void> {
    await show(this.#agent, 'hub-local')
    this.#isTold = false
  }

  /** How often it counts at the hub that reads. */
  async counted(): Promise<number> {
    if (this.#kind === 'card') {
      const { json } = await callRoute(this.reader, 'stats', undefined)
      return Number(json['federated_agents'])
    }
    const { json } = await callRoute(this.reader, 'reputation', undefined, {
      params: { aid: this.#agent.aid },
    })
    return (json['combined'] as { reviews: number } | undefined)?.reviews ?? 0
  }

  /** How often it is to count once all was read. */
  get expected(): number {
    return this.#isTold ? 1 : 0
  }
}

const show = (agent: TestAgent, visibility: string) =>
  agent.call('setVisibility', { visibility }, { params: { aid: agent.aid } })

/** Nothing counts twice. */
export async function faultsOfReading(one: Reading): Promise<string[]> {
  const count = await one.counted()
  return count > 1 ? [`${one.name} counts ${count} times at ${one.reader.name}`] : []
}

/** Everything that is told has been read. */
export async function unread(one: Reading): Promise<string[]> {
  // what a hub has lost is told no more
  if (one.teller.restores.length > 0) return []
  const count = await one.counted()
  return count === one.expected ? [] : [`${one.name} counts ${count} times at ${one.reader.name} for ever`]
}
