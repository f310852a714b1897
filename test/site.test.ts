// project: programs

/** The site of the documents in a browser, as a hub serves it and from the disk: how it looks, reads and searches. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../hub/testing/hub.ts'
import { siteFiles } from '../scripts/site/site.ts'
import { measure, noBrowser, type PageSize, pageSizes, startBrowser } from './browser.ts'

const CONTRAST_MIN = 4.5
const WAIT_MS = 10_000
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const root = new URL('..', import.meta.url).pathname
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The front page, a how-to, one with pictures, a long reference, one with large tables, the index. */
const places = ['', 'host/backup.html', 'console.html', 'objects.html', 'wire-3.html', 'pages.html']
const looks = (Object.keys(pageSizes) as PageSize[]).flatMap(size =>
  (['light', 'dark'] as const).map(colorScheme => ({ size, colorScheme })),
)

describe.skipIf(noBrowser !== undefined)(`the site of the documents in a browser${skipped}`, () => {
  let folder: string
  let hub: TestHub
  let browser: Browser

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-site-'))
    for (const [place, content] of await siteFiles(root)) {
      mkdirSync(dirname(join(folder, place)), { recursive: true })
      writeFileSync(join(folder, place), content)
    }
    ;[hub, browser] = await Promise.all([startTestHub({ docs: folder }), startBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await hub.close()
    rmSync(folder, { recursive: true })
  })

  const served = (place: string): string => `${hub.url}/docs/${place}`
  const onDisk = (place: string): string => pathToFileURL(join(folder, place)).href

  /** A page with what it asked for beyond the site, and what went wrong on it. */
  async function open(url: string, options: Parameters<Browser['newPage']>[0] = {}) {
    const page = await browser.newPage(options)
    page.setDefaultTimeout(WAIT_MS)
    const outside: string[] = []
    const wrong: string[] = []
    page.on('request', one => {
      const isOwn = one.url().startsWith(served('')) || one.url().startsWith(onDisk(''))
      if (!isOwn) outside.push(one.url())
    })
    page.on('console', one => wrong.push(one.text()))
    page.on('pageerror', error => wrong.push(error.message))
    await page.goto(url)
    return { page, outside, wrong }
  }

  /** What axe finds on the page as it stands; the policy of the page lets no script of a test in but this way. */
  async function faultsOf(page: Page): Promise<string[]> {
    const run = `${axe}; axe.run(document, { resultTypes: ['violations'] })`
    const { violations } = (await page.evaluate(run)) as AxeResults
    return violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.target.join(' ')}`))
  }

  async function ask(page: Page, words: string): Promise<void> {
    await page.keyboard.press('/')
    await page.getByRole('searchbox').fill(words)
    await page.locator('#site-results a').first().waitFor()
  }

  test.each(looks.flatMap(look => places.map(place => ({ ...look, place: place || 'index.html' }))))(
    '$place fits a $size window in $colorScheme, every text can be read, and axe finds nothing',
    async ({ size, colorScheme, place }) => {
      const { page, outside, wrong } = await open(served(place), { viewport: pageSizes[size], colorScheme })
      const seen = await page.evaluate(measure)
      expect(seen.scrollWidth).toBeLessThanOrEqual(pageSizes[size].width)
      expect(seen.faintest.contrast, seen.faintest.text).toBeGreaterThanOrEqual(CONTRAST_MIN)
      expect(seen.paperIsDark).toBe(colorScheme === 'dark')
      expect(await faultsOf(page)).toEqual([])
      expect([outside, wrong]).toEqual([[], []])
      await page.close()
    },
  )

  test.each(looks)(
    'search and menu have no fault in a $size window in $colorScheme',
    async ({ size, colorScheme }) => {
      const { page, wrong } = await open(served('using.html'), { viewport: pageSizes[size], colorScheme })
      await ask(page, 'receipt')
      expect(await faultsOf(page)).toEqual([])
      await page.keyboard.press('Escape')
      if (size === 'narrow') {
        await page.getByRole('link', { name: 'Menu' }).click()
        await page.getByRole('navigation', { name: 'All pages' }).waitFor()
        expect(await faultsOf(page)).toEqual([])
        await page.getByRole('link', { name: 'Back up and restore a hub' }).click()
        await page.waitForURL(served('host/backup.html'))
        expect(await page.getByRole('navigation', { name: 'All pages' }).count()).toBe(0)
      }
      expect(wrong).toEqual([])
      await page.close()
    },
  )

  test.each([
    ['served by a hub', served],
    ['opened from the disk', onDisk],
  ])('%s, without a network, the keyboard finds a place and goes there', async (_, at) => {
    const { page, outside, wrong } = await open(at('host/backup.html'))
    await ask(page, 'witness resto')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    expect(await page.getByRole('searchbox').evaluate(one => one === document.activeElement)).toBe(true)
    expect(await page.locator('#site-results mark').count()).toBeGreaterThan(2)
    const first = await page.locator('#site-results a').first().getAttribute('href')
    await page.keyboard.press('Enter')
    await page.waitForURL(new URL(first ?? '', at('host/backup.html')).href)
    expect([outside, wrong]).toEqual([[], []])
    await page.close()
  })

  test.each([
    ['svc-hub grant', 'Give credits and pay out'],
    ['SVC_HUB_BASE_URL', 'Configure a hub'],
    ['mailbox_full', 'Wire 3: the interface of a hub'],
    ['reciept', 'receipt'],
  ])('a search for "%s" leads to %s', async (words, expected) => {
    const { page } = await open(served(''))
    await ask(page, words)
    const texts = await page.locator('#site-results a').allTextContents()
    expect(texts.some(text => text.toLowerCase().includes(expected.toLowerCase()))).toBe(true)
    await page.close()
  })

  test('what is searched for is shown as text, and a search for nothing says so', async () => {
    const { page, wrong } = await open(served(''))
    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').fill('<img src=x onerror=alert(1)> qqqqqqq')
    await page.locator('#site-found').filter({ hasText: 'place' }).waitFor()
    expect(await page.locator('#site-results img').count()).toBe(0)
    await page.getByRole('searchbox').fill('qqqqqqqq')
    await page.getByText('Nothing was found').waitFor()
    expect(wrong).toEqual([])
    await page.close()
  })

  test('the colours that a reader chose stay on the next page', async () => {
    const { page } = await open(served(''), { colorScheme: 'light' })
    const button = page.getByRole('button', { name: /^Colours/ })
    await button.click()
    await button.click()
    expect((await page.evaluate(measure)).paperIsDark).toBe(true)
    await page.getByRole('link', { name: 'Using a node' }).first().click()
    await page.waitForURL(served('using.html'))
    expect((await page.evaluate(measure)).paperIsDark).toBe(true)
    await page.close()
  })

  test('with scripts off a page reads, its menu opens, and no button is there that does nothing', async () => {
    const { page } = await open(served('use/pay.html'), {
      javaScriptEnabled: false,
      viewport: pageSizes.narrow,
    })
    expect(await page.getByRole('button').count()).toBe(0)
    await page.getByRole('link', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Glossary' }).click()
    await page.waitForURL(served('glossary.html'))
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Glossary')
    await page.close()
  })

  test('every page opens without a fault: no picture is missing, nothing is refused by the policy', async () => {
    const { page, outside, wrong } = await open(served('pages.html'))
    const links = await page
      .locator('main a')
      .evaluateAll(all => all.map(one => (one as HTMLAnchorElement).href))
    for (const link of links.filter(one => one.startsWith(served('')) && one.endsWith('.html'))) {
      await page.goto(link)
      const missing = await page.locator('img').evaluateAll(all =>
        Promise.all(
          all.map(one => {
            const image = one as HTMLImageElement
            image.loading = 'eager'
            return image.decode().then(
              () => '',
              () => image.src,
            )
          }),
        ),
      )
      expect([link, missing.filter(src => src !== '')]).toEqual([link, []])
    }
    expect([outside, wrong]).toEqual([[], []])
    await page.close()
  })
})
