/**
 * Connections to hubs. Signed calls share one pool; anonymous calls go over connections of their own, one pool per
 * recipient and without TLS session reuse, so that a hub cannot tie them to the signer.
 */

import ky from 'ky'
import type { Send } from '../../protocol/contract/client.ts'
import { present } from '../../protocol/encoding/present.ts'
import { HubUnreachable, NodeStopping } from './hub.ts'
import { newPool, type Pool } from './pools.ts'

const CONNECT_TIMEOUT_MS = 10_000
const HEADERS_TIMEOUT_MS = 90_000
const BODY_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 30_000
const ANONYMOUS_POOLS_MAX = 64

/** A pool, by way of the proxy where one is named for that hub. */
function pool(anonymous: boolean): Pool {
  return newPool({
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...present({ maxCachedSessions: anonymous ? 0 : undefined }) },
    ...present({ connections: anonymous ? 1 : undefined, pipelining: anonymous ? 1 : undefined }),
  })
}

/** A `Send` over one pool. Redirects are not followed: a signature is for one path at one hub. */
function sendOver(agent: Pool, isClosed: () => boolean): Send {
  return async ({ method, url, headers, body, signal }) => {
    const over = async (_request: unknown): Promise<Response> => {
      const init = { method, headers, redirect: 'manual', dispatcher: agent }
      if (body !== undefined) Object.assign(init, { body, duplex: 'half' })
      if (signal !== undefined) Object.assign(init, { signal })
      return await fetch(url, init as unknown as RequestInit)
    }
    try {
      return await ky(url, { method, retry: 0, timeout: false, throwHttpErrors: false, fetch: over })
    } catch (error) {
      throw isClosed() ? new NodeStopping({ cause: error }) : new HubUnreachable(url, { cause: error })
    }
  }
}

/** All connections of one node. */
export class Connections {
  #isClosed = false
  #signed = pool(false)
  #anonymous = new Map<string, Pool>()

  /** For calls that name the signer. */
  readonly signed: Send = sendOver(this.#signed, () => this.#isClosed)

  /** For calls that must not be tied to the signer or to another recipient. */
  anonymous(recipient: string): Send {
    let agent = this.#anonymous.get(recipient)
    if (agent === undefined) {
      if (this.#anonymous.size >= ANONYMOUS_POOLS_MAX) this.#dropOldest()
      agent = pool(true)
    } else this.#anonymous.delete(recipient)
    this.#anonymous.set(recipient, agent)
    return sendOver(agent, () => this.#isClosed)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const agents = [this.#signed, ...this.#anonymous.values()]
    this.#anonymous.clear()
    await Promise.all(agents.map(agent => agent.destroy()))
  }

  #dropOldest(): void {
    for (const [recipient, agent] of this.#anonymous) {
      this.#anonymous.delete(recipient)
      void agent.close()
      return
    }
  }
}
