// project: programs
/** Two stores over one database, as two processes have them: what one commits the other has, and neither oversteps the other. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { agentRow, item, NOW_MS } from '../../testing/contract/world.ts'
import { emptyAll, openForTest } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import type { Store } from '../port.ts'
import { connectTo } from './connections.ts'

const LETTERS = 400

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'two processes at one database', () => {
  let server: PostgresServer
  let [one, other]: Store[] = []
  let box = 0
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    const both = await Promise.all([openForTest(connectTo(server.url)), openForTest(connectTo(server.url))])
    ;[one, other] = both
    const put = await both[0].putAgent({ row: agentRow('agent-one'), entry: undefined, terms: [] })
    if (put.outcome === 'stored') box = put.number
  })
  afterEach(async () => {
    await Promise.all([one?.close(), other?.close()])
    const connections = connectTo(server.url)
    await emptyAll(connections)
    await connections.close()
  })
  const stores = (): [Store, Store] => [one as Store, other as Store]

  test('whoever reads on after the last id misses nothing of what both queue', async () => {
    const [a, b] = stores()
    const items = Array.from({ length: LETTERS }, (_, n) => ({ ...item(box, 0), digest: digestOf(n) }))
    const limits = { ...item(box, 0).limits, envelopesMax: LETTERS, bytesMax: 1e9 }
    const queueing = Promise.all(items.map((one, n) => (n % 2 === 0 ? a : b).enqueue({ ...one, limits })))
    const read: number[] = []
    while (read.length < LETTERS) {
      const afterId = read.at(-1) ?? 0
      const { envelopes } = await b.poll({ mailbox: box, afterId, limit: 1000, bytesMax: 1e9, nowMs: NOW_MS })
      read.push(...envelopes.map(({ id }) => id))
      if (envelopes.length === 0) await new Promise(resolve => setTimeout(resolve, 1))
    }
    expect(read).toEqual(Array.from({ length: LETTERS }, (_, n) => n + 1))
    expect(new Set((await queueing).map(({ outcome }) => outcome))).toEqual(new Set(['queued']))
  })

  test('a letter that was judged before the other one changed its agent is not queued', async () => {
    const [a, b] = stores()
    const held = await a.findAgent('agent-one')
    if (held === undefined) throw new Error('the agent is missing')
    await b.putAgent({ row: { ...held, name: 'changed' }, entry: undefined, terms: [] })
    expect(await a.enqueue(item(box, 1, { judgedBy: held.version }))).toMatchObject({ outcome: 'moved' })
    expect(await a.putAgent({ row: held, entry: undefined, terms: [] })).toEqual({ outcome: 'conflict' })
  })

  test('the same letter at both is queued once', async () => {
    const [a, b] = stores()
    const outcomes = await Promise.all([a.enqueue(item(box, 1)), b.enqueue(item(box, 1))])
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['duplicate', 'queued'])
    expect(outcomes.map(one => ('rid' in one ? String(one.rid) : ''))[0]).toBe(
      outcomes.map(one => ('rid' in one ? String(one.rid) : ''))[1],
    )
  })

  test('a registration waits for no other one, and whoever reads on after what is told misses neither', async () => {
    const [a, b] = stores()
    const federated = { visibility: 'federated', keys: new Uint8Array(9) } as const
    const put = async (store: Store, aid: string) => {
      const row = (await store.findAgent(aid)) ?? agentRow(aid)
      return await store.putAgent({ row: { ...row, ...federated }, entry: undefined, terms: [] })
    }
    const told = async (after: number) => (await b.toldCards({ after, limit: 100, bytesMax: 1e6 })).told
    const aside = connectTo(server.url)
    let waiting: Promise<unknown> = Promise.resolve()
    await aside.transaction(async db => {
      await db.run("SELECT FROM agent WHERE aid = 'agent-one' FOR UPDATE")
      waiting = put(a, 'agent-one')
      expect(await put(b, 'agent-two')).toMatchObject({ outcome: 'stored' })
      expect(await told(0)).toHaveLength(1)
    })
    await waiting
    const [first, ...rest] = await told(0)
    expect([rest.length, await told(first?.fedSeq ?? 0)]).toEqual([1, rest])
    await aside.close()
  })

  test('whoever reads on after the last card misses none of those that both tell', async () => {
    const [a, b] = stores()
    const known = { visibility: 'federated', keys: new Uint8Array(9), kel: new Uint8Array(9) } as const
    const putting = Promise.all(
      Array.from({ length: LETTERS }, (_, n) => {
        const row = { ...agentRow(`agent-${n}`), ...known, kel: digestOf(n) }
        return (n % 2 === 0 ? a : b).putAgent({ row, entry: undefined, terms: [] })
      }),
    )
    const read = new Set<string>()
    let after = 0
    const readOn = async () => {
      const { told } = await b.toldCards({ after, limit: 100, bytesMax: 1e6 })
      for (const one of told) if ('kel' in one) read.add(String(one.kel))
      after = told.at(-1)?.fedSeq ?? after
      return told.length
    }
    let isOver = false
    const put = putting.finally(() => {
      isOver = true
    })
    while (!isOver) await readOn()
    await put
    while ((await readOn()) > 0);
    expect(read.size).toBe(LETTERS)
  })

  test('a new account is made once', async () => {
    const [a, b] = stores()
    const change = { row: agentRow('agent-two'), entry: undefined, terms: [] }
    const outcomes = await Promise.all([a.putAgent(change), b.putAgent(change)])
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['conflict', 'stored'])
  })
})

const digestOf = (n: number): Uint8Array => {
  const digest = new Uint8Array(32)
  new DataView(digest.buffer).setUint32(0, n)
  return digest
}
