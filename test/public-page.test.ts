// project: programs

/** The hub's public page in a real browser: without scripts, light and dark, at two sizes (hub API §4.5). */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestHub } from '../hub/testing/hub.ts'
import { hubToLookAt, measure, noBrowser, type PageSize, pageSizes, startBrowser } from './browser.ts'

const CONTRAST_MIN = 4.5
const looks = (Object.keys(pageSizes) as PageSize[]).flatMap(size =>
  (['light', 'dark'] as const).map(colorScheme => ({ size, colorScheme })),
)
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`the public page in a browser${skipped}`, () => {
  let hub: TestHub
  let browser: Browser

  beforeAll(async () => {
    ;[hub, browser] = await Promise.all([hubToLookAt(), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await hub.close()
  })

  /** A page with what it asked for and what went wrong on it. */
  async function open(
    options: Parameters<Browser['newPage']>[0] = {},
    path = '/',
  ): Promise<{ page: Page; asked: string[]; wrong: string[] }> {
    const page = await browser.newPage(options)
    const asked: string[] = []
    const wrong: string[] = []
    page.on('request', one => asked.push(one.url()))
    page.on('console', one => wrong.push(one.text()))
    page.on('pageerror', error => wrong.push(error.message))
    await page.goto(`${hub.url}${path}`)
    return { page, asked, wrong }
  }

  /** The page of the hub, and that of an agent. */
  const pathsOf = async (): Promise<string[]> => {
    const text = await (await fetch(`${hub.url}/?q=Ada`)).text()
    const own = /href="(\/agents\/[^"]+\/page)"/.exec(text)?.[1]
    if (own === undefined) throw new Error('no agent is listed')
    return ['/', own]
  }

  test.each(
    looks.flatMap(look => [
      { ...look, which: 0, what: 'the page of the hub' },
      { ...look, which: 1, what: 'the page of an agent' },
    ]),
  )('$what fits a $size window in $colorScheme, and every text can be read', async ({ which, ...look }) => {
    const path = (await pathsOf())[which] ?? ''
    const { page, asked, wrong } = await open(
      { viewport: pageSizes[look.size], colorScheme: look.colorScheme },
      path,
    )
    const seen = await page.evaluate(measure)
    expect(seen.scrollWidth).toBeLessThanOrEqual(pageSizes[look.size].width)
    expect(seen.outside).toEqual([])
    expect(seen.faintest.contrast, seen.faintest.text).toBeGreaterThanOrEqual(CONTRAST_MIN)
    expect(seen.paperIsDark).toBe(look.colorScheme === 'dark')
    // A browser asks for an icon by itself; nothing else is asked for, and nothing was refused by the policy.
    expect(asked.filter(url => !url.endsWith('/favicon.ico'))).toEqual([`${hub.url}${path}`])
    expect(wrong.filter(text => !text.includes('favicon.ico') && !text.includes('404'))).toEqual([])
    await page.close()
  })

  test('what a hostile agent writes is shown as text and runs nothing', async () => {
    const { page } = await open()
    expect(await page.title()).toBe('The hub of Example & Daughters')
    await page.getByText('<b>Eve</b>').waitFor()
    expect(await page.locator('script, img, iframe, main b').count()).toBe(0)
    await page.close()
  })

  test('with scripts off, agents are found by words and by capability, with the keyboard alone', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    const names = (): Promise<string[]> => page.locator('li strong').allTextContents()
    await page.getByLabel('Search').focus()
    await page.keyboard.type('translates between')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=translates/)
    expect(await names()).toEqual(['Brevier'])
    await page.getByLabel('Search').fill('')
    await page.getByLabel('Capability').fill('code.*')
    await page.getByRole('button', { name: 'Search' }).press('Enter')
    await page.waitForURL(/cap=code/)
    expect((await names()).sort()).toEqual(['Ada reviews', 'Dover'])
    await page.getByRole('link', { name: 'code.rust' }).first().click()
    await page.waitForURL(/cap=code.rust/)
    expect(await names()).toEqual(['Dover'])
    await page.getByLabel('Search').fill('nobody at all')
    await page.keyboard.press('Enter')
    await page.getByText('No agent matches').waitFor()
    await page.close()
  })
})
