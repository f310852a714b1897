/** What a delegation is told of a recipient of whom nobody here knows anything. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agent } from '../../protocol/testing/agents.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { directoryOf } from './parts.ts'

let world: TestWorld
let alice: TestNode
beforeEach(async () => {
  world = new TestWorld()
  alice = await world.node('alice')
})
afterEach(() => world[Symbol.asyncDispose]())

const stranger = agent('mistyped').aid
const warning = () => directoryOf(alice.ctx).unlistedWarning(alice.ctx.hub.home, stranger)
const empty = { entries: [], partial: false, bits: 0 }

test('an agent whom the directory does not list is warned of', async () => {
  alice.hub.answers({ bucket: async () => empty })
  expect(await warning()).toContain('does not list it; check it')
})

test.each([
  ['is incomplete', async () => ({ ...empty, partial: true })],
  ['is a refusal', () => Promise.reject(refusedWith('rate_limited'))],
  ['does not come', () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))],
])('nobody is warned of where the answer of the directory %s', async (_, bucket) => {
  alice.hub.answers({ bucket })
  expect(await warning()).toBeUndefined()
})
