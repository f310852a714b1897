// project: programs

/** Every method of A2A 1.0 by the stock SDK, in both bindings, with an agent behind the node that answers by a program. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  AgentCard,
  CancelTaskRequest,
  ListTasksRequest,
  Message,
  SendMessageRequest as Request,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { never, texts, thread, until } from '../two-nodes/world.ts'
import { type A2aLab, openA2aLab, words } from './world.ts'

const PROVIDER = `${process.execPath} ${join(import.meta.dirname, 'provider.mjs')}`

let world: A2aLab
beforeAll(async () => {
  world = await openA2aLab(undefined, { SVC_EXEC_COMMAND: PROVIDER })
  await world.bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
  await world.alice.handlers.a2aSet({ on: true, push_hosts: ['127.0.0.1'] }, never)
})
afterAll(() => world.lab.close())

type Plain = Record<string, never> & { id: string; contextId: string }
type Status = { state: string; message?: { parts: { text: string }[] } }
const plain = (sent: Task | Message) =>
  Task.toJSON(sent as Task) as Plain & { status: Status; artifacts?: object[]; history?: { role: string }[] }
/** Words that make the agent answer as one of the kit's scenarios says. */
const scenario = (name: string, more: object = {}, configuration: object = {}) =>
  words(`please ⟦${name}⟧`, more, configuration)
const idOf = (id: string) => ({ tenant: '', id })
async function all(stream: AsyncIterable<StreamResponse>) {
  const items: Record<string, { status?: Status; artifact?: object }>[] = []
  for await (const item of stream) items.push(StreamResponse.toJSON(item) as never)
  return items
}
const kindsOf = (items: object[]) => items.map(item => Object.keys(item)[0])
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'answered',
    (error: Error) => error.name,
  )

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('by the stock SDK over %s', binding => {
  let client: Client
  beforeAll(async () => {
    client = await world.client(binding)
  })

  test('a message waits for the answer, and what the agent completes is signed by both', async () => {
    const task = plain(await client.sendMessage(scenario('tck-artifact-data')))
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'out', parts: [{ data: { key: 'value', count: 42 } }] }],
      history: [{ role: 'ROLE_USER' }],
    })
    await until('both signed', async () => (await thread(world.alice, task.id)).receipt?.verified === true)
  })

  test('an agent may answer without a task', async () => {
    const answer = Message.toJSON((await client.sendMessage(scenario('tck-message-response'))) as Message)
    expect(answer).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] })
  })

  test('an agent that rejects a task has it rejected', async () => {
    const { status } = plain(await client.sendMessage(scenario('tck-reject-task')))
    expect(status.state).toBe('TASK_STATE_REJECTED')
  })

  test('an answer that cannot be read is an error that names the task', async () => {
    const sent = Request.toJSON(scenario('unreadable'))
    const response = await world.fetch(`${world.url}/bob/message:send`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
      body: JSON.stringify(sent),
    })
    const { error } = (await response.json()) as { error: { details: { metadata: { taskId: string } }[] } }
    const taskId = error.details[0]?.metadata.taskId ?? ''
    expect(plain(await client.getTask(idOf(taskId))).status.state).toBe('TASK_STATE_FAILED')
  })

  test('a conversation goes on under its task until it is over', async () => {
    const { id, contextId, status } = plain(await client.sendMessage(scenario('tck-input-required')))
    expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const elsewhere = scenario('tck-complete-task', { taskId: id, contextId: 'another' })
    expect(await codeOf(client.sendMessage(elsewhere))).not.toBe('answered')
    const ended = plain(await client.sendMessage(scenario('tck-complete-task', { taskId: id })))
    expect([ended.id, ended.contextId]).toEqual([id, contextId])
    expect(ended.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'Hello from TCK' }] },
    })
    const late = scenario('tck-complete-task', { taskId: id })
    expect(await codeOf(client.sendMessage(late))).toBe('UnsupportedOperationError')
    const short = plain(await client.getTask({ ...idOf(id), historyLength: 1 }))
    expect(short.history).toHaveLength(1)
    expect(plain(await client.getTask({ ...idOf(id), historyLength: 0 })).history).toBeUndefined()
  })

  test('a stream tells the task, then what happens, and ends with it', async () => {
    const items = await all(client.sendMessageStream(scenario('tck-stream-artifact-chunked')))
    expect(kindsOf(items)).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    expect(items.at(1)?.['statusUpdate']?.status?.state).toBe('TASK_STATE_WORKING')
    expect(items.at(3)?.['artifactUpdate']).toMatchObject({ append: true, lastChunk: true })
    expect(items.at(-1)?.['statusUpdate']?.status?.state).toBe('TASK_STATE_COMPLETED')
  })

  test('whoever subscribes to a task hears what happens then; one that is over has no more to tell', async () => {
    const { id } = plain(await client.sendMessage(scenario('tck-input-required')))
    const heard = all(client.resubscribeTask(idOf(id)))
    await client.sendMessage(scenario('tck-stream-001', { taskId: id }))
    const items = await heard
    expect(kindsOf(items)[0]).toBe('task')
    expect(items.at(-1)?.['statusUpdate']?.status?.state).toBe('TASK_STATE_COMPLETED')
    expect(await codeOf(all(client.resubscribeTask(idOf(id))))).not.toBe('answered')
  })

  test('tasks are listed by context, a page at a time, the one that changed last first', async () => {
    const contextId = `list-${binding}`
    const ids: string[] = []
    for (let n = 0; n < 3; n++)
      ids.unshift(plain(await client.sendMessage(scenario('tck-artifact-text', { contextId }))).id)
    const list = async (more: object) =>
      client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, ...more }))
    const first = await list({})
    expect([first.tasks.map(({ id }) => id), first.totalSize]).toEqual([ids.slice(0, 2), 3])
    expect(first.tasks[0]?.artifacts).toEqual([])
    const second = await list({ pageToken: first.nextPageToken, includeArtifacts: true })
    expect([second.tasks.map(({ id }) => id), second.nextPageToken]).toEqual([ids.slice(2), ''])
    expect(second.tasks[0]?.artifacts).toHaveLength(1)
    expect((await list({ status: 'TASK_STATE_FAILED' })).tasks).toEqual([])
  })

  test('a task is cancelled while it lasts, and not after it', async () => {
    const open = plain(await client.sendMessage(scenario('tck-input-required')))
    const cancelled = plain(await client.cancelTask(CancelTaskRequest.fromJSON(idOf(open.id))))
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED')
    const over = plain(await client.sendMessage(scenario('tck-complete-task')))
    expect(await codeOf(client.cancelTask(CancelTaskRequest.fromJSON(idOf(over.id))))).toBe(
      'TaskNotCancelableError',
    )
    expect(await codeOf(client.getTask(idOf('nobody')))).toBe('TaskNotFoundError')
  })

  test('an address is told of every event in its order, with what the client said to show', async () => {
    const told: { body: object; token: unknown; auth: unknown }[] = []
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      const { 'x-a2a-notification-token': token, authorization: auth } = request.headers
      told.push({ body: JSON.parse(body), token, auth })
      // the first try is lost
      response.writeHead(told.length === 1 ? 500 : 200).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`
    const { id } = plain(await client.sendMessage(scenario('tck-input-required')))
    const config = {
      taskId: id,
      url,
      token: 'tok',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    }
    const made = await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(config))
    const one = { tenant: '', taskId: id, id: made.id }
    expect(await client.getTaskPushNotificationConfig(one)).toMatchObject({ id: made.id, url })
    const { configs } = await client.listTaskPushNotificationConfig({ ...one, pageSize: 10, pageToken: '' })
    expect(configs.map(each => each.id)).toEqual([made.id])
    await client.sendMessage(scenario('tck-artifact-text', { taskId: id }))
    await until('the first push failed', () => told.length > 0)
    await until('all is told', () =>
      told.some(({ body }) => JSON.stringify(body).includes('TASK_STATE_COMPLETED')),
    )
    expect(told[0]).toMatchObject({ token: 'tok', auth: 'Bearer secret' })
    expect(kindsOf(told.slice(1).map(({ body }) => body))).toEqual([
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    await client.deleteTaskPushNotificationConfig(one)
    await client.deleteTaskPushNotificationConfig(one)
    expect(await codeOf(client.getTaskPushNotificationConfig(one))).toBe('TaskNotFoundError')
    server.close()
  })

  test('the extended card is for holders of the token', async () => {
    const own = await world.client(binding, world.alice.aid)
    const card = AgentCard.toJSON(await own.getAgentCard()) as { capabilities: { extensions: object[] } }
    expect(JSON.stringify(card.capabilities.extensions)).toContain(world.bob.aid)
  })
})

describe('the agent', () => {
  test('gets the files of a message, and its own come back', async () => {
    const client = await world.client()
    const raw = Buffer.from('a,b\n1,2\n').toString('base64')
    const parts = [{ text: 'sum ⟦tck-artifact-file⟧' }, { raw, filename: 'table.csv', mediaType: 'text/csv' }]
    const task = plain(await client.sendMessage(words('', { parts })))
    expect(task.artifacts).toMatchObject([{ parts: [{ raw: 'dGNr', filename: 'output.txt' }] }])
    const [first] = (await thread(world.bob, task.id)).turns
    expect(first?.attachments).toMatchObject([{ name: 'table.csv', media_type: 'text/csv', bytes: 8 }])
  })

  test('that answers in words is waited for no longer where the client wants the answer alone', async () => {
    const { alice, bob } = world
    await bob.handlers.autoReplyOff({}, never)
    const client = await world.client()
    const message = { metadata: { 'svc.end': true } }
    const sent = plain(await client.sendMessage(words('how many?', message, { returnImmediately: true })))
    await until('the task arrives', async () => (await texts(bob, sent.id).catch(() => [])).length === 1)
    await bob.handlers.message({ interaction_id: sent.id, text: 'three' }, never)
    await until('it is complete', async () => {
      const { status } = plain(await client.getTask(idOf(sent.id)))
      return status.state === 'TASK_STATE_COMPLETED'
    })
    await until('the end arrives', async () => (await thread(bob, sent.id)).state === 'end_proposed')
    await bob.handlers.end({ interaction_id: sent.id, mode: 'accept' }, never)
    await until('both signed', async () => (await thread(alice, sent.id)).receipt?.verified === true)
    await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
  })

  test('that is away answers when it is back', async () => {
    const client = await world.client()
    await world.bob.stop()
    const sent = plain(
      await client.sendMessage(scenario('tck-artifact-text', {}, { returnImmediately: true })),
    )
    expect(sent.status.state).toBe('TASK_STATE_SUBMITTED')
    world.bob = await world.lab.start('bob', { SVC_EXEC_COMMAND: PROVIDER })
    await until('the answer is back', async () => {
      const { status } = plain(await client.getTask(idOf(sent.id)))
      return status.state === 'TASK_STATE_COMPLETED'
    })
  })
})
