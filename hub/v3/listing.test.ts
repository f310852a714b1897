import { afterAll, beforeAll, expect, test } from 'vitest'
import { present } from '../../protocol/encoding/present.ts'
import { cardOf } from '../testing/cards.ts'
import { callRoute, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'

const AGENTS = 24
const PAGE = 5

let hub: TestHub
let staying: TestAgent[]

const withCard = async (): Promise<TestAgent> => {
  const made = await registeredAgent(hub)
  const reply = await made.call('register', { aid: made.aid, kel: made.kel, a2a_card: cardOf(made) })
  expect(reply.json['card_status']).toBe('stored')
  return made
}

beforeAll(async () => {
  hub = await startTestHub()
  staying = []
  for (let i = 0; i < AGENTS; i++) staying.push(await withCard())
})
afterAll(() => hub.close())

test.each(['agents', 'a2aAgents'] as const)(
  'pages of %s are in AID order; nobody is repeated or skipped while others come and go',
  async route => {
    const passing = [await withCard(), await withCard(), await withCard()]
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const query = { limit: String(PAGE), ...present({ cursor }) }
      const { json } = await callRoute(hub, route, undefined, { query })
      const page = (json['agents'] as { aid: string }[]).map(({ aid }) => aid)
      expect(page.length).toBeLessThanOrEqual(PAGE)
      seen.push(...page)
      cursor = json['next'] as string | undefined
      // between two pages somebody leaves, also the one whom the cursor may name, and somebody comes
      const leaving = passing.find(({ aid }) => aid === page.at(-1)) ?? passing.shift()
      await leaving?.call('deregister', {}, { params: { aid: leaving.aid } })
      await withCard()
    } while (cursor !== undefined)
    expect(seen).toEqual([...new Set(seen)].sort())
    expect(staying.map(({ aid }) => aid).filter(aid => !seen.includes(aid))).toEqual([])
  },
)

test.each([
  ['graph', 'nodes'],
  ['aiCatalog', 'entries'],
  ['agents', 'agents'],
  ['a2aAgents', 'agents'],
] as const)(
  '%s is cut where an answer would be too large, and says where it goes on',
  async (route, member) => {
    const README_BYTES = 60 * 1024
    const own = await startTestHub()
    const agents: TestAgent[] = []
    for (let i = 0; i < 9; i++) {
      const agent = await registeredAgent(own)
      const given = { readme: 'a'.repeat(README_BYTES), a2a_card: cardOf(agent) }
      await agent.call('register', { aid: agent.aid, kel: agent.kel, ...given })
      await agent.call('setVisibility', { visibility: 'public' }, { params: { aid: agent.aid } })
      agents.push(agent)
    }
    const pages: unknown[][] = []
    let cursor: string | undefined
    do {
      const { json } = await callRoute(own, route, undefined, { query: present({ cursor }) })
      pages.push(json[member] as unknown[])
      cursor = json['next'] as string | undefined
    } while (cursor !== undefined)
    expect(pages.length).toBeGreaterThan(1)
    const text = JSON.stringify(pages.flat())
    expect(agents.filter(({ aid }) => !text.includes(aid))).toEqual([])
    expect(pages.flat().length).toBe(agents.length)
    await own.close()
  },
)
