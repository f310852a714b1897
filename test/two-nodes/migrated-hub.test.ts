/** A hub moves to a database and back while its nodes are at work: every task completes by itself, once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresServer, withoutPostgres } from '../../hub/testing/postgres-server.ts'
import { runHub } from '../../hub/testing/process.ts'
import { CrashLab, readNode } from './crash-world.ts'

const AT_ONCE = 3
const WORK_MS = 1500
const AWAY_MS = 2000

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a hub that moves under its nodes', () => {
  const lab = new CrashLab()
  const ids = new Map<number, string>()
  let server: PostgresServer
  let asked = 0
  beforeAll(async () => {
    server = await PostgresServer.start()
    await lab.open()
    // the file of a first contact follows in a message of its own
    await runTask(false)
  })
  afterAll(async () => {
    await lab.close()
    await server.stop()
  })

  const runTask = async (withFile: boolean) => {
    const n = ++asked
    ids.set(n, await lab.runTask(n, withFile))
  }

  /** Tasks one after another, a few at once, until told to stop. */
  function work(): { stop: () => Promise<void> } {
    let isRunning = true
    const ways = Array.from({ length: AT_ONCE }, async (_, way) => {
      while (isRunning) await runTask(way === 0)
    })
    return {
      async stop() {
        isRunning = false
        await Promise.all(ways)
      },
    }
  }

  /** Letters to bob wait at the hub as it goes, others are written while it is away. */
  async function moveUnderWork(order: string[], hubArgs: string[]): Promise<void> {
    const before = ids.size
    const working = work()
    await pause(WORK_MS)
    await lab.halt('bob')
    const waiting = [runTask(true), runTask(false)]
    await pause(WORK_MS)
    await lab.halt('hub')
    waiting.push(runTask(true), runTask(false))
    lab.start('bob')
    const moved = await runHub(['migrate', ...order, '--data-dir', lab.dir('hub')])
    expect([moved.stderr, moved.code]).toEqual(['', 0])
    await pause(AWAY_MS)
    lab.hubArgs = hubArgs
    lab.start('hub')
    await Promise.all(waiting)
    await working.stop()
    expect(ids.size).toBeGreaterThanOrEqual(before + AT_ONCE + waiting.length)
  }

  test('to a database', () => moveUnderWork(['--to', server.url], ['--store', server.url]))

  test('back to a file', () => moveUnderWork(['--to', 'file', '--store', server.url], []))

  test('afterwards both nodes hold each task once, and their chains verify', async () => {
    await lab.stop()
    const [alice, bob] = [await readNode(lab.dir('alice')), await readNode(lab.dir('bob'))]
    expect(new Set(ids.values()).size).toBe(asked)
    for (const [n, id] of ids) {
      const texts = alice.stories.get(id)?.texts ?? []
      expect([...texts].sort()).toEqual([`answer to task ${n}`, `task ${n}`])
      expect(alice.stories.get(id)?.messages).toBe(4)
      expect(bob.stories.get(id)?.digests).toEqual(alice.stories.get(id)?.digests)
    }
    expect([alice.chainLength, bob.chainLength]).toEqual([2 * asked, asked])
  })
})
