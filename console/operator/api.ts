/** Asking the operator's surface. The token lives in this page and its tab alone, and goes with each request. */
import type { QueryOf, ReplyOf, RequestOf } from '../../protocol/contract/route.ts'
import type { AdminRouteName, AdminRoutes } from '../../protocol/wire1/routes/admin.ts'

declare global {
  /** Method and path behind the base of each route, written in by the build from the one table. */
  var SVC_ADMIN_ROUTES: Readonly<Record<string, readonly [method: string, path: string]>>
}

export type Reply<N extends AdminRouteName> = ReplyOf<AdminRoutes[N]>
export type Item<N extends AdminRouteName> = Reply<N> extends { items: (infer T)[] } ? T : never
type Query<N extends AdminRouteName> = { [K in keyof QueryOf<AdminRoutes[N]>]?: string | number | undefined }

export type Given<N extends AdminRouteName> = {
  params?: Record<string, string>
  query?: Query<N>
  body?: Partial<RequestOf<AdminRoutes[N]>>
}

const KEPT = 'svc operator'

/** The hub refused, or was not reached. */
export class Fault extends Error {
  override name = 'Fault'
  /** 0 where no answer came. */
  readonly status: number
  constructor(status: number, sentence: string) {
    super(sentence)
    this.status = status
  }
}

export class Api {
  readonly #base: string
  #token: string | undefined

  constructor() {
    this.#base = location.pathname.replace(/\/$/, '')
    this.#token = sessionStorage.getItem(KEPT) ?? undefined
  }

  get hasToken(): boolean {
    return this.#token !== undefined
  }

  /** Checks a token once, and keeps it for as long as this tab is open. */
  async login(token: string): Promise<void> {
    await this.call('adminLogin', { body: { token } })
    this.#token = token
    sessionStorage.setItem(KEPT, token)
  }

  /** Forgets the token. */
  leave(): void {
    this.#token = undefined
    sessionStorage.removeItem(KEPT)
  }

  async call<N extends AdminRouteName>(name: N, given: Given<N> = {}): Promise<Reply<N>> {
    const [method, path] = SVC_ADMIN_ROUTES[name] ?? ['GET', '']
    const filled = path.replace(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(given.params?.[key] ?? ''),
    )
    const query = new URLSearchParams()
    for (const [key, value] of Object.entries(given.query ?? {}))
      if (value !== undefined && value !== '') query.set(key, String(value))
    const answer = await this.#fetch(`${this.#base}${filled}${query.size === 0 ? '' : `?${query}`}`, {
      method,
      headers: {
        ...(this.#token !== undefined && { Authorization: `Bearer ${this.#token}` }),
        ...(given.body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(given.body !== undefined && { body: JSON.stringify(given.body) }),
    })
    const json = (await answer.json().catch(() => ({}))) as { error?: unknown }
    if (answer.ok) return json as Reply<N>
    throw new Fault(answer.status, String(json.error ?? `the hub answered ${answer.status}`))
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(url, { ...init, cache: 'no-store', credentials: 'omit', redirect: 'error' })
    } catch {
      throw new Fault(0, 'the hub did not answer; look whether it runs')
    }
  }
}
