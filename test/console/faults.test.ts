/** What a person sees in the console while something breaks under it: a hub that goes away over a payment, a clock that jumps. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../hub/core/limits.ts'
import { hasSmallDisks } from '../../protocol/testing/small-disk.ts'
import { noBrowser, startBrowser } from '../browser.ts'
import { delegated, never, thread, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const MB = 1024 * 1024
const mount = (folder: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512k,mode=0700', 'tmpfs', folder])
const unmount = (folder: string) => spawnSync('umount', ['-l', folder])

const YEAR_MS = 365 * 24 * HOUR_MS
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`faults under an open page${skipped}`, () => {
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
  const main = (page: Page) => page.locator('#main')
  const balance = async () => (await world.alice.handlers.balance({}, never)).balance

  test('a hub that goes away over a payment: the page says that it waits, and it is paid once', async () => {
    const { alice, lab } = world
    const before = await balance()
    const quoted = await alice.handlers.delegate(
      { to: 'bob', capability: 'weather.now', pay_as: 'agent', wait_s: 20 },
      never,
    )
    const { page, context, wrong } = await open(`#/sent/${quoted.interaction_id}`)
    await page.getByRole('button', { name: 'Look at the payment' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: /^Pay 5 credits/ }).waitFor()
    await lab.line.down()
    await dialog.getByRole('button', { name: 'Pay', exact: true }).click()
    await page
      .locator('.banner')
      .getByText(/hub not reached/i)
      .waitFor()
    await page.getByRole('button', { name: 'Look at the payment' }).waitFor({ state: 'detached' })
    await page
      .getByText(/the payment (stands|goes) with task/)
      .first()
      .waitFor()
    await lab.line.up()
    await until('it is paid', async () => (await balance().catch(() => before)) === before - 5)
    await main(page)
      .getByText(/celsius/)
      .first()
      .waitFor()
    expect([await balance(), wrong]).toEqual([before - 5, []])
    await context.close()
  })

  test('a clock that jumps by a year and back: the page goes on, and what is written then is sent once', async () => {
    const { alice, bob } = world
    const id = await delegated(bob, alice, 'over a jump of the clock')
    const { page, context, wrong } = await open(`#/inbox/${id}`)
    await page.getByLabel('Write to bob').fill('before')
    const now = Date.now()
    await page.clock.setSystemTime(now + YEAR_MS)
    await page.getByLabel('Write to bob').fill('in a year')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.turn.mine', { hasText: 'in a year' }).waitFor()
    await page.clock.setSystemTime(now - 48 * HOUR_MS)
    await page.getByLabel('Write to bob').fill('two days before')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.turn.mine', { hasText: 'two days before' }).waitFor()
    const heard = async () => (await thread(bob, id)).turns.filter(turn => !turn.mine).map(turn => turn.text)
    await until('both arrived', async () => (await heard()).length >= 2)
    expect([await heard(), wrong]).toEqual([['in a year', 'two days before'], []])
    await context.close()
  })

  test.skipIf(!hasSmallDisks)(
    'a disk that becomes full under an upload: the file keeps a row with the reason, and goes once there is room',
    async () => {
      const { alice, bob, lab } = world
      const id = await delegated(bob, alice, 'send me a large file')
      const { page, context, wrong } = await open(`#/inbox/${id}`)
      const path = join(lab.folder, 'large.bin')
      writeFileSync(path, Buffer.alloc(2 * MB, 7))
      await page.getByLabel('Write to bob').fill('here it is')
      await page.getByText('Attach files').click()
      const uploads = join(alice.ctx.store.folder, 'uploads')
      expect(existsSync(uploads)).toBe(true)
      mount(uploads)
      try {
        await page.getByLabel(/Files from this browser/).setInputFiles(path)
        await page.getByText(/the disk is full: the file was not taken/).waitFor()
        expect(await page.getByLabel('Write to bob').inputValue()).toBe('here it is')
        expect(readdirSync(uploads)).toEqual([])
      } finally {
        unmount(uploads)
      }
      await page.getByRole('button', { name: 'Try large.bin again' }).click()
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.locator('.turn.mine', { hasText: 'here it is' }).getByText('large.bin').waitFor()
      expect(wrong).toEqual([])
      await context.close()
    },
  )
})
