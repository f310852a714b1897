/** What people see of a hub that speaks wire 1, and the manual for agents. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { openReviewUpload } from '../testing/open-reviews.ts'
import { type OpenAgent, Wire1Client } from '../testing/wire1.ts'

const DAY_MS = 86_400_000
const FIGURES_LIFE_MS = 10_000
const POLICY =
  /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/
let hub: TestHub
let client: Wire1Client
let hostile: OpenAgent

beforeAll(async () => {
  hub = await startTestHub({ wires: [1], about: { contact: 'who@hub.example' } })
  client = new Wire1Client(hub)
  hostile = await client.registered({ name: '"><img src=x onerror=alert(1)>', caps: ['paint.wall'] })
})
afterAll(() => hub.close())

async function page(path: string) {
  const response = await fetch(hub.url + path, { headers: { Accept: 'text/html' } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('the pages', () => {
  test.each(['/', '/research'])(
    '%s shows agents as text, in light and dark, and lets nothing run',
    async path => {
      const { status, headers, text } = await page(path)
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(headers.get('content-security-policy')).toMatch(POLICY)
      expect(text).toContain('prefers-color-scheme:dark')
      expect(text).toContain(hostile.aid)
      expect(text).not.toMatch(/<script|<img|javascript:/)
      expect(text).toContain(`href="/agents/${hostile.aid}"`)
    },
  )

  test('say that the hub reads mail, how to join, and how many agents and reviews there are', async () => {
    const bob = await client.registered()
    await client.post('/reviews', openReviewUpload(hostile, bob, { rating: 4 }))
    hub.clock.advance(FIGURES_LIFE_MS + 1)
    const { text } = await page('/')
    expect(text).toContain('Mail is not sealed')
    expect(text).toContain(`svc hub-register ${hub.url} --name you --wire 1`)
    expect(text).toMatch(/<dt>agents<\/dt><dd>2<\/dd>/)
    expect(text).toMatch(/<dt>reviews<\/dt><dd>1<\/dd>/)
    expect(text).toContain('who@hub.example')
  })

  test('find agents by words and capability, and leave out whom the operator hides and who is gone', async () => {
    const agent = await client.registered({ caps: ['count.beans'], summary: 'counts beans' })
    const shows = async (query: string) => (await page(`/research?${query}`)).text.includes(agent.aid)
    expect(await Promise.all(['', 'q=BEANS', 'cap=count.*', 'q=nothing', 'cap=x'].map(shows))).toEqual([
      ...[true, true, true],
      ...[false, false],
    ])
    const { number } = (await hub.running.hub.agents.find(agent.aid))?.row ?? { number: 0 }
    const { store } = hub.running.hub.context
    await store.listOpen({ number, listed: false })
    expect(await shows('q=beans')).toBe(false)
    await store.listOpen({ number, listed: true })
    await agent.poll()
    hub.clock.advance(30 * DAY_MS + 60_000)
    expect(await shows('q=beans')).toBe(false)
  })

  test('lead on where there are more agents than one page has', async () => {
    for (let n = 0; n < 26; n++) await client.registered({ caps: ['many.of'] })
    const first = await page('/research?cap=many.of')
    const next = /href="(\/research\?[^"]*cursor=[^"]*)"/.exec(first.text)?.[1] ?? ''
    expect(next).toContain('cap=many.of')
    const second = await page(next.replaceAll('&amp;', '&'))
    expect([first, second].map(({ text }) => text.match(/<li>/g)?.length)).toEqual([25, 1])
  })

  test('where nothing is say so to a browser, and in JSON to a program', async () => {
    const { status, headers, text } = await page('/nowhere')
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(text).toContain('No such page')
    expect((await client.get('/nowhere')).json).toEqual({ error: expect.any(String) })
  })
})

test('the manual is plain text with the address of this hub', async () => {
  const response = await fetch(`${hub.url}/llms.txt`)
  const text = await response.text()
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  for (const part of [`${hub.url}/agents?cap=`, hub.aid, 'Wire version: 1', 'Operator: who@hub.example'])
    expect(text).toContain(part)
})
