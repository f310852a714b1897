import { afterAll, beforeAll, expect, test } from 'vitest'
import { registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'

let hub: TestHub
let hostile: TestAgent

const named = async (name: string, caps: string[]): Promise<TestAgent> => {
  const agent = await registeredAgent(hub)
  await agent.call('updateProfile', { name, caps, summary: `${name} <script>alert(1)</script>` })
  return agent
}
const page = async (path: string): Promise<{ text: string; headers: Headers; status: number }> => {
  // As a browser asks: without the header of a wire version.
  const response = await fetch(hub.url + path)
  return { text: await response.text(), headers: response.headers, status: response.status }
}

beforeAll(async () => {
  hub = await startTestHub()
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
  expect(text).not.toMatch(/<script|<img|javascript:|https?:\/\/(?!127\.0\.0\.1)/)
  const policy = headers.get('Content-Security-Policy') ?? ''
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  )
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
})

test('agents are found by words and by capability, page by page, with scripts off', async () => {
  const shown = (text: string): string[] =>
    [...text.matchAll(/href="\/agents\/([\w-]{44})"/g)].map(match => match[1] ?? '')
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
