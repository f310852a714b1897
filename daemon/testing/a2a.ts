/** A node with its A2A interface, for tests of its rules: a client over HTTP in this process, agents behind sealed mail. */

import { randomUUID } from 'node:crypto'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import type { A2aServer } from '../a2a/server.ts'
import { A2aSettings } from '../a2a/settings.ts'
import { Works } from '../a2a/works.ts'
import type { Context } from '../context.ts'
import { AttachmentLinks } from '../control/attachments.ts'
import { taskOperations } from '../control/operations.ts'
import { type CallOutcome, type CapabilityCall, type Provider, runProvider } from '../modules/provider.ts'
import type { Calls } from '../tasks/calls.ts'
import { openCalls } from '../tasks/open.ts'
import { PaidWorld, type PayingNode, PRICE } from './paying.ts'

export const TOKEN = 'a-token-of-the-tests'
/** Capabilities of the node itself: one for nothing, one with a price that its card does not show. */
export const FREE = 'count.words'
export const PRICED = 'sum.numbers'
const never = new AbortController().signal

export type Told = { status: number; headers: Headers; body: JsonValue & { [member: string]: JsonValue } }
type Asked = { method?: string; body?: unknown; headers?: Record<string, string>; tenant?: string }

const provider = (capability: string, published: boolean, ran: string[]): Provider => ({
  capability,
  summary: published ? 'counts words' : '',
  published,
  timeoutMs: 60_000,
  trust: { verify: 2, auth: 2 },
  run: async (): Promise<CallOutcome> => {
    ran.push(capability)
    return { status: 'OK', metrics: { words: 3 }, message: 'three words' }
  },
})

export class A2aWorld extends PaidWorld {
  alice!: PayingNode
  bob!: PayingNode
  calls!: Calls
  works!: Works
  /** Another such interface over the same node. */
  worksOf!: (ctx: Context) => Works
  /** Capabilities of the node that were run. */
  readonly ran: string[] = []
  /** What the node asks for the one that has a price; undefined once it has none. */
  price: number | undefined = PRICE
  #server: A2aServer | undefined
  #url = ''

  /** Alice's node serves A2A; `isPaidHere`: whether her build takes payments. Bob asks for nothing. */
  async serve({ isPaidHere = true }: { isPaidHere?: boolean } = {}): Promise<this> {
    const { alice, bob } = await this.paid()
    Object.assign(this, { alice, bob })
    bob.node.ctx.settings.change({ prices: {} })
    const { ctx } = alice.node
    const modules = this.#modules()
    Object.assign(ctx, { modules: { ...ctx.modules, ...modules } })
    const node = taskOperations(ctx, {
      links: new AttachmentLinks({ ...ctx, token: '' }),
      reviews: { firstAnswer: async () => {} },
      payer: alice.payer,
    })
    const operations = {
      delegate: (given: Parameters<typeof node.delegate>[0]) => node.delegate(given, never),
      message: (given: Parameters<typeof node.message>[0]) => node.message(given, never),
      end: (given: Parameters<typeof node.end>[0]) => node.end(given, never),
      cancel: (given: Parameters<typeof node.cancel>[0]) => node.cancel(given, never),
    }
    this.calls = openCalls(ctx, modules, alice.payee)
    const settings = new A2aSettings(ctx.dir, ctx.settings, ctx.random)
    this.worksOf = ctx => new Works(ctx, { settings, modules, operations, isPaidHere })
    this.works = this.worksOf(ctx)
    this.works.follow()
    this.calls.start()
    alice.payee.start()
    const at = { host: '127.0.0.1', port: 0, hosts: [], otherPort: undefined }
    this.#server = this.works.server({ token: () => TOKEN, ...at })
    this.#url = `http://${await this.#server.listen()}`
    return this
  }

  #modules() {
    const { settings } = this.alice.node.ctx
    const providers = [provider(FREE, true, this.ran), provider(PRICED, false, this.ran)]
    const priceOf = (what: string) => (what === PRICED ? this.price : settings.current.prices?.[what])
    const find = (capability: string) => providers.find(one => one.capability === capability)
    return {
      list: () =>
        providers.map(({ capability, summary, published }) => {
          const price = priceOf(capability)
          return { capability, summary, published, ...(price !== undefined && { price }) }
        }),
      serves: (capability: string) => find(capability) !== undefined,
      find,
      priceOf,
      startsOf: () => undefined,
      offered: () => [FREE, PRICED],
      run: (by: Provider, call: CapabilityCall) => runProvider(by, call, this.alice.node.ctx),
    }
  }

  get server(): A2aServer {
    if (this.#server === undefined) throw new Error('it does not serve')
    return this.#server
  }

  get host(): string {
    return this.#url.slice('http://'.length)
  }

  /** A request as it stands; `headers` take the place of the usual ones. */
  fetch(path: string, { method = 'GET', body, headers = {}, tenant }: Asked = {}): Promise<Response> {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    const usual = {
      Authorization: `Bearer ${TOKEN}`,
      'A2A-Version': '1.0',
      ...(text !== undefined && { 'Content-Type': 'application/json' }),
    }
    return fetch(`${this.#url}${tenant === undefined ? '' : `/${tenant}`}${path}`, {
      method,
      headers: { ...usual, ...headers },
      ...(text !== undefined && { body: text }),
    })
  }

  /** The same, read to its end. */
  async rest(path: string, asked: Asked = {}): Promise<Told> {
    const answer = await this.fetch(path, asked)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : JSON.parse(text) }
  }

  /** A call of JSON-RPC; its result, or the error. */
  async rpc(method: string, params: unknown = {}, asked: Asked = {}): Promise<Told> {
    const body = { jsonrpc: '2.0', id: 7, method, params }
    return this.rest('/', { method: 'POST', body, ...asked })
  }

  /** What a client says to bob, answered at once. */
  async send(text: string, more: { message?: object; configuration?: object } = {}): Promise<Told> {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more.message }
    const configuration = { returnImmediately: true, ...more.configuration }
    return this.rest('/message:send', { method: 'POST', body: { message, configuration }, tenant: 'bob' })
  }

  /** A call of a capability of this node; the parts of its message and what comes with it. */
  async call(
    capability: string,
    more: { message?: object; configuration?: object; headers?: Record<string, string> } = {},
  ): Promise<Told> {
    const parts = [{ data: { capability, args: {} } }]
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts, ...more.message }
    const configuration = { returnImmediately: true, ...more.configuration }
    const { headers = {} } = more
    return this.rest('/message:send', { method: 'POST', body: { message, configuration }, headers })
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.works?.rest()
    await this.#server?.close()
    await this.works?.stop()
    await this.calls?.stop()
    await super[Symbol.asyncDispose]()
  }
}
