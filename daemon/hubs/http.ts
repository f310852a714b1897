/**
 * Connections to hubs. Signed calls share one pool. Anonymous mail has a connection for each recipient, each anonymous
 * question one that ends with its answer, all without TLS session reuse: a hub cannot tie them to the signer, mail to
 * one recipient to mail to another, or a question to the mail that it is about.
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
const RECIPIENTS_MAX = 64
const QUESTIONS_MAX = 8

/** What a pool's calls are: signed, anonymous mail to one recipient, or anonymous questions. */
const kinds = {
  signed: {},
  mail: { connections: 1, pipelining: 1 },
  // without pipelining a connection ends with its answer
  questions: { connections: QUESTIONS_MAX, pipelining: 0 },
}

/** A pool, by way of the proxy where one is named for that hub. */
function pool(kind: keyof typeof kinds): Pool {
  return newPool({
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      ...present({ maxCachedSessions: kind === 'signed' ? undefined : 0 }),
    },
    ...kinds[kind],
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
  #signed = pool('signed')
  #questions = pool('questions')
  #mail = new Map<string, Pool>()

  /** For calls that name the signer. */
  readonly signed: Send = sendOver(this.#signed, () => this.#isClosed)

  /** For questions that must not be tied to the signer, to mail or to another question. */
  readonly question: Send = sendOver(this.#questions, () => this.#isClosed)

  /** For mail that must not be tied to the signer or to mail to another recipient. */
  mail(recipient: string): Send {
    let agent = this.#mail.get(recipient)
    if (agent === undefined) {
      if (this.#mail.size >= RECIPIENTS_MAX) this.#dropOldest()
      agent = pool('mail')
    } else this.#mail.delete(recipient)
    this.#mail.set(recipient, agent)
    return sendOver(agent, () => this.#isClosed)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const agents = [this.#signed, this.#questions, ...this.#mail.values()]
    this.#mail.clear()
    await Promise.all(agents.map(agent => agent.destroy()))
  }

  #dropOldest(): void {
    for (const [recipient, agent] of this.#mail) {
      this.#mail.delete(recipient)
      void agent.close()
      return
    }
  }
}
