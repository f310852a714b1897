/** Files that the console gives to its node: on their way, not taken, and sent with words. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const MB = 1_000_000

describe.skipIf(noBrowser !== undefined)(`uploads of the console${skipped}`, () => {
  let world: World
  let browser: Browser
  let id: string

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
    id = await delegated(world.bob, world.alice, 'give me files')
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const open = () => openConsole(browser, `${world.url}#/inbox/${id}`)
  const writing = (page: Page) => page.getByLabel('Write to bob')
  const folder = (name: string) => join(world.lab.folder, 'alice', name)
  /** Every file below a folder, wherever the node keeps it. */
  const uploads = () =>
    readdirSync(folder('.'), { recursive: true, encoding: 'utf8' }).filter(path =>
      /uploads\/[0-9a-f]{32}\/./.test(path),
    )

  test('an upload shows how far it is and can be called off, which leaves nothing', async () => {
    const { page, context } = await open()
    const before = uploads()
    const path = join(world.lab.folder, 'slow.bin')
    writeFileSync(path, Buffer.alloc(20 * MB))
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 400_000,
    })
    await page.getByText('Attach files').click()
    await page.getByLabel(/Files from this browser/).setInputFiles(path)
    await page.getByText('0 % of 20.0 MB').waitFor()
    await page.getByText(/^[1-9]\d? % of 20.0 MB/).waitFor()
    await page.getByRole('button', { name: 'Call off slow.bin' }).click()
    await page.getByRole('status').getByText('The upload was called off').waitFor()
    await page.getByRole('progressbar').waitFor({ state: 'detached' })
    await until('nothing is left', () => uploads().length === before.length)
    await context.close()
  })

  test('words wait for a file that still comes, which is in sight meanwhile, and go with it', async () => {
    const { page, context } = await open()
    const path = join(world.lab.folder, 'late.bin')
    writeFileSync(path, Buffer.alloc(2 * MB))
    const devtools = await context.newCDPSession(page)
    const conditions = { offline: false, latency: 0, downloadThroughput: -1 }
    await devtools.send('Network.emulateNetworkConditions', { ...conditions, uploadThroughput: 100_000 })
    await writing(page).fill('here it is')
    await page.getByLabel(/Files from this browser/).setInputFiles(path)
    await page.getByText(/% of 2.0 MB/).waitFor()
    await page.getByRole('button', { name: 'Waiting for its files …' }).waitFor()
    await writing(page).press('Control+Enter')
    await page
      .getByRole('status')
      .getByText('Not sent yet: late.bin still comes to your node; send it then')
      .waitFor()
    expect(await writing(page).inputValue()).toBe('here it is')
    await devtools.send('Network.emulateNetworkConditions', { ...conditions, uploadThroughput: -1 })
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('.turn.mine', { hasText: 'here it is' }).getByText('late.bin').waitFor()
    await context.close()
  })

  test('a file that was not taken keeps a row with the reason, and is tried again', async () => {
    const { page, context } = await open()
    const path = join(world.lab.folder, 'again.txt')
    writeFileSync(path, 'again')
    const kept = folder('interactions/uploads')
    renameSync(kept, `${kept}.away`)
    writeFileSync(kept, 'no folder')
    await page.getByText('Attach files').click()
    await page.getByLabel(/Files from this browser/).setInputFiles([path, path])
    await expect.poll(() => page.getByRole('alert').getByText('Not taken: ').count()).toBe(2)
    expect(await page.evaluate(() => dispatchEvent(new Event('beforeunload', { cancelable: true })))).toBe(
      true,
    )
    rmSync(kept)
    renameSync(`${kept}.away`, kept)
    await page.getByRole('button', { name: 'Remove again.txt' }).first().click()
    await page.getByRole('button', { name: 'Try again.txt again' }).click()
    await page.getByRole('list', { name: 'Files to send' }).getByText('again.txt').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.getByRole('button', { name: 'Remove again.txt' }).click()
    await until('no draft is kept', () => !existsSync(folder(`drafts/${id}.json`)))
    await context.close()
  })

  test('a file that the node has no more is named, and is added again or removed', async () => {
    const { page, context } = await open()
    const path = join(world.lab.folder, 'report.txt')
    writeFileSync(path, 'a report')
    const given = page.getByRole('list', { name: 'Files to send' })
    const remove = () => {
      for (const one of uploads().filter(name => name.endsWith('report.txt')))
        rmSync(dirname(folder(one)), { recursive: true })
    }
    await writing(page).fill('see the report')
    await page.getByText('Attach files').click()
    await page.getByLabel(/Files from this browser/).setInputFiles(path)
    await given.getByText('report.txt').waitFor()
    remove()
    await writing(page).press('Control+Enter')
    const fault = page.getByRole('alert').getByText(/^Not sent: report\.txt is no longer on this node/)
    await fault.waitFor()
    expect(await fault.textContent()).not.toContain('uploads')
    await given.getByText('No longer on your node; add it again').waitFor()
    // as this page has it
    await page.getByRole('button', { name: 'Add report.txt again' }).click()
    await given.getByText('No longer on your node').waitFor({ state: 'detached' })
    await until('it is there, and kept in the draft', () => {
      const draft = readFileSync(folder(`drafts/${id}.json`), 'utf8')
      const there = uploads().filter(name => name.endsWith('report.txt'))
      return there.some(name => draft.includes(/[0-9a-f]{32}/.exec(name)?.[0] ?? name))
    })
    remove()
    // as it is chosen on a page that knows nothing of it
    await page.reload()
    await given.getByText('No longer on your node').waitFor()
    const choosing = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Add report.txt again' }).click()
    await (await choosing).setFiles(path)
    await given.getByText('No longer on your node').waitFor({ state: 'detached' })
    // its old row goes as soon as it is chosen, and the new one comes once the node has it
    await given.getByText('report.txt').waitFor()
    await writing(page).press('Control+Enter')
    await page.locator('.turn.mine', { hasText: 'see the report' }).getByText('report.txt').waitFor()
    await context.close()
  })

  test('what is pasted and is longer than a message goes along as a file', async () => {
    const { page, context } = await open()
    await writing(page).fill('see all of it: ')
    const paste = (words: number) =>
      writing(page).evaluate((field, words) => {
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', 'pasted words '.repeat(words))
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
        return field.dispatchEvent(event)
      }, words)
    // a short one is the browser's own affair
    expect(await paste(3)).toBe(true)
    expect(await paste(80_000)).toBe(false)
    const given = page.getByRole('list', { name: 'Files to send' })
    await given.getByText('pasted.txt').waitFor()
    expect(await given.textContent()).toContain('1.0 MB')
    await page
      .getByRole('status')
      .getByText('This is longer than one message takes; it goes along as the file pasted.txt')
      .waitFor()
    await writing(page).press('Control+Enter')
    await page.locator('.turn.mine', { hasText: 'see all of it:' }).getByText('pasted.txt').waitFor()
    await context.close()
  })
})
