// project: programs

/** The operator's page in a real browser, over the built svc-hub: what it shows, does, and never does. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenAgent } from '../../hub/testing/wire1.ts'
import { noBrowser, type PageSize, pageSizes, startBrowser } from '../browser.ts'
import { HOSTILE, liveAtHub, type OperatorWorld, openOperatorWorld, TOKEN } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TABS = [
  'Overview',
  'Agents',
  'Archived',
  'Official',
  'Reviews',
  'Tasks',
  'Visitors',
  'Network',
  'Audit',
]

type Opened = { page: Page; context: BrowserContext; wrong: string[]; asked: string[] }

describe.skipIf(noBrowser !== undefined)(`the page of the operator${skipped}`, () => {
  let world: OperatorWorld
  let browser: Browser
  let agents: OpenAgent[]

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openOperatorWorld(), startBrowser()])
    agents = await liveAtHub(world)
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  /** The page before anybody has given the token; what went wrong on it, and what it asked for. */
  async function door(options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const wrong: string[] = []
    const asked: string[] = []
    page.on('request', one => asked.push(one.url()))
    page.on('console', one => wrong.push(one.text()))
    page.on('pageerror', error => wrong.push(error.message))
    await page.goto(world.url)
    return { page, context, wrong, asked }
  }

  async function open(place = '', options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> {
    const opened = await door(options)
    await opened.page.getByLabel('Token').fill(TOKEN)
    await opened.page.keyboard.press('Enter')
    await opened.page.getByRole('heading', { name: 'Overview' }).waitFor()
    if (place !== '') await go(opened.page, place)
    return opened
  }

  async function go(page: Page, place: string): Promise<void> {
    await page.evaluate(hash => {
      location.hash = hash
    }, `#${place}`)
    await page.getByText('Reading…').waitFor({ state: 'detached' })
  }

  const nav = (page: Page, name: string) =>
    page.getByRole('navigation').getByRole('link', { name, exact: true })
  const rowOf = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name })
  const said = (page: Page) => page.getByRole('status')

  test('asks for the token, says when it is wrong, and keeps it for this tab alone', async () => {
    const { page, context } = await door()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('token')
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('the token is not that of this hub').waitFor()
    await page.getByLabel('Token').fill(TOKEN)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await page.evaluate(() => [document.cookie, localStorage.length])).toEqual(['', 0])
    expect(await page.content()).not.toContain(TOKEN)
    expect(page.url()).not.toContain(TOKEN)
    const other = await context.newPage()
    await other.goto(world.url)
    await other.getByLabel('Token').waitFor()
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
    await context.close()
  })

  test('shows every screen without a fault, and asks its own listener alone', async () => {
    const { page, context, wrong, asked } = await open()
    for (const name of TABS) {
      await nav(page, name).click()
      await page.getByText('Reading…').waitFor({ state: 'detached' })
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(name)
      expect(await nav(page, name).getAttribute('aria-current')).toBe('page')
    }
    expect(wrong).toEqual([])
    const { origin } = new URL(world.url)
    expect(asked.filter(url => !url.startsWith(`${origin}/admin`) && !url.startsWith('data:'))).toEqual([])
    await context.close()
  })

  test('takes the words of strangers as text, wherever they stand', async () => {
    const eve = agents.at(-1)
    const { page, context, wrong } = await open('agents')
    await page.getByText(HOSTILE).waitFor()
    for (const place of [`agents/${eve?.aid}`, 'tasks', 'network']) {
      await go(page, place)
      if (place !== 'network') await page.getByText(HOSTILE).first().waitFor()
      expect(
        await page.evaluate(() => document.querySelectorAll('main img, main script, main b').length),
      ).toBe(0)
      expect(await page.title()).not.toBe('ran')
    }
    expect(wrong).toEqual([])
    await context.close()
  })

  test('lets nothing run but its own script, and be framed by nobody', async () => {
    const { headers } = await fetch(world.url)
    const policy = headers.get('Content-Security-Policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toMatch(/script-src 'sha256-[A-Za-z0-9+/=]+';/)
    expect(policy).not.toContain('unsafe')
    expect(policy).toContain("frame-ancestors 'none'")
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Cache-Control')).toBe('no-store')
    const { page, context } = await open()
    const ran = await page.evaluate(() => {
      const script = document.createElement('script')
      try {
        script.textContent = "document.title = 'ran'"
      } catch {
        return 'refused'
      }
      document.body.append(script)
      return document.title
    })
    expect(ran).not.toBe('ran')
    await context.close()
  })

  test('archives an agent with a reason, shows it among the archived, and brings it back', async () => {
    const dover = agents[3] as OpenAgent
    const { page, context } = await open('agents')
    await rowOf(page, 'Dover').getByRole('button', { name: 'Archive Dover' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Archive Dover?' }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect((await world.client.get(`/agents/${dover.aid}`)).status).toBe(200)
    await rowOf(page, 'Dover').getByRole('button', { name: 'Archive Dover' }).click()
    await page.keyboard.type('too loud')
    await page.keyboard.press('Enter')
    await said(page).getByText('It is archived').waitFor()
    await rowOf(page, 'Dover').waitFor({ state: 'detached' })
    expect((await world.client.get(`/agents/${dover.aid}`)).status).toBe(404)
    await nav(page, 'Archived').click()
    await rowOf(page, 'Dover').getByText('too loud').waitFor()
    await page.getByRole('button', { name: 'Restore Dover' }).click()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await said(page).getByText('It is back').waitFor()
    expect((await world.client.get(`/agents/${dover.aid}`)).status).toBe(200)
    await nav(page, 'Audit').click()
    await page.getByText('too loud').waitFor()
    await context.close()
  })

  test('finds agents, sets their quota, hides one from listings, and shows it again', async () => {
    const brevier = agents[1] as OpenAgent
    const entry = async () => (await world.client.get(`/agents/${brevier.aid}`)).json['agent']
    const { page, context } = await open('agents')
    await page.getByLabel('Find an agent').fill('text.tra')
    await rowOf(page, 'Cartographer').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Visitors: \d+, of Brevier/ }).click()
    await page.getByRole('textbox', { name: 'Messages' }).fill('many')
    await page.getByRole('button', { name: 'Set' }).click()
    await page.getByRole('alert').getByText('guest_messages').waitFor()
    await page.getByRole('button', { name: /^Visitors: \d+, of Brevier/ }).click()
    await page.getByRole('textbox', { name: 'Messages' }).fill('12')
    await page.getByRole('button', { name: 'Set' }).click()
    await page.getByRole('button', { name: 'Visitors: 12, of Brevier' }).waitFor()
    await page.getByRole('button', { name: 'Hide Brevier' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Hide' }).click()
    await rowOf(page, 'Brevier').getByText('not listed').waitFor()
    expect(await entry()).toMatchObject({ listed: false, guest_quota: 12 })
    await page.getByRole('button', { name: 'List Brevier' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'List' }).click()
    await rowOf(page, 'Brevier').getByText('not listed').waitFor({ state: 'detached' })
    expect(await entry()).toMatchObject({ listed: true })
    await context.close()
  })

  test('vouches for an agent, keeps it to named senders, shows its figures, and ends that', async () => {
    const [ada, brevier] = agents as [OpenAgent, OpenAgent]
    const { page, context } = await open('official')
    await page.getByText('You vouch for no agent yet').waitFor()
    await page.getByRole('button', { name: 'Vouch for an agent' }).click()
    await page.getByRole('textbox', { name: 'AID' }).fill(ada.aid)
    await page.keyboard.press('Enter')
    await rowOf(page, 'Ada reviews').getByText('Hears anybody, takes visitors').waitFor()
    const act = (name: string) => page.getByRole('button', { name: `${name}: Ada reviews` }).click()
    await act('Badge')
    await page.getByRole('textbox', { name: 'Badge' }).fill('house')
    await page.keyboard.press('Enter')
    await rowOf(page, 'Ada reviews').getByText('house').waitFor()
    await act('Senders')
    await page.getByRole('textbox', { name: 'Senders' }).fill(brevier.aid)
    await page.keyboard.press('Enter')
    await page.getByText('Hears 1 named senders, takes visitors').waitFor()
    await act('Figures')
    await page.getByText('credits: balance').waitFor()
    await act('Remove')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('You vouch for no agent yet').waitFor()
    await context.close()
  })

  test('is used with the keys alone', async () => {
    const { page, context } = await open()
    await page.keyboard.press('2')
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    await page.getByText('Reading…').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('agent-search')
    await page.keyboard.type('9')
    expect(await page.evaluate(() => location.hash)).toBe('#agents')
    await page.keyboard.press('Escape')
    await page.keyboard.press('9')
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await page.goto(world.url)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('To the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    await context.close()
  })

  const looks = (Object.keys(pageSizes) as PageSize[]).flatMap(size =>
    (['light', 'dark'] as const).map(colorScheme => ({ size, colorScheme })),
  )
  test.each(looks)(
    'every screen can be read in a $size window in $colorScheme',
    async ({ size, colorScheme }) => {
      const { page, context } = await open('', { viewport: pageSizes[size], colorScheme, bypassCSP: true })
      await page.addScriptTag({ content: AXE })
      const places = [...TABS.map(name => name.toLowerCase()), `agents/${agents.at(-1)?.aid}`]
      for (const place of places) {
        await go(page, place)
        const fits = await page.evaluate(
          () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        )
        expect([place, fits]).toEqual([place, true])
        const found = await page.evaluate(async () => {
          const { axe } = window as unknown as {
            axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
          }
          return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
        })
        expect([place, found]).toEqual([place, []])
      }
      await context.close()
    },
  )

  test('ends the session where the token holds no more', async () => {
    const { page, context } = await open()
    await page.evaluate(() => sessionStorage.setItem('svc operator', 'another'))
    await page.reload()
    await page.getByLabel('Token').waitFor()
    await page.getByRole('alert').getByText('the token is not that of this hub').waitFor()
    await context.close()
  })
})
