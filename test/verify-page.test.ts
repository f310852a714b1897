/** The page that verifies, in a real browser without a network: what it says of vectors, and how it looks. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contentId } from '../protocol/crypto/hash.ts'
import { fromHex, toBase64, toBase64url, utf8 } from '../protocol/encoding/bytes.ts'
import { encodeKel, rotate } from '../protocol/identity/kel.ts'
import { GENESIS } from '../protocol/proof/evidence.ts'
import { Attestation, Receipt, receiptDigest } from '../protocol/proof/receipt.ts'
import { agent, NOW_MS } from '../protocol/testing/agents.ts'
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
      /checked|read;/.test(document.getElementById('status')?.textContent ?? ''),
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
      const [word] = await words(page)
      expect(word, reason).toMatch(fault === 'signature' ? /^(invalid|not checked)$/ : /^no match$/)
    }
    await page.close()
  })

  test('takes the whole reply of a command, dropped or pasted, and says what is missing', async () => {
    const { page } = await open()
    const receipt = toBase64(fromHex(receipts.valid[0]?.receipt ?? ''))
    await give(page, { name: 'verdict.json', text: JSON.stringify({ verdict: 'valid', receipt }) })
    expect(await words(page)).toEqual(['not checked'])
    await page.getByLabel('Or paste').fill(JSON.stringify({ kel: toBase64(fromHex(receipts.providerKel)) }))
    await page.getByRole('button', { name: 'Check the text' }).click()
    await page.waitForFunction(() => document.querySelector('.word')?.textContent !== 'not checked')
    expect((await words(page))[0]).toMatch(/^valid/)
    await give(page, { name: 'result.json', text: '{"attachments":[],"text":"not it"}' })
    expect(await words(page)).toContain('no match')
    await page.close()
  })

  test('takes the word of a hub for a receipt whose key was retired since', async () => {
    const [provider, hub] = [agent('provider of the page'), agent('hub of the page')]
    const { aid, identitySeed, nextSeed, log } = provider
    const rotated = rotate(log, { seed: nextSeed, nextSeed: provider.random(32), ts: NOW_MS })
    const receipt = Receipt.sign(identitySeed, {
      v: 1,
      interactionId: provider.random(16),
      provider: aid,
      providerKelSeq: 0,
      requesterCommitment: provider.random(32),
      requestCid: contentId(utf8('request')),
      resultCid: contentId(utf8('result')),
      start: NOW_MS - 2000,
      end: NOW_MS - 1000,
      status: 'UNVERIFIED',
      providerHead: [0, GENESIS],
      cover: [
        [1, []],
        [1, []],
      ],
      transcriptDigest: provider.random(32),
    })
    const attestation = Attestation.sign(hub.identitySeed, {
      receiptDigest: receiptDigest(receipt.bodyBytes),
      reviewHash: hub.random(32),
      hub: hub.aid,
      hubSeq: 0,
      hubTs: NOW_MS - 500,
    })
    const { page } = await open()
    const said = { receipt: toBase64(Receipt.encode(receipt)), kel: toBase64(encodeKel(rotated.events)) }
    await give(page, { name: 'verdict.json', text: JSON.stringify(said) })
    expect(await words(page)).toEqual(['invalid'])
    await give(
      page,
      { name: 'attestation', text: toBase64(Attestation.encode(attestation)) },
      { name: 'hub.json', text: JSON.stringify({ kel: toBase64url(encodeKel(hub.log.events)) }) },
      { name: 'result.txt', text: 'result' },
    )
    await expect.poll(() => words(page)).toEqual(['valid, key since retired', 'matches'])
    expect(await page.locator('.card').first().textContent()).toContain(
      'The result file is the one it names.',
    )
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
    expect(reached.slice(0, 4)).toEqual(['files', 'paste', 'check', 'clear'])
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
