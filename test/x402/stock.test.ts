/**
 * The stock packages of x402 against a real hub: a shop by express and by hono, a customer by fetch, each a process of
 * its own (hub API §4.4). They are installed by `npm ci --prefix test/x402`.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import { registeredAgent, startTestHub, type TestAgent, type TestHub } from '../../hub/testing/hub.ts'
import { balanceOf, grant } from '../../hub/testing/payments.ts'
import { fromBase64url, toHex } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { SettlementReceipt } from '../../protocol/proof/payment.ts'
import { type Lab, openLab } from '../two-nodes/world.ts'

const here = new URL('.', import.meta.url).pathname
const installed = existsSync(`${here}node_modules/@x402/core`)
const run = promisify(execFile)

let hub: TestHub
let shop: TestAgent
const ending: (() => void)[] = []
beforeAll(async () => {
  // the programs sign by the clock of this machine
  hub = await startTestHub({ limits: { trialCredits: 0 } })
  shop = await registeredAgent(hub)
})
afterAll(async () => {
  for (const end of ending) end()
  await hub.close()
})

type Shop = { url: string; served: string[] }
async function open(
  framework: string,
  flow: string | undefined,
  at: { hub: TestHub; shop: TestAgent } = { hub, shop },
): Promise<Shop> {
  const flows = flow === undefined ? [] : [flow]
  const args = [`${here}server.mjs`, framework, at.hub.url, at.hub.aid, at.shop.aid, ...flows]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  ending.push(() => void child.kill())
  const served: string[] = []
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createInterface({ input: child.stdout }).on('line', line => {
    if (line.startsWith('http')) resolve(line)
    else served.push(line)
  })
  child.once('exit', () => reject(new Error(`the shop by ${framework} ended`)))
  return { url: await promise, served }
}

async function customer(credits: number): Promise<TestAgent> {
  const agent = await registeredAgent(hub)
  await grant(hub, agent.aid, credits)
  return agent
}

type Bought = {
  status: number
  body: unknown
  paid: { success: boolean; errorReason?: string; extensions?: Record<string, string> } | null
  statuses: number[]
}
async function buy(
  agent: TestAgent,
  url: string,
  more: { seed?: Uint8Array; times?: number } = {},
): Promise<Bought> {
  const times = more.times === undefined ? [] : [String(more.times)]
  const seed = toHex(more.seed ?? agent.seed)
  const args = [`${here}client.mjs`, url, agent.aid, seed, String(agent.log.seq), ...times]
  const { stdout } = await run(process.execPath, args)
  return JSON.parse(stdout) as Bought
}

describe.skipIf(!installed).each([
  ['express', 'authorization'],
  ['express', 'upfront'],
  ['hono', 'authorization'],
  ['hono', 'upfront'],
])('a shop by %s, flow %s (skipped without: npm ci --prefix test/x402)', (framework, flow) => {
  let at: Shop
  beforeAll(async () => {
    at = await open(framework, flow)
  })

  test('is paid, and gives the customer the receipt of the hub', async () => {
    const agent = await customer(10)
    const before = (await balanceOf(shop)).balance
    const { status, body, paid } = await buy(agent, `${at.url}/paid`)
    expect([status, body]).toEqual([200, { answer: 42 }])
    expect([(await balanceOf(agent)).balance, (await balanceOf(shop)).balance]).toEqual([7, before + 3])
    const receipt = SettlementReceipt.decode(
      fromBase64url(paid?.extensions?.['svc.settlement.receipt'] ?? ''),
    )
    const { kel, seq } = hub.running.hub.context.identity
    expect(SettlementReceipt.verify(keyAt(kel, seq) as Uint8Array, receipt)).toBe(true)
    expect(receipt.body).toMatchObject({ kind: 0, payer: agent.aid, payee: shop.aid, amount: 3 })
  })

  test('serves one payment once, also when it comes twenty-five times at the same moment', async () => {
    const agent = await customer(100)
    const before = at.served.length
    const { statuses } = await buy(agent, `${at.url}/paid`, { times: 25 })
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
    expect(statuses.filter(status => status === 402)).toHaveLength(24)
    expect(at.served.length - before).toBe(1)
    expect((await balanceOf(agent)).balance).toBe(97)
  })

  test('is not paid by who has too little, or signs with another key', async () => {
    const poor = await buy(await customer(2), `${at.url}/paid`)
    expect(poor.status).toBe(402)
    const rich = await customer(10)
    const forged = await buy(rich, `${at.url}/paid`, { seed: new Uint8Array(32).fill(7) })
    expect(forged.status).toBe(402)
    expect((await balanceOf(rich)).balance).toBe(10)
  })

  test('takes nothing for work that failed, unless it settles first', async () => {
    const agent = await customer(10)
    expect((await buy(agent, `${at.url}/broken`)).status).toBe(500)
    expect((await balanceOf(agent)).balance).toBe(flow === 'upfront' ? 7 : 10)
  })
})

describe.skipIf(!installed)(
  'a header of svc x402-authorize (skipped without: npm ci --prefix test/x402)',
  () => {
    let lab: Lab
    let payee: TestAgent
    beforeAll(async () => {
      lab = await openLab()
      await lab.member('payer')
      payee = await registeredAgent(lab.hub)
    })
    afterAll(() => lab.close())

    const header = async (...more: string[]) => {
      const asked = ['x402-authorize', '--pay-to', payee.aid, '--amount', '3', ...more]
      const { code, out } = await runIn(join(lab.folder, 'payer'), asked)
      expect(code).toBe(0)
      return out.trim()
    }
    const shown = async (url: string, signature: string) =>
      (await fetch(`${url}/paid`, { headers: { 'PAYMENT-SIGNATURE': signature } })).status

    test('is taken by a shop that asks for 60 seconds and for nothing extra', async () => {
      const { url } = await open('express', undefined, { hub: lab.hub, shop: payee })
      const before = (await balanceOf(payee)).balance
      expect(await shown(url, await header('--timeout', '60'))).toBe(200)
      expect((await balanceOf(payee)).balance).toBe(before + 3)
    })

    test('says what else the shop asks for', async () => {
      const { url } = await open('hono', 'upfront', { hub: lab.hub, shop: payee })
      expect(await shown(url, await header('--timeout', '60'))).toBe(402)
      const extra = JSON.stringify({ paymentFlow: 'upfront' })
      expect(await shown(url, await header('--timeout', '60', '--extra', extra))).toBe(200)
    })
  },
)
