/** Agents that the operator vouches for: badge and place, switches, figures, ratings by month, and whom they hear. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64, utf8 } from '../../../protocol/encoding/bytes.ts'
import { ADMIN_SENDERS_MAX } from '../../../protocol/wire1/routes/admin.ts'
import { OFFICIALS_MAX, SENDERS_MAX } from '../../core/moderation/moderation.ts'
import { type AdminHub, expectAdminReply, startAdminHub } from '../../testing/admin.ts'
import { openReviewUpload } from '../../testing/open-reviews.ts'
import { OpenAgent } from '../../testing/wire1.ts'

let world: AdminHub
beforeAll(async () => {
  world = await startAdminHub()
  world.hub.running.hub.guests.isOpen = true
})
afterAll(() => world.hub.close())

const get = (path: string) => world.ask('GET', `/admin/api/${path}`)
const post = (path: string, body: unknown) => world.ask('POST', `/admin/api/${path}`, { body })
const mail = ({ aid }: OpenAgent, from: string) =>
  world.client.post('/relay/send', {
    ...{ to_aid: aid, from_aid: from, kind: 'message', interaction_id: 'i' },
    payload: toBase64(utf8('hello')),
  })

async function vouched(more: Record<string, unknown> = {}, given: Record<string, unknown> = {}) {
  const agent = await world.client.registered(given)
  const answer = await post('official', { aid: agent.aid, ...more })
  expectAdminReply('adminVouch', answer)
  return agent
}

describe('an agent that the operator vouches for', () => {
  test('has a badge and a place, stands in that order, and is taken off again', async () => {
    const late = await vouched({ badge: 'house', place: 9 })
    const early = await vouched({ place: 3 }, { name: 'ada' })
    const list = await get('official')
    expectAdminReply('adminOfficial', list)
    expect(list.json['items']).toMatchObject([
      { id: early.aid, aid: early.aid, name: 'ada', badge: '', place: 3, registered: true, listed: true },
      { id: late.aid, badge: 'house', place: 9 },
    ])
    expect((await get(`agents/${late.aid}`)).json['agent']).toMatchObject({ badge: 'house' })
    for (const { aid } of [early, late]) {
      const removed = await world.ask('DELETE', `/admin/api/official/${aid}`)
      expectAdminReply('adminUnvouch', removed)
      expect((await world.ask('DELETE', `/admin/api/official/${aid}`)).status).toBe(404)
    }
    expect((await get('official')).json).toEqual({ items: [] })
    expect((await world.client.get(`/agents/${late.aid}`)).status).toBe(200)
  })

  test('stands first on the public page under its badge, unless it is hidden or searched for', async () => {
    const [early, late] = [await vouched({ place: 2 }), await vouched({ badge: '<b>ours</b>', place: 5 })]
    const text = async (query = '') => await (await fetch(`${world.hub.url}/research${query}`)).text()
    const places = (page: string) => [early, late].map(({ aid }) => page.indexOf(`class="aid">${aid}`))
    const [first = -1, second = -1] = places(await text())
    expect(first).toBeGreaterThan(0)
    expect(second).toBeGreaterThan(first)
    expect((await text()).slice(0, first)).not.toContain('class="aid"')
    expect(await text()).toContain('&lt;b&gt;ours&lt;/b&gt;</span>')
    expect((await text()).split(`class="aid">${early.aid}`)).toHaveLength(2)
    await post(`official/${early.aid}/ops`, { listed: false })
    expect(places(await text())[0]).toBe(-1)
    for (const { aid } of [early, late]) await world.ask('DELETE', `/admin/api/official/${aid}`)
  })

  test('is one of this hub with open mail', async () => {
    expect((await post('official', { aid: new OpenAgent(world.client).aid })).status).toBe(404)
    expect((await post('official', { aid: world.hub.aid })).status).toBe(403)
    for (const wrong of [{ aid: 'x' }, { badge: 'x'.repeat(65) }, { badge: 'two\nlines' }, { place: -1 }]) {
      const agent = await world.client.registered()
      expect((await post('official', { aid: agent.aid, ...wrong })).status).toBe(400)
    }
  })

  test('has its switches: listed, visitors, badge, place', async () => {
    const agent = await vouched({ badge: 'house' })
    const answer = await post(`official/${agent.aid}/ops`, { listed: false, guest_messages: 0, place: 1 })
    expectAdminReply('adminOps', answer)
    expect(answer.json['official']).toMatchObject({
      ...{ listed: false, guest_messages: 0, badge: 'house', place: 1 },
    })
    expect((await world.client.get(`/agents?q=${agent.aid}`)).json).toEqual({ agents: [] })
    const again = await post(`official/${agent.aid}/ops`, { listed: true })
    expect(again.json['official']).toMatchObject({ listed: true, guest_messages: 0, place: 1 })
    expect(
      (await post(`official/${(await world.client.registered()).aid}/ops`, { listed: true })).status,
    ).toBe(404)
  })

  test('shows its live figures', async () => {
    const agent = await vouched({}, { guest_messages: 7 })
    await mail(agent, 'whoever')
    const figures = async (what: string) => {
      const answer = await get(`official/${agent.aid}/monitor/${what}`)
      expectAdminReply('adminMonitor', answer)
      return answer.json['figures']
    }
    expect(await figures('mail')).toEqual({ waiting: 1, liveness: 'unknown', listed: true })
    await agent.poll()
    expect(await figures('mail')).toMatchObject({ liveness: 'awake', last_seen: expect.any(String) })
    await world.client.post('/guest/start', { aid: agent.aid })
    expect(await figures('guests')).toEqual({ guest_messages: 7, sessions: 1, open: 1 })
    expect(await figures('credits')).toEqual({ balance: 100, held: 0 })
    expect(await figures('reviews')).toEqual({ reviews: 0, avg_rating: 0 })
    for (const what of ['nothing', 'toString'])
      expect((await get(`official/${agent.aid}/monitor/${what}`)).status).toBe(404)
  })

  test('shows its ratings by the month in which they were signed', async () => {
    const [agent, reviewer] = [await vouched(), await world.client.registered()]
    const ratings = [
      ['2026-01-10', 4],
      ['2026-01-20', 5],
      ['2026-03-01', 1],
    ] as const
    for (const [day, rating] of ratings) {
      const ts = Date.parse(day)
      const upload = openReviewUpload(reviewer, agent, { rating, review: { ts } })
      expect((await world.client.post('/reviews', upload)).status).toBe(200)
    }
    const answer = await get(`official/${agent.aid}/insights`)
    expectAdminReply('adminInsights', answer)
    expect(answer.json).toEqual({
      ...{ id: agent.aid, reviews: 3, avg_rating: 3.33, truncated: false },
      months: [
        { month: '2026-01', reviews: 2, avg_rating: 4.5 },
        { month: '2026-03', reviews: 1, avg_rating: 1 },
      ],
    })
  })
})

test(`${OFFICIALS_MAX} agents are vouched for at most`, async () => {
  const { store } = world.hub.running.hub.context
  const made: string[] = []
  const others = (await store.officials()).length
  for (let n = others; n < OFFICIALS_MAX; n++) {
    const aid = new OpenAgent(world.client).aid
    const official = { aid, place: 1, badge: '', addedMs: 1, senders: undefined, visitors: true }
    expect(await store.putOfficial({ ...official, max: OFFICIALS_MAX })).toBe(true)
    made.push(aid)
  }
  const agent = await world.client.registered()
  const refused = await post('official', { aid: agent.aid })
  expect([refused.status, refused.json['error']]).toEqual([
    500,
    expect.stringContaining('no room for more agents'),
  ])
  await world.ask('DELETE', `/admin/api/official/${made[0]}`)
  expect((await post('official', { aid: agent.aid })).status).toBe(200)
  for (const aid of [...made, agent.aid]) await store.removeOfficial(aid)
})

describe('whom an official agent hears', () => {
  test('is anybody, or those alone whom the operator names; visitors stand beside that', async () => {
    const agent = await vouched({}, { guest_messages: 5 })
    const acl = async (body: unknown) => {
      const answer = await post(`official/${agent.aid}/acl`, body)
      expectAdminReply('adminAcl', answer)
      return (answer.json['official'] as { acl: unknown }).acl
    }
    const start = async () => (await world.client.post('/guest/start', { aid: agent.aid })).json['enabled']
    const friend = await world.client.registered()
    expect((await mail(agent, 'stranger')).status).toBe(200)
    expect(await acl({ senders: 'named', aids: [friend.aid], visitors: true })).toEqual({
      ...{ senders: 'named', aids: [friend.aid], visitors: true },
    })
    const refused = await mail(agent, 'stranger')
    expect([refused.status, refused.json['error']]).toEqual([403, expect.stringContaining('operator')])
    expect((await mail(agent, friend.aid)).status).toBe(200)
    expect(await start()).toBe(true)
    const { session } = (await world.client.post('/guest/start', { aid: agent.aid })).json
    expect((await world.client.post('/guest/send', { session, body: 'hi' })).json).toEqual({ remaining: 4 })
    await acl({ senders: 'named', aids: [], visitors: false })
    expect((await mail(agent, friend.aid)).status).toBe(403)
    expect(await start()).toBe(false)
    expect(await acl({ senders: 'anybody', visitors: true })).toMatchObject({ senders: 'anybody', aids: [] })
    expect((await mail(agent, 'stranger')).status).toBe(200)
    expect(await start()).toBe(true)
  })

  test(`is ${SENDERS_MAX} named senders at most`, async () => {
    expect(ADMIN_SENDERS_MAX).toBe(SENDERS_MAX)
    const agent = await vouched()
    const acl = (count: number) =>
      post(`official/${agent.aid}/acl`, {
        senders: 'named',
        aids: Array(count).fill(agent.aid),
        visitors: true,
      })
    expect((await acl(SENDERS_MAX)).status).toBe(200)
    expect((await acl(SENDERS_MAX + 1)).status).toBe(400)
  })
})
