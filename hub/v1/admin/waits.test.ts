/** What waits with an agent while it is archived, and once it is back: visitors, payments, cards; mail is beside agents. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminHub, expectAdminReply, startAdminHub } from '../../testing/admin.ts'
import { payment } from '../../testing/payments.ts'
import { inBase64, type OpenAgent } from '../../testing/wire1.ts'

let world: AdminHub
beforeAll(async () => {
  world = await startAdminHub()
  world.hub.running.hub.guests.isOpen = true
})
afterAll(() => world.hub.close())

const archive = async ({ aid }: OpenAgent) =>
  expect((await world.ask('DELETE', `/admin/api/agents/${aid}`)).status).toBe(200)
const restore = async ({ aid }: OpenAgent) =>
  expect((await world.ask('POST', `/admin/api/deleted/${aid}/restore`)).status).toBe(200)
const post = (path: string, body: unknown) => world.client.post(path, body)
const balanceOf = async ({ aid }: OpenAgent) =>
  Number((await world.client.get(`/agents/${aid}/balance`)).json['balance'])
const settled = async (payer: OpenAgent, payee: OpenAgent, amount: number) =>
  (await post('/x402/settle', inBase64(payment(payer, payee, amount)))).json

test('a visit ends with a word when its agent is archived, and the next visitor finds it once it is back', async () => {
  const agent = await world.client.registered({ guest_messages: 3 })
  const { session } = (await post('/guest/start', { aid: agent.aid })).json
  expect((await post('/guest/send', { session, body: 'hello' })).json).toEqual({ remaining: 2 })
  await archive(agent)
  expect((await post('/guest/send', { session, body: 'still there?' })).json).toEqual({
    ended: true,
    remaining: 0,
  })
  expect((await post('/guest/poll', { session })).json['messages']).toEqual([
    { body: 'This agent is not here any more.', system: true, end: 'accepted' },
  ])
  expect((await post('/guest/start', { aid: agent.aid })).json['enabled']).toBe(false)
  await restore(agent)
  expect((await post('/guest/start', { aid: agent.aid })).json['enabled']).toBe(true)
  const { messages } = (await agent.poll()).json as { messages: { kind: string }[] }
  expect(messages.map(({ kind }) => kind)).toEqual(['delegate'])
})

test('the operator sees visits by the hash of their secret, and never a word of one', async () => {
  const agent = await world.client.registered({ name: 'ada', guest_messages: 3 })
  const { session } = (await post('/guest/start', { aid: agent.aid })).json as { session: string }
  await post('/guest/send', { session, body: 'a secret word' })
  const page = await world.ask('GET', '/admin/api/sessions?limit=200')
  expectAdminReply('adminSessions', page)
  const own = (page.json['items'] as { id: string; handler: string }[]).filter(
    one => one.handler === agent.aid,
  )
  expect(own).toMatchObject([{ source: 'guest', state: 'open', sent: 1, remaining: 2, unread: 0 }])
  const one = await world.ask('GET', `/admin/api/sessions/guest/${own[0]?.id}`)
  expectAdminReply('adminSession', one)
  expect(one.json['session']).toEqual({ ...own[0], handler_name: 'ada' })
  for (const text of [page.json, one.json].map(json => JSON.stringify(json))) {
    expect(text).not.toContain(session)
    expect(text).not.toContain('secret word')
  }
  for (const path of [`guest/${session}`, `poll/${own[0]?.id}`])
    expect((await world.ask('GET', `/admin/api/sessions/${path}`)).status).toBe(404)
})

test('its credits stay its own: it pays on while it is archived, and is paid again once it is back', async () => {
  const [agent, other] = [await world.client.registered(), await world.client.registered()]
  await archive(agent)
  expect((await settled(agent, other, 30))['success']).toBe(true)
  expect((await settled(other, agent, 10))['success']).toBe(false)
  await restore(agent)
  expect((await settled(other, agent, 10))['success']).toBe(true)
  expect([await balanceOf(agent), await balanceOf(other)]).toEqual([80, 120])
  expect(await world.hub.running.hub.context.store.booksAgree()).toBe(true)
})

test('its cards stay where they are; it takes none while it is archived, and goes on with them afterwards', async () => {
  const agent = await world.client.registered()
  const { card } = (
    await post('/tasks/create', { ...agent.sign('task.create'), title: 'mine', column: 'ready' })
  ).json as { card: { id: string } }
  const claim = () => post('/tasks/claim', { ...agent.sign('task.claim'), card_id: card.id })
  await archive(agent)
  expect((await claim()).status).toBe(401)
  expect((await world.client.get(`/tasks/cards/${card.id}`)).json['card']).toMatchObject({ column: 'ready' })
  await restore(agent)
  expect((await claim()).json['card']).toMatchObject({ column: 'in_progress', assignee_aid: agent.aid })
})
