/** A listing as a node reads it: where an agent lives stands in its key history alone. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { toBase64url } from '../../../protocol/encoding/bytes.ts'
import { encodeKel, incept, rotate } from '../../../protocol/identity/kel.ts'
import { agent } from '../../../protocol/testing/agents.ts'
import { systemTimers } from '../../../protocol/timers.ts'
import { openIdentity } from '../../identity/identity.ts'
import { Connections } from '../http.ts'
import { Publication } from '../publication.ts'
import { Wire3Hub } from './hub.ts'

const now = 1_780_000_000_000
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const identity = openIdentity(mkdtempSync(join(tmpdir(), 'svc-listing-')), { now: () => now, random })
const connections = new Connections()
afterAll(() => connections.close())

const seed = (n: number) => new Uint8Array(32).fill(n)
const first = incept({ seed: seed(1), nextSeed: seed(2), ts: now })
const moved = rotate(first, { seed: seed(2), nextSeed: seed(3), ts: now + 1, home: agent('hub').aid })
const listed = (kel: Uint8Array) => ({
  aid: first.aid,
  name: 'x',
  caps: [],
  summary: '',
  kel: toBase64url(kel),
  keys: null,
  lastSeen: null,
  registered_at: now,
  quiet: false,
})

test('a listed agent has the home that its last key event names, and none where that cannot be read', async () => {
  const kels = [encodeKel(moved.events), encodeKel(first.events), random(64)]
  const answer = () =>
    Response.json(
      { agents: kels.map(listed) },
      { headers: { 'X-Svc-Wire': '3', Date: new Date(now).toUTCString() } },
    )
  const inputs = {
    identity,
    connections: Object.assign(Object.create(connections) as Connections, { question: async () => answer() }),
    now: () => now,
    timers: systemTimers,
    random,
    spoolFolder: '',
    publication: new Publication(),
  }
  const { aid, log } = identity
  const hub = new Wire3Hub('http://127.0.0.1:1', { aid, wire: 3, log, bitsMax: 0 }, inputs)
  const { agents } = await hub.listAgents({ q: 'x', limit: 10 })
  expect(agents.map(({ home }) => home)).toEqual([agent('hub').aid, undefined, undefined])
})
