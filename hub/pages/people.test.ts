import { afterAll, beforeAll, expect, test } from 'vitest'
import { random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'

let hub: TestHub
let hostile: TestAgent

const named = async (name: string, caps: string[]): Promise<TestAgent> => {
  const agent = await registeredAgent(hub)
  await agent.call('updateProfile', { name, caps, summary: `${name} <script>alert(1)</script>` })
  await agent.call('setVisibility', { visibility: 'public' }, { params: { aid: agent.aid } })
  return agent
}
const page = async (path: string): Promise<{ text: string; headers: Headers; status: number }> => {
  // As a browser asks: without the header of a wire version.
  const response = await fetch(hub.url + path)
  return { text: await response.text(), headers: response.headers, status: response.status }
}

const about = {
  name: 'Hub of <Example>',
  contact: 'https://hub.example/who?a=1&b=2',
  terms: 'https://hub.example/terms',
  abuse: 'abuse@hub.example',
  source: 'https://code.example/svc',
}

beforeAll(async () => {
  hub = await startTestHub({ about })
  hostile = await named('"><img src=x onerror=alert(1)>', ['research'])
  for (let i = 0; i < 30; i++) await named(`helper ${i}`, ['code.review'])
})
afterAll(() => hub.close())

test('the public page tells what the hub is, its figures and how to join, without a wire header', async () => {
  const { status, text, headers } = await page('/')
  expect([status, headers.get('Content-Type'), headers.get('X-Svc-Wire')]).toEqual([
    200,
    'text/html; charset=utf-8',
    '3',
  ])
  expect(text).toContain(`svc hub-register ${hub.url}`)
  expect(text).toContain(hub.aid)
  expect(text).toMatch(/<dt>agents<\/dt><dd>31<\/dd>/)
})

test('what agents write is text on the page; nothing may run, load or frame it', async () => {
  const { text, headers } = await page(`/?q=${encodeURIComponent(hostile.aid)}`)
  expect(text).toContain('&lt;script&gt;')
  expect(text).toContain('&lt;img')
  expect(text).not.toMatch(/<script|<img|javascript:|https?:\/\/(?!127\.0\.0\.1|hub\.example|code\.example)/)
  const policy = headers.get('Content-Security-Policy') ?? ''
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  )
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
})

test('the front page shows the hubs whose agents are reached from here, and which of them gives no answer', async () => {
  expect((await page('/')).text).not.toContain('Federation')
  const { peers } = hub.running.hub.context
  const listed = ['https://one.hub.example', 'https://two.hub.example'].map(url => {
    const { aid, log } = new TestAgent(hub)
    return { aid, url, log }
  })
  peers.replace(listed)
  peers.contact(listed[1]?.aid ?? '').fault = { ms: 1, why: 'its own words' }
  const { text } = await page('/')
  expect(text).toContain('<h2>Federation</h2>')
  expect(text).toContain('<li><a href="https://one.hub.example">https://one.hub.example</a></li>')
  expect(text).toMatch(/two\.hub\.example<\/a> <span class="soft">gives no answer now<\/span><\/li>/)
  expect(text).not.toContain('its own words')
  peers.replace([])
})

test('agents are found by words and by capability, page by page, with scripts off', async () => {
  const shown = (text: string): string[] =>
    [...text.matchAll(/href="\/agents\/([\w-]{44})\/page"/g)].map(match => match[1] ?? '')
  const first = await page('/?q=helper&cap=')
  expect(shown(first.text).length).toBe(25)
  const next = /href="([^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const second = await page(next)
  expect(new Set([...shown(first.text), ...shown(second.text)]).size).toBe(30)
  expect(shown((await page('/?q=&cap=research')).text)).toEqual([hostile.aid])
  expect(shown((await page('/?q=helper&cap=research')).text)).toEqual([])
  expect(shown((await page('/research')).text)).toEqual([hostile.aid])
  expect((await page('/?q=nobody%20at%20all')).text).toContain('No agent matches;')
})

test('the manual for agents names this hub and its own address', async () => {
  const { text, headers } = await page('/llms.txt')
  expect(headers.get('Content-Type')).toBe('text/plain; charset=utf-8')
  expect(text).toContain(hub.url)
  expect(text).toContain(hub.aid)
})

test('the page says whose hub it is, where svc comes from, and whom to tell of abuse; so do manual and figures', async () => {
  const { text } = await page('/')
  expect(text).toContain('<h1>Hub of &lt;Example&gt;</h1>')
  expect(text).toContain('href="https://hub.example/who?a=1&amp;b=2"')
  expect(text).toContain('href="mailto:abuse@hub.example"')
  expect(text).toContain('<a href="https://hub.example/terms">')
  expect(text).toContain('get it from <a href="https://code.example/svc">')
  const manual = (await page('/llms.txt')).text
  for (const value of Object.values(about)) expect(manual).toContain(value)
  expect(JSON.parse((await page('/stats')).text)).toMatchObject(about)
  const identity = JSON.parse((await page('/hub/identity')).text) as object
  expect(Object.keys(identity).sort()).toEqual(['aid', 'dir_max_bits', 'kel', 'wire'])
})

test('a link with parameters of others still shows the page; routes for programs stay strict', async () => {
  for (const path of ['/', '/research', '/llms.txt', `/agents/${hostile.aid}/page`])
    expect([path, (await page(`${path}?utm_source=x&utm_source=y`)).status]).toEqual([path, 200])
  expect((await page('/?utm_source=x&q=helper')).text).toContain('helper 1')
  expect((await page('/agents?utm_source=x')).status).toBe(400)
})

test.each([
  ['q=nobody', 'No agent matches;'],
  ['q=%00', 'No agent matches;'],
  ['cap=Not%20a%20tag', 'No agent matches: cap must be one or more capability identifiers'],
  ['cap=,', 'No agent matches: cap must be'],
  ['cursor=none', 'No agent matches: the cursor was not issued by this hub'],
  [`q=${'x'.repeat(300)}`, 'No agent matches; search for at most 256 characters'],
])('the query %s fits nothing, and the page says so', async (query, sentence) => {
  const { status, text } = await page(`/?${query}`)
  expect([status, text]).toEqual([200, expect.stringContaining(sentence)])
  expect(text).toContain('<form')
})

test('an agent has a page of its own: profile, readme as text, reputation, and whether it is online', async () => {
  const readme = 'First line\n  <b>second</b> & "third"\nhttps://elsewhere.example/'
  const agent = await named('Reader', ['text.read'])
  await agent.call('updateProfile', { readme })
  const path = `/agents/${agent.aid}/page`
  const before = await page(path)
  expect(before.text).toContain('offline: it has not collected any mail here yet')
  expect(before.text).toContain('<h1>Reader</h1>')
  expect(before.text).toContain('First line\n  &lt;b&gt;second&lt;/b&gt; &amp; &quot;third&quot;')
  expect(before.text).toContain('Nobody has reviewed it yet.')
  expect(before.text).toContain(`npx svc delegate ${agent.aid}`)
  expect(before.text).not.toMatch(/<script|<b>|href="https:\/\/elsewhere/)
  // Nothing of a key history or key set: the longest word without a space is the AID.
  const words = before.text.replaceAll(/<style>.*?<\/style>/gs, '').split(/[^\w-]+/)
  expect(Math.max(...words.map(word => word.length))).toBe(44)
  expect(before.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
  await agent.poll()
  expect((await page(path)).text).toContain('online: it collected its mail within the last hour')
  expect((await page('/?q=Reader')).text).toContain(`href="${path}"`)
})

test('the page of an agent shows the reviews of each hub apart, those of peers too', async () => {
  const agent = await named('Rated', ['text.read'])
  const { peers, store } = hub.running.hub.context
  const peer = new TestAgent(hub)
  peers.replace([{ aid: peer.aid, url: 'https://peer.example', log: peer.log }])
  const items = [4, 5, 5].map(rating => ({ provider: agent.aid, interaction: random(16), rating }))
  await store.takePeerReviews({ hub: peer.aid, items, fedSeq: 3, max: 9 })
  const path = `/agents/${agent.aid}/page`
  const shown = await page(path)
  expect(shown.text).toContain('<dt>reviews</dt><dd>3</dd>')
  expect(shown.text).toContain('<dt>average rating</dt><dd>4.67</dd>')
  expect(shown.text).toContain('<dt>reviewers at this hub</dt><dd>0</dd>')
  expect(shown.text).toContain(
    '<li>This hub: no reviews</li><li>https://peer.example: 3 reviews, 4.67 on average</li>',
  )
  expect(shown.text).toContain('has 3 of 3;')
  peers.replace([])
  expect((await page(path)).text).toContain('Nobody has reviewed it yet.')
})

test('the page of an AID that nobody has says so', async () => {
  const { status, text, headers } = await page(`/agents/A${'A'.repeat(43)}/page`)
  expect([status, headers.get('Content-Type')]).toEqual([404, 'text/html; charset=utf-8'])
  expect(text).toContain('No agent with this AID stands here')
  const quiet = await registeredAgent(hub)
  expect((await page(`/agents/${quiet.aid}/page`)).status).toBe(404)
  expect((await page(`/agents/${quiet.aid}`)).status).toBe(200)
})

test('a browser at a wrong address gets a page that leads to the front; a program gets what it got', async () => {
  const asked = (path: string, accept: string, method = 'GET') =>
    fetch(hub.url + path, { method, headers: { Accept: accept } })
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const shown = await asked('/docs-that-are-not-here', browser)
  expect([shown.status, shown.headers.get('Content-Type')]).toEqual([404, 'text/html; charset=utf-8'])
  const text = await shown.text()
  expect(text).toContain('<h1>No such page</h1>')
  expect(text).toContain('<a href="/">')
  expect(text).not.toContain('docs-that-are-not-here')
  expect(shown.headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'/)
  for (const [accept, method] of [
    ['*/*', 'GET'],
    ['application/json', 'GET'],
    [browser, 'POST'],
  ] as const) {
    const told = await asked('/docs-that-are-not-here', accept, method)
    expect([accept, told.headers.get('Content-Type')]).toEqual([accept, 'application/json'])
  }
})
