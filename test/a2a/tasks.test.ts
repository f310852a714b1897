/** Tasks over A2A by the stock SDK, in both bindings, against real nodes and a hub. */
import { Task, TaskState } from '@a2a-js/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inboxIds, never, until } from '../two-nodes/world.ts'
import { type A2aLab, openA2aLab, words } from './world.ts'

let world: A2aLab
beforeAll(async () => {
  world = await openA2aLab()
})
afterAll(() => world.lab.close())

const taskOf = (sent: unknown): Task => {
  expect(sent).toHaveProperty('status')
  return sent as Task
}

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('%s', binding => {
  test('a message becomes a task of the agent, goes over by sealed mail, and its answer comes back', async () => {
    const { alice, bob } = world
    const client = await world.client(binding)
    const sent = taskOf(
      await client.sendMessage(words(`Count to two, ${binding}`, {}, { returnImmediately: true })),
    )
    expect(sent.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED)
    await until('the task arrives', async () => (await inboxIds(bob)).includes(sent.id))
    await bob.handlers.message({ interaction_id: sent.id, text: 'one two' }, never)
    await until('the answer is back', async () => {
      const task = await client.getTask({ tenant: '', id: sent.id })
      return task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
    })
    const task = await client.getTask({ tenant: '', id: sent.id })
    expect(Task.toJSON(task)).toMatchObject({
      id: sent.id,
      contextId: sent.contextId,
      status: { message: { role: 'ROLE_AGENT', parts: [{ text: 'one two' }] } },
      artifacts: [{ artifactId: 'answer-1', parts: [{ text: 'one two' }] }],
      history: [
        { role: 'ROLE_USER', parts: [{ text: `Count to two, ${binding}` }] },
        { role: 'ROLE_AGENT', parts: [{ text: 'one two' }] },
      ],
    })
    expect((await alice.handlers.results({}, never)).items.map(item => item.interaction_id)).toContain(
      sent.id,
    )
  })
})
