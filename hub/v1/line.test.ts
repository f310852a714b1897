/** Wire 1 over HTTP: joining, mail that the hub can read, the directory, and how requests are refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64, toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { payment } from '../testing/payments.ts'
import { inBase64, OpenAgent, Wire1Client } from '../testing/wire1.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
let hub: TestHub
let client: Wire1Client

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
})
afterAll(() => hub.close())

const get = (path: string) => client.get(path)
const post = (path: string, body: unknown) => client.post(path, body)
const registered = (more?: Record<string, unknown>) => client.registered(more)

const mail = (to: string, text: string, more: Record<string, unknown> = {}) => ({
  to_aid: to,
  from_aid: 'whoever',
  kind: 'message',
  interaction_id: 'i',
  payload: toBase64(utf8(text)),
  ...more,
})

describe('an agent joins', () => {
  test('once the operator lets it in, and is given trial credits once', async () => {
    const agent = new OpenAgent(client)
    const refused = await agent.register()
    expect(refused.status).toBe(403)
    expect(refused.json).toEqual({
      error: expect.stringContaining('only the operator can let it in'),
      hint: `ask the operator to run: svc-hub admit ${agent.aid}`,
    })
    await hub.running.order({ command: 'admit', aid: agent.aid })
    for (let time = 0; time < 2; time++) expect((await agent.register()).status).toBe(200)
    const { balance } = await hub.running.hub.credits.balance(agent.aid)
    expect(balance).toBe(100)
  })

  test('again after it left: it needs nobody’s word, and is given no credits once more', async () => {
    const [agent, other] = [await registered(), await registered()]
    const pay = payment(agent, other, 30)
    expect((await post('/x402/settle', inBase64(pay))).json).toMatchObject({ success: true })
    await post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    await hub.running.order({ command: 'unadmit', aid: agent.aid })
    expect((await agent.register()).status).toBe(200)
    expect((await hub.running.hub.credits.balance(agent.aid)).balance).toBe(70)
  })

  test('by an invitation once, and by none that is used, over, taken back or made up', async () => {
    const { invites, credits } = hub.running.hub
    const { code, name } = await invites.make(7)
    expect(JSON.stringify(await invites.all())).not.toContain(code)
    const [agent, other] = [new OpenAgent(client), new OpenAgent(client)]
    for (let time = 0; time < 2; time++) expect((await agent.register({ invite: code })).status).toBe(200)
    expect((await credits.balance(agent.aid)).balance).toBe(100)
    expect(await invites.all()).toContainEqual(expect.objectContaining({ name, usedBy: agent.aid }))
    const refused = async (invite: string) => {
      const { status, json } = await other.register({ invite })
      expect([status, json['hint']]).toEqual([403, expect.stringContaining('svc-hub invite new')])
    }
    await refused(code)
    await refused('made up')
    const taken = await invites.make(7)
    expect(await invites.revoke(taken.name)).toBe(true)
    expect(await invites.revoke(name)).toBe(false)
    await refused(taken.code)
    const over = await invites.make(1)
    hub.clock.advance(DAY_MS + MINUTE_MS)
    await refused(over.code)
    expect((await other.register({ invite: (await invites.make(1)).code })).status).toBe(200)
  })

  test.each([
    ['no quota', {}, 5],
    ['a quota below 0', { guest_messages: -3 }, 0],
    ['a quota above 100', { guest_messages: 1000 }, 100],
  ])('with %s answers so many visitors', async (_, given, quota) => {
    const agent = await registered(given)
    const { json } = await get(`/agents/${agent.aid}`)
    expect(json['agent']).toMatchObject({
      aid: agent.aid,
      guest_quota: quota,
      listed: true,
      registered: true,
    })
  })

  test('and takes as many visitors as it said last, where a later registration says nothing of it', async () => {
    const agent = await registered({ guest_messages: 0 })
    agent.rotate()
    expect((await agent.register()).status).toBe(200)
    expect((await get(`/agents/${agent.aid}`)).json['agent']).toMatchObject({ guest_quota: 0 })
    await agent.register({ guest_messages: 7 })
    expect((await get(`/agents/${agent.aid}`)).json['agent']).toMatchObject({ guest_quota: 7 })
  })

  test('and is refused under the history of another, a shorter one, or one that was altered', async () => {
    const [agent, other] = [await registered(), new OpenAgent(client)]
    expect((await other.register({ kel: agent.kel })).status).toBe(400)
    const before = agent.kel
    agent.rotate()
    expect((await agent.register()).status).toBe(200)
    const shorter = await agent.register({ kel: before })
    expect([shorter.status, shorter.json['error']]).toEqual([
      401,
      expect.stringMatching(/^KEY_STATE_DOWNGRADE/),
    ])
    const altered = fromBase64(agent.kel)
    altered.set([(altered.at(-1) ?? 0) ^ 1], altered.length - 1)
    expect((await agent.register({ kel: toBase64(altered) })).status).toBe(400)
  })

  test('not when its mail is sealed, and is told how instead', async () => {
    const agent = await registered()
    await hub.running.hub.agents.update(agent.aid, held => {
      if (held === undefined) throw new Error('gone')
      return { ...held, row: { ...held.row, mail: 'sealed' } }
    })
    const { status, json } = await agent.register()
    expect([status, json['hint']]).toEqual([403, expect.stringContaining('wire 3')])
    expect((await post('/relay/send', mail(agent.aid, 'hello'))).status).toBe(404)
    expect((await get(`/agents/${agent.aid}`)).status).toBe(404)
  })
})

describe('a challenge', () => {
  test.each([
    ['5 minutes ahead, to the second before', 5 * MINUTE_MS - 2000, 200],
    ['more than 5 minutes ahead', 5 * MINUTE_MS + 2000, 400],
    ['more than 5 minutes behind', -5 * MINUTE_MS - 2000, 400],
  ])('%s', async (_, offset, status) => {
    const agent = await registered()
    expect((await post('/relay/poll', agent.sign('poll', { ts: hub.clock.now() + offset }))).status).toBe(
      status,
    )
  })

  test('of somebody unknown, under a state that is not held, a retired key, or for another action is 401 with its word', async () => {
    const agent = await registered()
    const told = async (body: unknown) => {
      const { status, json } = await post('/relay/poll', body)
      return [status, String(json['error']).split(':')[0]]
    }
    expect(await told(new OpenAgent(client).sign('poll'))).toEqual([401, 'UNKNOWN_AID'])
    expect(await told({ ...agent.sign('poll'), key_state_seq: 1 })).toEqual([401, 'KEY_STATE_DOWNGRADE'])
    expect(await told(agent.sign('ack'))).toEqual([401, 'INVALID_SIGNATURE'])
    agent.rotate()
    await agent.register()
    expect(await told(agent.sign('poll', { seq: 0 }))).toEqual([401, 'REVOKED_KEY'])
    expect((await agent.poll()).status).toBe(200)
  })

  test('may be shown again within its time, for any route of its action', async () => {
    const agent = await registered()
    const challenge = agent.sign('profile')
    for (let time = 0; time < 2; time++)
      expect((await post('/profile', { ...challenge, summary: 'adds numbers' })).json).toEqual({
        aid: agent.aid,
        status: 'profile_updated',
      })
    const set = await post(`/agents/${agent.aid}/visibility`, { ...challenge, visibility: 'public' })
    expect(set.json).toEqual({ aid: agent.aid, status: 'visibility_set', visibility: 'public' })
    const other = await registered()
    expect(
      (await post(`/agents/${other.aid}/visibility`, { ...challenge, visibility: 'public' })).status,
    ).toBe(400)
  })
})

describe('mail', () => {
  test('comes to its recipient in order, and is gone once it was acked by that one', async () => {
    const [agent, other] = [await registered(), await registered()]
    for (const text of ['one', 'two']) {
      const sent = await post('/relay/send', mail(agent.aid, text))
      expect(sent.json).toEqual({ id: expect.any(String), status: 'queued' })
    }
    const messages = (await agent.poll()).json['messages'] as Record<string, unknown>[]
    expect(messages.map(({ payload }) => payload)).toEqual(['one', 'two'].map(text => toBase64(utf8(text))))
    expect(messages[0]).toEqual({
      id: expect.any(String),
      from_aid: 'whoever',
      kind: 'message',
      interaction_id: 'i',
      payload: toBase64(utf8('one')),
      created_at: new Date(Date.parse(String(messages[0]?.['created_at']))).toISOString(),
    })
    const ids = messages.map(({ id }) => id)
    const ack = async (by: OpenAgent, given: unknown[]) =>
      (await post('/relay/ack', { ...by.sign('ack'), ids: given })).json
    expect(await ack(other, ids)).toEqual({ acked: 0 })
    expect(await ack(agent, [])).toEqual({ acked: 0 })
    expect(await ack(agent, [ids[0], ids[0], 'x'])).toEqual({ acked: 1 })
    expect((await agent.poll()).json['messages']).toHaveLength(1)
  })

  test.each([
    ['another kind', { kind: 'end' }, 400],
    ['a payload that is not base64', { payload: 'a-b_' }, 400],
    ['a recipient that is not registered', { to_aid: `A${'b'.repeat(43)}` }, 404],
  ])('of %s is refused', async (_, change, status) => {
    const agent = await registered()
    expect((await post('/relay/send', mail(agent.aid, 'hello', change))).status).toBe(status)
  })

  test('is given as many as were asked for, 100 where that is nothing', async () => {
    const agent = await registered()
    for (let n = 0; n < 3; n++) await post('/relay/send', mail(agent.aid, `${n}`))
    const many = async (limit: number) => ((await agent.poll({ limit })).json['messages'] as unknown[]).length
    expect([await many(2), await many(0), await many(-1)]).toEqual([2, 3, 3])
  })

  test('is given also where it cannot be noted that somebody asked', async () => {
    const { store } = hub.running.hub.context
    const agent = await registered()
    await post('/relay/send', mail(agent.aid, 'x'))
    const note = store.notePolled.bind(store)
    store.notePolled = () => Promise.reject(new Error('no room'))
    const { status, json } = await agent.poll()
    store.notePolled = note
    expect([status, (json['messages'] as unknown[]).length]).toEqual([200, 1])
    const quiet = await post('/relay/send', mail(agent.aid, 'y'))
    expect(quiet.json).toEqual({ id: expect.any(String), status: 'queued' })
  })

  test('for somebody who has not asked for an hour is taken with a warning, and not before the first poll', async () => {
    const agent = await registered()
    expect((await post('/relay/send', mail(agent.aid, 'one'))).json).not.toHaveProperty('warning')
    await agent.poll()
    hub.clock.advance(HOUR_MS + MINUTE_MS)
    expect((await post('/relay/send', mail(agent.aid, 'two'))).json).toMatchObject({
      recipient_quiet: true,
      warning: expect.any(String),
    })
    await agent.poll()
    expect((await post('/relay/send', mail(agent.aid, 'three'))).json).not.toHaveProperty('warning')
  })

  test('that nobody collected is counted when its agent leaves, kept 30 days and found again', async () => {
    const agent = await registered()
    await post('/relay/send', mail(agent.aid, 'one'))
    const leave = () => post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    expect((await leave()).json).toEqual({
      ...{ aid: agent.aid, status: 'deregistered', undelivered: 1 },
      warning: expect.stringContaining('30 days'),
    })
    expect((await post('/relay/send', mail(agent.aid, 'two'))).status).toBe(404)
    expect((await get(`/agents/${agent.aid}/kel`)).status).toBe(200)
    expect((await agent.register()).status).toBe(200)
    expect((await agent.poll()).json['messages']).toHaveLength(1)
    await leave()
    hub.clock.advance(30 * DAY_MS + MINUTE_MS)
    while (await hub.running.hub.openMail.sweep(100));
    expect((await agent.register()).status).toBe(200)
    expect((await agent.poll()).json['messages']).toHaveLength(0)
  })

  test('counts a task once when its result is sent', async () => {
    const agent = await registered()
    const before = (await get('/stats')).json['tasks_completed'] as number
    hub.clock.advance(MINUTE_MS)
    for (let time = 0; time < 2; time++)
      await post('/relay/send', mail(agent.aid, 'done', { kind: 'result', interaction_id: agent.aid }))
    expect((await get('/stats')).json['tasks_completed']).toBe(before + 1)
  })
})

describe('one address', () => {
  test('sends half of a mailbox at once, and as much in each hour after it; others fill the rest', async () => {
    const small = await startTestHub({ wires: [1], limits: { mailboxEnvelopesMax: 10 } })
    const there = new Wire1Client(small)
    const [agent, other] = [await there.registered(), await there.registered()]
    const sent = async (address: string, to: OpenAgent = agent) =>
      (await there.ask('POST', '/relay/send', mail(to.aid, 'x'), { 'X-Forwarded-For': address })).status
    for (let n = 0; n < 5; n++) expect(await sent('198.51.100.1')).toBe(200)
    expect([await sent('198.51.100.1'), await sent('198.51.100.1', other)]).toEqual([500, 200])
    for (let n = 0; n < 5; n++) expect(await sent('198.51.100.2')).toBe(200)
    const { messages } = (await agent.poll()).json as { messages: { id: string }[] }
    await there.post('/relay/ack', { ...agent.sign('ack'), ids: messages.map(({ id }) => id) })
    expect(await sent('198.51.100.1')).toBe(500)
    small.clock.advance(12 * MINUTE_MS)
    expect([await sent('198.51.100.1'), await sent('198.51.100.1')]).toEqual([200, 500])
    await small.close()
  })
})

test('one address fills half of the room of all open mail at once', async () => {
  const small = await startTestHub({ wires: [1], limits: { openMailBytesMax: 1024 * 1024 } })
  const there = new Wire1Client(small)
  const agent = await there.registered()
  const sent = async (address: string, kib: number) => {
    const letter = mail(agent.aid, 'x'.repeat(kib * 1024))
    return (await there.ask('POST', '/relay/send', letter, { 'X-Forwarded-For': address })).status
  }
  expect([await sent('198.51.100.1', 300), await sent('198.51.100.1', 300)]).toEqual([200, 500])
  expect([await sent('198.51.100.1', 200), await sent('198.51.100.2', 300)]).toEqual([200, 200])
  await small.close()
})

describe('the directory', () => {
  test('finds agents by capability and by words, but not by both', async () => {
    const agent = await registered({ caps: ['math.add'], summary: 'adds Numbers' })
    const found = async (query: string) =>
      ((await get(`/agents?${query}`)).json['agents'] as { aid: string }[]).some(
        ({ aid }) => aid === agent.aid,
      )
    expect(
      await Promise.all(['cap=math.add', 'cap=x,math.*', 'cap=math', 'q=numbers', 'q=nobody'].map(found)),
    ).toEqual([true, true, false, true, false])
    expect((await get('/agents?cap=a&q=b')).status).toBe(400)
  })

  test('leaves out whom the operator does not list, but by capability, and whoever asked for no mail for 30 days', async () => {
    const agent = await registered({ caps: ['rare.one'] })
    const listed = async (query = '') =>
      ((await get(`/agents${query}`)).json['agents'] as { aid: string }[]).some(
        ({ aid }) => aid === agent.aid,
      )
    const { number } = (await hub.running.hub.agents.find(agent.aid))?.row ?? { number: 0 }
    await hub.running.hub.context.store.listOpen({ number, listed: false })
    expect([await listed(), await listed('?cap=rare.one')]).toEqual([false, true])
    await hub.running.hub.context.store.listOpen({ number, listed: true })
    await agent.poll()
    hub.clock.advance(30 * DAY_MS + MINUTE_MS)
    expect([await listed(), await listed('?cap=rare.one')]).toEqual([false, false])
    await agent.poll()
    expect(await listed()).toBe(true)
  })

  test('gives key histories, also that of the hub itself, and direct addresses while they stand', async () => {
    const agent = await registered()
    expect((await get(`/agents/${agent.aid}/kel`)).json).toMatchObject({ aid: agent.aid, source: 'local' })
    expect((await get(`/agents/${hub.aid}/kel`)).json).toMatchObject({ role: 'hub' })
    const publish = (addr: string) => post(`/agents/${agent.aid}/p2p`, { ...agent.sign('profile'), addr })
    expect((await get(`/agents/${agent.aid}/p2p`)).status).toBe(404)
    expect((await publish('host:1')).json).toEqual({ status: 'published' })
    expect((await get(`/agents/${agent.aid}/p2p`)).json).toEqual({ aid: agent.aid, addr: 'host:1' })
    expect((await publish('')).json).toEqual({ status: 'withdrawn' })
    expect((await get(`/agents/${agent.aid}/p2p`)).status).toBe(404)
    expect((await publish('x'.repeat(257))).status).toBe(400)
  })
})

describe('every answer', () => {
  test('names the wire and lets pages of any origin read it, whatever became of the request', async () => {
    for (const [method, path, status] of [
      ['GET', '/healthz', 200],
      ['GET', '/nowhere', 404],
      ['OPTIONS', '/relay/send', 204],
      ['POST', '/relay/send', 400],
    ] as const) {
      const { headers, ...answer } = await client.ask(method, path)
      expect(answer.status).toBe(status)
      expect(headers.get('x-svc-wire')).toBe('1')
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('set-cookie')).toBeNull()
    }
  })

  test('to a newer wire is 400 with the wire of this address; an older one or none is accepted', async () => {
    const asked = (wire: string) => client.ask('GET', '/healthz', undefined, { 'X-Svc-Wire': wire })
    expect((await asked('2')).status).toBe(400)
    expect((await asked('2')).json).toEqual({ error: expect.stringContaining('wire 1') })
    expect((await asked('0')).status).toBe(200)
  })

  test('comes however often an address asks: that is for a proxy to count', async () => {
    const strict = await startTestHub({
      wires: [1],
      limits: { requestRate: { perSecond: 1 / 60, burst: 1 } },
    })
    const headers = { 'X-Forwarded-For': '198.51.100.7' }
    for (let time = 0; time < 3; time++)
      expect((await fetch(`${strict.url}/healthz`, { headers })).status).toBe(200)
    await strict.close()
  })

  test('takes members that nobody knows, and refuses one that comes twice', async () => {
    const agent = await registered({ favourite_colour: 'green' })
    const twice = await fetch(`${hub.url}/relay/send`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(mail(agent.aid, 'x')).replace('{', '{"kind":"result",'),
    })
    expect(twice.status).toBe(400)
  })
})
