/** What is done in the console: what ends asks first, a rating is chosen, and keys act on the row that is selected. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, never, stateOf, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`acting in the console${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
  }, 60_000)
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
})
