// project: programs

/** What the tools cost an agent: never more calls or characters than the repository has on record. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Cost, play, storyNames } from './stories.ts'

const figures = JSON.parse(
  readFileSync(new URL('../../bench/agents.json', import.meta.url), 'utf8'),
) as Record<string, Cost>
/** It waits for eight seconds; the bench plays it. */
const slow = ['slow peer']

test.each(storyNames.filter(name => !slow.includes(name)))('%s: calls and characters', async name => {
  const figure = figures[name] ?? { calls: 0, characters: 0 }
  const { calls, characters } = await play(name)
  expect(calls).toBeLessThanOrEqual(figure.calls)
  expect(characters).toBeLessThanOrEqual(figure.characters * 1.02)
})

test('to find an agent, delegate, read the answer and end with a review takes three calls', () => {
  expect(figures['plain']?.calls).toBe(3)
  expect(Object.keys(figures).sort()).toEqual([...storyNames].sort())
})
