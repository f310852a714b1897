import { expect, test } from 'vitest'
import { forgetLeanMemory, leanMemory } from './lean-memory.ts'

test('what the node is given for its own memory goes to no program that it starts; what a person set stays', () => {
  const env = { ...leanMemory, MALLOC_TRIM_THRESHOLD_: '1', PATH: '/bin' }
  forgetLeanMemory(env)
  expect(env).toEqual({ MALLOC_TRIM_THRESHOLD_: '1', PATH: '/bin' })
})
