/** Archiving and listing by order: the terminal does what the page does, and a refusal says what to do instead. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

let hub: TestHub
let client: Wire1Client
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
})
afterAll(() => hub.close())

const order: TestHub['running']['order'] = given => hub.running.order(given)
const archived = async () => (await order({ command: 'archive' }))['archived']

test('an agent is archived with a reason, listed as such, shown so, and brought back', async () => {
  const agent = await client.registered({ name: 'ada' })
  const { aid } = agent
  expect(await order({ command: 'archive', aid, reason: 'too loud' })).toEqual({
    ...{ aid, archived: true, waiting_messages: 0, next: `bring it back with: svc-hub unarchive ${aid}` },
  })
  expect(await archived()).toEqual([
    { aid, name: 'ada', archived_at: expect.any(String), reason: 'too loud' },
  ])
  expect(await order({ command: 'agent', aid })).toMatchObject({
    aid,
    registered: false,
    archived: 'too loud',
  })
  expect((await agent.register()).status).toBe(403)
  expect(await order({ command: 'admit', aid })).toMatchObject({
    ...{ admitted: true, registered: false, archived: true },
    next: `it stays archived; bring it back with: svc-hub unarchive ${aid}`,
  })
  expect(await order({ command: 'unarchive', aid })).toEqual({ aid, archived: false })
  expect(await order({ command: 'agent', aid })).not.toHaveProperty('archived')
  expect((await agent.poll()).status).toBe(200)
  await expect(order({ command: 'unarchive', aid })).rejects.toThrow(/is not archived; .*svc-hub archive$/)
})

test('one that is archived can be removed for good, or stays off while it is blocked', async () => {
  const [gone, blocked] = [await client.registered(), await client.registered()]
  await order({ command: 'archive', aid: gone.aid })
  expect(await order({ command: 'remove', aid: gone.aid })).toMatchObject({
    registered: false,
    admitted: false,
  })
  expect(await archived()).toEqual([])
  await order({ command: 'archive', aid: blocked.aid })
  await order({ command: 'block', aid: blocked.aid })
  await order({ command: 'unarchive', aid: blocked.aid })
  expect((await blocked.poll()).status).toBe(401)
  await order({ command: 'unblock', aid: blocked.aid })
  expect((await blocked.register()).status).toBe(200)
})

test('agents with open mail are counted apart from those with sealed mail', async () => {
  const before = Number((await order({ command: 'stats' }))['open_agents'])
  const { aid } = await client.registered()
  expect(await order({ command: 'stats' })).toMatchObject({ agents: 0, open_agents: before + 1 })
  await order({ command: 'archive', aid })
  expect(await order({ command: 'stats' })).toMatchObject({ open_agents: before })
})

test('listings name an agent or not', async () => {
  const { aid } = await client.registered()
  expect(await order({ command: 'listed', aid })).toEqual({ aid, listed: true })
  expect(await order({ command: 'listed', aid, listed: false })).toEqual({ aid, listed: false })
  const { agents } = (await client.get('/agents')).json as { agents: { aid: string }[] }
  expect(agents.map(agent => agent.aid)).not.toContain(aid)
})

test('the hub itself, and whoever has no open mail, are refused with the next step', async () => {
  const stranger = new OpenAgent(client).aid
  for (const command of ['archive', 'unarchive', 'listed'] as const)
    await expect(order({ command, aid: hub.aid })).rejects.toThrow(/hub itself.*; name an agent/)
  for (const command of ['archive', 'listed'] as const)
    await expect(order({ command, aid: stranger })).rejects.toThrow(/no open mail here; .*svc-hub block/)
})

test('each change is written down, and a look is not', async () => {
  const { aid } = await client.registered()
  const of = () =>
    hub.alerts
      .filter(({ event, facts }) => event === 'order' && facts['aid'] === aid)
      .map(({ facts }) => facts['command'])
  const before = of().length
  for (const given of [
    { command: 'archive', aid },
    { command: 'unarchive', aid },
    { command: 'listed', aid },
    { command: 'listed', aid, listed: true },
  ] as const)
    await order(given)
  expect(of().slice(before)).toEqual(['archive', 'unarchive', 'listed'])
})
