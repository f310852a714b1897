/** A server and its client in one process, over a node that answers from a script. */
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createServer, type ServerOptions } from './server.ts'
import type { NodeEvent, NodeLink } from './tool.ts'

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'

export type Reply = Record<string, unknown>
export type Answers = Record<string, (given: Reply) => unknown>
type Line = { id?: number; method?: string; params?: Reply; result?: Reply; error?: Reply }
type Envelope = { era: 'modern' | 'legacy'; capabilities: Reply }

/** Everything that was begun has gone on as far as it can by itself. */
export const settled = async (): Promise<void> => {
  for (let n = 0; n < 5; n++) await new Promise(resolve => setImmediate(resolve))
}

export class ServedNode {
  readonly asked: { name: string; given: Reply }[] = []
  readonly lines: Line[] = []
  readonly #answers: Answers
  #heard: (event: NodeEvent) => void = () => {}
  #client: InMemoryTransport | undefined
  #last = 0

  constructor(answers: Answers = {}) {
    this.#answers = { inbox: () => ({ items: [] }), results: () => ({ items: [] }), ...answers }
  }

  /** Names of the operations that were called, without the lists that are looked through for news. */
  get operations(): string[] {
    return this.asked.map(({ name }) => name).filter(name => name !== 'inbox' && name !== 'results')
  }

  /** Opens a connection, over which requests are made. */
  async open({ era, capabilities }: Envelope, options: Partial<ServerOptions> = {}): Promise<Requests> {
    const [client, transport] = InMemoryTransport.createLinkedPair()
    this.#client = client
    const open = new Map<unknown, (line: Line) => void>()
    client.onmessage = message => {
      const line = message as Line
      this.lines.push(line)
      if (line.method === undefined) open.get(line.id)?.(line)
    }
    serveStdio(opened => createServer(this.#link, { version: '1', ...options }, opened.era), { transport })
    await client.start()
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    }
    const request = async (method: string, params: Reply = {}): Promise<Line> => {
      this.#last += 1
      const id = this.#last
      const sent = era === 'modern' ? { ...params, _meta: { ..._meta, ...Object(params['_meta']) } } : params
      const answered = new Promise<Line>(resolve => open.set(id, resolve))
      await client.send({ jsonrpc: '2.0', id, method, params: sent } as never)
      return await answered
    }
    if (era === 'modern') return request
    const clientInfo = { name: 'test', version: '1' }
    await request('initialize', { protocolVersion: LEGACY, capabilities, clientInfo })
    await this.notify('notifications/initialized')
    return request
  }

  /** The client answers what the server asked of it. */
  async answers(id: unknown, result: Reply): Promise<void> {
    await this.#client?.send({ jsonrpc: '2.0', id, result } as never)
    await settled()
  }

  async notify(method: string): Promise<void> {
    await this.#client?.send({ jsonrpc: '2.0', method } as never)
    await settled()
  }

  /** Something happened in the node. */
  async says(type: NodeEvent['type'], data: NodeEvent['data'] = {}): Promise<void> {
    this.#heard({ type, data })
    await settled()
  }

  async close(): Promise<void> {
    await this.#client?.close()
  }

  get #link(): NodeLink {
    const call = async (name: string, body?: object, query?: object) => {
      const given = { ...body, ...query }
      this.asked.push({ name, given })
      const answer = this.#answers[name]
      if (answer === undefined) throw new Error(`the script has no answer for ${name}`)
      return answer(given)
    }
    const listen = (onEvent: (event: NodeEvent) => void) => {
      this.#heard = onEvent
      return () => {
        this.#heard = () => {}
      }
    }
    return { call, listen } as unknown as NodeLink
  }
}

type Requests = (method: string, params?: Reply) => Promise<Line>
