// project: programs

/** The page that verifies, in a real browser without a network: what it says of vectors, and how it looks. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromHex, toBase64, toBase64url } from '../protocol/encoding/bytes.ts'
import { verifyPage } from '../scripts/verify-page.ts'
import { measure, noBrowser, type PageSize, pageSizes, startBrowser } from './browser.ts'

const CONTRAST_MIN = 4.5
const skipped = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const fixture = <T>(path: string): T =>
  JSON.parse(readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8')) as T
const chains = fixture<{
  cases: { reason: string; file: string; heads: string[]; verdict: string; fault?: object }[]
}>('evidence/exports.json').cases
const receipts = fixture<{
  providerKel: string
  valid: { reason: string; receipt: string }[]
  invalid: { reason: string; fault: string; receipt: string }[]
}>('receipt/receipts.json')

type HostileCase = {
  reason: string
  receipt: string
  kel: string
  kels?: string[]
  before?: { attestation: string; hubKel: string }[]
  attestation?: string
  hubKel?: string
  named?: string[]
  verdict: string
}
type HostileChain = { reason: string; file: string; kels: string[]; verdict: string }
const { cases: hostile, chains: hostileChains } = fixture<{ cases: HostileCase[]; chains: HostileChain[] }>(
  'judge/hostile.json',
)

describe.skipIf(noBrowser !== undefined)(`the page that verifies, in a browser${skipped}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-page-'))
  const path = join(folder, 'verify.html')
  let browser: Browser

  beforeAll(async () => {
    writeFileSync(path, await verifyPage('0.3.0'))
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  /** The page with what it asked for and what went wrong on it; there is no network. */
  async function open(options: Parameters<Browser['newPage']>[0] = {}) {
    const page = await browser.newPage({ offline: true, ...options })
    const asked: string[] = []
    const wrong: string[] = []
    page.on('request', one => asked.push(one.url()))
    page.on('console', one => wrong.push(one.text()))
    page.on('pageerror', error => wrong.push(error.message))
    await page.goto(`file://${path}`)
    return { page, asked, wrong }
  }

  type Given = { name: string; text: string | Uint8Array }
  async function give(page: Page, ...given: Given[]): Promise<void> {
    const files = given.map(({ name, text }) => ({
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(text),
    }))
    await page.locator('#files').setInputFiles(files)
    await page.waitForFunction(() =>
      /checked|hold|Read;/.test(document.getElementById('status')?.textContent ?? ''),
    )
  }
  const words = (page: Page) => page.locator('.card .word').allTextContents()

  test('agrees with every vector of chains, with the heads that others hold', async () => {
    const { page, asked, wrong } = await open()
    for (const { reason, file, heads, verdict } of chains) {
      await page.getByRole('button', { name: 'Clear' }).click()
      const held = heads.map((head, i) => ({ name: `head ${i}`, text: toBase64(fromHex(head)) }))
      await give(page, { name: 'chain.txt', text: file }, ...held)
      expect(await words(page), reason).toContain(verdict)
    }
    expect(asked).toEqual([`file://${path}`])
    expect(wrong).toEqual([])
    await page.close()
  })

  test('agrees with every vector of receipts, in base64 and base64url', async () => {
    const { page } = await open()
    const kel = { name: 'kel', text: toBase64(fromHex(receipts.providerKel)) }
    for (const { reason, receipt } of receipts.valid) {
      await page.getByRole('button', { name: 'Clear' }).click()
      await give(page, kel, { name: 'receipt', text: toBase64url(fromHex(receipt)) })
      expect((await words(page))[0], reason).toMatch(/^valid|^invalid/)
    }
    for (const { reason, fault, receipt } of receipts.invalid) {
      await page.getByRole('button', { name: 'Clear' }).click()
      await give(page, kel, { name: 'receipt', text: toBase64(fromHex(receipt)) })
      const [word] = (await words(page)).filter(one => one !== 'read')
      expect(word, reason).toMatch(fault === 'signature' ? /^(invalid|not checked)$/ : /^no match$/)
    }
    await page.close()
  })

  test('takes the whole reply of a command, dropped or pasted, and says what is missing', async () => {
    const { page } = await open()
    const receipt = toBase64(fromHex(receipts.valid[0]?.receipt ?? ''))
    await give(page, { name: 'verdict.json', text: JSON.stringify({ verdict: 'valid', receipt }) })
    expect(await words(page)).toEqual(['not checked', 'read'])
    await page.getByLabel('Or paste').fill(JSON.stringify({ kel: toBase64(fromHex(receipts.providerKel)) }))
    await page.getByRole('button', { name: 'Check the text' }).click()
    await page.waitForFunction(() => document.querySelector('.word')?.textContent !== 'not checked')
    expect((await words(page))[0]).toMatch(/^valid/)
    await give(page, { name: 'result.json', text: '{"attachments":[],"text":"not it"}' })
    expect(await words(page)).toContain('no match')
    await page.close()
  })

  test.each(hostile)('goes by no forgery: $reason', async vector => {
    const { page } = await open()
    await page.getByLabel('Hubs that you trust').fill((vector.named ?? []).join(' '))
    const file = (name: string, hex: string | undefined) =>
      hex === undefined ? [] : [{ name, text: toBase64(fromHex(hex)) }]
    await give(
      page,
      ...file('receipt', vector.receipt),
      ...file('kel', vector.kel),
      ...(vector.kels ?? []).flatMap(kel => file('another kel', kel)),
      ...(vector.before ?? []).flatMap(one => [
        ...file('a word before', one.attestation),
        ...file('its hub', one.hubKel),
      ]),
      ...file('attestation', vector.attestation),
      ...file('hub', vector.hubKel),
      { name: 'result.txt', text: 'result' },
    )
    const card = page.locator('.card', { hasText: 'Receipt' }).first()
    expect(await card.locator('.word').textContent()).toBe(
      vector.verdict === 'valid_retired_key' ? 'valid, key since retired' : vector.verdict,
    )
    expect(await page.locator('.card.good').count()).toBe(vector.verdict === 'valid_retired_key' ? 2 : 1)
    if (vector.verdict === 'open') expect(await card.textContent()).toMatch(/only if you trust \S{20}/)
    if (vector.kels !== undefined) expect(await words(page)).toContain('contradiction')
    await page.close()
  })

  test.each(hostileChains)('a chain is held against other histories of its owner: $reason', async vector => {
    const { page } = await open()
    await give(
      page,
      { name: 'chain.txt', text: vector.file },
      ...vector.kels.map(kel => ({ name: 'kel', text: toBase64(fromHex(kel)) })),
    )
    const card = page.locator('.card', { hasText: 'Chain: chain.txt' })
    expect(await card.locator('.word').textContent()).toBe(vector.verdict)
    const isChecked = vector.verdict === 'valid'
    expect(await page.locator('.card.good').count()).toBe(isChecked ? 1 : 0)
    expect((await words(page)).includes('contradiction')).toBe(!isChecked)
    const said = await page.locator('#status').textContent()
    expect(said).toBe(isChecked ? 'One thing checked.' : '2 were not checked.')
    await page.close()
  })

  test('a hub that is named afterwards counts at once', async () => {
    const { page } = await open()
    const vector = hostile.find(({ verdict }) => verdict === 'valid_retired_key')
    const said = { receipt: vector?.receipt, kel: vector?.kel, attestation: vector?.attestation }
    const text = JSON.stringify(
      Object.fromEntries(Object.entries(said).map(([k, v]) => [k, toBase64(fromHex(v ?? ''))])),
    )
    await give(
      page,
      { name: 'verdict.json', text },
      { name: 'hub', text: toBase64(fromHex(vector?.hubKel ?? '')) },
    )
    expect((await words(page))[0]).toBe('open')
    await page.getByLabel('Hubs that you trust').fill(vector?.named?.[0] ?? '')
    await page.getByLabel('Hubs that you trust').blur()
    await expect.poll(async () => (await words(page))[0]).toBe('valid, key since retired')
    await page.close()
  })

  const [first] = receipts.valid
  const kel = toBase64(fromHex(receipts.providerKel))
  const receipt = toBase64(fromHex(first?.receipt ?? ''))
  test.each([
    ['a key history', { kel }],
    ['another receipt', { receipt }],
    ['a member named constructor', { constructor: 'AAAA' }],
    ['a member named __proto__', JSON.parse('{"__proto__":"AAAA","toString":"AAAA"}')],
  ])('an altered result that also holds %s has a card of its own, never a green one', async (_, more) => {
    const { page, wrong } = await open()
    const altered = JSON.stringify({ text: 'not it', ...more })
    await give(
      page,
      { name: 'kel', text: kel },
      { name: 'receipt', text: receipt },
      { name: 'result.json', text: altered },
    )
    const card = page.locator('.card', { hasText: 'result.json' })
    expect(await card.count()).toBe(1)
    expect(await card.getAttribute('class')).not.toContain('good')
    expect(await card.textContent()).toMatch(/neither request nor result|No receipt here names this file/)
    expect(wrong).toEqual([])
    await page.close()
  })

  test('what was not checked is not counted as checked', async () => {
    const { page } = await open()
    await give(page, { name: 'receipt', text: receipt })
    expect(await page.locator('#status').textContent()).toBe('One was not checked.')
    await give(page, { name: 'kel', text: kel })
    expect(await page.locator('#status').textContent()).toBe('One thing checked.')
    const broken = JSON.stringify({ receipt: 'AAAA' })
    await page.getByLabel('Or paste').fill(broken)
    await page.getByRole('button', { name: 'Check the text' }).click()
    await page.locator('.card', { hasText: 'unreadable' }).waitFor()
    expect(await page.locator('#status').textContent()).toBe('One thing checked, one was not checked.')
    await page.close()
  })

  test('files within its limit never hold it up', async () => {
    const { page, wrong } = await open()
    await page.evaluate(() => {
      const seen = { at: performance.now(), longest: 0, since: performance.now() }
      Object.assign(globalThis, { seen })
      setInterval(() => {
        seen.longest = Math.max(seen.longest, performance.now() - seen.at)
        seen.at = performance.now()
      }, 10)
    })
    const many = JSON.stringify(Array.from({ length: 5_000 }, () => ({ receipt })))
    const [start] = chains[0]?.file.split('\n') ?? []
    const given: [string, string | Uint8Array][] = [
      ['large.bin', new Uint8Array(200 * 1024 * 1024).fill(7)],
      ['many.json', many],
      ['long line.txt', `${start}\n${'x'.repeat(64 * 1024 * 1024)}`],
      ['all of it.json', `[${'{"a":1},'.repeat(12 * 1024 * 1024)}1]`],
    ]
    const paths = given.map(([name]) => join(folder, name))
    for (const [n, [, text]] of given.entries()) writeFileSync(paths[n] ?? '', text)
    await page.locator('#files').setInputFiles(paths)
    await page.waitForFunction(
      () => /checked|hold|Read;/.test(document.getElementById('status')?.textContent ?? ''),
      undefined,
      { timeout: 300_000 },
    )
    const { longest, took } = await page.evaluate(() => {
      const { seen } = globalThis as unknown as { seen: { longest: number; since: number } }
      return { longest: seen.longest, took: performance.now() - seen.since }
    })
    // a share of the whole, which says the same on a slow machine
    expect(longest).toBeLessThan(took / 4)
    expect(await page.locator('.card').count()).toBeLessThanOrEqual(401)
    expect(await page.locator('.card', { hasText: 'more than 256 things' }).count()).toBe(1)
    expect(wrong).toEqual([])
    await page.close()
  })

  test('a hostile file is text on the page, whatever it holds', async () => {
    const { page, wrong } = await open()
    const name = '<img src=x onerror="document.title=1">.json'
    await give(page, { name, text: JSON.stringify({ receipt: 'AAAA', kel: '<b>' }) })
    await give(page, { name: '\u202etxt.exe', text: new Uint8Array([0xff, 0xfe, 0]) })
    expect(await page.title()).toBe('Verify evidence of svc')
    expect(await page.locator('.card img, .card b').count()).toBe(0)
    const titles = (await page.locator('.card h2').allTextContents()).join('\n')
    expect(titles).toContain('<img src=x')
    expect(titles).toContain('\\u{202e}txt.exe')
    expect(wrong).toEqual([])
    await page.close()
  })

  test('can connect to nothing and run nothing else, where the same page without its policy does', async () => {
    let asked = 0
    const server = createServer((_, response) => {
      asked += 1
      response.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const tried = async (file: string) => {
      asked = 0
      const page = await browser.newPage()
      await page.goto(`file://${file}`)
      const title = await page.evaluate(leak, `http://127.0.0.1:${port}/`)
      await page.close()
      return { asked, title }
    }
    expect(await tried(path)).toEqual({ asked: 0, title: 'Verify evidence of svc' })
    const open = join(folder, 'without-policy.html')
    writeFileSync(open, readFileSync(path, 'utf8').replace(/<meta http-equiv="Content-Security[^>]*>/, ''))
    expect(await tried(open)).toEqual({ asked: 4, title: 'ran' })
    server.close()
  })

  const looks = (Object.keys(pageSizes) as PageSize[]).flatMap(size =>
    (['light', 'dark'] as const).map(colorScheme => ({ size, colorScheme })),
  )
  test.each(looks)('fits a $size window in $colorScheme, and every text can be read', async look => {
    const { page } = await open({ viewport: pageSizes[look.size], colorScheme: look.colorScheme })
    const cut = chains.find(({ verdict }) => verdict === 'cut')
    await give(
      page,
      { name: 'chain.txt', text: chains[0]?.file ?? '' },
      { name: 'cut chain.txt', text: cut?.file ?? '' },
      { name: 'kel', text: toBase64(fromHex(receipts.providerKel)) },
      { name: 'receipt', text: toBase64(fromHex(receipts.valid[0]?.receipt ?? '')) },
      { name: 'averyverylongname'.repeat(9), text: 'x' },
    )
    if (process.env['SVC_CAPTURES'] !== undefined)
      await page.screenshot({
        path: join(process.env['SVC_CAPTURES'], `verify-${look.size}-${look.colorScheme}.png`),
        fullPage: true,
      })
    const seen = await page.evaluate(measure)
    expect(seen.scrollWidth).toBeLessThanOrEqual(pageSizes[look.size].width)
    expect(seen.outside).toEqual([])
    expect(seen.faintest.contrast, seen.faintest.text).toBeGreaterThanOrEqual(CONTRAST_MIN)
    await page.close()
  })

  test('is used with the keyboard alone', async () => {
    const { page } = await open()
    const reached: string[] = []
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate(() => document.activeElement?.id ?? ''))
    }
    expect(reached.slice(0, 4)).toEqual(['files', 'paste', 'hubs', 'check'])
    await page.close()
  })
})

/** Runs in the page: everything that a script could send, and another script; the title tells whether that one ran. */
async function leak(url: string): Promise<string> {
  const arrived = (element: HTMLElement) =>
    new Promise(resolve => {
      for (const end of ['load', 'error']) element.addEventListener(end, resolve)
      setTimeout(resolve, 1000)
      document.body.append(element)
    })
  await fetch(url, { mode: 'no-cors' }).catch(() => {})
  navigator.sendBeacon(`${url}beacon`)
  await arrived(Object.assign(new Image(), { src: `${url}image` }))
  await arrived(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: `${url}style` }))
  try {
    const script = document.createElement('script')
    script.text = 'document.title = "ran"'
    document.body.append(script)
  } catch {
    // the policy takes no text for a script
  }
  return document.title
}
