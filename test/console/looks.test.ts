/** How the console looks and reads, on every screen: axe, contrast, nothing outside the window; light and dark, wide and a phone. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { measure, noBrowser, startBrowser } from '../browser.ts'
import { never } from '../two-nodes/world.ts'
import { liveALittle, openConsole, openWorld, type World } from './world.ts'

const CONTRAST_MIN = 4.5
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const sizes = { wide: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } } as const
const looks = (Object.keys(sizes) as (keyof typeof sizes)[]).flatMap(size =>
  (['light', 'dark'] as const).map(colorScheme => ({ size, colorScheme })),
)

/** Each place of the console, and what is there once it is drawn. */
const places: [string, (page: Page, world: World) => Promise<unknown>][] = [
  ['to me', page => page.locator('.rows .row').first().waitFor()],
  ['a thread', async page => openRow(page, 'licences')],
  [
    'files, and what is on its way',
    async (page, { alice }) => {
      await openRow(page, 'licences')
      await page.getByText('Attach files').click()
      await page.getByLabel(/Files from this browser/).waitFor()
      const { items } = await alice.handlers.inbox({}, never)
      const id = items.find(({ preview }) => preview.includes('licences'))?.interaction_id ?? ''
      alice.ctx.events.tell('transfer', { interaction_id: id, sent: 16_000_000, total: 64_000_000 })
      await page.getByRole('progressbar').waitFor()
    },
  ],
  ['a hostile thread', async page => openRow(page, 'img src')],
  ['from me', page => visit(page, '#/sent', '.rows .row')],
  [
    'a receipt',
    async page => {
      await visit(page, '#/sent', '.rows .row')
      await openRow(page, 'Three findings')
      await page.locator('.signatures').waitFor()
    },
  ],
  [
    'the question before a payment',
    async page => {
      await visit(page, '#/sent', '.rows .row')
      await openRow(page, 'weather.now')
      await page.getByRole('button', { name: 'Look at the payment' }).click()
      await page.getByRole('dialog').waitFor()
    },
  ],
  ['agents', page => visit(page, '#/agents', '#trust')],
  ['an agent', (page, { bob }) => visit(page, `#/agents/${bob.aid}`, '#order')],
  ['evidence', page => visit(page, '#/evidence', '#chain')],
  ['a record', page => visit(page, '#/evidence/1', '.detail pre')],
  [
    'the node',
    async page => {
      await visit(page, '#/node', '#days')
      const first = page.locator('.attention')
      for (const words of [/tasks of strangers wait/, /price waits/, /to you with something unread/])
        await first.getByText(words).waitFor()
    },
  ],
  [
    'a setting with something wrong in it',
    async page => {
      await visit(page, '#/node', '#days')
      await page.getByRole('button', { name: 'Change: Spend without asking me' }).click()
      await page.getByLabel('One payment of the node').fill('9')
      await page.keyboard.press('Enter')
      await page.locator('.field-fault').waitFor()
    },
  ],
  [
    'the question before a new key',
    async page => {
      await visit(page, '#/node', '#days')
      await page.getByRole('button', { name: 'Change the key' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Change the key' }).click()
      await page.getByRole('heading', { name: 'Change the key of this identity?' }).waitFor()
    },
  ],
  [
    'several tasks that are selected',
    async page => {
      await page.locator('.pick').first().check()
      await page.getByRole('toolbar').waitFor()
    },
  ],
  [
    'the keys',
    async page => {
      await page.getByRole('button', { name: 'Keys' }).click()
      await page.getByRole('dialog').waitFor()
    },
  ],
]

/** Places that are named by what they draw: the pictures have no id of their own. */
const drawn: Record<string, string> = {
  '#trust': '#trust-title',
  '#chain': '#chain-title',
  '#days': '#days-title',
}

async function visit(page: Page, place: string, sign: string): Promise<void> {
  await page.evaluate(hash => {
    location.hash = hash
  }, place)
  await page
    .locator(drawn[sign] ?? sign)
    .first()
    .waitFor({ state: 'attached' })
}

/** Runs in the page: what stands out of the window. */
const outsideOf = (width: number): string[] =>
  [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > width)
    .map(one => one.outerHTML.slice(0, 120))

/** What axe finds on the page as it stands, under the policy of the page. */
async function violations(page: Page): Promise<string[]> {
  const run = `${axe}; axe.run(document, { resultTypes: ['violations'] })`
  const found = (await page.evaluate(run)) as AxeResults
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  )
}

async function openRow(page: Page, words: string): Promise<void> {
  await page.locator('.rows .row').filter({ hasText: words }).first().click()
  await page.locator('.detail .turn').first().waitFor()
}

describe.skipIf(noBrowser !== undefined)(`the look of the console${skipped}`, () => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
    await liveALittle(world)
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  test.each(looks)(
    '$size, $colorScheme: axe finds nothing anywhere, every text can be read, nothing sticks out',
    async ({ size, colorScheme }) => {
      const options = { viewport: sizes[size], colorScheme }
      const { page, context, wrong } = await openConsole(browser, world.url, options)
      for (const [place, go] of places) {
        await visit(page, '#/inbox', '.rows .row')
        await go(page, world)
        const seen = await page.evaluate(measure)
        const { text, contrast } = seen.faintest
        const wide = seen.scrollWidth - sizes[size].width
        const outside = wide <= 0 ? [] : await page.evaluate(outsideOf, sizes[size].width)
        expect([place, await violations(page), wide > 0, outside]).toEqual([place, [], false, []])
        expect(seen.paperIsDark).toBe(colorScheme === 'dark')
        expect(contrast, `${place}: ${text}`).toBeGreaterThanOrEqual(CONTRAST_MIN)
        if ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape')
      }
      expect(wrong).toEqual([])
      await context.close()
    },
  )

  test.each(looks)('$size, $colorScheme: the page that is not let in', async ({ size, colorScheme }) => {
    const dir = join(world.lab.folder, 'locked')
    writeConfig(dir, { ...readConfig(dir), console_ticket: true })
    const node = await world.lab.start('locked')
    const options = { viewport: sizes[size], colorScheme }
    const { page, context } = await openConsole(browser, `http://${node.controlAddress}/console`, options)
    await page.getByText('svc console', { exact: true }).waitFor()
    const seen = await page.evaluate(measure)
    expect([await violations(page), seen.scrollWidth <= sizes[size].width]).toEqual([[], true])
    expect(seen.faintest.contrast, seen.faintest.text).toBeGreaterThanOrEqual(CONTRAST_MIN)
    await context.close()
    await node.stop()
  })

  test('every button and link on a phone is large enough for a finger', async () => {
    const { page, context } = await openConsole(browser, world.url, { viewport: sizes.phone })
    await page.locator('.rows .row').first().waitFor()
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('button:not(.small), .tab, .row, input[type=search]')]
        .filter(one => one.getClientRects().length > 0 && one.getBoundingClientRect().height < 44)
        .map(one => one.textContent),
    )
    expect(small).toEqual([])
    await context.close()
  })

  test.each(['light', 'dark'] as const)(
    'in colours of the reader (%s), one tab and one row are seen to be open',
    async colorScheme => {
      const { page, context } = await openConsole(browser, world.url, {
        forcedColors: 'active',
        colorScheme,
      })
      await openRow(page, 'licences')
      const marked = (selector: string, edge: 'borderBottomColor' | 'borderLeftColor') =>
        page.evaluate(
          ([one, side]) =>
            [...document.querySelectorAll(one)].filter(
              element => getComputedStyle(element)[side] !== getComputedStyle(document.body).backgroundColor,
            ).length,
          [selector, edge] as const,
        )
      expect([await marked('.tab', 'borderBottomColor'), await marked('.row', 'borderLeftColor')]).toEqual([
        1, 1,
      ])
      expect(await violations(page)).toEqual([])
      await context.close()
    },
  )

  test('a receipt is printed whole, black on white, without the rest of the page', async () => {
    const { page, context } = await openConsole(browser, world.url, { colorScheme: 'dark' })
    await visit(page, '#/sent', '.rows .row')
    await openRow(page, 'Three findings')
    const receipt = page.getByRole('region', { name: 'Receipt' })
    await receipt.getByRole('button', { name: 'Print' }).waitFor()
    await page.emulateMedia({ media: 'print' })
    for (const gone of ['.top', '.list', '.composer', 'button', '.said'])
      expect(await page.locator(gone).filter({ visible: true }).count(), gone).toBe(0)
    for (const words of [world.alice.aid, world.bob.aid, 'svc verify'])
      await receipt.getByText(words).waitFor()
    const seen = await receipt.evaluate(card => {
      const { color, backgroundColor } = getComputedStyle(card)
      const cut = [...document.querySelectorAll('body, #app, #main, .detail')].filter(
        one => one.scrollHeight > one.clientHeight + 1,
      )
      return { color, backgroundColor, cut: cut.map(one => one.id || one.className) }
    })
    expect(seen).toEqual({ color: 'rgb(0, 0, 0)', backgroundColor: 'rgb(255, 255, 255)', cut: [] })
    expect((await page.pdf()).length).toBeGreaterThan(10_000)
    await context.close()
  })

  test('how much more may be written is said in bytes once little is left, and too much is not sent', async () => {
    const { page, context } = await openConsole(browser, world.url)
    await openRow(page, 'licences')
    const field = page.getByLabel('Write to bob')
    const most = 644 * 1024
    await field.fill('x'.repeat(100))
    expect(await page.locator('.counter').count()).toBe(0)
    await field.fill('x'.repeat(most - 10))
    await page.locator('.counter').getByText('659,446 of 659,456 bytes').waitFor()
    await field.fill('é'.repeat(most / 2 + 1))
    await page.getByText('2 bytes too many; at most 659,456 are taken').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await field.fill('')
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByLabel('Reason, for the other side').fill('x'.repeat(1025))
    await page.getByText('1 bytes too many; at most 1,024 are taken').waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Decline' }).isDisabled()).toBe(true)
    await context.close()
  })

  test('nothing moves for whom movement is too much', async () => {
    const { page, context } = await openConsole(browser, world.url, { reducedMotion: 'reduce' })
    await page.locator('.rows .row').first().waitFor()
    const moving = await page.evaluate(() => {
      const spin = Object.assign(document.createElement('span'), { className: 'spin' })
      document.body.append(spin)
      return spin.getAnimations().filter(one => (one as CSSAnimation).animationName === 'turn').length
    })
    expect(moving).toBe(0)
    await context.close()
  })
})
