/** Names, summaries, tags and cards that others are shown: no control and no invisible characters (hub API §4.3, §4.5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson, type JsonValue } from '../../protocol/encoding/json.ts'
import { isPlainText } from '../../protocol/encoding/plain-text.ts'
import { verifyCard } from '../../protocol/identity/card.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { cardOf } from '../testing/cards.ts'
import { callRoute, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { cardBody } from '../testing/routes.ts'

const REVERSED = 'abc\u202egpj.exe'
const ESCAPED = 'abc\\u{202e}gpj.exe'
const HIDDEN = [
  '\u202e',
  '\u3164',
  '\ufe0f',
  '\u2800',
  '\ufffe',
  '\u200b',
  '\u001b[31m',
  '\u0000',
  '\u2028',
  '\u{e0041}',
]

let hub: TestHub
let agent: TestAgent
beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

describe('a profile', () => {
  const set = (profile: Record<string, unknown>) => agent.call('updateProfile', profile)

  test.each(['name', 'summary', 'readme'])(
    'whose %s holds what nobody sees is refused by its name',
    async member => {
      for (const hidden of HIDDEN)
        for (const reply of [
          await set({ [member]: `a${hidden}b` }),
          await agent.call('register', { aid: agent.aid, kel: agent.kel, [member]: `a${hidden}b` }),
        ]) {
          expectRefusal(reply, 'bad_request')
          expect(reply.json['error']).toMatch(
            new RegExp(`${member}: expected .* without control or invisible`),
          )
        }
    },
  )

  test('has its name and summary on one line, its readme on many', async () => {
    for (const member of ['name', 'summary'])
      for (const between of ['\n', '\t', '\r\n'])
        expectRefusal(await set({ [member]: `a${between}b` }), 'bad_request')
    expect((await set({ name: 'Zoë 👍🏽', summary: '你好', readme: '# a\r\n\tb\nc' })).status).toBe(200)
  })

  test.each(['name', 'summary'])('has a %s that is empty or shows something', async member => {
    for (const blank of [' ', '\u00a0', '\u3000 '])
      for (const call of ['updateProfile', 'register'] as const) {
        const reply = await agent.call(call, { aid: agent.aid, kel: agent.kel, [member]: blank })
        expectRefusal(reply, 'bad_request')
      }
    expect((await set({ [member]: '' })).status).toBe(200)
  })

  test('has tags of printable ASCII only', async () => {
    for (const hidden of HIDDEN) expectRefusal(await set({ caps: [`a${hidden}b`] }), 'bad_request')
  })
})

describe('a card', () => {
  test.each(['name', 'description'])('whose %s holds what nobody sees is not taken', async member => {
    const card = cardOf(agent, { [member]: REVERSED })
    const reply = await agent.call('register', { ...cardBody(agent), a2a_card: card })
    expect([reply.status, reply.json['card_status']]).toEqual([200, 'refused'])
  })

  test('has names on one line, descriptions on many', async () => {
    const statusOf = async (change: Record<string, unknown>) =>
      (await agent.call('register', { ...cardBody(agent), a2a_card: cardOf(agent, change) })).json[
        'card_status'
      ]
    expect(await statusOf({ name: 'a\nb' })).toBe('refused')
    expect(await statusOf({ name: '\u00a0' })).toBe('refused')
    expect(await statusOf({ description: 'a\nb' })).toBe('stored')
  })
})

describe('what a release before took as it came', () => {
  let old: TestAgent
  beforeAll(async () => {
    old = await registeredAgent(hub)
    // What the hub remembers of the row goes with the restart.
    await hub.restart()
    const { store } = hub.running.hub.context
    const row = await store.findAgent(old.aid)
    if (row === undefined) throw new Error('the agent is missing')
    const card = canonicalJson(cardOf(old, { name: REVERSED, description: 'a\u200bb' }) as JsonValue)
    const texts = { name: `${REVERSED}\nsecond`, summary: REVERSED, readme: `${REVERSED}\nsecond` }
    const visibility = 'public' as const
    await store.putAgent({
      row: { ...row, ...texts, caps: ['research'], visibility, card },
      entry: undefined,
      terms: [],
    })
  })

  const text = async (path: string): Promise<string> => {
    const response = await fetch(hub.url + path, { headers: { [headers.wire]: '3' } })
    expect(response.status).toBe(200)
    return await response.text()
  }

  test.each([
    '/',
    '/agents',
    '/graph',
    '/a2a/v1/agents',
    '/.well-known/ai-catalog.json',
    '/research',
    '/stats',
  ])('%s shows nothing that nobody sees', async path => expect(isPlainText(await text(path))).toBe(true))

  test('is shown with its escapes, on one line where one is meant', async () => {
    const shown = { name: `${ESCAPED}\\u{a}second`, summary: ESCAPED }
    const { json } = await callRoute(hub, 'agent', undefined, { params: { aid: old.aid } })
    expect(json).toMatchObject({ ...shown, readme: `${ESCAPED}\nsecond` })
    const listed = JSON.parse(await text('/agents')) as { agents: { aid: string }[] }
    expect(listed.agents.find(({ aid }) => aid === old.aid)).toMatchObject(shown)
    expect(await text('/')).toContain(ESCAPED)
  })

  test('is served, where it is a signed card, with escapes of JSON, so that its signature holds', async () => {
    const served = await text(`/a2a/v1/agents/${old.aid}/card`)
    expect(isPlainText(served)).toBe(true)
    expect(verifyCard(JSON.parse(served), old.log, hub.url)?.name).toBe(REVERSED)
    const catalog = JSON.parse(await text('/.well-known/ai-catalog.json')) as {
      entries: { displayName: string }[]
    }
    expect(catalog.entries.map(({ displayName }) => displayName)).toContain(ESCAPED)
  })

  test('is escaped in what a page says back', async () => {
    const page = await text(`/?q=${encodeURIComponent(REVERSED)}`)
    expect([isPlainText(page), page.includes(ESCAPED)]).toEqual([true, true])
  })
})
