import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicKey } from '../../protocol/crypto/engine.node.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import type { AgentCard } from '../../protocol/identity/card.ts'
import { cardOf } from '../testing/cards.ts'
import {
  callRoute,
  registeredAgent,
  request,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'

let hub: TestHub
let agent: TestAgent

beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

const register = async (of: TestAgent, card: unknown) =>
  (await of.call('register', { aid: of.aid, kel: of.kel, a2a_card: card })).json['card_status']
const listed = async (query: Record<string, string>) => {
  const { json } = await callRoute(hub, 'a2aAgents', undefined, { query })
  return json as { agents: { aid: string; card?: AgentCard }[]; next?: string }
}
const params = (of: TestAgent) => ({ params: { aid: of.aid } })

describe('cards', () => {
  test('are stored once, unchanged when repeated, and refused without harm to the registration', async () => {
    const card = cardOf(agent)
    expect(await register(agent, card)).toBe('stored')
    expect(await register(agent, card)).toBe('unchanged')
    expect(await register(agent, { ...card, name: 'Forged' })).toBe('refused')
    expect((await callRoute(hub, 'a2aCard', undefined, params(agent))).json).toEqual(card)
    const { keys } = (await callRoute(hub, 'cardKeys', undefined, params(agent))).json as {
      keys: { kid: string }[]
    }
    expect(keys.map(key => key.kid)).toEqual([`${agent.aid}#${agent.log.seq}`])
  })

  test('are found by skill, by tag and by both, page by page; an empty filter is refused', async () => {
    const others = await Promise.all([registeredAgent(hub), registeredAgent(hub), registeredAgent(hub)])
    const skills = [{ id: 'sum', name: 'Sum', description: 'Adds.', tags: ['number', 'text'] }]
    for (const other of others) expect(await register(other, cardOf(other, { skills }))).toBe('stored')
    const sums = others.map(other => other.aid).sort()
    expect((await listed({ skill: 'sum' })).agents.map(entry => entry.aid)).toEqual(sums)
    expect((await listed({ skill: 'su' })).agents).toEqual([])
    expect((await listed({ tag: 'text', skill: 'translate' })).agents.map(entry => entry.aid)).toEqual([
      agent.aid,
    ])
    expect((await listed({ tag: 'text' })).agents.length).toBe(4)
    const first = await listed({ skill: 'sum', limit: '2' })
    const second = await listed({ skill: 'sum', limit: '2', cursor: first.next ?? '' })
    expect([...first.agents, ...second.agents].map(entry => entry.aid)).toEqual(sums)
    expect(second.next).toBeUndefined()
    for (const name of ['skill', 'tag'])
      expect((await callRoute(hub, 'a2aAgents', undefined, { query: { [name]: '' } })).json['reason']).toBe(
        'bad_request',
      )
  })

  test('leave listing, card route and catalog with a rotation, until they are signed anew', async () => {
    const mover = await registeredAgent(hub)
    const skills = [{ id: 'move', name: 'Move', description: 'Moves.', tags: ['moving'] }]
    const before = cardOf(mover, { skills })
    expect(await register(mover, before)).toBe('stored')
    await mover.call('setVisibility', { visibility: 'public' }, params(mover))
    const catalog = async () => {
      const { json } = await callRoute(hub, 'aiCatalog', undefined)
      return (json['entries'] as { url: string; tags: string[] }[]).filter(entry =>
        entry.tags.includes('moving'),
      )
    }
    expect((await catalog()).map(entry => entry.url)).toEqual([`${hub.url}/a2a/v1/agents/${mover.aid}/card`])
    mover.rotate()
    expect(await register(mover, before)).toBe('refused')
    expect((await listed({ skill: 'move' })).agents).toEqual([])
    expect((await callRoute(hub, 'a2aCard', undefined, params(mover))).json['reason']).toBe('not_found')
    expect(await catalog()).toEqual([])
    expect(await register(mover, cardOf(mover, { skills }))).toBe('stored')
    expect((await listed({ skill: 'move' })).agents.map(entry => entry.card)).toEqual([
      cardOf(mover, { skills }),
    ])
    await mover.call('deregister', {}, params(mover))
    expect((await listed({ skill: 'move' })).agents).toEqual([])
  })

  test('of a pushed rotation leave as well', async () => {
    const pushed = await registeredAgent(hub)
    const skills = [{ id: 'push', name: 'Push', description: 'Is pushed.', tags: ['pushed'] }]
    expect(await register(pushed, cardOf(pushed, { skills }))).toBe('stored')
    pushed.rotate()
    await callRoute(hub, 'pushKel', { aid: pushed.aid, kel: pushed.kel })
    expect((await listed({ tag: 'pushed' })).agents).toEqual([])
  })
})

test('the key set of a card holds the current key alone, before and after a rotation', async () => {
  const signer = await registeredAgent(hub)
  const keys = async () => (await callRoute(hub, 'cardKeys', undefined, params(signer))).json['keys']
  const current = () => [
    {
      kty: 'OKP',
      crv: 'Ed25519',
      x: toBase64url(publicKey(signer.seed)),
      kid: `${signer.aid}#${signer.log.seq}`,
      alg: 'EdDSA',
      use: 'sig',
    },
  ]
  expect(await keys()).toEqual(current())
  signer.rotate()
  await signer.call('register', { aid: signer.aid, kel: signer.kel, enc_keys: signer.makeKeys() })
  expect(await keys()).toEqual(current())
})

test('the catalog has its own media type', async () => {
  const reply = await request(`${hub.url}/.well-known/ai-catalog.json`, 'GET')
  expect(reply.headers.get('Content-Type')).toBe('application/ai-catalog+json')
})
