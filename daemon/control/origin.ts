/**
 * Who may ask over the address: the Host must be exactly one of ours, so that no name that somebody else resolves leads
 * here, and what a browser says of the page that asks must name ourselves.
 */
import type { IncomingMessage } from 'node:http'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { isFreshHost } from './fresh-hosts.ts'

const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

/** Whether a Host without its port means this machine itself. */
export const isLoopbackName = (name: string): boolean =>
  LOOPBACK.includes(name.replace(/^\[(.*)\]$/, '$1').toLowerCase())
/** What says for whom and from where a request is; none of them may stand there twice. */
const ORIGIN_HEADERS = ['host', 'origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'] as const
const SHOWN_MAX = 100

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

export class OwnOrigins {
  /** Exact values of Host, in lower case, with the origins that pages of theirs have. */
  #hosts = new Map<string, readonly string[]>()

  readonly #howToAdd: string
  readonly #port: number

  /**
   * `extra`: further names, each with a port or without one where it is the bound one. `howToAdd`: where the owner adds
   * one, as the end of a sentence.
   */
  constructor(host: string, port: number, extra: readonly string[], howToAdd: string) {
    this.#howToAdd = howToAdd
    this.#port = port
    for (const name of new Set([...LOOPBACK, host])) this.#add(`${bracketed(name)}:${port}`, ['http'])
    for (const name of extra) this.#add(/:\d+$/.test(name) ? name : `${name}:${port}`, ['http', 'https'])
  }

  #add(name: string, schemes: readonly string[]): void {
    const host = name.toLowerCase()
    this.#hosts.set(
      host,
      schemes.map(scheme => `${scheme}://${host}`),
    )
    // browsers leave the usual port of a scheme out
    const [, bare, port] = /^(.*):(80|443)$/.exec(host) ?? []
    if (bare !== undefined) this.#hosts.set(bare, [`${port === '443' ? 'https' : 'http'}://${bare}`])
  }

  /** A name that no resolver gives to anybody else. */
  #fresh(host: string): readonly string[] | undefined {
    const name = host.endsWith(`:${this.#port}`) ? host.slice(0, host.lastIndexOf(':')) : ''
    return isFreshHost(name) ? [`http://${host}`] : undefined
  }

  /** Why the request is refused; nothing where it is from here. */
  fault(request: IncomingMessage): string | undefined {
    const twice = ORIGIN_HEADERS.find(name => (request.headersDistinct[name]?.length ?? 0) > 1)
    if (twice !== undefined) return `the header ${twice} stands there more than once`
    const { host = '', origin } = request.headers
    const own = this.#hosts.get(host.toLowerCase()) ?? this.#fresh(host)
    if (own === undefined)
      return `the request is for the host "${shown(host)}", which is none of this node's; a name of your own, such as that of a tunnel, ${this.#howToAdd}`
    if (origin !== undefined && !own.includes(origin.toLowerCase()))
      return `a page of another origin asks, "${shown(origin)}"`
    const site = request.headers['sec-fetch-site']
    if (site === undefined || site === 'same-origin' || site === 'none') return undefined
    return `a page of another site asks (Sec-Fetch-Site: ${shown(String(site))}); type the address into the browser, or use the link that svc console prints`
  }
}

const shown = (text: string): string => plainLine(text, SHOWN_MAX)

/** Whether a person opens this address as a page: no fetch, frame or other page, no program that fetches addresses for others. */
export function isOpenedAsPage(request: IncomingMessage, mayBeReloaded: boolean): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = request.headers
  const isOurs = site === 'none' || (mayBeReloaded && site === 'same-origin')
  return isOurs && mode === 'navigate' && dest === 'document'
}
