import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drawn, seed, sliced } from '../../protocol/testing/slow.ts'
import { filePoints, points } from './crash-points.ts'
import { CrashLab, readNode, type Who } from './crash-world.ts'

const KILLS = sliced(200, 4)
const POINTS_OF_A_SLICE = 1

describe.each([3, 1] as const)('kill -9 at every named point of a delegation over wire %s', wire => {
  const lab = new CrashLab(['alice', 'bob'], {}, wire)
  const ids: string[] = []
  const withFile = new Set<string>()
  beforeAll(() => lab.open())
  afterAll(() => lab.close())

  async function checkAll(): Promise<void> {
    await lab.stop()
    const alice = await readNode(lab.dir('alice'))
    const bob = await readNode(lab.dir('bob'))
    for (const [n, id] of ids.entries()) {
      expect([...(alice.stories.get(id)?.texts ?? [])].sort()).toEqual([
        `answer to task ${n + 1}`,
        `task ${n + 1}`,
      ])
      // delegation, answer, end, accept-end; the file of a first contact follows in a message of its own
      const counts = withFile.has(id) ? [4, 5] : [4]
      expect(counts).toContain(alice.stories.get(id)?.messages)
      expect(bob.stories.get(id)?.digests).toEqual(alice.stories.get(id)?.digests)
    }
    expect([alice.chainLength, bob.chainLength]).toEqual([2 * ids.length, ids.length])
  }

  for (const who of ['alice', 'bob', 'hub'] as const)
    for (const point of drawn(points[who], POINTS_OF_A_SLICE))
      test(`${who} dies at ${point}: the task completes by itself`, async () => {
        const before = lab.kills
        await lab.arm(who, point)
        ids.push(await lab.runTask(ids.length + 1))
        expect(lab.kills).toBe(before + 1)
      })

  for (const who of ['alice', 'bob', 'hub'] as const)
    for (const point of drawn(filePoints[wire][who], POINTS_OF_A_SLICE))
      test(`${who} dies at ${point}: the task and its file arrive`, async () => {
        const before = lab.kills
        await lab.arm(who, point)
        const id = await lab.runTask(ids.length + 1, true)
        withFile.add(id)
        ids.push(id)
        expect(lab.kills).toBe(before + 1)
      })

  test(`${KILLS} kills at random moments (SEED=${seed})`, async () => {
    let word = seed >>> 0
    const next = () => {
      word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0
      return word / 2 ** 32
    }
    let running = true
    const work = (async () => {
      while (running) ids.push(await lab.runTask(ids.length + 1))
    })()
    for (let i = 0; i < KILLS; i++) {
      await new Promise(resolve => setTimeout(resolve, 100 + next() * 900))
      lab.kill((['hub', 'alice', 'bob'] as const)[Math.floor(next() * 3)] as Who)
    }
    running = false
    await work
  })

  test(
    'afterwards every message is in both stores exactly once, nothing was answered twice, both chains verify',
    checkAll,
  )
})
