/** Orders for the task boards of hubs, kept from before they leave until it is known what came of each. */
import { type BoardOrderRow, boardOrders, dropBoardOrder, keepBoardOrder } from '../store/board-orders.ts'
import { fromJson, toJson } from '../store/columns.ts'
import type { Store } from '../store/open.ts'

/** The same words a day later are another order. */
const KEPT_MS = 24 * 3_600_000

/** `kelSeq`: of the key event under which the request was signed. */
export type KeptOrder = { key: number; request: Record<string, unknown>; kelSeq: number; atMs: number }
type Ordered = Pick<BoardOrderRow, 'hub' | 'name'>

export class BoardOrders {
  readonly #store: Store
  readonly #now: () => number
  /** Keys of those that are being asked for: what is ordered beside them is another order. */
  readonly #underWay = new Set<number>()

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** The oldest of these words whose end nobody knows. */
  take(ordered: Ordered): KeptOrder | undefined {
    const rows = boardOrders(this.#store, ordered, this.#now() - KEPT_MS)
    const row = rows.find(({ key }) => !this.#underWay.has(key))
    if (row === undefined) return undefined
    this.#underWay.add(row.key)
    return { key: row.key, request: fromJson(row.request), kelSeq: row.kelSeq, atMs: row.at }
  }

  /** Durable when it returns. */
  keep(ordered: Ordered, { request, kelSeq }: Pick<KeptOrder, 'request' | 'kelSeq'>): KeptOrder {
    const at = this.#now()
    const key = keepBoardOrder(this.#store, { ...ordered, request: toJson(request), kelSeq, at })
    this.#underWay.add(key)
    return { key, request, kelSeq, atMs: at }
  }

  /** Nobody knows what came of it. */
  rest({ key }: KeptOrder): void {
    this.#underWay.delete(key)
  }

  /** It is known what came of it. */
  drop({ key }: KeptOrder): void {
    dropBoardOrder(this.#store, key)
    this.#underWay.delete(key)
  }
}
