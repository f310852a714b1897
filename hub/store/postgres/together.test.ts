import { describe, expect, test } from 'vitest'
import { nextTurn } from '../../../protocol/timers.ts'
import { Together } from './together.ts'

/** A reader whose questions are answered by hand. */
function asked() {
  const questions: {
    keys: readonly string[]
    answer: (found: Record<string, number>) => void
    fail: (e: Error) => void
  }[] = []
  const together = new Together<number>(
    keys =>
      new Promise((resolve, reject) =>
        questions.push({ keys, answer: found => resolve(new Map(Object.entries(found))), fail: reject }),
      ),
  )
  return { questions, together }
}

describe('rows that are asked for by their key', () => {
  test('come by one question where they are asked for together, and the same key once', async () => {
    const { questions, together } = asked()
    const all = ['a', 'b', 'a'].map(key => together.find(key))
    await nextTurn()
    expect(questions.map(({ keys }) => keys)).toEqual([['a', 'b']])
    questions[0]?.answer({ a: 1 })
    expect(await Promise.all(all)).toEqual([1, undefined, 1])
  })

  test('are asked for anew by whoever comes while a question is under way', async () => {
    const { questions, together } = asked()
    const first = together.find('a')
    await nextTurn()
    const second = together.find('a')
    await nextTurn()
    questions[0]?.answer({ a: 1 })
    questions[1]?.answer({ a: 2 })
    expect([await first, await second]).toEqual([1, 2])
  })

  test('wait for one of two questions that are under way, and go together then', async () => {
    const { questions, together } = asked()
    const all: Promise<number | undefined>[] = []
    for (const key of ['a', 'b', 'c', 'd']) {
      all.push(together.find(key))
      await nextTurn()
    }
    expect(questions.map(({ keys }) => keys)).toEqual([['a'], ['b']])
    questions[0]?.answer({ a: 1 })
    await all[0]
    await nextTurn()
    expect(questions[2]?.keys).toEqual(['c', 'd'])
    questions[1]?.answer({})
    questions[2]?.answer({ c: 3, d: 4 })
    expect(await Promise.all(all)).toEqual([1, undefined, 3, 4])
  })

  test('fail together, and the next ones are asked for all the same', async () => {
    const { questions, together } = asked()
    const both = ['a', 'b'].map(key => together.find(key))
    await nextTurn()
    questions[0]?.fail(new Error('away'))
    const settled = await Promise.allSettled(both)
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = together.find('a')
    await nextTurn()
    questions[1]?.answer({ a: 1 })
    expect(await next).toBe(1)
  })
})
