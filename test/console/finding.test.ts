/** Finding things in the console: in lists longer than what is loaded, in one conversation and in all of them. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createInteraction, updateInteraction } from '../../daemon/store/interactions.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, never, thread, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const OTHERS = 300

describe.skipIf(noBrowser !== undefined)(`finding in the console${skipped}`, () => {
  let world: World
  let browser: Browser
  let deep: string
  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
    const { alice, bob } = world
    deep = await delegated(bob, alice, 'the oldest of them all')
    for (const text of ['one needle in it', 'nothing', 'two: a Needle and a needle'])
      await bob.handlers.message({ interaction_id: deep, text }, never)
    await until('all of it came', async () => (await thread(alice, deep)).turns.length === 4)
    fill(world, deep)
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const open = (place: string) => openConsole(browser, `${world.url}${place}`)
  const rows = (page: Page) => page.locator('.rows .row')
  const last = (page: Page) => rows(page).last().textContent()

  test('a filter finds what is not loaded, by a word of any message, and its address opens it again', async () => {
    const { page, context, wrong } = await open('#/inbox')
    await rows(page).first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('needle')
    await expect.poll(() => rows(page).count()).toBe(1)
    expect(await rows(page).first().getAttribute('data-row')).toBe(deep)
    const address = await page.evaluate(() => location.hash)
    expect(address).toBe('#/inbox?q=needle')
    await page.keyboard.type(' absent')
    await page.getByText('Nothing in the whole history fits.').waitFor()
    await context.close()
    const again = await open(address)
    await expect.poll(() => rows(again.page).count()).toBe(1)
    expect(await again.page.getByRole('searchbox').inputValue()).toBe('needle')
    expect(wrong).toEqual([])
    await again.context.close()
  })

  test('G goes to the end of a list that is not loaded, and g back', async () => {
    const { page, context } = await open('#/inbox')
    await rows(page).first().waitFor()
    await page.keyboard.press('G')
    await expect.poll(() => last(page)).toContain('a needle')
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset['row'])).toBe(deep)
    expect(await rows(page).count()).toBeLessThan(OTHERS / 2)
    await page.keyboard.press('k')
    await page.keyboard.press('g')
    await expect.poll(() => rows(page).first().textContent()).toContain(`filled ${OTHERS}`)
    await context.close()
  })

  test('words are searched in a conversation, marked, and gone through with n and p', async () => {
    const { page, context } = await open(`#/inbox/${deep}`)
    await page.locator('.turn').nth(3).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('needle')
    const says = page.locator('.find output')
    await expect.poll(() => says.textContent()).toBe('1 of 3')
    const marked = () => page.evaluate(() => CSS.highlights.get('found')?.size)
    expect(await marked()).toBe(3)
    await page.keyboard.press('Enter')
    expect(await says.textContent()).toBe('2 of 3')
    await page.locator('.turn').first().click()
    await page.keyboard.press('n')
    expect(await says.textContent()).toBe('3 of 3')
    await page.keyboard.press('p')
    expect(await says.textContent()).toBe('2 of 3')
    await page.getByRole('searchbox', { name: 'Search in this task' }).press('Escape')
    expect(await marked()).toBeUndefined()
    await context.close()
  })

  test('ctrl-k finds a message of any conversation and opens it there, and whatever can be done', async () => {
    const { page, context, wrong } = await open('#/sent')
    await page.getByText('online', { exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('one needle')
    const found = page.getByRole('option').filter({ hasText: 'one needle in it' })
    await found.waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.turn[data-turn="2"]', { hasText: 'one needle in it' }).waitFor()
    expect(await page.evaluate(() => location.hash)).toBe(`#/inbox/${deep}?turn=2`)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('propose')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('heading', { name: 'End this task with bob?' }).waitFor()
    await page.keyboard.press('n')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(wrong).toEqual([])
    await context.close()
  })

  test('a task opens at the first thing that is new, with title and buttons in view', async () => {
    const { alice, bob } = world
    const id = await delegated(bob, alice, 'a long one')
    const say = (text: string) => bob.handlers.message({ interaction_id: id, text }, never)
    for (let n = 0; n < 12; n += 1) await say(`old ${n}\n\nof some lines\n\nof words`)
    await until('it came', async () => (await thread(alice, id)).turns.length === 13)
    await alice.handlers.thread({ interaction_id: id }, never)
    for (let n = 0; n < 12; n += 1) await say(`new ${n}\n\nof some lines\n\nof words`)
    const unseen = () => alice.handlers.thread({ interaction_id: id, mark_read: false }, never)
    await until('all came', async () => (await unseen()).turns.length === 25)
    const { page, context } = await open('#/inbox')
    await page.locator(`[data-row="${id}"]`).click()
    const first = page.locator('.turn[data-turn="14"]')
    await first.waitFor()
    const box = async (selector: string) =>
      (await page.locator(selector).boundingBox()) ?? { y: -1, height: 0 }
    await expect.poll(async () => Math.round((await box('.turn[data-turn="14"]')).y)).toBeLessThan(340)
    const [head, fresh] = [await box('.thread-head'), await box('.new-from')]
    expect(fresh.y).toBeGreaterThanOrEqual(head.y + head.height)
    expect(head.y).toBeGreaterThan(0)
    expect(await page.locator('.new-from').textContent()).toBe('New')
    await page.getByRole('button', { name: 'Propose to end' }).click({ trial: true })
    // keys move the conversation, which is in front, and the list stays
    const at = () => page.locator('.detail.thread').evaluate(pane => pane.scrollTop)
    const before = await at()
    await page.keyboard.press('j')
    expect(await at()).toBeGreaterThan(before)
    await page.keyboard.press('g')
    expect(await at()).toBe(0)
    await page.keyboard.press('G')
    await page.getByText('new 11', { exact: false }).last().click({ trial: true })
    expect(await page.locator('.row.at').getAttribute('data-row')).toBe(id)
    await context.close()
  })
})

/** Tasks that came later than a first one, of an hour ago: more than a page loads. */
function fill({ alice, bob }: World, first: string): void {
  const { store, threads } = alice.ctx
  const begin = Date.now() - 3_600_000
  const oldest = threads.findById(first)
  store.transaction(() => {
    if (oldest !== undefined) updateInteraction(store, oldest, {}, begin)
    for (let n = 1; n <= OTHERS; n += 1) {
      const made = createInteraction(
        store,
        {
          id: `${n}`.padStart(22, 'f'),
          delegator: bob.aid,
          peer: bob.aid,
          side: 'received',
          state: 'ended',
          way: 'sealed',
          capability: null,
          preview: `filled ${n}`,
          commitment: null,
          requestCid: 'bafkrei',
        },
        Date.now(),
      )
      updateInteraction(store, made, {}, begin + n * 1000)
    }
  }, 'test.fill')
}
