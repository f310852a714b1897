/** The documents of svc under `/docs/`, where the operator names the folder of their site. No wire has a part in it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemCode, systemFault } from '../../protocol/encoding/errors.ts'
import { ConfigRefused } from '../config-refused.ts'
import { addressBucket, clientAddress, isProxy } from '../core/address.ts'
import type { Buckets } from '../core/ports/rates.ts'
import { hasManyHosts, header } from '../http/headers.ts'
import type { Answered } from '../http/line.ts'
import { originForm, splitTarget } from '../http/router.ts'
import { StaticFolder } from '../http/static-folder.ts'
import type { Unread } from '../http/unread.ts'

const PREFIX = '/docs'
/** How requests for documents are counted. */
const ROUTE = `GET ${PREFIX}/*`
/** Every site has these. */
const SIGNS = ['index.html', 'llms.txt', 'search-parts.js']
const MS_PER_SECOND = 1000

type Around = {
  /** Why a hub does not answer to a Host. */
  nameFault: (host: string | undefined) => string | undefined
  /** How often an address may ask. */
  buckets: Buckets
  now: () => number
  unread: Unread
}

const statuses = {
  bad_request: 400,
  not_found: 404,
  method_not_allowed: 405,
  rate_limited: 429,
} as const
type Code = keyof typeof statuses

/** The site in a folder; refuses one that `npm run docs:site` did not make. */
export function openSite(folder: string): StaticFolder {
  const next = 'run npm run docs:site in the checkout, then name the folder that it made with --docs'
  const found = `no site of the documents in ${folder}`
  try {
    const site = StaticFolder.open(folder)
    if (SIGNS.every(sign => site.has(sign))) return site
  } catch (error) {
    const code = systemCode(error)
    const why = error instanceof RangeError ? error.message : code && systemFault(code)
    if (why === undefined) throw error
    throw new ConfigRefused(`${found}: ${why}`, next)
  }
  throw new ConfigRefused(found, next)
}

export class DocumentPages {
  readonly #site: StaticFolder
  readonly #around: Around

  constructor(site: StaticFolder, around: Around) {
    this.#site = site
    this.#around = around
  }

  /** Whether a request is for the documents. */
  static takes({ url = '/' }: IncomingMessage): boolean {
    const { path } = splitTarget(originForm(url))
    return path === PREFIX || path.startsWith(`${PREFIX}/`)
  }

  /** Answers one request; never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<Answered> {
    const code = await this.#answer(request, response).catch(() => {
      response.destroy()
      return undefined
    })
    return { route: ROUTE, code }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<Code | undefined> {
    const { rawHeaders, headers, method, url = '/' } = request
    this.#around.unread.finish(request, response)
    const refuse = (code: Code, sentence: string): Code => this.#refuse(response, code, sentence)
    const waitMs = await this.#waitOf(request)
    if (waitMs > 0) {
      response.setHeader('Retry-After', Math.ceil(waitMs / MS_PER_SECOND))
      return refuse('rate_limited', 'too many requests; try again later')
    }
    const why = hasManyHosts(rawHeaders)
      ? 'it has more than one Host header'
      : this.#around.nameFault(headers.host)
    if (why !== undefined) return refuse('bad_request', why)
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      return refuse('method_not_allowed', 'documents are only read; use GET')
    }
    const { path } = splitTarget(originForm(url))
    if (path === PREFIX)
      return void response.writeHead(308, { Location: `${PREFIX}/`, 'Content-Length': '0' }).end()
    if (await this.#site.send(path.slice(PREFIX.length + 1), request, response)) return undefined
    return refuse('not_found', `there is no such page; ${PREFIX}/ has all of them`)
  }

  async #waitOf(request: IncomingMessage): Promise<number> {
    const address = clientAddress(
      request.socket.remoteAddress ?? '',
      header(request.headers, 'x-forwarded-for'),
    )
    const { buckets, now } = this.#around
    return isProxy(address) ? 0 : await buckets.take(addressBucket(address), now())
  }

  #refuse(response: ServerResponse, code: Code, sentence: string): Code {
    const text = `${sentence}\n`
    response.writeHead(statuses[code], {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(text)),
      'Content-Security-Policy': "default-src 'none'",
      'Cache-Control': 'no-store',
    })
    response.end(text)
    return code
  }
}
