/** For tests: a hub with the operator's surface, and requests to it as they go over HTTP. */
import { expect } from 'vitest'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { type AdminRouteName, adminRoutes } from '../../protocol/wire1/routes/admin.ts'
import { startTestHub, type TestHub, type TestHubOptions } from './hub.ts'
import { Wire1Client, type Wire1Reply } from './wire1.ts'

export const ADMIN_TOKEN = 'a-token-of-this-test-alone'
export const MONITOR_TOKEN = 'a-token-for-figures-alone'

export type AdminAsk = { token?: string | undefined; body?: unknown; headers?: Record<string, string> }
export type AdminHub = {
  hub: TestHub
  client: Wire1Client
  /** Of the listener, without the base. */
  origin: string
  /** Asks the surface; under the token of the operator, unless another or `undefined` is given. */
  ask(method: string, path: string, given?: AdminAsk): Promise<Wire1Reply>
}

/** Starts a hub of wire 1 with its surface at `/admin`. */
export async function startAdminHub(options: TestHubOptions = {}): Promise<AdminHub> {
  const tokens = { admin: ADMIN_TOKEN, monitor: MONITOR_TOKEN }
  const hub = await startTestHub({ wires: [1], admin: { tokens }, ...options })
  const originNow = () => new URL(hub.running.adminUrl ?? '').origin
  return {
    hub,
    client: new Wire1Client(hub),
    get origin() {
      return originNow()
    },
    async ask(method, path, given = {}) {
      const token = 'token' in given ? given.token : ADMIN_TOKEN
      const answer = await fetch(`${originNow()}${path}`, {
        method,
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(given.body !== undefined && { 'Content-Type': 'application/json' }),
          ...given.headers,
        },
        ...(given.body !== undefined && { body: JSON.stringify(given.body) }),
      })
      const text = await answer.text()
      const isJson = /json/.test(answer.headers.get('Content-Type') ?? '')
      return { status: answer.status, json: isJson ? JSON.parse(text) : { text }, headers: answer.headers }
    },
  }
}

/** Expects an answer to be what the row of its route says, with nothing beside it. */
export function expectAdminReply(name: AdminRouteName, { status, json }: Wire1Reply): void {
  const row: RouteRow = adminRoutes[name]
  expect([name, status]).toEqual([name, 200])
  expect(row.reply?.parse(json)).toEqual(json)
}
