/** The node is run from its page: every setting is a form with what stands now, asks where it must, and is refused beside its field. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readHead } from '../../daemon/archive/sealed.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { never, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`the settings of a node on its page${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const open = async () => {
    const opened = await openConsole(browser, `${world.url}#/node`)
    await opened.page.getByRole('heading', { name: 'Who answers' }).waitFor()
    return opened
  }
  const dialogOf = (page: Page) => page.getByRole('dialog')
  const isDone = (page: Page) => dialogOf(page).waitFor({ state: 'detached' })
  const said = (page: Page, words: RegExp) => page.locator('.said').getByText(words).waitFor()
  const status = () => world.alice.handlers.status(undefined, never)

  test('a profile has what stands there, is published, and u sets it back', async () => {
    const { page, context, wrong } = await open()
    await world.alice.handlers.profileSet({ summary: 'as it was', caps: ['a.b'] }, never)
    await page.getByText('As it was · a.b').waitFor()
    await page.getByRole('button', { name: 'Change: Profile' }).click()
    const dialog = dialogOf(page)
    expect(await dialog.getByLabel('Summary').inputValue()).toBe('as it was')
    expect(await dialog.getByLabel('Capabilities').inputValue()).toBe('a.b')
    await dialog.getByLabel('Summary').fill('reviews code')
    await dialog.getByLabel('Capabilities').fill('code.review, code.rust')
    await dialog.getByRole('button', { name: 'Publish it' }).click()
    await isDone(page)
    await said(page, /published; u undoes it/)
    expect(await status()).toMatchObject({ summary: 'reviews code', caps: ['code.review', 'code.rust'] })
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await until('it is as it was', async () => (await status()).summary === 'as it was')
    expect(wrong).toEqual([])
    await context.close()
  })

  test('what cannot be right is said beside its field before the node is asked, with the focus there', async () => {
    const { page, context } = await open()
    await page.getByRole('button', { name: 'Change: Spend without asking me' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('One payment of the node').fill('50')
    await dialog.getByRole('button', { name: 'Keep these limits' }).click()
    const day = dialog.getByLabel('All payments of a day')
    await dialog.getByText('So much for one payment needs at least 50 here').waitFor()
    expect(await day.getAttribute('aria-invalid')).toBe('true')
    expect(await day.evaluate(one => one === document.activeElement)).toBe(true)
    await day.fill('60')
    await dialog.getByLabel('To one agent a day').fill('60')
    await page.keyboard.press('Enter')
    // more than before goes without a yes: that is asked
    await dialog.getByRole('heading', { name: 'Let up to 60 credits a day go without asking you?' }).waitFor()
    expect((await world.alice.handlers.spend(undefined, never)).day_max).toBe(0)
    await page.keyboard.press('y')
    await isDone(page)
    expect(await world.alice.handlers.spend(undefined, never)).toMatchObject({ auto_max: 50, day_max: 60 })
    await context.close()
  })

  test('what the node refuses is said beside the field that it names', async () => {
    const { page, context } = await open()
    await page.getByRole('button', { name: 'Add a contact' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Address').fill(`B${'x'.repeat(43)}`)
    await dialog.getByLabel('Your name for it').fill('mallory')
    await dialog.getByRole('button', { name: 'Add it' }).click()
    await dialog
      .locator('#set-aid-fault')
      .getByText(/expected an AID/i)
      .waitFor()
    await dialog.getByLabel('Address').fill(world.alice.aid)
    await page.keyboard.press('Enter')
    // about no field: below all of them
    await dialog
      .locator('.fault')
      .getByText(/this node itself/i)
      .waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await isDone(page)
    await context.close()
  })

  test('a contact is renamed, blocked and removed after a question with its name, and u takes it back', async () => {
    const { page, context } = await open()
    const contacts = async () =>
      (await world.alice.handlers.contacts(undefined, never)).contacts.map(one => [one.petname, one.blocked])
    await page.getByText('Show the contact').click()
    await page.getByRole('button', { name: 'Block bob' }).click()
    await dialogOf(page).getByRole('heading', { name: 'Block bob?' }).waitFor()
    await page.keyboard.press('y')
    await isDone(page)
    expect(await contacts()).toEqual([['bob', true]])
    await page.getByRole('button', { name: 'Unblock bob' }).waitFor()
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await until('he is not blocked', async () => (await contacts())[0]?.[1] === false)
    // who is removed while the page shows him blocked is not brought back by an undo
    await page.getByRole('button', { name: 'Block bob', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Remove bob' }).click()
    await dialogOf(page).getByRole('button', { name: 'Remove it' }).click()
    await isDone(page)
    expect(await contacts()).toEqual([])
    // the list is drawn anew, closed, once somebody is in it again
    await page.getByText('Show the contact').waitFor({ state: 'hidden' })
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await until('he is a contact again', async () => (await contacts())[0]?.[0] === 'bob')
    await page.getByText('Show the contact').click()
    await page.getByRole('button', { name: 'Rename bob' }).click()
    await dialogOf(page).getByLabel('Your name for it').fill('robert')
    await page.keyboard.press('Enter')
    await isDone(page)
    expect(await contacts()).toEqual([['robert', false]])
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await until('he is bob again', async () => (await contacts())[0]?.[0] === 'bob')
    await context.close()
  })

  test('a new key is made after its meaning was said, with its yes apart, and cannot be taken back', async () => {
    const { page, context } = await open()
    const before = (await status()).kel_seq
    await page.getByRole('button', { name: 'Change the key' }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('button', { name: 'Change the key' }).click()
    await dialog.getByRole('heading', { name: 'Change the key of this identity?' }).waitFor()
    const told = (await dialog.textContent()) ?? ''
    for (const words of ['your address, contacts, tasks, receipts and credits', 'cannot be taken back'])
      expect(told).toContain(words)
    await page.keyboard.press('n')
    await dialog.getByLabel('Phrase of the next key').waitFor()
    expect((await status()).kel_seq).toBe(before)
    await dialog.getByRole('button', { name: 'Change the key' }).click()
    await dialog.getByRole('button', { name: 'Change the key' }).click()
    await isDone(page)
    expect((await status()).kel_seq).toBe(before + 1)
    await page
      .getByText(`Key ${before + 2} signs`)
      .first()
      .waitFor()
    await context.close()
  })

  test('a backup is written beside the running node, opens with its passphrase, and its age is shown', async () => {
    const { page, context } = await open()
    await page.getByText('None is known').waitFor()
    await page.locator('.setting').getByRole('button', { name: 'Back up' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Passphrase', { exact: true }).fill('correct horse battery')
    await dialog.getByLabel('The same once more').fill('correct horse')
    await dialog.getByRole('button', { name: 'Back up' }).click()
    await dialog.getByText('The two passphrases differ').waitFor()
    await dialog.getByLabel('The same once more').fill('correct horse battery')
    await dialog.getByRole('button', { name: 'Back up' }).click()
    await isDone(page)
    await said(page, /is written, .*copy it to another machine/)
    const folder = join(world.lab.folder, 'alice', 'backups')
    const [file = ''] = readdirSync(folder)
    expect(readHead(join(folder, file))).toMatchObject({ kind: 'backup', aid: world.alice.aid })
    await page.getByText(/The last one is \d+s old/).waitFor()
    await page.locator('.setting').getByRole('button', { name: 'Back up' }).click()
    await dialog.getByLabel('Passphrase', { exact: true }).fill('correct horse battery')
    await dialog.getByLabel('The same once more').fill('correct horse battery')
    await dialog.getByLabel(/^Folder/).fill('/nowhere/at/all')
    await page.keyboard.press('Enter')
    await dialog
      .locator('.fault')
      .getByText(/cannot be written/)
      .waitFor()
    expect(existsSync('/nowhere')).toBe(false)
    await context.close()
  })

  test('auto-reply is tried, turned on and off, and u turns it on as it was', async () => {
    const { page, context } = await open()
    const shown = async () => (await world.alice.handlers.autoReplyShow(undefined, never)).auto_reply
    await page.getByText('Off: you answer tasks yourself').waitFor()
    await page.getByRole('button', { name: 'Turn it on' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('What answers').selectOption('command')
    await dialog.getByLabel('Command').fill('/bin/echo nine words')
    await dialog.getByLabel('Answers in one task').fill('7')
    await dialog.getByRole('button', { name: 'Try it' }).click()
    await dialog.getByText(/It answered in .*nine words/).waitFor()
    expect(await shown()).toBeUndefined()
    await dialog.getByRole('button', { name: 'Keep and turn on' }).click()
    await isDone(page)
    expect(await shown()).toMatchObject({ command: '/bin/echo nine words', max_auto_replies: 7 })
    await page.getByRole('button', { name: 'Turn it off' }).click()
    await dialog.getByText('u sets it back as it was').waitFor()
    await page.keyboard.press('y')
    await isDone(page)
    expect(await shown()).toBeUndefined()
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await until('it is on as it was', async () => (await shown())?.max_auto_replies === 7)
    await world.alice.handlers.autoReplyOff({}, never)
    await context.close()
  })

  test('a price is set, stands on the page, and is changed where it stands', async () => {
    const { page, context } = await open()
    await page.getByText('Your work costs nothing').waitFor()
    await page.getByRole('button', { name: 'Set a price' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Price').fill('12')
    await page.keyboard.press('Enter')
    await isDone(page)
    await said(page, /a task in words costs 12 credits/i)
    await page.getByRole('button', { name: 'Change the price of task' }).click()
    expect(await dialog.getByLabel('Price').inputValue()).toBe('12')
    await dialog.getByLabel('Price').fill('0')
    await dialog.getByLabel('Kept when it is withdrawn').fill('')
    await page.keyboard.press('Enter')
    await isDone(page)
    expect((await world.alice.handlers.prices(undefined, never)).prices).toEqual([])
    await context.close()
  })

  test('news are told by the desktop once a person wants it, without words of others unless they want those', async () => {
    const { page, context } = await openConsole(browser, world.url)
    await context.grantPermissions(['notifications'])
    await context.addInitScript(() => {
      const told: unknown[] = []
      Object.assign(globalThis, { told })
      class Told {
        static requestPermission = async () => 'granted'
        onclick: unknown
        constructor(title: string, options: object) {
          told.push([title, (options as { body?: string }).body])
        }
      }
      Object.assign(globalThis, { Notification: Told })
      Object.defineProperty(document, 'hasFocus', { value: () => false })
    })
    await page.goto(`${world.url}#/inbox`)
    const row = page.locator('.rows .row', { hasText: 'nobody is told' })
    const told = () => page.evaluate(() => (globalThis as unknown as { told: unknown[] }).told)
    const box = page.getByRole('checkbox', { name: 'Notifications' })
    await world.bob.handlers.delegate({ to: 'alice', task: 'nobody is told' }, never)
    await row.waitFor()
    expect(await told()).toEqual([])
    await page.goto(`${world.url}#/node`)
    await box.waitFor()
    expect(await box.isChecked()).toBe(false)
    await box.check()
    await said(page, /while this page is open/)
    await world.bob.handlers.delegate({ to: 'alice', task: 'a secret task' }, never)
    await expect.poll(told).toEqual([['bob gives you a task', '']])
    await page.getByRole('checkbox', { name: 'With the words of the message' }).check()
    await world.bob.handlers.delegate({ to: 'alice', task: 'an open task' }, never)
    await expect.poll(async () => (await told()).at(-1)).toEqual(['bob gives you a task', 'an open task'])
    await context.close()
  })
})
