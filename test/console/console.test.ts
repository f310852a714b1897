/** The console in a real browser, over a real node and hub: its stories, strangers' words, lost nodes, and who may open it. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Handlers } from '../../daemon/control/handlers.ts'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { draftsIn } from '../../daemon/home/drafts.ts'
import type { OperationName } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { never, stateOf, thread, until } from '../two-nodes/world.ts'
import { HOSTILE, liveALittle, type Opened, openConsole, openWorld, type World } from './world.ts'

const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`the console in a browser${skipped}`, () => {
  let world: World
  let browser: Browser
  let lived: { stranger: string; hostile: string }

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([openWorld(), startBrowser()])
    lived = await liveALittle(world)
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  const open = (place = '', options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> =>
    openConsole(browser, `${world.url}${place}`, options)
  const rows = (page: Page) => page.locator('.rows .row')
  const heading = (page: Page) => page.locator('#list-title')

  /** The node answers an operation otherwise, until this ends. */
  function answering<N extends OperationName>(name: N, answer: Handlers[N]): Disposable {
    const { handlers } = world.alice
    const real = handlers[name]
    handlers[name] = answer
    return {
      [Symbol.dispose]: () => {
        handlers[name] = real
      },
    }
  }

  test('comes up with a session, and neither its key nor the token stands in an address or a storage', async () => {
    const { page, context, wrong, asked } = await open()
    const said: string[] = []
    page.on('request', one => said.push(JSON.stringify([one.url(), one.headers(), one.postData()])))
    await page.reload()
    await rows(page).first().waitFor()
    const token = readFileSync(`${world.lab.folder}/alice/control_token.txt`, 'utf8').trim()
    const kept = await page.evaluate(() =>
      JSON.stringify([
        location.href,
        document.documentElement.outerHTML,
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        performance.getEntries().map(entry => entry.name),
      ]),
    )
    expect(kept).not.toContain(token)
    expect(said.some(one => one.includes('/console/call'))).toBe(true)
    expect(said.filter(one => one.includes(token) || /bearer/i.test(one))).toEqual([])
    expect(await context.cookies()).toEqual([])
    expect([wrong, asked]).toEqual([[], []])
    await context.close()
  })

  test('takes no text for a script or for HTML', async () => {
    const { page, context, wrong } = await open()
    await rows(page).first().waitFor()
    const ran = await page.evaluate(() => {
      const tries = [
        () => {
          document.body.insertAdjacentHTML('beforeend', '<img src=x>')
        },
        () => {
          const script = document.createElement('script')
          script.text = 'document.title = "ran"'
          document.body.append(script)
        },
        () => {
          document.createElement('iframe').srcdoc = '<p>'
        },
      ]
      return tries.map(one => {
        try {
          one()
          return 'done'
        } catch (error) {
          return (error as Error).name
        }
      })
    })
    expect(ran).toEqual(['TypeError', 'TypeError', 'TypeError'])
    expect(await page.title()).not.toBe('ran')
    expect(wrong.length).toBeGreaterThan(0)
    await context.close()
  })

  test('a task is delegated, answered, ended by both and rated, as it happens', async () => {
    const { alice, bob } = world
    const { page, context, wrong } = await open('#/agents')
    await page.getByLabel('Search the directory').fill('summarises')
    await page.getByRole('button', { name: 'Search' }).click()
    await rows(page).filter({ hasText: 'bob' }).click()
    await page.getByLabel('Task', { exact: true }).fill('How many words has "to be or not to be"?')
    await page.getByRole('button', { name: 'Hand it over' }).click()
    await page.getByRole('heading', { name: 'Task for bob' }).waitFor()
    const id = decodeURIComponent(new URL(page.url()).hash.split('/')[2] ?? '')
    await until('bob has it', async () =>
      (await bob.handlers.inbox({}, never)).items.some(item => item.interaction_id === id),
    )

    await bob.handlers.message({ interaction_id: id, text: 'Six.' }, never)
    await page.locator('.turn .words', { hasText: 'Six.' }).waitFor()
    await page.getByText("delivered: bob's node confirmed it").first().waitFor()
    await page.getByLabel('Write to bob').fill('Thank you')
    await page.keyboard.press('Control+Enter')
    await page.locator('.turn.mine .words', { hasText: 'Thank you' }).waitFor()
    await until('bob reads it', async () =>
      (await thread(bob, id)).turns.some(({ text }) => text === 'Thank you'),
    )
    expect(await page.getByLabel('Write to bob').inputValue()).toBe('')

    await page.getByRole('button', { name: 'Propose to end' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Propose to end' }).click()
    await until('the end is proposed', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await page.getByText('Receipt verified, signed by bob').waitFor()
    await page.getByRole('button', { name: 'Verify' }).first().click()
    await page.locator('.verdict').waitFor()

    await page.getByRole('button', { name: 'Rate' }).click()
    await page.getByRole('radio', { name: '4' }).check()
    await page.getByLabel('Comment, which everybody can read').fill('quick')
    await page.getByRole('button', { name: 'Rate 4 of 5' }).click()
    await page.getByText(/^4 of 5/).waitFor()
    await until('it is kept', async () =>
      (await alice.handlers.results({}, never)).items.some(
        item => item.interaction_id === id && item.rating === 4,
      ),
    )
    expect(wrong).toEqual([])
    await context.close()
  })

  test("a stranger's task is taken after a question whose yes is not the key that asked", async () => {
    const { page, context } = await open(`#/inbox/${lived.stranger}`)
    await page.getByText(/is a stranger to you/).waitFor()
    expect(await page.getByLabel(/^Write to/).count()).toBe(0)
    await page.locator('#main').focus()
    await page.keyboard.press('a')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Please look over the terms').waitFor()
    for (const key of ['Enter', 'a', 'Space']) await page.keyboard.press(key)
    expect(await stateOf(world.alice, lived.stranger)).toBe('pending')
    await page.keyboard.press('y')
    await dialog.waitFor({ state: 'detached' })
    await until('it is taken', async () => (await stateOf(world.alice, lived.stranger)) === 'open')
    await page.getByLabel(/^Write to/).waitFor()
    await context.close()
  })

  test('a payment is shown with payee, amount, hub, purpose and what is left, before it is made', async () => {
    const { page, context } = await open('#/sent')
    await page.getByLabel('Waits for me').check()
    await rows(page).filter({ hasText: 'asks 5 cr' }).click()
    await page.getByRole('button', { name: 'Look at the payment' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Pay 5 credits to bob?' }).waitFor()
    await dialog.getByText('95 after it').waitFor()
    await dialog.getByText('Today').waitFor()
    const told = (await dialog.textContent()) ?? ''
    for (const words of [
      'Payeebob',
      world.bob.aid,
      'Amount5 credits',
      `Hub${world.lab.line.url}`,
      'Forweather.now',
      'Today',
    ])
      expect(told).toContain(words)
    await dialog.getByRole('button', { name: 'No' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await world.alice.handlers.balance({}, never)).balance).toBe(100)
    await page.getByRole('button', { name: 'Look at the payment' }).click()
    await dialog.getByRole('button', { name: 'Pay', exact: true }).click()
    await until('it is paid', async () => (await world.alice.handlers.balance({}, never)).balance === 95)
    await context.close()
  })

  test('words of a stranger are text wherever they stand, and hide, move or forge nothing', async () => {
    const { page, context, wrong, asked } = await open(`#/inbox/${lived.hostile}`)
    await page.locator('.turn .words').first().waitFor()
    const words = await page.locator('.turn .words').first().textContent()
    expect(words).toContain(`<img src=x onerror="document.title='ran'">`)
    const whole = await page.locator('#app').evaluate(body => body.textContent ?? '')
    expect(HOSTILE).toMatch(/\u202e/)
    expect(whole).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
    expect(await page.locator('#app img, #app script, #app iframe, #app a[href^="javascript"]').count()).toBe(
      0,
    )
    expect(await page.title()).toMatch(/To me · svc$/)
    // the row is as long as others: forged lines stay in one
    expect(await page.locator(`[data-row="${lived.hostile}"] .row-text`).textContent()).not.toContain('\n')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Save .*html/ }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/html$/)
    await page.keyboard.press('3')
    await page.locator('.row-text', { hasText: '<img src=x' }).waitFor()
    await page.locator('.row-text', { hasText: '<img src=x' }).click()
    await page.getByRole('option', { name: '<b>bold' }).waitFor({ state: 'attached' })
    expect(await page.locator('#app img, #app b, #app script').count()).toBe(0)
    expect(await page.title()).toMatch(/Agents · svc$/)
    expect([wrong, asked]).toEqual([[], []])
    await context.close()
  })

  test('a file is saved under its name by a link that expires, and is never shown', async () => {
    const { page, context } = await open('#/sent')
    await rows(page).filter({ hasText: 'Three findings' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save report.md' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('report.md')
    expect(readFileSync(await download.path(), 'utf8')).toContain('Three findings.')
    const expires = Number(new URL(download.url()).searchParams.get('exp'))
    expect(expires - world.lab.hub.clock.now()).toBeLessThanOrEqual(10 * 60_000)
    await context.close()
  })

  test('new mail is counted in the live region, without a word of it', async () => {
    const { page, context } = await open('#/node')
    const status = page.getByRole('status').last()
    await heading(page).getByText('Node').waitFor()
    const before = (await world.alice.handlers.status(undefined, never)).counts.unread
    await world.bob.handlers.delegate({ to: 'alice', task: 'read me not' }, never)
    await expect.poll(() => status.textContent()).toBe(`${before + 1} unread`)
    await context.close()
  })

  test('a draft stays while other screens are looked at, and leaving before the node has it asks', async () => {
    const { page, context } = await open('#/inbox')
    using _away = answering('draftKeep', () => Promise.reject(new Error('not kept')))
    await rows(page).filter({ hasText: 'licences' }).click()
    await page.getByLabel('Write to bob').fill('half a thought')
    await page.getByRole('link', { name: /^Evidence/ }).click()
    await heading(page).getByText('Evidence').waitFor()
    await page.goBack()
    expect(await page.getByLabel('Write to bob').inputValue()).toBe('half a thought')
    const asked = page.waitForEvent('dialog')
    const leaving = page.close({ runBeforeUnload: true })
    await (await asked).accept()
    await leaving
    await context.close()
  })

  test('is used with the keyboard alone, by the keys of the terminal, which can be switched off', async () => {
    const { page, context } = await open()
    await rows(page).first().waitFor()
    const at = () => page.evaluate(() => (document.activeElement as HTMLElement)?.dataset['row'])
    await page.keyboard.press('j')
    const first = await at()
    await page.keyboard.press('j')
    expect([first, await at()]).toEqual([
      await rows(page).nth(0).getAttribute('data-row'),
      await rows(page).nth(1).getAttribute('data-row'),
    ])
    await page.keyboard.press('G')
    expect(await at()).toBe(await rows(page).last().getAttribute('data-row'))
    await page.keyboard.press('g')
    await page.keyboard.press('Enter')
    await page.locator('.detail.thread').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.detail.thread').waitFor({ state: 'detached' })
    for (const [key, title] of [
      ['3', 'Agents'],
      ['4', 'Evidence'],
      ['5', 'Node'],
      ['2', 'From me'],
    ] as const) {
      await page.keyboard.press(key)
      await heading(page).getByText(title, { exact: true }).waitFor()
    }
    await page.keyboard.press('/')
    await page.keyboard.type('2 README')
    expect(await page.getByRole('searchbox').inputValue()).toBe('2 README')
    expect(await heading(page).textContent()).toBe('From me')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys of this screen' })
    await help.waitFor()
    // the page lists what it does, in the words of the one table, and nothing else
    expect(await help.textContent()).toContain('only what waits for you')
    expect(await help.textContent()).not.toMatch(/quit|any command of svc/)
    await page.getByLabel('Keys of one letter are on').uncheck()
    await page.keyboard.press('Escape')
    await expect.poll(() => world.alice.ctx.settings.current.console_keys).toBe(false)
    await page.keyboard.press('1')
    expect(await heading(page).textContent()).toBe('From me')
    await context.close()
    // the node remembers it, for every browser
    const other = await open('#/sent')
    await other.page.getByText('online', { exact: true }).waitFor()
    await other.page.keyboard.press('1')
    expect(await heading(other.page).textContent()).toBe('From me')
    await other.context.close()
    await world.alice.handlers.consoleSet({ keys: true }, never)
  })

  test('the selection and the focus stay on their row when mail comes above it', async () => {
    const { page, context } = await open()
    await rows(page).first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const at = () => page.evaluate(() => (document.activeElement as HTMLElement)?.dataset['row'])
    const before = await at()
    const { interaction_id: id } = await world.bob.handlers.delegate(
      { to: 'alice', task: 'something new' },
      never,
    )
    await expect.poll(() => rows(page).first().getAttribute('data-row')).toBe(id)
    expect(await at()).toBe(before)
    await context.close()
  })

  test('focus comes to the question of a dialog, and back to where it was asked from', async () => {
    const { page, context } = await open('#/node')
    const button = page.getByRole('button', { name: 'Take no more tasks' })
    await button.click()
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('dialog-title')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe('Take no more tasks')
    await context.close()
  })

  test('what the node refuses is said where it was asked, and the words stay', async () => {
    const { page, context } = await open('#/inbox')
    await rows(page).filter({ hasText: 'licences' }).click()
    await page.getByLabel('Write to bob').fill('see the file')
    await page.getByText('Attach files').click()
    await page.getByLabel('Files of the machine of the node').fill('/nowhere/at-all.txt')
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .getByRole('alert')
      .getByText(/Not sent:.*at-all\.txt/)
      .waitFor()
    expect(await page.getByLabel('Write to bob').inputValue()).toBe('see the file')
    await page.getByLabel('Write to bob').fill('')
    await page.getByLabel('Files of the machine of the node').fill('')
    await until('no draft is kept', () => draftsIn(`${world.lab.folder}/alice`).names().length === 0)
    await context.close()
  })

  const faces: [string, (status: NodeStatus) => object, string][] = [
    ['a quarantined chain', status => ({ chain: { ...status.chain, state: 'QUARANTINED' } }), 'QUARANTINED'],
    ['a node of another build', () => ({ build: 'other' }), 'the node runs another build'],
    ['an older copy', () => ({ old_copy: true }), 'a newer copy of this node was seen'],
    ['an identity that has ended', () => ({ deactivated: true }), 'this identity has ended'],
    ['mail that is not sealed', status => ({ hub: { ...status.hub, sealed: false } }), 'NOT sealed'],
    [
      'a hub of another wire',
      status => ({
        hub: { ...status.hub, state: 'stopped', reason: 'the hub speaks wire 4' },
      }),
      'the hub speaks wire 4',
    ],
    [
      'a hub that keeps this node out',
      status => ({ hub: { ...status.hub, kept_out: true } }),
      'has not let you in',
    ],
  ]
  test.each(faces)('%s has a face', async (_, change, words) => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const status = await world.alice.handlers.status(undefined, never)
    using _changed = answering('status', async () => ({ ...status, ...change(status) }))
    await page.goto(world.url)
    await page.locator('.banner').getByText(new RegExp(words, 'i')).first().waitFor()
    await context.close()
  })

  test('a list that is still asked for says so, and one that the node refuses says why', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const asked = Promise.withResolvers<void>()
    const held = Promise.withResolvers<never>()
    using _changed = answering('inbox', () => {
      asked.resolve()
      return held.promise
    })
    await page.goto(world.url)
    await page.locator('.face.loading').waitFor()
    // a page says that it loads before it has asked, and a promise that nobody waits for ends the tests
    await asked.promise
    held.reject(new OperationRefused('disk_full', 'no room on the disk', 'free some'))
    await page.locator('.face.refused').getByText('No room on the disk').waitFor()
    await context.close()
  })

  test('eight tabs share one stream; when the tab that reads it goes, another one does', async () => {
    const context = await browser.newContext()
    let streams = 0
    const { events } = world.alice.ctx
    const listen = events.listen.bind(events)
    events.listen = listener => {
      streams += 1
      return listen(listener)
    }
    const page = await context.newPage()
    await page.goto(world.url)
    await rows(page).first().waitFor()
    await until('the first tab reads the stream', () => streams === 1)
    const tabs: Page[] = []
    for (let n = 0; n < 7; n++) {
      const tab = await context.newPage()
      await tab.goto(page.url())
      await rows(tab).first().waitFor()
      tabs.push(tab)
    }
    expect(streams).toBe(1)
    const told = async (words: string) => {
      await world.bob.handlers.delegate({ to: 'alice', task: words }, never)
      for (const tab of tabs) await rows(tab).filter({ hasText: words }).waitFor()
    }
    await told('to every tab at once')
    await page.close()
    await until('another one reads', () => streams === 2)
    await told('to every tab that is left')
    events.listen = listen
    await context.close()
  })

  test('what may be out of date is said', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.clock.install()
    await page.goto(world.url)
    await rows(page).first().waitFor()
    // an answer that is on its way just then is heard after it, so what is said may stand for a moment alone
    await page.evaluate(() => {
      const look = () => {
        const said = document.querySelector('.banner')?.textContent ?? ''
        if (said.includes('may be out of date')) document.documentElement.dataset['said'] = 'yes'
      }
      new MutationObserver(look).observe(document.body, {
        ...{ subtree: true, childList: true, characterData: true },
      })
    })
    // one leap at a time: after two of them the page takes its connection for lost
    await expect
      .poll(
        async () => {
          await page.clock.fastForward(42_000)
          return page.locator('html').getAttribute('data-said')
        },
        { interval: 2500, timeout: 60_000 },
      )
      .toBe('yes')
    await context.close()
  })

  test('a hub that is gone is said, with what waits, and found again', async () => {
    const { page, context } = await open('#/inbox')
    await rows(page).first().waitFor()
    await world.lab.line.down()
    await page
      .locator('.banner')
      .getByText(/hub not reached/i)
      .waitFor()
    await rows(page).filter({ hasText: 'licences' }).click()
    await page.getByLabel('Write to bob').fill('later then')
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .locator('.turn.mine')
      .getByText(/waits on this machine/)
      .waitFor()
    await page
      .locator('.banner')
      .getByText(/waits? on this machine/)
      .waitFor()
    await world.lab.line.up()
    await page
      .locator('.banner')
      .getByText(/hub not reached/i)
      .waitFor({ state: 'detached' })
    await page
      .locator('.turn.mine', { hasText: 'later then' })
      .getByText(/confirmed it/)
      .waitFor()
    await context.close()
  })

  test('a node that is gone is said, and found again without a reload; who takes its port is told nothing', async () => {
    const { lab, alice } = world
    await world.bob.handlers.delegate({ to: 'alice', task: 'send me the file' }, never)
    const { page, context } = await open('#/inbox')
    await rows(page).filter({ hasText: 'send me the file' }).click()
    await page.getByText('Attach files').click()
    const dir = `${lab.folder}/alice`
    writeConfig(dir, { ...readConfig(dir), control_addr: alice.controlAddress })
    await alice.stop()
    await page
      .locator('.banner.bad')
      .getByText(/the node (does not answer|was stopped)/i)
      .waitFor()
    expect(await rows(page).count()).toBeGreaterThan(0)
    const squatter = await takePort(alice.controlAddress)
    await until('the page asked for its proof, again and again', () => squatter.asked.length > 1)
    // a file that is chosen now goes nowhere either
    await page.getByLabel(/Files from this browser/).setInputFiles({
      name: 'secret.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('not for a stranger'),
    })
    await page
      .getByText(/another program answers at/i)
      .first()
      .waitFor({ state: 'attached' })
    expect(squatter.asked.join('\n')).not.toMatch(/stranger|interaction|authorization|\/upload|\/inbox/)
    await squatter.close()
    await page.getByText('node lost').or(page.getByText('node stopped')).first().waitFor()
    world.alice = await lab.start('alice')
    await page.locator('.banner.bad').waitFor({ state: 'detached' })
    await page.getByText('online', { exact: true }).waitFor()
    await world.bob.handlers.delegate({ to: 'alice', task: 'after the restart' }, never)
    await rows(page).filter({ hasText: 'after the restart' }).waitFor()
    await context.close()
  })
})

/** Another program at the port of a node that was stopped: what it is asked, and whether a token came along. */
async function takePort(address: string) {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    asked.push(`${request.url} ${JSON.stringify(request.headers)} ${Buffer.concat(parts).toString('latin1')}`)
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ ok: true, proof: 'f'.repeat(64) }))
  })
  const [host, port] = address.split(':')
  await new Promise<void>(resolve => server.listen(Number(port), host, resolve))
  return {
    asked,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
