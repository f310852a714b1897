/** Asks a hub over wire 1 with `fetch`, and notes which routes answered as they should. */

export type Answer = { status: number; json: Record<string, unknown>; text: string; headers: Headers }
type Asked = { params?: Record<string, string>; query?: string; body?: unknown; headers?: HeadersInit }

const OK = 200
const WIRE = 'X-Svc-Wire'

export class Client {
  readonly url: string
  /** Method and path of every route that did what it is for. */
  readonly #walked: Set<string>

  constructor(url: string, walked: Set<string>) {
    this.url = url
    this.#walked = walked
  }

  /** One request of a route, whose path has its parameters in braces; `status` is what it must answer. */
  async ask(route: string, { params = {}, query = '', body, headers }: Asked = {}, status = OK) {
    const [method = '', template = ''] = route.split(' ')
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    const answer = await fetch(`${this.url}${path}${query}`, {
      method,
      headers: {
        [WIRE]: '1',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.headers.get(WIRE) !== '1') throw new Error(`${route} names another wire`)
    if (answer.status !== status) throw new Error(`${route} answered ${answer.status}: ${text}`)
    if (method !== 'OPTIONS' && (status < 300 || status === 402)) this.#walked.add(route)
    const json: Record<string, unknown> = /^[[{]/.test(text) ? JSON.parse(text) : {}
    return { status, json, text, headers: answer.headers }
  }
}
