/** Listings have no end that a reader sets: so few are written at once, and so slowly, that everybody else is served. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentRow } from '../testing/contract/world.ts'
import { random, startTestHub, type TestHub } from '../testing/hub.ts'
import { Wire1Client } from '../testing/wire1.ts'

const AGENTS = 4000
/** More in all than the buffers of a connection hold. */
const SUMMARY = 'x'.repeat(3000)

let hub: TestHub
let client: Wire1Client

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  const { store } = hub.running.hub.context
  const add = async (_: unknown, n: number) => {
    const row = agentRow(`agent-${n}`, { mail: 'open', summary: SUMMARY, kel: random(10) })
    const put = await store.putAgent({ row, entry: undefined, terms: [] })
    if (put.outcome !== 'stored') throw new Error(put.outcome)
    await store.putOpenProfile({ number: put.number, guestQuota: 0, pricing: '', address: undefined })
  }
  await Promise.all(Array.from({ length: AGENTS }, add))
}, 60_000)
afterAll(() => hub.close())

const by = (address: string) => ({ 'X-Forwarded-For': address })

/** A reader that takes the head, and nothing behind it. */
async function idleReader(path: string, address: string): Promise<IncomingMessage> {
  const request = get(`${client.url}${path}`, { headers: by(address), agent: false })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  answer.pause()
  answer.on('error', () => undefined)
  return answer
}

test('searches that find nobody let others be answered meanwhile', async () => {
  const ended: string[] = []
  const search = async (n: number) => {
    const answer = await fetch(`${client.url}/agents?q=nobody`, { headers: by(`198.51.100.${n}`) })
    expect(await answer.json()).toEqual({ agents: [] })
    ended.push('search')
  }
  const searches = [1, 2, 3, 4].map(search)
  await pause(1)
  for (let n = 0; n < 5; n++) await client.get('/healthz')
  ended.push('others')
  await Promise.all(searches)
  expect(ended[0]).toBe('others')
})

test.each(['/agents', '/agents?cap=a.*', '/agents?q=agent', '/p2p/peers', '/graph'])(
  'one address reads two long lists at once, and waits for the next, which may be %s',
  async path => {
    const address = '198.51.100.9'
    const readers = await Promise.all(
      Array.from({ length: path === '/graph' ? 1 : 2 }, () =>
        idleReader(path === '/p2p/peers' ? '/agents' : path, address),
      ),
    )
    let isOver = false
    const next = fetch(client.url + path, { headers: by(address) }).then(async answer => {
      isOver = true
      await answer.text()
      return answer.status
    })
    const other = await fetch(client.url + path, { headers: by('198.51.100.10') })
    await other.text()
    expect([other.status, isOver]).toEqual([200, false])
    readers[0]?.destroy()
    expect(await next).toBe(200)
    for (const reader of readers) reader.destroy()
  },
)

test('who finds no place in time is told when to come again', async () => {
  const address = '198.51.100.11'
  const ask = () => client.ask('GET', '/agents?cap=nobody.has', undefined, by(address))
  const readers = await Promise.all([1, 2].map(() => idleReader('/agents', address)))
  const waiting = Array.from({ length: 8 }, () => ask())
  await pause(50)
  const { status, json, headers } = await ask()
  expect([status, headers.get('retry-after'), json['error']]).toEqual([
    500,
    '10',
    'the hub cannot take this now: it writes as many lists as it may at once; try again later',
  ])
  for (const reader of readers) reader.destroy()
  expect((await Promise.all(waiting)).map(answer => answer.status)).toEqual(Array(8).fill(200))
})
