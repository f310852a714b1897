/** Bodies of wire 1 that say that they are larger than their route takes: refused by their heads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { WIRE1_HEADER } from '../../protocol/wire1/headers.ts'
import { wire1Routes } from '../../protocol/wire1/routes.ts'
import { HEAD_BYTES } from '../http/body-room.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'
import { type OpenAgent, Wire1Client } from '../testing/wire1.ts'

const GIB = 1024 ** 3
const PART = 'A'.repeat(64 * 1024)
const HEADERS = { [WIRE1_HEADER]: '1', 'Content-Type': 'application/json' }

let hub: TestHub
let client: Wire1Client
let agent: OpenAgent
beforeAll(async () => {
  hub = await startTestHub({ wires: [1], guests: true, wire1Federation: { tells: true } })
  client = new Wire1Client(hub)
  agent = await client.registered()
})
afterAll(() => hub.close())

const rows = Object.entries(wire1Routes as Record<string, RouteRow>).filter(
  ([, row]) => row.method === 'POST',
)
const pathOf = ({ path }: RouteRow) => path.replace('{aid}', agent.aid)
const held = () => hub.running.shares.bytesInFlight
const released = async () => {
  while (held() > 0) await new Promise(resolve => setTimeout(resolve, 2))
}

describe('a body of 1 GiB', () => {
  test.each(rows)('is refused by %s at its head, once it says its length', async (_, row) => {
    const socket = await openSocket(hub.url, '127.0.0.1')
    socket.write(requestHead('POST', pathOf(row), { ...HEADERS, 'Content-Length': String(GIB + 1) }))
    socket.write(PART)
    const reply = await nextReply(socket)
    expect(reply?.status).toBe(400)
    expect(String(reply?.json['detail'] ?? reply?.json['error'])).toMatch(/larger than \d+ bytes/)
    expect(held()).toBeLessThanOrEqual(HEAD_BYTES)
    socket.destroy()
    await released()
  })
})
