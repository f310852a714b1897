/** Somebody held the port of a stopped node, keeps the browser's connections from then, and passes on what comes over them. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { inboxIds, never, texts, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`connections of a page that a thief has kept${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  test('he reads and changes nothing of what the page asks, sends and saves', async () => {
    const { lab, alice, bob } = world
    const folder = mkdtempSync(join(lab.folder, 'files-'))
    const [given, own] = [join(folder, 'from bob.txt'), join(folder, 'from alice.txt')]
    writeFileSync(given, 'the words in the file of bob')
    writeFileSync(own, 'the words in the file of alice')
    const task = { to: alice.aid, task: 'a task in words', attach: [given] }
    const { interaction_id: id } = await bob.handlers.delegate(task, never)
    await until('alice has it', async () => (await inboxIds(alice)).includes(id))
    const { page, context } = await openConsole(browser, `${world.url}#/inbox/${id}`)
    await page.getByLabel('Write to bob').waitFor()

    const dir = join(lab.folder, 'alice')
    writeConfig(dir, { ...readConfig(dir), control_addr: alice.controlAddress })
    await alice.stop()
    await using thief = await takePort(alice.controlAddress)
    await until('the page has asked him', () => thief.connections() > 0)
    await thief.giveBack()
    world.alice = await lab.start('alice')
    await page.getByText('online', { exact: true }).waitFor()

    await page.getByText('Attach files').click()
    await page.getByLabel(/Files from this browser/).setInputFiles(own)
    await page.locator('.paths, .field').getByText('from alice.txt').first().waitFor()
    await page.getByLabel('Write to bob').fill('an answer in words')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.turn.mine .words', { hasText: 'an answer in words' }).waitFor()
    await until('bob has it', async () => (await texts(bob, id)).includes('an answer in words'))
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: /^Save from bob/ }).click()
    expect(readFileSync(await (await saving).path(), 'utf8')).toBe('the words in the file of bob')

    const read = thief.read()
    expect(read).toContain('/console/call')
    expect(read).not.toMatch(/ words|from alice|from bob|interaction_id|\/inbox|svc-page /)
    await context.close()
  })
})

/** Another program at the port: it answers as it likes, then lets the port go, keeps what is connected, and passes it on. */
async function takePort(address: string) {
  const [host = '', port] = address.split(':')
  const held = new Set<Socket>()
  const heard: Buffer[] = []
  let isPassing = false
  const server = createServer(socket => {
    held.add(socket)
    socket.on('error', () => undefined)
    let onward: Socket | undefined
    socket.on('data', (bytes: Buffer) => {
      if (isPassing) {
        heard.push(bytes)
        onward ??= passOn(socket)
        onward.write(bytes)
      } else if (bytes.includes('POST /')) socket.write(ANSWER)
    })
  })
  function passOn(socket: Socket): Socket {
    const onward = connect(Number(port), host)
    onward.on('data', (bytes: Buffer) => {
      heard.push(bytes)
      socket.write(bytes)
    })
    onward.on('error', () => socket.destroy())
    onward.on('close', () => socket.destroy())
    socket.on('close', () => onward.destroy())
    return onward
  }
  await new Promise<void>(resolve => server.listen(Number(port), host, resolve))
  return {
    connections: () => held.size,
    read: () => Buffer.concat(heard).toString('latin1'),
    /** The port is free again as soon as nobody listens; what is connected stays. */
    giveBack: async () => {
      isPassing = true
      server.close()
      await until('nobody listens', () => !server.listening)
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of held) socket.destroy()
    },
  }
}

const said = JSON.stringify({ challenge: 'e'.repeat(32), now: 0, proof: 'f'.repeat(64) })
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${said.length}\r\n\r\n${said}`
