/** What is written in the console: drafts that the node keeps, and files of the browser. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, never, thread, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const MB = 1_000_000
const MARKDOWN = `## A plan

Some **bold** words, \`code\` and <b onclick=x>raw</b>, at [my bank](https://evil.example/login).
![cat](https://evil.example/p.png)

\`\`\`js
const a = "<b>"
\`\`\`

1. one
2. two

| Part | Hours |
|---|---|
| parser | 3 |
`

describe.skipIf(noBrowser !== undefined)(`writing in the console${skipped}`, () => {
  let world: World
  let browser: Browser
  let id: string

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
    id = await delegated(world.bob, world.alice, 'write to me')
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const open = (place = `#/inbox/${id}`) => openConsole(browser, `${world.url}${place}`)
  const writing = (page: Page) => page.getByLabel('Write to bob')
  const folder = (name: string) => join(world.lab.folder, 'alice', name)
  const draftOf = (name: string) => {
    const path = join(folder('drafts'), `${name}.json`)
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { text: string }) : undefined
  }

  test('a draft is kept by the node, over a crash of the page, and nothing of it by the browser', async () => {
    const first = await open()
    await writing(first.page).fill('half a thought')
    await until('the node has it', () => draftOf(id)?.text === 'half a thought')
    const kept = await first.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
    expect(kept).not.toContain('thought')
    await first.context.close()
    const second = await open()
    await expect.poll(() => writing(second.page).inputValue()).toBe('half a thought')
    await second.page.keyboard.press('r')
    await writing(second.page).fill('a whole one')
    await second.page.keyboard.press('Control+Enter')
    await second.page.locator('.turn.mine .words', { hasText: 'a whole one' }).waitFor()
    await until('it is kept no more', () => draftOf(id) === undefined)
    await second.context.close()
  })

  test('Markdown is drawn with code that is copied, tables and lists; nothing of it is HTML or is loaded', async () => {
    await world.bob.handlers.message({ interaction_id: id, text: MARKDOWN }, never)
    const { page, context, wrong, asked } = await open()
    const words = page.locator('.turn .words', { hasText: 'A plan' })
    await words.locator('pre').waitFor()
    expect(await words.locator('pre').textContent()).toBe('const a = "<b>"')
    expect(await words.locator('th, td').allTextContents()).toEqual(['Part', 'Hours', 'parser', '3'])
    expect(await words.locator('li').allTextContents()).toEqual(['1.one', '2.two'])
    expect(await words.locator('strong').textContent()).toBe('bold')
    expect(await words.locator('img, a, script, b').count()).toBe(0)
    expect(await words.textContent()).toContain('<b onclick=x>raw</b>')
    expect(await words.textContent()).toContain('picture: cat (https://evil.example/p.png)')
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await words.getByRole('button', { name: 'Copy the code' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('const a = "<b>"')
    expect([wrong, asked]).toEqual([[], []])
    await context.close()
  })

  test('a link of somebody else shows where it leads, and opens after a question that names all of it', async () => {
    const { page, context, asked } = await open()
    await context.route('https://evil.example/**', route => route.fulfill({ body: 'opened' }))
    const words = page.locator('.turn .words', { hasText: 'A plan' })
    await words.getByText('my bank (https://evil.example/login)').waitFor()
    await words.getByRole('button', { name: 'my bank' }).click()
    const dialog = page.getByRole('dialog', { name: 'Open this address of somebody else?' })
    await dialog.getByText('https://evil.example/login').waitFor()
    await page.keyboard.press('n')
    await dialog.waitFor({ state: 'detached' })
    expect([context.pages().length, asked]).toEqual([1, []])
    await words.getByRole('button', { name: 'my bank' }).click()
    const [opened] = await Promise.all([context.waitForEvent('page'), page.keyboard.press('y')])
    await opened.waitForURL('https://evil.example/login')
    expect(await opened.evaluate(() => [window.opener, document.referrer])).toEqual([null, ''])
    await context.close()
  })

  test('a long text is shown in parts, and saved whole', async () => {
    const text = `begin ${'word '.repeat(40_000)}end`
    const long = await delegated(world.bob, world.alice, text)
    const { page, context } = await open(`#/inbox/${long}`)
    const words = page.locator('.turn .words').first()
    await words.getByText('6,000 of 200,009 characters').waitFor()
    expect((await words.textContent())?.length).toBeLessThan(6_200)
    await words.getByRole('button', { name: 'Show more' }).click()
    await words.getByText('30,000 of 200,009 characters').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      words.getByRole('button', { name: 'Save the text' }).click(),
    ])
    expect(readFileSync(await download.path(), 'utf8')).toBe(text)
    expect(await page.locator('#app').textContent()).not.toContain('svc thread')
    await context.close()
  })

  test('a conversation is shown at its end, and goes on there', async () => {
    for (let i = 1; i <= 12; i++)
      await world.bob.handlers.message(
        { interaction_id: id, text: `line ${i} of a long answer\n`.repeat(6) },
        never,
      )
    const { page, context } = await open()
    const last = page.locator('.turn .words', { hasText: 'line 12 of' })
    await expect.poll(() => isInSight(last)).toBe(true)
    await writing(page).fill('and this is what I say')
    await page.keyboard.press('Control+Enter')
    const mine = page.locator('.turn.mine .words', { hasText: 'and this is what I say' })
    await mine.waitFor()
    await expect.poll(() => isInSight(mine)).toBe(true)
    await context.close()
  })

  test('the page is loaded anew where it stands, also after one has gone about in it', async () => {
    const { page, context } = await open('')
    for (const key of ['2', '3', '1']) await page.keyboard.press(key)
    await page.locator('.rows .row').first().click()
    await writing(page).waitFor()
    const at = page.url()
    await page.reload()
    await writing(page).waitFor()
    await page.evaluate(() => location.reload())
    await page.waitForLoadState()
    await writing(page).waitFor()
    expect(page.url()).toBe(at)
    await context.close()
  })

  test('a send from an earlier tab leaves what was written since', async () => {
    const first = await open()
    await writing(first.page).fill('sent from the first tab')
    await until('the node has it', () => draftOf(id)?.text === 'sent from the first tab')
    writeFileSync(
      join(folder('drafts'), `${id}.json`),
      JSON.stringify({ text: 'written on in the terminal', files: [] }),
    )
    await writing(first.page).press('Control+Enter')
    await first.page.locator('.turn.mine .words', { hasText: 'sent from the first tab' }).waitFor()
    await first.page.getByRole('status').getByText('Sent').waitFor()
    expect(draftOf(id)?.text).toBe('written on in the terminal')
    await first.context.close()
    const second = await open()
    await expect.poll(() => writing(second.page).inputValue()).toBe('written on in the terminal')
    await writing(second.page).fill('')
    await until('it is kept no more', () => draftOf(id) === undefined)
    await second.context.close()
  })

  test('words of two tabs stand together, and each tab shows what the other one kept once it is looked at', async () => {
    const first = await open()
    const second = await first.context.newPage()
    await second.goto(first.page.url())
    await writing(second).waitFor()
    await writing(first.page).fill('of the first')
    await until('the node has it', () => draftOf(id)?.text === 'of the first')
    await writing(second).fill('of the second')
    await expect.poll(() => writing(second).inputValue()).toBe('of the first\n\nof the second')
    await second
      .getByRole('status')
      .getByText(/both stand here now/)
      .waitFor()
    await until('the node has both', () => draftOf(id)?.text === 'of the first\n\nof the second')
    const look = (page: Page) => page.evaluate(() => dispatchEvent(new Event('focus')))
    await look(first.page)
    await expect.poll(() => writing(first.page).inputValue()).toBe('of the first\n\nof the second')
    await writing(first.page).press('Control+Enter')
    await until('it is kept no more', () => draftOf(id) === undefined)
    await look(second)
    await expect.poll(() => writing(second).inputValue()).toBe('')
    await first.context.close()
  })

  test('words whose answer was lost are said once when they are sent again', async () => {
    const { handlers } = world.alice
    const real = handlers.message
    let isLost = true
    handlers.message = async (given, signal) => {
      const reply = await real(given, signal)
      if (isLost) throw new Error('the answer is lost')
      return reply
    }
    try {
      const { page, context } = await open()
      await writing(page).fill('once and no more')
      await writing(page).press('Control+Enter')
      await page
        .getByRole('alert')
        .getByText(/Not sent/)
        .waitFor()
      isLost = false
      await writing(page).press('Control+Enter')
      await page.getByRole('status').getByText('Sent').waitFor()
      const { turns } = await handlers.thread({ interaction_id: id }, never)
      expect(turns.filter(({ text }) => text === 'once and no more')).toHaveLength(1)
      await context.close()
    } finally {
      handlers.message = real
    }
  })

  test('more files than a message takes are said before it is sent, and the words are kept', async () => {
    const { page, context } = await open()
    await writing(page).fill('too many files')
    await page.getByText('Attach files').click()
    await page
      .locator('#composer-files')
      .fill(Array.from({ length: 70 }, (_, n) => `/tmp/${n}.txt`).join('\n'))
    await page
      .getByRole('alert')
      .getByText('A message takes 64 files; these are 70. Remove some before you send it.')
      .waitFor()
    await until('the words are kept', () => draftOf(id)?.text === 'too many files')
    await page.locator('#composer-files').fill('')
    await writing(page).fill('')
    await until('it is kept no more', () => draftOf(id) === undefined)
    await context.close()
  })

  test('a draft of a new task is kept under the agent', async () => {
    const { page, context } = await open(`#/agents/${world.bob.aid}`)
    await page.getByRole('textbox', { name: 'Task', exact: true }).fill('do this')
    await until('the node has it', () => draftOf(world.bob.aid)?.text === 'do this')
    await page.reload()
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Task', exact: true }).inputValue())
      .toBe('do this')
    await page.getByRole('textbox', { name: 'Task', exact: true }).fill('')
    await until('it is kept no more', () => draftOf(world.bob.aid) === undefined)
    await context.close()
  })

  test('a file that is dropped on the page is attached to what is open, and to nothing else', async () => {
    const { page, context, wrong } = await open()
    const drop = (name: string) =>
      page.evaluate(name => {
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['dropped'], name))
        document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
      }, name)
    await writing(page).fill('see what was dropped')
    await drop('dropped.txt')
    const toSend = page.getByRole('list', { name: 'Files to send' })
    await toSend.getByText('dropped.txt').waitFor()
    await until('it is kept', () => draftOf(id)?.text === 'see what was dropped')
    await page.getByRole('button', { name: 'Remove dropped.txt' }).click()
    await writing(page).fill('')
    await until('it is kept no more', () => draftOf(id) === undefined)
    await page.keyboard.press('Escape')
    await page.goto(`${page.url().split('#')[0]}#/evidence`)
    await drop('nowhere.txt')
    await page
      .getByText(/open one first/)
      .first()
      .waitFor({ state: 'attached' })
    expect(wrong).toEqual([])
    await context.close()
  })

  test('files of the browser go along under their names, byte for byte', async () => {
    const { page, context, wrong } = await open()
    const path = join(world.lab.folder, 'from the browser.bin')
    const bytes = Buffer.alloc(2 * MB, 'x')
    writeFileSync(path, bytes)
    await writing(page).fill('see the file')
    await page.getByText('Attach files').click()
    await page.getByLabel(/Files from this browser/).setInputFiles(path)
    const toSend = page.getByRole('list', { name: 'Files to send' })
    await toSend.getByText('from the browser.bin').waitFor()
    expect(await toSend.textContent()).toContain('2.0 MB')
    expect(await page.locator('#composer-files').inputValue()).toBe('')
    await page.getByLabel(/Files from this browser/).setInputFiles({
      name: 'by mistake.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('not this one'),
    })
    await page.getByRole('button', { name: 'Remove by mistake.txt' }).click()
    await toSend.getByText('by mistake.txt').waitFor({ state: 'detached' })
    await writing(page).press('Control+Enter')
    await page.getByRole('status').getByText('Sent').waitFor()
    await until('bob has it', async () =>
      (await thread(world.bob, id)).turns.some(turn => turn.attachments[0]?.path != null),
    )
    const { turns } = await world.bob.handlers.thread({ interaction_id: id }, never)
    const file = turns.flatMap(turn => turn.attachments).at(-1)
    expect(file).toMatchObject({ name: 'from the browser.bin', bytes: bytes.length })
    expect(readFileSync(file?.path ?? '').equals(bytes)).toBe(true)
    expect(wrong).toEqual([])
    await context.close()
  })

  test('the files of a task are saved as one archive, each under a name of its own, and counted', async () => {
    const { alice, bob, lab } = world
    const from = mkdtempSync(join(lab.folder, 'many-'))
    const names = Array.from({ length: 30 }, (_, n) => `part ${n}.txt`)
    for (const name of names) writeFileSync(join(from, name), `content of ${name}`)
    mkdirSync(join(from, 'other'))
    writeFileSync(join(from, 'other', 'part 0.txt'), 'another part 0')
    const attach = [...names, join('other', 'part 0.txt')].map(name => join(from, name))
    const { interaction_id: many } = await bob.handlers.delegate(
      { to: alice.aid, task: 'many files', attach },
      never,
    )
    await until('they are here', async () => {
      const { turns } = await alice.handlers
        .thread({ interaction_id: many }, never)
        .catch(() => ({ turns: [] }))
      return turns[0]?.attachments.every(({ path }) => path !== null) === true
    })
    const { page, context } = await open(`#/inbox/${many}`)
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save 31 files' }).click()
    const download = await saving
    expect(download.suggestedFilename()).toBe(`bob ${many.slice(0, 8)}.zip`)
    await page
      .getByRole('status')
      .getByText(/^Saving 31 files as bob/)
      .waitFor()
    const to = mkdtempSync(join(lab.folder, 'unpacked-'))
    execFileSync('/usr/bin/python3', ['-m', 'zipfile', '-e', await download.path(), to])
    const unpacked = readdirSync(to).map(name => [name, readFileSync(join(to, name), 'utf8')])
    const expected = names.map(name => [name, `content of ${name}`])
    expect(Object.fromEntries(unpacked)).toEqual({
      ...Object.fromEntries(expected),
      'part 0 (2).txt': 'another part 0',
    })
    await context.close()
  })

  test('what leaves shows how far it is, is held back, and is sent on', async () => {
    const { alice, bob, lab } = world
    const { page, context } = await open()
    await page.locator('.turn').first().waitFor()
    alice.ctx.events.tell('transfer', { interaction_id: id, sent: 16 * MB, total: 64 * MB })
    await page.getByText('25 % of 64.0 MB sent to the hub').first().waitFor()
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe(String(16 * MB))
    alice.ctx.events.tell('transfer', { interaction_id: id, over: true })
    await page.getByRole('progressbar').waitFor({ state: 'detached' })

    await lab.line.down()
    await alice.handlers.message({ interaction_id: id, text: 'not yet' }, never)
    await page.locator('.turn.mine .words', { hasText: 'not yet' }).waitFor()
    await page.locator('#main').focus()
    await page.keyboard.press('H')
    await page.getByText('Held back on this machine, by you.').waitFor()
    await lab.line.up()
    await page.getByRole('button', { name: 'Send it on' }).click()
    await until('bob has it', async () =>
      (await thread(bob, id)).turns.some(({ text }) => text === 'not yet'),
    )
    await page.getByText('Held back on this machine, by you.').waitFor({ state: 'detached' })
    await context.close()
  })
})

/** Whether the lower end of it can be seen. */
const isInSight = (place: Locator): Promise<boolean> =>
  place.evaluate(element => {
    const { bottom } = element.getBoundingClientRect()
    return bottom > 0 && bottom <= innerHeight
  })
