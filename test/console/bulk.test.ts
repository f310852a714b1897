/** Several tasks at once on the page: chosen with boxes, a key or shift, asked about once, and said one by one. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, never, stateOf, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`several tasks on the page${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const dialogOf = (page: Page) => page.getByRole('dialog')
  const bar = (page: Page) => page.getByRole('toolbar')
  const row = (page: Page, id: string) => page.locator(`[data-row="${id}"]`)
  const pick = (page: Page, id: string) => page.locator('li', { has: row(page, id) }).getByRole('checkbox')

  test('are archived with one question, come back with u, and one in which something happens by itself', async () => {
    const { alice, bob } = world
    const ids = [await delegated(bob, alice, 'first'), await delegated(bob, alice, 'second')]
    const { page, context, wrong } = await openConsole(browser, `${world.url}#/inbox`)
    for (const id of ids) await pick(page, id).check()
    await bar(page).getByText('2 selected').waitFor()
    await bar(page).getByRole('button', { name: 'Archive 2' }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('heading', { name: 'Archive 2 tasks?' }).waitFor()
    expect(await dialog.textContent()).toMatch(/second.*first|first.*second/s)
    await page.keyboard.press('y')
    await dialog.waitFor({ state: 'detached' })
    for (const id of ids) await row(page, id).waitFor({ state: 'detached' })
    await page.getByLabel('Archived').check()
    for (const id of ids) await row(page, id).waitFor()
    await page.getByLabel('Archived').uncheck()
    await bob.handlers.message({ interaction_id: ids[0] ?? '', text: 'once more' }, never)
    await row(page, ids[0] ?? '').waitFor()
    expect(await row(page, ids[1] ?? '').count()).toBe(0)
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    await row(page, ids[1] ?? '').waitFor()
    // one is archived by its key, without a question
    await row(page, ids[1] ?? '').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const at = await page.evaluate(() => (document.activeElement as HTMLElement).dataset['row'])
    await page.keyboard.press('z')
    await row(page, at ?? '').waitFor({ state: 'detached' })
    expect(wrong).toEqual([])
    await context.close()
  })

  test('whose answers were lost are not known, and are counted as the node has them once it answers', async () => {
    const { alice, bob } = world
    const ids = [await delegated(bob, alice, 'one lost'), await delegated(bob, alice, 'other lost')]
    const { page, context } = await openConsole(browser, `${world.url}#/inbox`)
    for (const id of ids) await pick(page, id).check()
    await bar(page).getByRole('button', { name: 'Archive 2' }).click()
    await dialogOf(page).getByRole('heading', { name: 'Archive 2 tasks?' }).waitFor()
    await page.route('**/console/call*', route => route.abort())
    await page.keyboard.press('y')
    await dialogOf(page).getByRole('heading', { name: '0 tasks archived' }).waitFor()
    await dialogOf(page).getByText('Your node did not say whether it did these').waitFor()
    expect(await dialogOf(page).getByText('These were not done').count()).toBe(0)
    // the node had taken one of them
    await alice.handlers.archive({ interaction_id: ids[0] ?? '', on: true }, never)
    await page.unroute('**/console/call*')
    await dialogOf(page).getByRole('heading', { name: '1 task archived' }).waitFor()
    await dialogOf(page).getByText('These were not done, and stay selected:').waitFor()
    await page
      .getByRole('status')
      .getByText(/^1 task archived; 1 task not: bob.*; u undoes it$/)
      .waitFor()
    await page.keyboard.press('Escape')
    await bar(page).getByText('1 selected').waitFor()
    await page.locator('#main').focus()
    await page.keyboard.press('u')
    for (const id of ids) await row(page, id).waitFor()
    await context.close()
  })

  test('of strangers are taken together, and declined together with a reason', async () => {
    const { alice, lab } = world
    // one stranger has only a share of the first contacts that a hub takes for a recipient
    const [eve, mallory] = [await lab.member('eve'), await lab.member('mallory')]
    const ids: string[] = []
    for (const words of ['one', 'two', 'three']) ids.push(await delegated(eve, alice, words))
    ids.push(await delegated(mallory, alice, 'four'))
    const [one = '', two = '', three = '', four = ''] = ids
    const { page, context } = await openConsole(browser, `${world.url}#/inbox?waits=yes`)
    await row(page, four).waitFor()
    // x marks and goes on; shift takes what lies between
    await page.locator('#main').focus()
    await page.keyboard.press('x')
    await page.keyboard.press('x')
    await bar(page).getByText('2 selected').waitFor()
    await bar(page).getByRole('button', { name: 'Approve 2' }).click()
    await dialogOf(page).getByRole('button', { name: 'Approve 2' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    await until('two are open', async () => (await stateOf(alice, four)) === 'open')
    expect([await stateOf(alice, three), await stateOf(alice, two)]).toEqual(['open', 'pending'])
    await pick(page, two).click()
    await pick(page, one).click({ modifiers: ['Shift'] })
    await bar(page).getByRole('button', { name: 'Decline 2' }).click()
    await dialogOf(page).getByLabel('Reason, for the other sides').fill('no time')
    await dialogOf(page).getByRole('button', { name: 'Decline 2' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    for (const id of [one, two]) expect(await stateOf(alice, id)).toBe('declined')
    await context.close()
  })

  test('that fail are named with their reason, and stay selected', async () => {
    const { alice, bob } = world
    const ids = [await delegated(bob, alice, 'goes'), await delegated(bob, alice, 'stays')]
    const [good = '', bad = ''] = ids
    const real = alice.handlers.decline
    alice.handlers.decline = async (given, signal) => {
      if (given.interaction_id === bad) throw new Error('not this one')
      return real(given, signal)
    }
    const { page, context } = await openConsole(browser, `${world.url}#/inbox`)
    for (const id of ids) await pick(page, id).check()
    await bar(page).getByRole('button', { name: 'Decline 2' }).click()
    await dialogOf(page).getByRole('button', { name: 'Decline 2' }).click()
    await dialogOf(page).getByText('These were not done, and stay selected').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Close' }).click()
    await bar(page).getByText('1 selected').waitFor()
    expect([await pick(page, good).isChecked(), await pick(page, bad).isChecked()]).toEqual([false, true])
    expect([await stateOf(alice, good), await stateOf(alice, bad)]).toEqual(['declined', 'open'])
    await page.keyboard.press('Escape')
    await bar(page).waitFor({ state: 'detached' })
    alice.handlers.decline = real
    await context.close()
  })
})
