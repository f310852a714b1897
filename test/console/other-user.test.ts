/** Another user of the machine attacks the console: with a browser of his own, and with the port of a node that stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import type { Node } from '../../daemon/node.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { never } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const OTHER = 65534
const lacking = noBrowser ?? (process.getuid?.() === 0 ? undefined : 'only root may be two users')
const skipped = lacking === undefined ? '' : ` (skipped: ${lacking})`
const link = async (node: Node) => (await node.handlers.consoleTicket({}, never)).console_url
const isOpen = (page: Page) => page.locator('#list-title').waitFor()

describe.skipIf(lacking !== undefined)(`another user of this machine${skipped}`, () => {
  let world: World
  let browser: Browser
  const children: ChildProcess[] = []
  // where both users come to; the folder for temporary files of the tests is closed to others
  const home = mkdtempSync('/tmp/svc-other-')

  beforeAll(async () => {
    chownSync(home, OTHER, OTHER)
    chmodSync(home, 0o700)
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  })
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await browser.close()
    await world.close()
    rmSync(home, { recursive: true, force: true })
  })

  /** A program of the other user, and the first of its lines that says this. */
  async function asOther(command: string, words: string[], said: RegExp): Promise<[ChildProcess, string]> {
    const env = { HOME: home, PATH: process.env['PATH'] ?? '' }
    const child = spawn(command, words, { uid: OTHER, gid: OTHER, cwd: '/', env })
    children.push(child)
    return new Promise((resolve, reject) => {
      for (const input of [child.stdout, child.stderr])
        createInterface({ input: input as NodeJS.ReadableStream }).on('line', line => {
          const found = said.exec(line)
          if (found !== null) resolve([child, found[1] ?? line])
        })
      child.once('exit', code => reject(new Error(`${command} ended with ${code}`)))
      child.once('error', reject)
    })
  }

  test('sees no console in his browser, also by a link that he has read, and spends none', async () => {
    const words = [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      `--user-data-dir=${join(home, 'browser')}`,
      '--remote-debugging-port=0',
      'about:blank',
    ]
    const [, address] = await asOther('/usr/bin/chromium', words, /^DevTools listening on (ws:\S+)/)
    await using theirs = await chromium.connectOverCDP(address)
    const [context] = theirs.contexts()
    const page = await (context as NonNullable<typeof context>).newPage()
    const url = await link(world.alice)
    for (const place of [world.url, url]) {
      const answer = await page.goto(place)
      expect([answer?.status(), await page.content()]).toEqual([
        403,
        expect.stringContaining('another user of this machine'),
      ])
    }
    const { page: own, context: mine } = await openConsole(browser, url)
    await isOpen(own)
    await mine.close()
  })

  test('leaves a program at the address of a stopped node, which is given no key and gets no link', async () => {
    const { lab, alice } = world
    const dir = join(lab.folder, 'alice')
    writeConfig(dir, { ...readConfig(dir), control_addr: alice.controlAddress, console_fresh_host: false })
    const at = `http://${alice.controlAddress}/console`
    await alice.stop()
    const context = await browser.newContext()
    const page = await context.newPage()
    const [thief] = await asOther('/usr/bin/env', ['node', '-e', thiefAt(alice.controlAddress)], /^(ready)$/)
    await page.goto(at)
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    thief.kill('SIGKILL')
    await once(thief, 'exit')
    world.alice = await lab.start('alice')

    await page.goto(at)
    expect(await page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true)
    await page.getByText(/may have answered at this address before/).waitFor()
    const url = await link(world.alice)
    const opened = await context.newPage()
    await opened.goto(url)
    await isOpen(opened)
    expect(await opened.evaluate(() => navigator.serviceWorker.controller)).toBeNull()
    // what his program has read of all that
    const read = await page.evaluate(async () => {
      const kept = await caches.open('read')
      const answers = await kept.matchAll()
      return Promise.all(answers.map(answer => answer.text()))
    })
    expect(read.join()).toContain('"lacks":"place"')
    expect(read.join()).not.toMatch(/"(?:key|session)":"[0-9a-f]{32}/)
    expect(read.join()).not.toContain(new URL(url).hash)
    await context.close()
  })
})

/** A server of his that answers as the node, and a program for the browser that goes on reading after it is gone. */
function thiefAt(address: string): string {
  const [host, port] = address.split(':')
  const worker = `
    self.addEventListener('install', () => self.skipWaiting())
    self.addEventListener('activate', event => event.waitUntil(self.clients.claim()))
    self.addEventListener('fetch', event => event.respondWith((async () => {
      const answer = await fetch(event.request)
      const kept = await caches.open('read')
      const n = (await kept.keys()).length
      await kept.put('/read/' + n, new Response(event.request.url + ' ' + await answer.clone().text()))
      return answer
    })()))`
  const page = `<!doctype html><script>navigator.serviceWorker.register('/worker.js', { scope: '/' })</script>`
  return `require('http').createServer((request, response) => {
    const isWorker = request.url === '/worker.js'
    response.setHeader('Content-Type', isWorker ? 'text/javascript' : 'text/html')
    response.end(isWorker ? ${JSON.stringify(worker)} : ${JSON.stringify(page)})
  }).listen(${port}, '${host}', () => console.log('ready'))`
}
