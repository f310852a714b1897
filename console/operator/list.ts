/** A list of the surface that is read page by page. */
import type { AdminRouteName } from '../../protocol/wire1/routes/admin.ts'
import { h, type Kid } from '../page/h.ts'
import type { Api, Given, Item } from './api.ts'
import { button, type Desk, nothing, type Screen } from './parts.ts'

type Look<T> = {
  title: string
  /** One sentence under the title. */
  says: string
  empty: string
  row(item: T, list: Pick<List<AdminRouteName>, 'load'>): Kid
  /** What stands above the rows. */
  tools?: (reload: () => void) => Kid
  keyOf(item: T): string
}

export class List<N extends AdminRouteName> implements Screen {
  readonly #api: Api
  readonly #desk: Desk
  readonly #name: N
  readonly #look: Look<Item<N>>
  readonly #query: () => NonNullable<Given<N>['query']>
  #items: Item<N>[] = []
  #next: string | undefined
  #isRead = false
  /** Answers of an older question are dropped. */
  #turn = 0
  readonly searchId?: string

  constructor(
    { api, desk }: { api: Api; desk: Desk },
    name: N,
    look: Look<Item<N>>,
    query: () => NonNullable<Given<N>['query']> = () => ({}) as NonNullable<Given<N>['query']>,
    searchId?: string,
  ) {
    this.#api = api
    this.#desk = desk
    this.#name = name
    this.#look = look
    this.#query = query
    if (searchId !== undefined) this.searchId = searchId
  }

  load = async (): Promise<void> => {
    const turn = ++this.#turn
    const page = await this.#page(undefined)
    if (turn !== this.#turn) return
    this.#items = page.items
    this.#next = page.next
    this.#isRead = true
    this.#desk.redraw()
  }

  async #more(): Promise<void> {
    const turn = ++this.#turn
    const page = await this.#page(this.#next)
    if (turn !== this.#turn) return
    this.#items = [...this.#items, ...page.items]
    this.#next = page.next
    this.#desk.redraw()
  }

  async #page(after: string | undefined): Promise<{ items: Item<N>[]; next?: string }> {
    const query = { ...this.#query(), after } as unknown as NonNullable<Given<N>['query']>
    return (await this.#api.call(this.#name, { query })) as unknown as { items: Item<N>[]; next?: string }
  }

  draw(): Kid {
    const { title, says, empty, row, tools, keyOf } = this.#look
    const reload = () => void this.#desk.attempt(this.load)
    return [
      h('header', { class: 'head' }, h('h1', {}, title), h('p', { class: 'soft' }, says)),
      tools?.(reload),
      this.#items.length === 0
        ? nothing(this.#isRead ? empty : 'Reading…')
        : h(
            'ul',
            { class: 'rows' },
            ...this.#items.map(item => h('li', { key: keyOf(item) }, row(item, this))),
          ),
      this.#next !== undefined &&
        button('Show more', () => void this.#desk.attempt(() => this.#more()), { class: 'more' }),
    ]
  }
}
