import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seed } from '../../protocol/testing/slow.ts'
import { reviewPoints } from './crash-points.ts'
import { CrashLab, readNode, type Who } from './crash-world.ts'

const KILLS = 8

/** A small generator with a seed, so that a failure can be repeated. */
function generator(state: number): () => number {
  let word = state >>> 0
  return () => {
    word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0
    return word / 2 ** 32
  }
}

describe.each([3, 1] as const)(`kill -9 at random moments over wire %s (SEED=${seed})`, wire => {
  const lab = new CrashLab(['alice', 'bob'], {}, wire)
  const ids: string[] = []
  beforeAll(() => lab.open())
  afterAll(() => lab.close())

  test(`${KILLS} kills of hub, sender or receiver: every task completes by itself, once`, {
    timeout: 300_000,
  }, async () => {
    const next = generator(seed)
    const whos: Who[] = ['hub', 'alice', 'bob']
    let running = true
    const work = (async () => {
      while (running || ids.length < 2) ids.push(await lab.runTask(ids.length + 1))
    })()
    for (let i = 0; i < KILLS; i++) {
      await new Promise(resolve => setTimeout(resolve, 80 + next() * 400))
      lab.kill(whos[Math.floor(next() * whos.length)] as Who)
    }
    running = false
    await work
  })

  for (const who of ['alice', 'hub'] as const)
    for (const point of wire === 1 ? reviewPoints[who] : [])
      test(`${who} dies at ${point}: the hub has the review once`, async () => {
        const id = await lab.runTask(ids.length + 1)
        ids.push(id)
        const before = lab.kills
        await lab.arm(who, point)
        await lab.review(id)
        expect([lab.kills, await lab.reviewsOf(id)]).toEqual([before + 1, 1])
      })

  test('afterwards both nodes hold each task once, and their chains verify', async () => {
    await lab.stop()
    const alice = await readNode(lab.dir('alice'))
    const bob = await readNode(lab.dir('bob'))
    expect(new Set(ids).size).toBe(ids.length)
    for (const [n, id] of ids.entries()) {
      const expected = [`task ${n + 1}`, `answer to task ${n + 1}`]
      expect([...(alice.stories.get(id)?.texts ?? [])].sort()).toEqual([...expected].sort())
      expect(alice.stories.get(id)?.messages).toBe(4)
      expect(bob.stories.get(id)?.digests).toEqual(alice.stories.get(id)?.digests)
    }
    expect([alice.chainLength, bob.chainLength]).toEqual([2 * ids.length, ids.length])
  })
})
