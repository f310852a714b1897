/** Each write of a node's store fails in turn while every loop runs: the node lives, says it once, and goes on. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { isOutOfRoom } from '../../daemon/platform/room.ts'
import { failWrites } from '../../daemon/testing/failing-store.ts'
import { finished, inboxIds, type Lab, never, openPair, texts, until } from './world.ts'

let lab: Lab
let nodes: Record<'alice' | 'bob', Node>

beforeAll(async () => {
  const { lab: opened, ...pair } = await openPair()
  lab = opened
  nodes = pair
})
afterAll(() => lab.close())

/** A task from its first message to the receipt that both signed. */
async function conversation(n: string): Promise<string> {
  const { alice, bob } = nodes
  const task = { to: bob.aid, task: `task ${n}`, idempotency_key: n }
  const { interaction_id } = await again(() => alice.handlers.delegate(task, never))
  await until('the task arrives', async () => (await inboxIds(bob)).includes(interaction_id))
  const answer = { interaction_id, text: `answer ${n}`, idempotency_key: n }
  await again(() => bob.handlers.message(answer, never))
  await until('the answer arrives', async () => (await texts(alice, interaction_id)).includes(answer.text))
  await again(() => finished(alice, bob, interaction_id))
  return interaction_id
}

/** A person repeats what was refused for want of room. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === 5 || !isOutOfRoom(error)) throw error
    }
  }
}

const places = ['alice', 'bob'].flatMap(name =>
  [1, 2, 3, 5, 8, 13, 21, 34, 48].map(nth => [name, nth] as const),
)

test.each(places)('%s: from write %i on, four writes fail for want of room', async (name, nth) => {
  const disk = failWrites(nodes[name as 'alice' | 'bob'].ctx.store, { from: nth, count: 4 })
  try {
    const id = await conversation(`${name} ${nth}`)
    expect(disk.failed).toBe(4)
    expect((await texts(nodes.alice, id)).filter(text => text.startsWith('answer'))).toHaveLength(1)
    expect((await texts(nodes.bob, id)).filter(text => text.startsWith('task'))).toHaveLength(1)
  } finally {
    disk.mend()
  }
})
