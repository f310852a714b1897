// project: programs

/** The page for guests in a real browser, at the built hub, with an agent of wire 1 that answers: all with the keyboard. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'
import { GuestHandler, type GuestSaid, type HandlerSays } from '../hub/testing/guest-handler.ts'
import { makeClock } from '../hub/testing/hub.ts'
import { type OpenAgent, Wire1Client } from '../hub/testing/wire1.ts'
import { measure, noBrowser, startBrowser } from './browser.ts'

const CONTRAST_MIN = 4.5
const MIB = 1024 * 1024
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const root = new URL('..', import.meta.url).pathname
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const sizes = { wide: { width: 1280, height: 900 }, phone: { width: 320, height: 640 } } as const
const looks = (Object.keys(sizes) as (keyof typeof sizes)[]).flatMap(size =>
  (['light', 'dark'] as const).map(colorScheme => ({ size, colorScheme })),
)

/** The backend of a node. */
const ANSWERER = `
let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  console.log('answer to ' + (prompt.match(/ask: \\w+/g) ?? []).at(-1))
})
`

/** What the agent of the story says. */
function answers({ text, files, end }: GuestSaid): HandlerSays {
  if (end) return { agree: true }
  if (text.startsWith('nothing more')) return { words: ['Then I am done.'], end: true }
  if (text.startsWith('be hostile')) return { words: [HOSTILE, `${'x'.repeat(200)}\u202eevil`] }
  if (text.startsWith('say nothing')) return {}
  const got = files.map(({ name, bytes }) => `${name} (${bytes})`).join(', ')
  return { words: [got === '' ? `You said: ${text}` : `I have ${got}`] }
}

describe.skipIf(noBrowser !== undefined)(`the page for guests in a browser${skipped}`, () => {
  const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
  let world: World
  let browser: Browser
  let handler: GuestHandler
  let url: string
  let printed: string
  let client: Wire1Client

  beforeAll(async () => {
    world = new World(programs)
    const started = await world.startHub({}, '127.0.0.1:0', ['--wire', '1', '--guests'])
    ;({ url, printed } = started)
    client = new Wire1Client({
      ...{ url, aid: started.aid, clock: makeClock() },
      running: { order: ({ aid }) => world.hub('admit', aid) },
    })
    handler = new GuestHandler(client, await registered('bob the <b>builder</b>'), answers)
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await handler?.stop()
    await world?.run(programs.svc, ['stop'], world.env('bob'))
    await world?.[Symbol.asyncDispose]()
  })

  const registered = (name: string, more: object = {}): Promise<OpenAgent> =>
    client.registered({ name, guest_messages: 20, ...more })

  /** The page with what it asked for and what went wrong on it. */
  async function open(options: Parameters<Browser['newContext']>[0] = {}, path = '/guest', at = url) {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const asked: string[] = []
    const wrong: string[] = []
    page.on('request', one => asked.push(new URL(one.url()).origin))
    page.on('console', one => wrong.push(one.text()))
    page.on('pageerror', error => wrong.push(error.message))
    await page.goto(`${at}${path}`)
    return { page, context, asked, wrong }
  }

  const logOf = (page: Page) => page.getByRole('log')
  const status = (page: Page) => page.getByRole('status')
  const said = (page: Page, words: string | RegExp) => logOf(page).getByText(words).first().waitFor()
  const message = (page: Page) => page.getByLabel('Your message')

  /** Writes with the keyboard alone. */
  async function write(page: Page, text: string): Promise<void> {
    await message(page).focus()
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
  }

  const focused = (page: Page) =>
    page.evaluate(() => document.activeElement?.textContent || document.activeElement?.id || '')

  test('the hub says at its start where the page is', () => {
    expect(printed).toContain(`guests write to agents at ${url}/guest`)
  })

  test('leads from a first message to the answer and to an end that both sides agree to, with the keyboard alone', async () => {
    const { page, context, asked, wrong } = await open({}, `/guest?aid=${handler.agent.aid}`)
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('aid')
    expect(await page.getByLabel('Agent', { exact: true }).inputValue()).toBe(handler.agent.aid)
    await page.keyboard.press('Tab')
    await page.keyboard.type('hello there')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('second line')
    await page.keyboard.press('Enter')
    await said(page, /You said: hello there\s+second line/)
    await page.getByText('You talk with bob the <b>builder</b>.').waitFor()
    await page.getByText('19 messages left.').waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('text')
    await write(page, 'nothing more')
    await said(page, 'Then I am done.')
    await said(page, 'The agent asks for the end.')
    const agree = page.getByRole('button', { name: 'Agree and end' })
    await agree.waitFor()
    await page.keyboard.press('Shift+Tab')
    expect(await focused(page)).toBe('Agree and end')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Both sides have ended this conversation.' }).waitFor()
    expect(await focused(page)).toBe('Both sides have ended this conversation.')
    expect(await message(page).isVisible()).toBe(false)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await message(page).waitFor()
    expect(await logOf(page).isVisible()).toBe(false)
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('text')
    expect(new Set(asked)).toEqual(new Set([url]))
    expect(wrong.filter(text => !text.includes('favicon'))).toEqual([])
    await context.close()
  })

  test('tells the agent of an end, and shows that it agreed', async () => {
    const { page, context } = await open()
    await write(page, 'hi')
    await said(page, 'You said: hi')
    await page.getByRole('button', { name: 'End the conversation' }).press('Enter')
    await said(page, 'You ended the conversation.')
    await said(page, 'The agent agreed to the end.')
    await page.getByRole('heading', { name: 'Both sides have ended this conversation.' }).waitFor()
    await context.close()
  })

  test('shows what a hostile agent writes as text, and hides nothing of it', async () => {
    const { page, context, wrong } = await open()
    await write(page, 'be hostile')
    await said(page, HOSTILE)
    await said(page, /x{200}\\u\{202e\}evil/)
    expect(await page.title()).toBe('Talk to an agent')
    expect(await page.locator('main img, main script, main b').count()).toBe(0)
    expect(wrong.filter(text => !text.includes('favicon'))).toEqual([])
    await context.close()
  })

  test('sends files: at most 10 with 20 MiB together, each removed with a key', async () => {
    const { page, context } = await open()
    const file = (name: string, bytes: number) => ({
      ...{ name, mimeType: 'text/plain', buffer: Buffer.alloc(bytes, 'x') },
    })
    const attach = (...files: ReturnType<typeof file>[]) => page.locator('#attach').setInputFiles(files)
    const list = page.getByRole('list', { name: 'Files to send' }).getByRole('listitem')
    await attach(...Array.from({ length: 11 }, (_, n) => file(`${n}.txt`, 1)))
    await status(page)
      .getByText('Not attached: 10.txt. A message takes 10 files with 20 MiB together.')
      .waitFor()
    expect(await list.count()).toBe(10)
    for (let n = 0; n < 10; n++) await page.getByRole('button', { name: `Remove ${n}.txt` }).press('Enter')
    expect(await list.count()).toBe(0)
    await attach(file('half.bin', 10 * MIB), file(`${'long '.repeat(20)}name.txt`, 10 * MIB))
    await attach(file('more.txt', 1))
    await status(page)
      .getByText(/^Not attached: more\.txt/)
      .waitFor()
    await page.getByRole('button', { name: 'Send' }).press('Enter')
    await said(page, /I have half\.bin \(10485760\), long long .*….txt \(10485760\)/)
    expect(await list.count()).toBe(0)
    await context.close()
  })

  test('keeps what was typed while the hub does not answer, and what arrived already arrives once', async () => {
    const { page, context } = await open()
    await page.route('**/guest/start', route => route.abort())
    await write(page, 'do you hear me')
    await status(page).getByText('The hub did not answer, so it is not certain').waitFor()
    expect(await message(page).inputValue()).toBe('do you hear me')
    await page.reload()
    expect(await message(page).inputValue()).toBe('do you hear me')
    await page.unroute('**/guest/start')
    // the hub takes the message, and its answer is lost
    await page.route('**/guest/send', async route => {
      await route.fetch()
      await route.abort()
    })
    await message(page).press('Enter')
    await status(page).getByText('The hub did not answer, so it is not certain').waitFor()
    await page.unroute('**/guest/send')
    await message(page).press('Enter')
    await said(page, 'You said: do you hear me')
    await page.getByText('19 messages left.').waitFor()
    // an answer to a poll is lost: the words come with the next one
    await page.route('**/guest/poll', async route => {
      await route.fetch()
      await route.abort()
    })
    await write(page, 'and now')
    await status(page)
      .getByText(/The hub does not answer\. It is asked again in \d+ seconds/)
      .waitFor()
    await page.unroute('**/guest/poll')
    await said(page, 'You said: and now')
    await page.reload()
    await said(page, 'You said: and now')
    expect(await logOf(page).getByText('You said: do you hear me').count()).toBe(1)
    await context.close()
  })

  test('says when the agent takes no more, and still shows its answers', async () => {
    const brief = await registered('brief', { guest_messages: 1 })
    const { page, context } = await open({}, `/guest?aid=${brief.aid}`)
    await write(page, 'only this')
    await page.getByText('You have sent all messages that this agent takes of a guest.').waitFor()
    await write(page, 'and this')
    await status(page).getByText('This agent takes no more messages of a guest.').waitFor()
    expect(await message(page).inputValue()).toBe('and this')
    expect(await page.getByRole('button', { name: 'Send' }).getAttribute('aria-disabled')).toBe('true')
    const late = new GuestHandler(client, brief, answers)
    await said(page, 'You said: only this')
    await late.stop()
    await client.post(`/agents/${brief.aid}/deregister`, brief.sign('profile'))
    await context.close()
  })

  test('asks for nothing while nobody looks, and at once when somebody does', async () => {
    const { page, context } = await open()
    await write(page, 'say nothing')
    await status(page).getByText('Sent.').waitFor()
    let polls = 0
    page.on('request', one => {
      if (one.url().endsWith('/guest/poll')) polls += 1
    })
    const look = (state: 'hidden' | 'visible') =>
      page.evaluate(state => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => state === 'hidden' })
        document.dispatchEvent(new Event('visibilitychange'))
      }, state)
    await expect.poll(() => polls).toBeGreaterThan(1)
    await look('hidden')
    const before = polls
    await page.waitForTimeout(4000)
    expect(polls - before).toBeLessThanOrEqual(1)
    const then = polls
    await look('visible')
    await expect.poll(() => polls, { timeout: 900 }).toBe(then + 1)
    await context.close()
  })

  test('says where the hub is full, away or started anew, and where the agent left, and keeps what was typed', async () => {
    const flags = ['--wire', '1', '--guests']
    const first = await world.startHub({}, '127.0.0.1:0', flags, 'other')
    const there = new Wire1Client({
      ...{ url: first.url, aid: first.aid, clock: makeClock() },
      running: { order: ({ aid }) => world.hubAt('other', 'admit', aid) },
    })
    const again = async (child: typeof first.child) => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      return () => world.startHub({}, new URL(first.url).host, flags, 'other')
    }
    const agent = await there.registered({ name: 'ann', guest_messages: 20 })
    const helper = new GuestHandler(there, agent, answers)
    const { page, context } = await open({}, '/guest', first.url)
    for (let n = 0; n < 2000; n += 50)
      await Promise.all(Array.from({ length: 50 }, () => there.post('/guest/start', {})))
    await write(page, 'is there room')
    await status(page).getByText('As many guests are here as this hub takes.').waitFor()
    expect(await message(page).inputValue()).toBe('is there room')
    await helper.stop()
    let start = await again(first.child)
    await message(page).press('Enter')
    await status(page).getByText('The hub did not answer').waitFor()
    const second = await start()
    const later = new GuestHandler(there, agent, answers)
    await message(page).press('Enter')
    await said(page, 'You said: is there room')
    await page.keyboard.type('not yet sent')
    await later.stop()
    start = await again(second.child)
    await status(page).getByText('The hub does not answer.').waitFor()
    await start()
    await page.getByRole('heading', { name: /This conversation is over/ }).waitFor()
    expect(await message(page).inputValue()).toBe('not yet sent')
    await page.getByRole('button', { name: 'Start another conversation' }).press('Enter')
    await message(page).press('Enter')
    await status(page).getByText('Sent.').waitFor()
    await there.post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    await write(page, 'are you there')
    await page.getByRole('heading', { name: 'This agent has left the hub.' }).waitFor()
    expect(await message(page).inputValue()).toBe('are you there')
    await context.close()
  })

  test('leads to the answer of a node by itself, with more files than an agent sends, and to the end that it agrees to', async () => {
    const script = join(world.root, 'answer.mjs')
    writeFileSync(script, ANSWERER)
    const { code } = await world.hub('invite', 'new')
    const up = await world.run(programs.svc, ['up'], {
      ...world.env('bob'),
      SVC_EXEC_COMMAND: `${world.node} ${script}`,
    })
    expect([up.code, up.stderr]).toEqual([0, expect.any(String)])
    const joined = await world.svc(
      'bob',
      'hub-register',
      url,
      '--wire',
      '1',
      '--name',
      'node',
      '--token',
      String(code),
    )
    await world.svc(
      'bob',
      'autoreply',
      'set',
      '--backend',
      'exec',
      '--guests',
      'true',
      '--poll-interval',
      '1',
    )
    const { page, context } = await open({}, `/guest?aid=${joined['aid']}`)
    const half = { mimeType: 'text/plain', buffer: Buffer.alloc(3.5 * MIB, 'x') }
    await page.locator('#attach').setInputFiles([
      { name: 'a.txt', ...half },
      { name: 'b.txt', ...half },
    ])
    await write(page, 'ask: one')
    await said(page, 'answer to ask: one')
    await write(page, 'ask: two')
    await said(page, 'answer to ask: two')
    await page.getByRole('button', { name: 'End the conversation' }).press('Enter')
    await page.getByRole('heading', { name: 'Both sides have ended this conversation.' }).waitFor()
    await context.close()
  })

  test('is found from the front page, and says without scripts what it needs', async () => {
    const { page, context } = await open({ javaScriptEnabled: false }, '/')
    await page.getByRole('link', { name: 'Talk to an agent here' }).press('Enter')
    await page.getByText('This page needs JavaScript').waitFor()
    expect(await message(page).isVisible()).toBe(false)
    await context.close()
  })

  /** What axe finds; the policy of the page lets no script of a test in but this way. */
  async function axeOn(page: Page): Promise<string[]> {
    const session = await page.context().newCDPSession(page)
    const expression = `${axe}; axe.run(document, { resultTypes: ['violations'] }).then(JSON.stringify)`
    const { result } = await session.send('Runtime.evaluate', { expression, awaitPromise: true })
    const { violations } = JSON.parse(String(result.value)) as AxeResults
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }

  test.each(looks)(
    'fits a $size window in $colorScheme at each moment, can be read, and axe finds nothing',
    async look => {
      const viewport = sizes[look.size]
      const { page, context } = await open(
        {
          viewport,
          colorScheme: look.colorScheme,
          hasTouch: look.size === 'phone',
        },
        `/guest?aid=${handler.agent.aid}`,
      )
      const shots = process.env['GUEST_SHOTS']
      const checked = async (moment: string): Promise<void> => {
        const seen = await page.evaluate(measure)
        expect(seen.scrollWidth, moment).toBeLessThanOrEqual(viewport.width)
        expect(seen.outside, moment).toEqual([])
        expect(seen.faintest.contrast, `${moment}: ${seen.faintest.text}`).toBeGreaterThanOrEqual(
          CONTRAST_MIN,
        )
        expect(seen.paperIsDark).toBe(look.colorScheme === 'dark')
        expect(await axeOn(page), moment).toEqual([])
        if (shots !== undefined)
          await page.screenshot({ path: join(shots, `${moment}-${look.size}-${look.colorScheme}.png`) })
      }
      // a key of a telephone begins a line
      const tell = async (text: string): Promise<void> => {
        if (look.size === 'wide') return await write(page, text)
        await message(page).fill(text)
        await page.getByRole('button', { name: 'Send' }).tap()
      }
      await checked('1-start')
      await tell('Which of these two is the better name for a shop?')
      await said(page, 'You said: Which')
      await tell('be hostile')
      await said(page, HOSTILE)
      await page.locator('#attach').setInputFiles([
        {
          name: 'a rather long name of a picture from the holidays.jpeg',
          mimeType: 'image/jpeg',
          buffer: Buffer.alloc(3 * MIB),
        },
      ])
      await checked('2-talk')
      await page.getByRole('button', { name: /^Remove/ }).press('Enter')
      await tell('nothing more')
      await page.getByRole('button', { name: 'Agree and end' }).waitFor()
      await checked('3-asked')
      await page.getByRole('button', { name: 'Agree and end' }).press('Enter')
      await page.getByRole('heading', { name: 'Both sides' }).waitFor()
      await checked('4-over')
      await context.close()
    },
  )
})
