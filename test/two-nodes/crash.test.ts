import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seed } from '../../protocol/testing/slow.ts'
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

const lab = new CrashLab()
beforeAll(() => lab.open())
afterAll(() => lab.close())

describe(`kill -9 at random moments (SEED=${seed})`, () => {
  test(`${KILLS} kills of hub, sender or receiver: every task completes by itself, once`, {
    timeout: 300_000,
  }, async () => {
    const next = generator(seed)
    const whos: Who[] = ['hub', 'alice', 'bob']
    let tasks = 0
    let running = true
    const ids: string[] = []
    const work = (async () => {
      while (running || tasks < 2) ids.push(await lab.runTask(++tasks))
    })()
    for (let i = 0; i < KILLS; i++) {
      await new Promise(resolve => setTimeout(resolve, 80 + next() * 400))
      lab.kill(whos[Math.floor(next() * whos.length)] as Who)
    }
    running = false
    await work
    await lab.stop()
    const alice = await readNode(lab.dir('alice'))
    const bob = await readNode(lab.dir('bob'))
    expect(new Set(ids).size).toBe(tasks)
    for (const [n, id] of ids.entries()) {
      const expected = [`task ${n + 1}`, `answer to task ${n + 1}`]
      expect([...(alice.stories.get(id)?.texts ?? [])].sort()).toEqual([...expected].sort())
      expect(alice.stories.get(id)?.messages).toBe(4)
      expect(bob.stories.get(id)?.digests).toEqual(alice.stories.get(id)?.digests)
    }
    expect([alice.chainLength, bob.chainLength]).toEqual([2 * tasks, tasks])
  })
})
