/** Each write of a node's store fails in turn while a client of A2A is served: it is told each thing once. */
import { type Task, TaskState } from '@a2a-js/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failWrites } from '../../daemon/testing/failing-store.ts'
import { inboxIds, never, until } from '../two-nodes/world.ts'
import { type A2aLab, openA2aLab, words } from './world.ts'

let world: A2aLab
beforeAll(async () => {
  world = await openA2aLab()
})
afterAll(() => world.lab.close())

/** Whoever asked repeats what was refused for want of room, with the same message. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === 5 || !/the disk of the node is full.*repeat it/.test(String(error))) throw error
    }
  }
}

/** A task over A2A, from its first message to the answer that a client reads. */
async function course(n: number): Promise<Task> {
  const { bob } = world
  const client = await world.client()
  const message = words(`task ${n}`, {}, { returnImmediately: true })
  const { id } = (await again(() => client.sendMessage(message))) as Task
  await until('the task arrives', async () => (await inboxIds(bob)).includes(id))
  await bob.handlers.message({ interaction_id: id, text: `answer ${n}` }, never)
  const task = () => again(() => client.getTask({ tenant: '', id }))
  await until(
    'the answer is told',
    async () => (await task()).status?.state === TaskState.TASK_STATE_INPUT_REQUIRED,
  )
  return task()
}

test.each([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22])(
  'from write %i on, four writes fail for want of room',
  async nth => {
    const disk = failWrites(world.alice.ctx.store, { from: nth, count: 4 })
    try {
      const { artifacts, history } = await course(nth)
      expect(disk.failed).toBe(4)
      expect(artifacts).toHaveLength(1)
      expect(history).toHaveLength(2)
      const tasks = world.alice.ctx.store.all(
        'SELECT id FROM a2a_tasks WHERE interaction IN (SELECT key FROM interactions WHERE preview = ?)',
        `task ${nth}`,
      )
      expect(tasks).toHaveLength(1)
    } finally {
      disk.mend()
    }
  },
)
