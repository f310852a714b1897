/** The page for guests as the hub gives it: what it says, whom it offers, and what may run on it. */
import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { startTestHub, type TestHub, type TestHubOptions } from '../testing/hub.ts'
import { Wire1Client } from '../testing/wire1.ts'

const SCRIPT = 'document.title = "it runs"'

let hub: TestHub
let client: Wire1Client
afterEach(() => hub.close())

async function opened(more: TestHubOptions = {}): Promise<void> {
  hub = await startTestHub({ wires: [1], guests: true, guestScript: SCRIPT, ...more })
  client = new Wire1Client(hub)
}

async function page(path = '/guest') {
  const response = await fetch(hub.url + path, { headers: { Accept: 'text/html' } })
  const { status, headers } = response
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  return { text: await response.text(), policy: headers.get('content-security-policy') ?? '' }
}

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

describe('the page for guests', () => {
  it('says that guests are off and who can change that, and runs nothing', async () => {
    await opened({ guests: false })
    const { text, policy } = await page()
    expect(text).toContain('This hub takes no messages of guests.')
    expect(text).toContain('by starting it with <code>--guests</code>')
    expect(text).not.toMatch(/<script|<textarea/)
    expect(policy).not.toContain('script-src')
    expect((await page('/')).text).not.toContain('/guest')
    expect(await (await fetch(`${hub.url}/llms.txt`)).text()).not.toContain('/guest')
  })

  it('is on the listener of wire 1 alone', async () => {
    const wire1 = { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined }
    await opened({ wires: [3], wire1 })
    await client.registered()
    const there = async (url: string) => (await fetch(`${url}/guest`)).status
    expect([await there(client.url), await there(hub.url)]).toEqual([200, 404])
  })

  it('says where no agent takes guests, where the one of the address does not, and where it was not built', async () => {
    await opened()
    const agent = await client.registered({ guest_messages: 0 })
    expect((await page()).text).toContain('No agent here takes messages of guests now.')
    const refused = await page(`/guest?aid=${agent.aid}`)
    expect(refused.text).toContain('This agent takes no messages of guests')
    expect(refused.text).toContain('<a href="/guest">Talk to another agent</a>')
    expect((await page('/guest?aid=<script>')).text).not.toMatch(/<script|<textarea/)
    await hub.close()
    hub = await startTestHub({ wires: [1], guests: true })
    expect((await page()).text).toContain('npm run build')
  })

  it('runs one script by its hash, speaks to this hub alone, and makes no markup of text', async () => {
    await opened()
    await client.registered()
    const { text, policy } = await page()
    const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? ''
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src ${hash(SCRIPT)}`,
      `style-src ${hash(style)}`,
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
    expect(text.match(/<script/g)).toHaveLength(1)
    expect(text).not.toMatch(/ (?:style|on\w+)=|javascript:|https?:/)
    expect(style).toContain('prefers-color-scheme:dark')
  })

  it('offers any agent and those that take guests by name, as text, and chooses the one of the address', async () => {
    await opened()
    await client.registered({ name: 'zoe', guest_messages: 1 })
    const hostile = await client.registered({ name: '"><img src=x>' })
    await client.registered({ name: 'silent', guest_messages: 0 })
    const options = (text: string) =>
      [...text.matchAll(/<option value="([^"]*)"( selected)?>(.*?)<\/option>/g)].map(([, , is, name]) => [
        ...[name, is === ' selected'],
      ])
    expect(options((await page()).text)).toEqual([
      ['Any agent', false],
      ['&quot;&gt;&lt;img src=x&gt;, 5 messages', false],
      ['zoe, 1 message', false],
    ])
    const chosen = options((await page(`/guest?aid=${hostile.aid}`)).text)
    expect(chosen.filter(([, is]) => is)).toEqual([['&quot;&gt;&lt;img src=x&gt;, 5 messages', true]])
  })

  it('can be used with its labels, says what it is for without scripts, and is told where to find', async () => {
    await opened()
    await client.registered()
    const { text } = await page()
    for (const id of ['aid', 'text', 'attach']) expect(text).toContain(`for="${id}"`)
    for (const part of ['role="log"', 'role="status"', 'needs JavaScript', 'maxlength="65536"', '20 MiB'])
      expect(text).toContain(part)
    expect((await page('/')).text).toContain('href="/guest"')
    expect(await (await fetch(`${hub.url}/llms.txt`)).text()).toContain(`${hub.url}/guest`)
  })
})
