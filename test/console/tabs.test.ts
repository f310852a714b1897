/** Two tabs of one console when their node dies and another program takes its port at once: neither tells it anything. */
import { createServer, type IncomingMessage } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`two tabs of a console whose node dies${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  test('a tab that only follows tells nothing to whoever holds the port then, and takes no stream of his', async () => {
    const { lab, alice, bob } = world
    await delegated(bob, alice, 'for two tabs')
    const { page, context } = await openConsole(browser, `${world.url}#/inbox`)
    await page.locator('.rows .row').first().waitFor()
    const other = await context.newPage()
    await other.goto(page.url())
    await other.locator('.rows .row').filter({ hasText: 'for two tabs' }).click()
    await other.getByLabel('Write to bob').fill('not for a thief')
    const dir = `${lab.folder}/alice`
    writeConfig(dir, { ...readConfig(dir), control_addr: alice.controlAddress })
    await alice.stop()
    const thief = await takePort(alice.controlAddress)
    await until('each tab asked for a proof', () => thief.sessions().size === 2)
    const before = thief.asked.length
    await other.getByRole('button', { name: 'Send' }).click()
    await other
      .getByText(/another program answers at/i)
      .first()
      .waitFor({ state: 'attached' })
    const others = (asked: string[], known: RegExp) => asked.filter(one => !known.test(one))
    expect(others(thief.asked.slice(before), /^POST \/console\/open /)).toEqual([])
    // until it asked for a proof a tab had not heard of the end, and what it asked was sealed for the node
    expect(others(thief.asked.slice(0, before), /^POST \/console\/(open |call\?)/)).toEqual([])
    expect(thief.asked.join('\n')).not.toMatch(/not for a thief|\/(status|events|draft|inbox|thread)/)
    await thief.close()
    world.alice = await lab.start('alice')
    for (const tab of [page, other]) await tab.getByText('online', { exact: true }).waitFor()
    await context.close()
  })
})

describe.skipIf(noBrowser !== undefined)(
  `a document that somebody left at the address of a page${skipped}`,
  () => {
    let world: World
    let browser: Browser

    beforeAll(async () => {
      ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
    })
    afterAll(async () => {
      await browser.close()
      await world.close()
    })

    test('reads nothing of what tabs tell each other, and keeps no tab from its node', async () => {
      const { alice, bob } = world
      const { page: first, context } = await openConsole(browser, `${world.url}#/inbox`)
      await first.locator('#list-title').waitFor()
      const { origin } = new URL(first.url())
      const his = await context.newPage()
      await his.goto(`${origin}/ping`)
      await his.evaluate(() => {
        const heard: string[] = []
        Object.assign(globalThis, { heard })
        const channel = new BroadcastChannel('svc events')
        channel.onmessage = ({ data }) =>
          heard.push(data instanceof Uint8Array ? 'bytes' : JSON.stringify(data))
        // he waits for the lock, so that he has it as soon as the first tab goes, and says that the stream stands
        void navigator.locks.request('svc events', () => new Promise(() => undefined))
        setInterval(() => channel.postMessage({ at: null }), 1_000)
      })
      await delegated(bob, alice, 'nothing for him')
      await first.locator('.rows .row').filter({ hasText: 'nothing for him' }).waitFor()
      const second = await context.newPage()
      await second.goto(first.url())
      await second.locator('.rows .row').filter({ hasText: 'nothing for him' }).waitFor()
      await first.close()
      await delegated(bob, alice, 'told in spite of him')
      await second
        .locator('.rows .row')
        .filter({ hasText: 'told in spite of him' })
        .waitFor({ timeout: 60_000 })
      const heard = await his.evaluate(() => (globalThis as unknown as { heard: string[] }).heard)
      expect(heard.length).toBeGreaterThan(0)
      expect(heard.filter(one => one !== 'bytes')).toEqual([])
      await context.close()
    })
  },
)

/** Another program at the port of a node that died, which answers as if it were the node; what it was asked. */
async function takePort(address: string) {
  const asked: string[] = []
  const sessions = new Set<string>()
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''} ${body}`)
    if (request.url === '/console/open') sessions.add((JSON.parse(body) as { session: string }).session)
    if (request.url?.startsWith('/events') === true) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      return void response.write(':alive\n\n')
    }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ ok: true, challenge: 'e'.repeat(32), proof: 'f'.repeat(64) }))
  })
  const [host, port] = address.split(':')
  await new Promise<void>(resolve => server.listen(Number(port), host, resolve))
  return {
    asked,
    sessions: () => sessions,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of request) body += String(part)
  return body
}
