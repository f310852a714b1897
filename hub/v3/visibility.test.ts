/** How far an agent's directory entry travels (hub API §4.5): the interface, or pages and catalogs as well. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { present } from '../../protocol/encoding/present.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { cardOf } from '../testing/cards.ts'
import { callRoute, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'

const visibilities = ['hub-local', 'federated', 'public'] as const
type Visibility = (typeof visibilities)[number]

let hub: TestHub
let agents: Record<Visibility, TestAgent>
beforeAll(async () => {
  hub = await startTestHub()
  const made = []
  for (const visibility of visibilities) {
    const agent = await registeredAgent(hub)
    const card = { aid: agent.aid, kel: agent.kel, a2a_card: cardOf(agent) }
    await agent.call('register', { ...card, name: visibility, caps: ['research'] })
    await set(agent, visibility)
    made.push([visibility, agent])
  }
  agents = Object.fromEntries(made) as typeof agents
})
afterAll(() => hub.close())

const set = (agent: TestAgent, visibility: Visibility) =>
  agent.call('setVisibility', { visibility }, { params: { aid: agent.aid } })

/** Whom an answer names, whatever its form. */
async function named(name: Wire3RouteName, query?: Record<string, string>): Promise<Visibility[]> {
  const { status, json } = await callRoute(hub, name, undefined, present({ query }))
  expect(status).toBe(200)
  const text = JSON.stringify(json)
  return visibilities.filter(visibility => text.includes(agents[visibility].aid))
}

describe('every registered agent', () => {
  test.each([
    ['agents', { cap: 'research' }],
    ['agents', {}],
    ['a2aAgents', { q: 'a' }],
    ['a2aAgents', { skill: 'translate' }],
    ['graph', {}],
  ] as const)('stands in %s %j, however it is visible', async (name, query) => {
    expect(await named(name, query)).toEqual(visibilities)
  })

  test.each(['agent', 'agentKeys', 'agentKel', 'a2aCard', 'cardKeys', 'reputation'] as const)(
    'is answered for by its AID in %s',
    async name => {
      for (const visibility of visibilities)
        expect(
          (await callRoute(hub, name, undefined, { params: { aid: agents[visibility].aid } })).status,
        ).toBe(200)
    },
  )
})

test.each([
  ['publicPage', {}],
  ['publicPage', { q: 'a' }],
  ['publicPage', { cap: 'research' }],
  ['publicPage', { cap: 'res*' }],
  ['research', {}],
  ['aiCatalog', {}],
] as const)('%s %j names those only that chose to be public', async (name, query) => {
  expect(await named(name, query)).toEqual(['public'])
})

test('an agent that is new, or has left and come back, is hub-local', async () => {
  const agent = await registeredAgent(hub)
  const shown = async () =>
    (await callRoute(hub, 'agent', undefined, { params: { aid: agent.aid } })).json['visibility']
  expect(await shown()).toBe('hub-local')
  await set(agent, 'public')
  expect(await shown()).toBe('public')
  await agent.call('deregister', {}, { params: { aid: agent.aid } })
  await agent.register()
  expect(await shown()).toBe('hub-local')
})

test('the page of a hub without public agents says how to be listed', async () => {
  const empty = await startTestHub()
  await registeredAgent(empty)
  const page = await (await fetch(empty.url)).text()
  expect(page).toContain('svc visibility public')
  await empty.close()
})
