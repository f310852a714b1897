/** Push notifications: which addresses are kept, and what they are told. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { A2aWorld } from '../testing/a2a.ts'
import { HOUR_MS } from '../testing/node.ts'

let world: A2aWorld
let target: Server
let url: string
let status = 200
let told: { headers: IncomingHttpHeaders; body: Record<string, { status?: { state: string } }> }[] = []
beforeEach(async () => {
  ;[status, told] = [200, []]
  target = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    told.push({ headers: request.headers, body: JSON.parse(text) })
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await once(target, 'listening')
  const host = `127.0.0.1:${(target.address() as AddressInfo).port}`
  url = `http://${host}/hook`
  world = await new A2aWorld().serve()
  world.alice.node.ctx.settings.change({ a2a: { enabled: true, addr: '127.0.0.1:0', push_hosts: [host] } })
})
afterEach(async () => {
  await world[Symbol.asyncDispose]()
  target.closeAllConnections()
  target.close()
})

async function taken(config?: object): Promise<string> {
  const configuration = config === undefined ? {} : { taskPushNotificationConfig: config }
  const { body } = await world.send('count the words', { configuration })
  await world.settle()
  return (body['task'] as { id: string }).id
}
const configs = (id: string, more = '') => `/tasks/${id}/pushNotificationConfigs${more}`
const add = (id: string, body: object) => world.rest(configs(id), { method: 'POST', body })

async function answered(id: string, text = 'three'): Promise<void> {
  world.bob.node.say(id, text)
  await world.settle()
}
const kindsTold = () =>
  told.map(
    ({ body }) => body['statusUpdate']?.status?.state.replace('TASK_STATE_', '') ?? Object.keys(body)[0],
  )

describe('an address', () => {
  test('is told each event in its order, with the token and credentials that came with it', async () => {
    const authentication = { scheme: 'Basic', credentials: 'abc' }
    const id = await taken({ url, token: 'mine', authentication })
    await answered(id)
    await expect.poll(kindsTold).toEqual(['WORKING', 'artifactUpdate', 'INPUT_REQUIRED'])
    expect(told[0]?.headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'x-a2a-notification-token': 'mine',
      authorization: 'Basic abc',
    })
  })

  test('that fails is told the same event again, later each time, and given up after twelve tries', async () => {
    status = 500
    await world.works.stop()
    const { ctx } = world.alice.node
    const timings = { ...ctx.timings, backoffFirstMs: HOUR_MS }
    const { pushes } = world.worksOf({ ...ctx, timings })
    const id = await taken({ url })
    await answered(id)
    await world.rest(`/tasks/${id}`)
    const row = () => ctx.store.get<{ tries: number; told: number }>('SELECT tries, told FROM a2a_pushes')
    for (let tries = 1; tries < 12; tries++) {
      await pushes.look()
      expect([told.length, row()]).toEqual([tries, { tries, told: 0 }])
      world.pass(2 ** (tries - 1) * HOUR_MS - 1)
      await pushes.look()
      expect(told).toHaveLength(tries)
      world.pass(1)
    }
    await pushes.look()
    expect(new Set(told.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect([told.length, row()]).toEqual([12, { tries: 0, told: 3 }])
  })

  test('that is kept later is told what happens from then on', async () => {
    const id = await taken()
    await answered(id)
    await world.rest(`/tasks/${id}`)
    await add(id, { url })
    await world.send('more', { message: { taskId: id } })
    await expect.poll(kindsTold).toEqual(['WORKING'])
  })
})

describe('the addresses of a task', () => {
  test('are kept, shown, listed and removed', async () => {
    const id = await taken()
    const first = await add(id, { url, id: 'a', token: 't' })
    expect(first.body).toEqual({ id: 'a', taskId: id, url, token: 't' })
    const second = (await add(id, { url })).body['id'] as string
    expect((await world.rest(configs(id, '/a'))).body).toEqual(first.body)
    const listed = (await world.rest(configs(id))).body as never as { configs: { id: string }[] }
    expect(listed.configs.map(one => one.id).sort()).toEqual(['a', second].sort())
    expect((await world.fetch(configs(id, '/a'), { method: 'DELETE' })).status).toBe(200)
    expect((await world.rest(configs(id, '/a'))).status).toBe(404)
  })

  test('are eight at most, and one of the same id takes its place', async () => {
    const id = await taken()
    for (let n = 0; n < 8; n++) expect((await add(id, { url, id: `n${n}` })).status).toBe(200)
    expect((await add(id, { url, id: 'more' })).status).toBe(400)
    expect((await add(id, { url, id: 'n0', token: 'new' })).body).toMatchObject({ token: 'new' })
  })

  test('hold plain text alone, and are public or listed', async () => {
    const id = await taken()
    const wrong: object[] = [
      { url, token: 'ü' },
      { url, authentication: { scheme: 'Basic', credentials: 'a\nb' } },
      { url, authentication: { scheme: 'Bäsic' } },
      { url: 'http://127.0.0.1:1/other' },
      { url: 'ftp://example.org' },
      { url: '' },
    ]
    for (const config of wrong) {
      expect((await add(id, config)).status).toBe(400)
      const sent = await world.send('x', { configuration: { taskPushNotificationConfig: config } })
      expect(sent.status).toBe(400)
    }
    expect((await world.rest(configs(id))).body).toMatchObject({ configs: [] })
  })
})
