/** How the console is opened: by itself, by a link that counts once, by hand; on the built program too. */
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World as Programs } from '../../cli/demo/world.ts'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import type { Node } from '../../daemon/node.ts'
import { consolePage } from '../../scripts/console-page.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { type Lab, never, openLab, texts, until } from '../two-nodes/world.ts'
import { openConsole } from './world.ts'

const root = new URL('../..', import.meta.url).pathname
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

const link = async (node: Node) => (await node.handlers.consoleTicket({}, never)).console_url
const isLocked = (page: Page) => page.getByRole('heading', { name: 'The console of your node' }).waitFor()
const isOpen = (page: Page) => page.locator('#list-title').waitFor()

describe.skipIf(noBrowser !== undefined)(`opening the console${skipped}`, () => {
  let lab: Lab
  let browser: Browser
  const plain = (address: string) => `http://${address}/console`

  beforeAll(async () => {
    const page = await consolePage()
    ;[lab, browser] = await Promise.all([openLab({ consolePage: () => page }), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await lab.close()
  })

  async function starting(name: string, config: Parameters<typeof writeConfig>[1]): Promise<Node> {
    const dir = join(lab.folder, name)
    writeConfig(dir, { ...readConfig(dir), ...config })
    return lab.start(name)
  }

  test('with a link that counts once, which leaves the address and the history at once', async () => {
    const node = await starting('ticket', { console_ticket: true })
    const locked = await openConsole(browser, plain(node.controlAddress))
    await isLocked(locked.page)
    await locked.page.getByText('svc console', { exact: true }).waitFor()
    expect(locked.wrong).toEqual([])
    await locked.context.close()

    const url = await link(node)
    const { page, context, wrong } = await openConsole(browser, url)
    await isOpen(page)
    expect(page.url()).not.toContain('#t=')
    await page.keyboard.press('5')
    await page.getByRole('heading', { name: 'Identity' }).waitFor()
    expect(wrong).toEqual([])
    await page.reload()
    await isLocked(page)
    await page.goBack()
    expect(page.url()).not.toContain('#t=')
    await context.close()

    const again = await openConsole(browser, url)
    await isLocked(again.page)
    await again.page.getByText(/used before, or is older/).waitFor()
    await again.context.close()
  })

  test('by the link alone at a node that others can reach, and asks for no secret', async () => {
    const node = await starting('reachable', { control_addr: '0.0.0.0:0' })
    const port = node.controlAddress.split(':').at(-1)
    const token = readFileSync(join(lab.folder, 'reachable', 'control_token.txt'), 'utf8').trim()
    const { page, context } = await openConsole(browser, plain(`127.0.0.1:${port}`))
    await isLocked(page)
    await page.getByText(/can be reached from other machines/).waitFor()
    expect(await page.content()).not.toContain(token)
    expect(await page.locator('input, form').count()).toBe(0)
    await context.close()
    const linked = await openConsole(browser, await link(node))
    await isOpen(linked.page)
    await linked.page.getByText('no hub', { exact: true }).waitFor()
    await linked.context.close()
  })

  test('a node without a hub offers three ways on and no error, and joins one from the page', async () => {
    const node = await starting('alone', {})
    await lab.hub.running.hub.context.store.admit(node.aid, true)
    const { page, context, wrong } = await openConsole(browser, plain(node.controlAddress))
    const welcome = page.getByRole('heading', { name: 'Your node runs. It has no hub yet.' })
    for (const key of ['1', '2', '3']) {
      await page.keyboard.press(key)
      await welcome.waitFor()
      for (const way of ['Join a hub', 'Host a hub', 'See the demo'])
        await page.getByRole('heading', { name: way }).waitFor()
      expect(await page.locator('.banner, .bad').count()).toBe(0)
    }
    for (const command of ['svc-hub serve', 'svc-hub admission open', 'svc demo'])
      await page.getByRole('button', { name: `Copy the command ${command}` }).waitFor()
    await page.keyboard.press('4')
    await page
      .locator('.face.empty')
      .getByText(/no records yet/i)
      .waitFor()
    expect(await page.locator('.face.empty').getByRole('button').count()).toBe(1)
    await page.keyboard.press('5')
    await page.locator('.attention').getByRole('button', { name: 'Join a hub' }).waitFor()

    await page.keyboard.press('1')
    await page.getByRole('button', { name: 'Join it from here' }).click()
    expect(await page.getByLabel('Address of the hub').inputValue()).toBe('http://127.0.0.1:8088')
    await page.getByLabel('Address of the hub').fill('hub.example')
    await page.getByLabel('Your name there').fill('alone')
    await page.getByRole('button', { name: 'Join', exact: true }).click()
    await page.getByText('Expected an address such as https://hub.example').waitFor()
    await page.getByLabel('Address of the hub').fill(lab.line.url)
    await page.keyboard.press('Enter')
    await welcome.waitFor({ state: 'detached' })
    await expect.poll(() => node.ctx.hub.state).toEqual({ state: 'online' })
    await page.getByText('online', { exact: true }).waitFor()
    await page.locator('.face.empty').getByText(node.aid).waitFor()
    await page.getByRole('button', { name: 'Copy your address' }).waitFor()
    await page.keyboard.press('2')
    await page.getByRole('button', { name: 'Find an agent' }).click()
    await page.locator('#list-title').getByText('Agents').waitFor()
    expect(wrong).toEqual([])
    await context.close()
  })

  test('a node whose programs answer others opens by the link alone, and shows what the answers took', async () => {
    const alice = await lab.member('alice')
    const script = join(lab.folder, 'answer.mjs')
    writeFileSync(script, "process.stdin.resume().on('end', () => console.log('nine words'))")
    const bob = await lab.member('bob', { SVC_EXEC_COMMAND: `${process.execPath} ${script}` })
    await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
    await bob.handlers.autoReplySet({ backend: 'exec', poll_interval_seconds: 1 }, never)
    const bare = await openConsole(browser, plain(bob.controlAddress))
    await isLocked(bare.page)
    await bare.page.getByText(/runs programs that answer for you/).waitFor()
    await bare.context.close()

    const { page, context } = await openConsole(browser, await link(bob))
    await isOpen(page)
    await page.keyboard.press('5')
    await page.getByRole('heading', { name: 'Auto-reply' }).waitFor()
    const { interaction_id: id } = await alice.handlers.delegate({ to: bob.aid, task: 'how many?' }, never)
    await until('it is answered', async () => (await texts(alice, id)).includes('nine words'))
    const picture = page.locator('figure', { hasText: 'Answers of the auto-reply' })
    await picture
      .getByText(/^1 of the last answers/)
      .first()
      .waitFor({ state: 'attached' })
    expect(await picture.locator('svg rect.fill').count()).toBe(1)
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Ask' }).click()
    await page
      .getByRole('status')
      .getByText(/It answered in .*nine words/i)
      .waitFor()
    await context.close()
  })

  test('svc console prints a link, or hands it to the browser, and the built node serves the page', async () => {
    await using programs = new Programs({
      svc: join(root, 'dist', 'svc.js'),
      hub: join(root, 'hub', 'dist', 'svc-hub.js'),
    })
    await programs.startNode('alice')
    const printed = (await programs.svc('alice', 'console', '--url')) as { console_url: string }
    expect(printed).toEqual({
      console_url: expect.stringMatching(/^http:\/\/svc-[0-9a-f]{20}\.localhost:\d+\/console#t=[\w-]{32}$/),
      expires_at: expect.any(Number),
      expires_at_utc: expect.any(String),
    })
    const { page, context, wrong } = await openConsole(browser, printed.console_url)
    await isOpen(page)
    await page.getByRole('heading', { name: 'Your node runs. It has no hub yet.' }).waitFor()
    expect(wrong).toEqual([])
    await context.close()

    const [opener, seen] = [join(programs.root, 'browser.sh'), join(programs.root, 'seen')]
    writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > ${seen}\n`)
    chmodSync(opener, 0o755)
    const opened = await new Promise<string>((resolve, reject) =>
      execFile(
        process.execPath,
        [programs.programs.svc, 'console'],
        { env: { ...programs.env('alice'), BROWSER: opener } },
        (error, out) => (error === null ? resolve(out) : reject(error)),
      ),
    )
    const { console_url: url, opened: isHandedOver } = JSON.parse(opened) as Record<string, unknown>
    expect([isHandedOver, readFileSync(seen, 'utf8')]).toEqual([true, url])
  })
})
