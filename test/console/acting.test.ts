/** What is done in the console: what ends asks first, a rating is chosen, and keys act on the row that is selected. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, finished, never, stateOf, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`acting in the console${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const open = (place = '') => openConsole(browser, `${world.url}${place}`)
  const dialogOf = (page: Page) => page.getByRole('dialog')

  /** A task of bob to alice that he proposed to end. */
  async function proposed(task: string): Promise<string> {
    const { alice, bob } = world
    const id = await delegated(bob, alice, task)
    await bob.handlers.end({ interaction_id: id }, never)
    await until('the end is proposed', async () => (await stateOf(alice, id)) === 'end_proposed')
    return id
  }

  test('to agree to an end is asked first, and its yes is not the key that asked', async () => {
    const id = await proposed('count the tests')
    const { page, context } = await open(`#/inbox/${id}`)
    const button = page.getByRole('button', { name: 'Agree to end' })
    await button.waitFor()
    const dialog = dialogOf(page)
    const asks = dialog.getByRole('heading', { name: 'Agree to end this task with bob?' })
    await button.click()
    await asks.waitFor()
    await dialog.getByRole('button', { name: 'No' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('#main').focus()
    await page.keyboard.press('A')
    await asks.waitFor()
    for (const key of ['A', 'Enter', 'Space']) await page.keyboard.press(key)
    expect(await asks.isVisible()).toBe(true)
    expect(await stateOf(world.alice, id)).toBe('end_proposed')
    await page.keyboard.press('y')
    await until('it has ended', async () => (await stateOf(world.alice, id)) === 'ended')
    await page.getByRole('status').getByText('Both sides have ended this task').waitFor()
    await context.close()
  })

  test('a rating is chosen with a digit or the mouse, and nothing is sent before', async () => {
    const { alice, bob } = world
    const id = await delegated(alice, bob, 'rate me')
    await finished(alice, bob, id)
    const { page, context } = await open(`#/sent/${id}`)
    await page.getByRole('button', { name: 'Rate' }).click()
    const dialog = dialogOf(page)
    const send = dialog.getByRole('button', { name: /^Rate/ })
    await send.waitFor()
    expect(await dialog.getByRole('radio', { checked: true }).count()).toBe(0)
    expect(await send.isDisabled()).toBe(true)
    for (const key of ['y', '0', '6']) await page.keyboard.press(key)
    expect(await dialog.getByRole('radio', { checked: true }).count()).toBe(0)
    await page.keyboard.press('2')
    await dialog.getByRole('button', { name: 'Rate 2 of 5' }).waitFor()
    expect(await dialog.getByRole('radio', { name: '2' }).isChecked()).toBe(true)
    await dialog.getByRole('radio', { name: '4' }).check()
    await page.keyboard.press('3')
    expect(await dialog.getByRole('radio', { name: '3' }).isChecked()).toBe(true)
    await dialog.getByRole('textbox').fill('on day ')
    await page.keyboard.press('1')
    expect(await dialog.getByRole('textbox').inputValue()).toBe('on day 1')
    await dialog.getByRole('button', { name: 'Rate 3 of 5' }).click()
    await page.getByText(/^3 of 5/).waitFor()
    await context.close()
  })

  test('the badge of a screen counts what is unread on it, and nothing of the other', async () => {
    const { alice, bob } = world
    for (const { interaction_id: id } of (await alice.handlers.results({}, never)).items)
      await alice.handlers.thread({ interaction_id: id, mark_read: true }, never)
    const mine = await delegated(alice, bob, 'answer me')
    const { page, context } = await open('#/node')
    const tab = (name: string) => page.getByRole('link', { name: new RegExp(`^${name}`) })
    const badge = (name: string, says: string) => tab(name).getByText(says, { exact: true })
    const unreadOf = async (name: 'inbox' | 'results') =>
      (await alice.handlers[name]({}, never)).items.filter(item => item.unread > 0).length
    await bob.handlers.message({ interaction_id: mine, text: 'here' }, never)
    await until('the answer is unread', async () => (await unreadOf('results')) === 1)
    await delegated(bob, alice, 'look at this')
    const others = `${await unreadOf('inbox')} unread`
    await badge('From me', '1 unread').waitFor()
    await badge('To me', others).waitFor()
    await page.goto(`${world.url}#/sent/${mine}`)
    await tab('From me').locator('.count').waitFor({ state: 'detached' })
    await badge('To me', others).waitFor()
    await context.close()
  })

  test('the keys of a task act on the selected row, which is opened first, and Enter opens it', async () => {
    const { alice, bob } = world
    const id = await delegated(bob, alice, 'the row of the keys')
    const { page, context } = await open('#/inbox')
    const row = page.locator(`[data-row="${id}"]`)
    await row.waitFor()
    // nothing is selected yet, and nothing has the focus: Enter opens the first row
    await page.keyboard.press('Enter')
    await page.locator('.turn .words', { hasText: 'the row of the keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.turn').first().waitFor({ state: 'detached' })
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset['row'])).toBe(id)
    await page.keyboard.press('e')
    await dialogOf(page).getByRole('heading', { name: 'End this task with bob?' }).waitFor()
    await page.keyboard.press('Escape')
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.keyboard.press('r')
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('composer')
    await page.keyboard.press('Escape')
    await page.keyboard.press('v')
    await page.getByRole('status').getByText('There is no receipt yet').waitFor()
    await page.keyboard.press('*')
    await page.getByRole('status').getByText('Only a task of yours with a receipt is rated').waitFor()
    expect(await stateOf(alice, id)).toBe('open')
    await context.close()
  })

  test('the badge of a screen counts tasks that are not loaded', async () => {
    const { alice, bob } = world
    for (let n = 0; n < 52; n += 1) await delegated(bob, alice, `one of many ${n}`)
    const { unread_received: unread } = (await alice.handlers.status(undefined, never)).counts
    expect(unread).toBeGreaterThan(51)
    const { page, context } = await open('#/inbox')
    await page
      .getByRole('link', { name: /^To me/ })
      .getByText(`${unread} unread`, { exact: true })
      .waitFor()
    await context.close()
  })

  test('u undoes what can be undone: a contact, and that no tasks are taken', async () => {
    const { alice, lab } = world
    const carol = await lab.member('carol')
    const contacts = async () =>
      (await alice.handlers.contacts(undefined, never)).contacts.map(({ petname }) => petname)
    const { page, context } = await open(`#/agents/${carol.aid}`)
    await page.getByLabel('Your name for it').fill('carol')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('u undoes it').waitFor()
    await until('she is a contact', async () => (await contacts()).includes('carol'))
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await until('she is none', async () => !(await contacts()).includes('carol'))
    const takes = async () => (await alice.handlers.status(undefined, never)).accept_delegations
    await page.keyboard.press('5')
    await page.keyboard.press('T')
    await dialogOf(page).waitFor()
    await page.keyboard.press('y')
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(await takes()).toBe(false)
    await page.keyboard.press('u')
    await until('they are taken', takes)
    // what was undone is said once the node has answered
    await page
      .getByRole('status')
      .getByText(/(?<!no )tasks are taken/i)
      .waitFor()
    await page.keyboard.press('u')
    await page.getByRole('status').getByText('There is nothing to undo').waitFor()
    await context.close()
  })

  test('u takes nothing back that was done before what cannot be undone', async () => {
    const { alice, bob, lab } = world
    const dave = await lab.member('dave')
    const id = await delegated(bob, alice, 'and then words are sent')
    const { page, context } = await open(`#/agents/${dave.aid}`)
    await page.getByLabel('Your name for it').fill('dave')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('u undoes it').waitFor()
    await page.goto(`${page.url().split('#')[0]}#/inbox/${id}`)
    await page.getByLabel('Write to bob').fill('on my way')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('status').getByText('Sent').waitFor()
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await page.getByRole('status').getByText('This cannot be undone: sent').waitFor()
    const { contacts } = await alice.handlers.contacts(undefined, never)
    expect(contacts.map(({ petname }) => petname)).toContain('dave')
    await context.close()
  })
})
