/**
 * What came from others since the server started, told once each: from events as they come, and from the lists, which
 * also know what came while the node was away. What was read meanwhile is not told.
 */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { present } from '../protocol/encoding/present.ts'
import type { NodeLink } from './tool.ts'

export type Told = {
  /** The other side of a task moved it on. */
  task(item: InteractionSummary): void
  status(): void
  /** The node is gone, or there again. */
  node(isThere: boolean): void
}

const LISTED_MAX = 50
const OF_TASKS: readonly string[] = ['inbox', 'message', 'reset']
const OF_STATUS: readonly string[] = ['inbox', 'message', 'hub', 'settings', 'autoreply', 'reset']

/** Watches until the function that is returned is called. */
export function watch(link: NodeLink, told: Told): () => void {
  const lists = new Lists(link)
  let isThere = true
  let isLooking = false
  let isStale = true
  const look = async () => {
    if (isLooking) return
    isLooking = true
    while (isStale) {
      isStale = false
      const items = await lists.changed().catch(() => [])
      for (const item of items) told.task(item)
      isStale ||= items.length >= LISTED_MAX
    }
    isLooking = false
  }
  void look()
  return link.listen(({ type }) => {
    if ((type === 'shutdown') === isThere) {
      isThere = !isThere
      told.node(isThere)
    }
    if (OF_STATUS.includes(type)) told.status()
    if (!OF_TASKS.includes(type)) return
    isStale = true
    void look()
  })
}

/** Both lists, each from its cursor on; the first look only takes the cursors. */
class Lists {
  readonly #call: NodeLink['call']
  #received: string | undefined
  #sent: string | undefined

  constructor({ call }: NodeLink) {
    this.#call = call
  }

  async changed(): Promise<InteractionSummary[]> {
    const [before, after] = [this.#received, this.#sent]
    const limit = LISTED_MAX
    const received = await this.#call('inbox', { limit, ...present({ cursor: before }) })
    const sent = await this.#call('results', undefined, {
      limit: String(limit),
      ...present({ cursor: after }),
    })
    this.#received = received.new_cursor
    this.#sent = sent.new_cursor
    return [...(before === undefined ? [] : received.items), ...(after === undefined ? [] : sent.items)]
  }
}
