/** Long letters of wire 1: in files from their first bytes to their last, with room of their own. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Lifting, liftTexts } from '../../protocol/encoding/lifted-text.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { BodyPool } from '../http/body-room.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { type OpenAgent, Wire1Client } from '../testing/wire1.ts'

const KIB = 1024
const MIB = 1024 * KIB
const PIECE = Buffer.alloc(192 * KIB, 'long letter ')
const PAYLOADS: Lifting = { member: 'payload', depth: 3, restBytesMax: MIB }

let hub: TestHub
let client: Wire1Client

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
})
afterAll(() => hub.close())

const filesIn = (folder: string): string[] =>
  readdirSync(join(hub.directory, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => name)
const files = () => ['open-blobs', 'open-tmp', 'blobs', 'tmp'].flatMap(filesIn)

/** A letter as a client writes it that has never more than a piece of it. */
function* letter(to: string, bytes: number, tail = '"}'): Generator<Buffer> {
  const head = { to_aid: to, from_aid: 'whoever', kind: 'message', interaction_id: 'i' }
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"payload":"`)
  for (let left = bytes; left > 0; left -= PIECE.length)
    yield Buffer.from(PIECE.subarray(0, left).toString('base64'))
  yield Buffer.from(tail)
}

/** Sends a body in pieces, with the back pressure of the connection; gives status and sentence. */
function send(body: Iterable<Uint8Array>, path = '/relay/send'): Promise<{ status: number; error: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' }
    const asked = request(`${client.url}${path}`, { method: 'POST', headers }, async answer => {
      const text = Buffer.concat(await answer.toArray()).toString()
      resolve({ error: '', ...JSON.parse(text), status: answer.statusCode ?? 0 })
    })
    const answered = once(asked, 'response')
    let isOver = false
    void answered.then(() => {
      isOver = true
    })
    asked.on('error', error => (isOver ? undefined : reject(error)))
    void (async () => {
      for (const piece of body) {
        if (isOver) break
        if (!asked.write(piece)) await Promise.race([once(asked, 'drain'), answered]).catch(() => undefined)
      }
      asked.end()
    })()
  })
}

/** Polls as a client does that keeps no payload: how many bytes each has, and a digest of them all. */
async function polled(agent: OpenAgent): Promise<{ sizes: number[]; ids: string[]; digest: string }> {
  const body = JSON.stringify(agent.sign('poll', {}))
  const answer = await fetch(`${client.url}/relay/poll`, {
    ...{ method: 'POST', headers: { 'Content-Type': 'application/json' }, body },
  })
  const hash = createHash('sha256')
  const sizes: number[] = []
  const rest = await liftTexts(answer.body as AsyncIterable<Uint8Array>, PAYLOADS, () => {
    const at = sizes.push(0) - 1
    return {
      take(piece) {
        sizes[at] = (sizes[at] ?? 0) + piece.length
        hash.update(piece)
      },
      end() {},
    }
  })
  const { messages } = JSON.parse(Buffer.from(rest).toString())
  return { sizes, ids: messages.map(({ id }: { id: string }) => id), digest: hash.digest('hex') }
}

const digestOf = (bytes: number): string => {
  const hash = createHash('sha256')
  for (let left = bytes; left > 0; left -= PIECE.length) hash.update(PIECE.subarray(0, left))
  return hash.digest('hex')
}

const ack = (agent: OpenAgent, ids: string[]) => client.post('/relay/ack', { ...agent.sign('ack'), ids })

describe('a long letter', () => {
  test('lies in one file of its own folder, comes back byte for byte, and goes with its ack', async () => {
    const agent = await client.registered()
    const bytes = 70 * MIB + 1
    expect(await send(letter(agent.aid, bytes))).toMatchObject({ status: 200 })
    expect([filesIn('open-blobs').length, filesIn('open-tmp'), filesIn('blobs')]).toEqual([1, [], []])
    const { sizes, ids, digest } = await polled(agent)
    expect([sizes, digest]).toEqual([[bytes], digestOf(bytes)])
    await ack(agent, ids)
    expect(files()).toEqual([])
  })

  test('is given alone where it is larger than an answer, and what is behind it after its ack', async () => {
    const agent = await client.registered()
    for (const bytes of [49 * MIB, 100, 200 * KIB]) await send(letter(agent.aid, bytes))
    const first = await polled(agent)
    expect(first.sizes).toEqual([49 * MIB])
    await ack(agent, first.ids)
    const second = await polled(agent)
    expect(second.sizes).toEqual([100, 200 * KIB])
    await ack(agent, second.ids)
    expect(files()).toEqual([])
  })

  test('that is short lies in a row, from 64 KiB on in a file', async () => {
    const agent = await client.registered()
    await send(letter(agent.aid, 64 * KIB - 1))
    expect(files()).toEqual([])
    await send(letter(agent.aid, 64 * KIB))
    expect(files().length).toBe(1)
    await ack(agent, (await polled(agent)).ids)
  })

  test.each([
    ['that is not base64 at its end', '!"}', 400, /base64/],
    ['with two payloads', '","payload":"eA=="}', 400, /duplicate/],
    ['with a lot beside it', `","more":"${'x'.repeat(64 * KIB)}"}`, 400, /larger than 65536 bytes/],
    ['that is no JSON in the end', '"', 400, /JSON/],
  ])('%s is refused, and nothing of it stays', async (_, tail, status, error) => {
    const agent = await client.registered()
    expect(await send(letter(agent.aid, 3 * 64 * KIB, tail))).toMatchObject({
      ...{ status, error: expect.stringMatching(error) },
    })
    await vi.waitFor(() => expect(files()).toEqual([]))
  })

  test('to nobody here is refused, and nothing of it stays', async () => {
    expect(await send(letter(`A${'b'.repeat(43)}`, MIB))).toMatchObject({ status: 404 })
    await vi.waitFor(() => expect(files()).toEqual([]))
  })

  test('of more than 1 GiB is refused before any of it is read where it says so', async () => {
    const agent = await client.registered()
    const status = await new Promise(resolve => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': String(1024 * MIB + 1) }
      const asked = request(`${client.url}/relay/send`, { method: 'POST', headers }, answer => {
        resolve(answer.statusCode)
        asked.destroy()
      })
      asked.on('error', () => undefined)
      asked.write(`{"to_aid":"${agent.aid}"`)
    })
    expect(status).toBe(400)
  })

  test('whose sender goes away leaves nothing', async () => {
    const agent = await client.registered()
    const asked = request(`${client.url}/relay/send`, {
      ...{ method: 'POST', headers: { 'Content-Type': 'application/json' } },
    })
    asked.on('error', () => undefined)
    const [head, first] = letter(agent.aid, MIB)
    asked.write(head)
    asked.write(first)
    await vi.waitFor(() => expect(filesIn('open-tmp').length).toBe(1))
    asked.destroy()
    await vi.waitFor(() => expect(files()).toEqual([]))
  })

  test('finds room as long as all open mail has some, also while it comes', async () => {
    const { limits } = hub.running.hub.context
    const before = limits.openMailBytesMax
    const agent = await client.registered()
    limits.openMailBytesMax = 20 * MIB
    try {
      const { status, error } = await send(letter(agent.aid, 30 * MIB))
      expect([status, error]).toEqual([500, expect.stringContaining('no room for more mail of this kind')])
      expect(files()).toEqual([])
      expect(await send(letter(agent.aid, MIB))).toMatchObject({ status: 200 })
    } finally {
      limits.openMailBytesMax = before
    }
    await ack(agent, (await polled(agent)).ids)
  })

  test('whose agent left is swept with its file', async () => {
    const agent = await client.registered()
    await send(letter(agent.aid, MIB))
    await client.post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    hub.clock.advance(31 * 24 * 3_600_000)
    expect(await hub.running.hub.openMail.sweep(10)).toBe(false)
    expect(files()).toEqual([])
  })
})

test('letters on their way in have room of their own, of which an address has half', async () => {
  // as much as openMailBytesInFlightMax says
  const { letters, json, envelopes } = hub.running.shares.pools
  expect(new Set([letters, json, envelopes]).size).toBe(3)
  const asked = request(`${client.url}/relay/send`, {
    ...{ method: 'POST', headers: { 'Content-Type': 'application/json' } },
  })
  asked.on('error', () => undefined)
  for (const piece of letter('nobody', MIB, '')) asked.write(piece)
  await vi.waitFor(() => expect(letters.held).toBeGreaterThan(MIB))
  expect([json.held, envelopes.held]).toEqual([0, 0])
  asked.destroy()
  await vi.waitFor(() => expect(letters.held).toBe(0))
  const pool = new BodyPool(2, 1, systemTimers)
  pool.open('one').cover(1)
  expect(() => pool.open('one').cover(1)).toThrow('rateLimited')
  pool.open('two').cover(1)
})

test('a folder of letters is there from the first start on', () => {
  expect(existsSync(join(hub.directory, 'open-blobs'))).toBe(true)
})
