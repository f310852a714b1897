/** What an operator does about single agents and address ranges, and what those then meet. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { callRoute, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'

let hub: TestHub
beforeEach(async () => {
  hub = await startTestHub()
})
afterEach(() => hub.close())

const order = (given: Parameters<TestHub['running']['order']>[0]) => hub.running.order(given)
const reasonOf = async (reply: Promise<{ json: Record<string, unknown> }>) => (await reply).json['reason']
const deliver = (to: TestAgent) => sendEnvelope(hub, sealedUnderCapability(to, to.capability()))
const isListed = async (agent: TestAgent): Promise<boolean> => {
  const { json } = await callRoute(hub, 'agents', undefined)
  return (json['agents'] as { aid: string }[]).some(({ aid }) => aid === agent.aid)
}

describe('a blocked agent', () => {
  test('is shut out at once, also in open mode, and is as it was when it is unblocked', async () => {
    await hub.running.hub.context.store.putSetting('admission', 'open')
    const agent = await registeredAgent(hub)
    await agent.call('updateProfile', { name: 'Mallory', caps: ['code.review'], summary: 'busy' })
    expect((await deliver(agent)).status).toBe(200)
    const held = agent.poll({ after_id: 1 }, { headers: { Prefer: 'wait=30' } })
    await expect.poll(() => hub.running.hub.polls.size).toBe(1)

    expect(await order({ command: 'block', aid: agent.aid })).toEqual({
      aid: agent.aid,
      admitted: true,
      blocked: true,
      registered: true,
      waiting_envelopes: 1,
      waiting_bytes: expect.any(Number),
      note: expect.stringContaining('credits stay its own'),
    })
    expect((await held).messages).toEqual([])
    expect(await isListed(agent)).toBe(false)
    const shown = (await order({ command: 'agents' })) as { agents: unknown[] }
    expect(shown.agents).toMatchObject([{ aid: agent.aid, registered: true, blocked: true }])
    expect(await order({ command: 'agent', aid: agent.aid })).toMatchObject({
      registered: true,
      blocked: true,
    })
    expect(await order({ command: 'admit', aid: agent.aid })).toMatchObject({
      blocked: true,
      next: `it stays blocked; let it in again with: svc-hub unblock ${agent.aid}`,
    })
    expect(await reasonOf(agent.call('relayPoll', {}))).toBe('unauthorized')
    expect(await reasonOf(agent.call('relaySession', { epk: toBase64url(new Uint8Array(1216)) }))).toBe(
      'unauthorized',
    )
    const refusal = await agent.register()
    expect(refusal.json['reason']).toBe('admission_required')
    // In the words that everybody reads who is not admitted: they tell nobody whether it is blocked.
    await hub.running.hub.context.store.putSetting('admission', 'closed')
    const stranger = new TestAgent(hub)
    const { json } = await stranger.register()
    expect(refusal.json['error']).toBe(String(json['error']).replaceAll(stranger.aid, agent.aid))
    await hub.running.hub.context.store.putSetting('admission', 'open')
    expect(await order({ command: 'agent', aid: agent.aid })).toMatchObject({
      refused_lately: { reason: 'admission_required', because: 'the operator blocks it' },
    })
    expect(await reasonOf(deliver(agent))).toBe('recipient_unknown')
    await hub.restart()
    agent.target = hub
    expect(await reasonOf(agent.register())).toBe('admission_required')

    expect(await order({ command: 'unblock', aid: agent.aid })).toMatchObject({
      blocked: false,
      registered: true,
    })
    expect(await isListed(agent)).toBe(true)
    expect((await agent.poll()).messages.length).toBe(1)
    expect((await order({ command: 'agent', aid: agent.aid }))['name']).toBe('Mallory')
  })

  test('that nobody has heard of is admitted with a word on it, one that was refused without', async () => {
    const agent = new TestAgent(hub)
    const note = expect.stringMatching(/^nobody with this AID has asked to register here lately/)
    expect(await order({ command: 'admit', aid: agent.aid })).toMatchObject({ admitted: true, note })
    await order({ command: 'unadmit', aid: agent.aid })
    await hub.running.hub.context.store.putSetting('admission', 'closed')
    expect(await reasonOf(agent.register())).toBe('admission_required')
    expect(await order({ command: 'admit', aid: agent.aid })).not.toHaveProperty('note')
    await agent.register()
    expect(await order({ command: 'admit', aid: agent.aid })).not.toHaveProperty('note')
  })

  test('stays out when a registration of it is on its way', async () => {
    const agent = await registeredAgent(hub)
    const { store } = hub.running.hub.context
    const { putAgent } = store
    let blocked: Promise<unknown> | undefined
    store.putAgent = async change => {
      store.putAgent = putAgent
      blocked = order({ command: 'block', aid: agent.aid })
      await blocked
      return await putAgent(change)
    }
    expect(await reasonOf(agent.register())).toBe('admission_required')
    await blocked
    expect(await isListed(agent)).toBe(false)
  })

  test('that was never here is refused when it comes; one that left does not come back by being unblocked', async () => {
    const stranger = new TestAgent(hub)
    expect(await order({ command: 'block', aid: stranger.aid })).toMatchObject({
      blocked: true,
      registered: false,
    })
    await order({ command: 'admit', aid: stranger.aid })
    expect(await reasonOf(stranger.register())).toBe('admission_required')
    await order({ command: 'unblock', aid: stranger.aid })
    expect((await stranger.register()).status).toBe(200)

    await stranger.call('deregister', {}, { params: { aid: stranger.aid } })
    await order({ command: 'block', aid: stranger.aid })
    expect(await order({ command: 'unblock', aid: stranger.aid })).toMatchObject({ registered: false })
  })
})

test('a removed agent loses profile, keys, mail and admission; its key history stays', async () => {
  const agent = await registeredAgent(hub)
  await agent.call('updateProfile', { name: 'Gone', summary: 'soon' })
  const sent = await deliver(agent)
  expect(await order({ command: 'remove', aid: agent.aid })).toEqual({
    aid: agent.aid,
    admitted: false,
    blocked: false,
    registered: false,
    dropped_envelopes: 1,
  })
  const envelope = { rid: sent.json['rid'], handle: toBase64url(new Uint8Array(16)) }
  const { json } = await callRoute(hub, 'relayStatus', { items: [envelope] })
  expect(json['items']).toEqual([{ state: 'unknown' }])
  const kel = await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } })
  expect(kel.json).toMatchObject({ registered: false, kel: expect.any(String) })
  expect(await order({ command: 'agent', aid: agent.aid })).toMatchObject({ name: '', summary: '' })
  expect((await order({ command: 'agents' }))['agents']).toEqual([])
  expect(await reasonOf(agent.register())).toBe('admission_required')
  await order({ command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  expect((await agent.poll()).messages).toEqual([])
})

test('what a removed agent had published stands in no file of the hub any more, nor in a backup of it', async () => {
  const agent = await registeredAgent(hub)
  const readme = 'erasablewords '.repeat(4000)
  const name = 'Erasablename'
  await agent.call('updateProfile', { name, readme, summary: 'erasablewords', caps: ['erasablewords.cap'] })
  await order({ command: 'remove', aid: agent.aid })
  await hub.restart()
  const found = readdirSync(hub.directory, { recursive: true, withFileTypes: true })
    .filter(file => file.isFile())
    .filter(file => /erasable/i.test(readFileSync(join(file.parentPath, file.name), 'latin1')))
  expect(found.map(({ name: file }) => file)).toEqual([])
})

test('nobody is removed who is neither registered nor admitted', async () => {
  const { aid } = new TestAgent(hub)
  const refused = `${aid} is neither registered nor admitted here; list who is with: svc-hub agents`
  const remove = () => order({ command: 'remove', aid })
  await expect(remove()).rejects.toThrow(refused)
  await order({ command: 'block', aid })
  await expect(remove()).rejects.toThrow(refused)
  await order({ command: 'admit', aid })
  expect(await remove()).toEqual({
    aid,
    admitted: false,
    blocked: true,
    registered: false,
    dropped_envelopes: 0,
  })
  await expect(remove()).rejects.toThrow(refused)
})

test('a quota beyond the bounds of the limits is refused, however the order comes', async () => {
  const { aid } = await registeredAgent(hub)
  const set = (quota: Record<string, number>) => order({ command: 'quota', aid, quota })
  const before = await order({ command: 'quota', aid })
  for (const [member, min, max] of [
    ['envelopes', 1, 10_000_000],
    ['bytes', 1_048_576, 1_099_511_627_776],
    ['stranger_envelopes', 0, 10_000_000],
    ['stranger_bytes', 0, 1_099_511_627_776],
    ['stranger_per_minute', 0, 100_000],
  ] as const) {
    for (const value of [min - 1, max + 1]) {
      const sentence = `${member} is out of bounds: ${value}; give a whole number from ${min} to ${max}`
      await expect(set({ [member]: value })).rejects.toThrow(sentence)
    }
    expect(await order({ command: 'quota', aid })).toEqual(before)
    expect(await set({ [member]: max })).toMatchObject({ [member]: max })
    expect(await set({ [member]: min })).toMatchObject({ [member]: min })
    await order({ command: 'quota', aid, reset: true })
  }
})

test('an agent that is no longer admitted stays registered, and does not come back once it left', async () => {
  const agent = await registeredAgent(hub)
  expect(await order({ command: 'unadmit', aid: agent.aid })).toMatchObject({
    admitted: false,
    registered: true,
  })
  expect((await agent.register()).status).toBe(200)
  await agent.call('deregister', {}, { params: { aid: agent.aid } })
  expect(await reasonOf(agent.register())).toBe('admission_required')
})

describe('the list of agents', () => {
  test('names the registered, the admitted, the blocked, and who was refused lately, with dates', async () => {
    const agent = await registeredAgent(hub)
    const refused = new TestAgent(hub)
    await refused.register()
    await refused.register()
    const admitted = new TestAgent(hub)
    await order({ command: 'admit', aid: admitted.aid })
    const listed = (await order({ command: 'agents' })) as {
      agents: Record<string, unknown>[]
      refused_lately: Record<string, unknown>[]
    }
    expect(listed.agents.map(({ aid }) => aid)).toEqual([agent.aid, admitted.aid].sort())
    const own = listed.agents.find(({ aid }) => aid === agent.aid)
    expect(own).toMatchObject({ registered: true, admitted: true, blocked: false })
    expect(own?.['registered_on']).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(listed.refused_lately).toEqual([
      {
        aid: refused.aid,
        reason: 'admission_required',
        because: 'admission is closed and it is not admitted',
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        times: 2,
      },
    ])
    expect(await order({ command: 'agent', aid: refused.aid })).toMatchObject({
      registered: false,
      refused_lately: { times: 2 },
    })
  })

  test('comes page by page', async () => {
    const aids = []
    for (let i = 0; i < 5; i++) {
      const { aid } = new TestAgent(hub)
      await order({ command: 'admit', aid })
      aids.push(aid)
    }
    const seen: string[] = []
    for (let after: string | undefined, pages = 0; pages < 3; pages++) {
      const page = (await order({
        command: 'agents',
        limit: 2,
        ...(after === undefined ? {} : { after }),
      })) as {
        agents: { aid: string }[]
        next?: string
      }
      seen.push(...page.agents.map(({ aid }) => aid))
      after = page.next
    }
    expect(seen).toEqual(aids.sort())
  })
})

test('from a refused address range only those register whom the operator admitted', async () => {
  await hub.running.hub.context.store.putSetting('admission', 'open')
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
  const agent = new TestAgent(hub)
  agent.rotate()
  const register = (address: string) =>
    reasonOf(agent.call('register', { aid: agent.aid, kel: agent.kel }, from(address)))
  expect(await order({ command: 'ranges', refuse: '192.0.2.9/24' })).toEqual({ refused: ['192.0.2.0/24'] })
  expect(await register('192.0.2.200')).toBe('admission_required')
  expect(await order({ command: 'agent', aid: agent.aid })).toMatchObject({
    refused_lately: { because: 'its address range is refused and it is not admitted' },
  })
  expect(await register('198.51.100.1')).toBe('pow_required')
  await order({ command: 'admit', aid: agent.aid })
  expect(await register('192.0.2.200')).toBeUndefined()
  expect(await order({ command: 'ranges', allow: '192.0.2.0/24' })).toEqual({ refused: [] })
  await expect(order({ command: 'ranges', allow: '192.0.2.0/24' })).rejects.toThrow(/is not refused/)
  await expect(order({ command: 'ranges', refuse: 'everybody' })).rejects.toThrow(/expected an address range/)
})

test('each order that changes something leaves a line in the log, and none that only looks', async () => {
  const { aid } = new TestAgent(hub)
  const seen = hub.alerts.length
  await order({ command: 'admit', aid })
  await order({ command: 'agents' })
  await order({ command: 'agent', aid })
  await order({ command: 'admission' })
  await order({ command: 'ranges' })
  await order({ command: 'quota', aid })
  await order({ command: 'block', aid })
  await order({ command: 'ranges', refuse: '192.0.2.0/24' })
  await order({ command: 'admission', mode: 'open' })
  expect(hub.alerts.slice(seen)).toEqual([
    { event: 'order', facts: { command: 'admit', aid } },
    { event: 'order', facts: { command: 'block', aid } },
    { event: 'order', facts: { command: 'ranges', refuse: '192.0.2.0/24' } },
    { event: 'order', facts: { command: 'admission', mode: 'open' } },
  ])
})

test('so does each about a peer: that it is listed, what it may owe, and that it is taken off', async () => {
  const { aid, kel } = new TestAgent(hub)
  const seen = hub.alerts.length
  await order({ command: 'peers' })
  const orders = [
    { command: 'peers', add: { url: 'https://peer.example', kel } },
    { command: 'peers', limit: { aid, credits: 7 } },
    { command: 'peers', remove: aid },
  ] as const
  for (const one of orders) await order(one)
  expect(hub.alerts.slice(seen)).toEqual(orders.map(facts => ({ event: 'order', facts })))
})
