// project: programs
/** A server that goes away, and connections that are lost: nothing that was acknowledged is lost, and the store goes on. */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../../protocol/testing/small-disk.ts'
import { agentRow, item, NOW_MS } from '../../testing/contract/world.ts'
import { CuttingProxy } from '../../testing/cutting-proxy.ts'
import { emptyAll, openForTest } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import { type EnqueueResult, type Store, StoreAway, StoreFull, StoreLocked } from '../port.ts'
import { type Connections, connectTo } from './connections.ts'

const BOUNDS = { connectMs: 1000, statementMs: 2000, lockMs: 500, idleMs: 500, answerMs: 1000 }
const LETTERS = 300
const DISK_BYTES = 32 * 1024 * 1024
const CONTENT_BYTES = 200_000

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a server that is lost', () => {
  let server: PostgresServer
  let proxy: CuttingProxy
  let aside: Connections
  let store: Store
  let box = 0
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    proxy = await CuttingProxy.start(server.socket)
    aside = connectTo(server.url)
    store = await openForTest(
      connectTo(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`, { bounds: BOUNDS }),
    )
    const put = await store.putAgent({ row: agentRow('agent-one'), entry: undefined, terms: [] })
    if (put.outcome === 'stored') box = put.number
  })
  afterEach(async () => {
    await store.close()
    await proxy.stop()
    await emptyAll(aside)
    await aside.close()
  })

  const letter = (n: number) => {
    const one = item(box, n)
    const digest = new Uint8Array(32)
    new DataView(digest.buffer).setUint32(0, n)
    return { ...one, digest, limits: { ...one.limits, envelopesMax: LETTERS, bytesMax: 1e9 } }
  }
  const waiting = async (): Promise<number[]> => {
    const asked = { mailbox: box, afterId: 0, limit: 1000, bytesMax: 1e9, nowMs: NOW_MS }
    return (await store.poll(asked)).envelopes.map(({ id }) => id)
  }
  /** Sends again for as long as the store says that the database is away. */
  const sent = async (n: number, refusals: unknown[] = []): Promise<EnqueueResult> => {
    try {
      return await store.enqueue(letter(n))
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error
      refusals.push(error)
      await new Promise(resolve => setTimeout(resolve, 50))
      return await sent(n, refusals)
    }
  }
  const sendAll = (refusals: unknown[] = []) =>
    Promise.all(
      Array.from({ length: LETTERS }, async (_, n) => {
        await new Promise(resolve => setTimeout(resolve, n * 5))
        return await sent(n + 1, refusals)
      }),
    )
  const isAway = async () => (await store.health()).away
  const back = async () => {
    while (await isAway()) await new Promise(resolve => setTimeout(resolve, 50))
  }

  test('it ends its connections while letters are sent: each letter is there once', async () => {
    const sending = sendAll()
    for (let round = 0; round < 15; round++) {
      await aside.all('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    const outcomes = await sending
    expect(
      new Set(outcomes.map(({ outcome }) => outcome)).difference(new Set(['queued', 'duplicate'])),
    ).toEqual(new Set())
    expect(await waiting()).toHaveLength(LETTERS)
  })

  test.each(['SIGINT', 'SIGQUIT'] as const)(
    'it ends by %s and starts again while letters are sent: each letter is there once',
    async signal => {
      const refusals: unknown[] = []
      const sending = sendAll(refusals)
      await new Promise(resolve => setTimeout(resolve, 300))
      await server.halt(signal)
      await expect(store.findAgent('agent-one')).rejects.toBeInstanceOf(StoreAway)
      expect(await store.health()).toMatchObject({ away: true, broken: false })
      await server.resume()
      await sending
      expect(refusals.length).toBeGreaterThan(0)
      expect(await waiting()).toHaveLength(LETTERS)
      expect(await isAway()).toBe(false)
    },
  )

  test('whoever asks how the store is learns that the server is back, without any change', async () => {
    await server.halt()
    await expect(store.putSetting('one', 'value')).rejects.toBeInstanceOf(StoreAway)
    expect(await isAway()).toBe(true)
    await server.resume()
    await back()
    await store.putSetting('one', 'value')
  })

  test('a connection that is cut before the commit is noticed by nobody', async () => {
    await store.poll({ mailbox: box, afterId: 0, limit: 1, bytesMax: 1, nowMs: NOW_MS })
    proxy.cut()
    expect(await store.findAgent('agent-one')).toBeDefined()
    proxy.cutBefore('INSERT INTO envelope')
    expect(await store.enqueue(letter(1))).toMatchObject({ outcome: 'queued' })
    expect(await waiting()).toEqual([1])
  })

  test('of a commit whose answer is lost the outcome is unknown, and asking again is answered as if it was kept', async () => {
    proxy.loseAnswerTo('COMMIT')
    const lost = store.enqueue(letter(1))
    await expect(lost).rejects.toBeInstanceOf(StoreAway)
    await expect(lost).rejects.toThrow('what was being written may be kept')
    expect(await store.enqueue(letter(1))).toMatchObject({ outcome: 'duplicate' })
    expect(await waiting()).toEqual([1])
    proxy.cutBefore('COMMIT')
    await expect(store.enqueue(letter(2))).rejects.toBeInstanceOf(StoreAway)
    expect(await store.enqueue(letter(2))).toMatchObject({ outcome: 'queued' })
    expect(await waiting()).toEqual([1, 2])
  })

  test.each([
    ['after it got through', true, 'duplicate'],
    ['before it got through', false, 'queued'],
  ] as const)(
    'a connection that hangs in the middle of a commit, %s, is given up in time, and asking again is answered',
    async (_, passes, outcome) => {
      proxy.hangAt('COMMIT', passes)
      const startedMs = performance.now()
      await expect(store.enqueue(letter(1))).rejects.toThrow('what was being written may be kept')
      expect(performance.now() - startedMs).toBeLessThan(BOUNDS.answerMs + 500)
      expect(await sent(1)).toMatchObject({ outcome })
      expect(await waiting()).toHaveLength(1)
    },
  )

  test('a server that is silent is given up in time, and holds no lock for one that is gone', async () => {
    await store.enqueue(letter(1))
    proxy.silence()
    const startedMs = performance.now()
    await expect(store.enqueue(letter(2))).rejects.toBeInstanceOf(StoreAway)
    await expect(store.findAgent('agent-one')).rejects.toBeInstanceOf(StoreAway)
    expect(performance.now() - startedMs).toBeLessThan(BOUNDS.answerMs + 2 * BOUNDS.connectMs + 500)
    expect(await isAway()).toBe(true)
    proxy.speak()
    await back()
    expect(await sent(2)).toMatchObject({ outcome: 'queued' })
    expect(await waiting()).toEqual([1, 2])
  })

  test('a transaction whose process says nothing more ends, and its locks with it', async () => {
    const hung = connectTo(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`, { bounds: BOUNDS })
    const stuck = hung.transaction(async db => {
      await db.run("SELECT FROM agent WHERE aid = 'agent-one' FOR UPDATE")
      await new Promise(resolve => setTimeout(resolve, 2 * BOUNDS.idleMs))
      await db.run('SELECT 1')
    })
    await expect(stuck).rejects.toBeInstanceOf(StoreAway)
    await hung.close()
    expect(await store.enqueue(letter(1))).toMatchObject({ outcome: 'queued' })
  })

  test('a transaction that could not begin keeps nothing of what was asked along with it', async () => {
    const refused = connectTo(server.url, { bounds: { ...BOUNDS, lockMs: -1 } })
    const asked = refused.transaction(async db => {
      const found = db.one('SELECT 1')
      const changed = db.run("INSERT INTO setting (name, value) VALUES ('begun', 'no')")
      await Promise.allSettled([found, changed])
    })
    await expect(asked).rejects.toThrow(/lock_timeout/)
    expect(await aside.one("SELECT 1 FROM setting WHERE name = 'begun'")).toBeUndefined()
    await refused.close()
  })

  test('what somebody else has locked is refused in time, and goes through later', {
    timeout: 20_000,
  }, async () => {
    await aside.transaction(
      async db => {
        await db.run("SELECT FROM agent WHERE aid = 'agent-one' FOR UPDATE")
        await expect(store.enqueue(letter(1))).rejects.toBeInstanceOf(StoreLocked)
        expect(await store.health()).toMatchObject({ locked: true, away: false })
      },
      { holds: true },
    )
    expect(await store.enqueue(letter(1))).toMatchObject({ outcome: 'queued' })
    expect(await store.health()).toMatchObject({ locked: false })
  })

  test('a server that takes no changes is away, until it takes them', async () => {
    const readOnly = async (value: string) => {
      await aside.transaction(
        async db =>
          void (await db.run(`ALTER DATABASE postgres SET default_transaction_read_only = ${value}`)),
      )
      proxy.cut()
    }
    await readOnly('on')
    await expect(store.enqueue(letter(1))).rejects.toBeInstanceOf(StoreAway)
    expect([await isAway(), await isAway()]).toEqual([true, true])
    expect(await store.findAgent('agent-one')).toBeDefined()
    await readOnly('off')
    await back()
    expect(await store.enqueue(letter(1))).toMatchObject({ outcome: 'queued' })
  })

  test.skipIf(!hasSmallDisks)('a full disk refuses letters until it has room again', async () => {
    await withSmallDisk(DISK_BYTES, async folder => {
      server.give(folder)
      server.order(`CREATE TABLESPACE small LOCATION '${folder}'`)
      server.order('CREATE DATABASE small TABLESPACE small')
      const small = await openForTest(
        connectTo(server.url.replace('/postgres?', '/small?'), { bounds: BOUNDS }),
      )
      const put = await small.putAgent({ row: agentRow('agent-one'), entry: undefined, terms: [] })
      const mailbox = put.outcome === 'stored' ? put.number : 0
      const large = (n: number) => ({ ...letter(n), mailbox, content: randomBytes(CONTENT_BYTES) })
      await small.enqueue(large(1))
      fillUp(join(folder, 'filler'))
      const refused = await Promise.all(
        Array.from({ length: 20 }, (_, n) => small.enqueue(large(n + 2)).catch((error: unknown) => error)),
      )
      expect(refused.at(-1)).toBeInstanceOf(StoreFull)
      expect(await small.health()).toMatchObject({ full: true, away: false })
      rmSync(join(folder, 'filler'))
      expect(await small.enqueue(large(100))).toMatchObject({ outcome: 'queued' })
      expect(await small.health()).toMatchObject({ full: false })
      await small.close()
      server.order('DROP DATABASE small')
      server.order('DROP TABLESPACE small')
    })
  })

  test('a statement that takes too long is ended by the server', async () => {
    const slow = connectTo(server.url, { bounds: { ...BOUNDS, statementMs: 200 } })
    await expect(slow.one('SELECT pg_sleep(3)')).rejects.toThrow(/statement timeout/)
    await expect(slow.transaction(db => db.one('SELECT pg_sleep(3)'))).rejects.toBeInstanceOf(StoreAway)
    expect(await slow.one('SELECT 1 AS one')).toEqual({ one: 1 })
    await slow.close()
  })

  test('what is said of a server that is away has no address in it', async () => {
    await server.halt()
    for (const ask of [() => store.putSetting('one', 'value'), () => store.findAgent('agent-one')]) {
      const error = await ask().then(String, (thrown: unknown) => inspect(thrown, { depth: 9 }))
      expect(error).toMatch(/the database is away/)
      expect(error).not.toMatch(/127\.0\.0\.1|localhost|postgres:\/\//)
    }
    await server.resume()
  })
})
