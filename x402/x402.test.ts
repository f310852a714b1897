/** svc-x402 without the stock packages: what is signed, what is not, and a payment that is taken once. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { verify } from '../protocol/crypto/engine.node.ts'
import { fromBase64url } from '../protocol/encoding/bytes.ts'
import { encodeIdentity } from '../protocol/identity/identity-file.ts'
import { deactivate } from '../protocol/identity/kel.ts'
import { Authorization } from '../protocol/proof/payment.ts'
import { agent, NOW_MS } from '../protocol/testing/agents.ts'
import * as built from './index.ts'
import {
  CreditClient,
  CreditServer,
  MemorySpentSet,
  payerFromFolder,
  payerWithSeed,
  type Requirements,
} from './index.ts'
import type * as Declared from './types.d.ts'

const alice = agent('x402 alice')
const bob = agent('x402 bob')
const hub = agent('x402 hub')
const now = () => NOW_MS
const payer = payerWithSeed(alice.aid, 2, alice.identitySeed)
const requirements: Requirements = {
  scheme: 'svc-credit',
  network: `hub:${hub.aid}`,
  asset: 'credit',
  amount: '3',
  payTo: bob.aid,
  maxTimeoutSeconds: 60,
  extra: {},
}

test('is what its types say', () => {
  const held: typeof Declared = built
  expect(Object.keys(held).sort()).toEqual([
    'ASSET',
    'CreditClient',
    'CreditServer',
    'MemorySpentSet',
    'SCHEME',
    'payerFromFolder',
    'payerWithSeed',
  ])
})

describe('a payer from a data directory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-x402-'))
  const file = join(folder, 'identity.kel')

  test('signs with the newest key of the identity there', async () => {
    writeFileSync(file, encodeIdentity(alice.identitySeed, alice.log))
    const { aid, keyState, sign } = payerFromFolder(folder)
    expect([aid, keyState]).toEqual([alice.aid, alice.log.seq])
    expect(verify(alice.log.publicKey, new Uint8Array([7]), await sign(new Uint8Array([7])))).toBe(true)
  })

  test('is none where the key is another one, the identity has ended, or nothing is there', () => {
    writeFileSync(file, encodeIdentity(bob.identitySeed, alice.log))
    expect(() => payerFromFolder(folder)).toThrow('not the one of the last event')
    const ended = deactivate(alice.log, { seed: alice.nextSeed, ts: NOW_MS })
    writeFileSync(file, encodeIdentity(alice.nextSeed, ended))
    expect(() => payerFromFolder(folder)).toThrow(/has ended; make another/)
    expect(() => payerFromFolder(join(folder, 'none'))).toThrow('ENOENT')
  })
})

describe('the client', () => {
  const client = new CreditClient({ payer, now, holdSecondsMax: 600 })
  const signed = async (more: Partial<Requirements>) => {
    const { payload } = await client.createPaymentPayload(2, { ...requirements, ...more })
    return Authorization.decode(fromBase64url(payload.authorization))
  }

  test('signs for exactly what is required, a little longer than the payee has time', async () => {
    const authorization = await signed({})
    expect(authorization.body).toMatchObject({
      payer: alice.aid,
      payerKelSeq: 2,
      payTo: bob.aid,
      amount: 3,
      network: requirements.network,
      notBefore: NOW_MS,
      notAfter: NOW_MS + 120_000,
    })
    expect(Authorization.verify(alice.log.publicKey, authorization)).toBe(true)
  })

  test('never signs for longer than an hour, and never the same twice', async () => {
    const [one, two] = [await signed({ maxTimeoutSeconds: 1e6 }), await signed({ maxTimeoutSeconds: 1e6 })]
    expect(one.body.notAfter).toBe(NOW_MS + 3_600_000)
    expect(one.body.nonce).not.toEqual(two.body.nonce)
  })

  test('signs a hold as it is asked for, up to its own limit', async () => {
    const { body } = await signed({ extra: { hold_s: 600 } })
    expect(body.holdUntil).toBe(body.notAfter + 600_000)
    for (const seconds of [601, -1, 1.5, '600', null])
      await expect(signed({ extra: { hold_s: seconds } })).rejects.toThrow(TypeError)
    const plain = new CreditClient({ payer })
    for (const seconds of [0, 1]) {
      const asked = { ...requirements, extra: { hold_s: seconds } }
      await expect(plain.createPaymentPayload(2, asked)).rejects.toThrow('see holdSecondsMax')
    }
  })

  test.each([
    { network: 'eip155:1' as const },
    { asset: 'usdc' },
    { amount: '0' },
    { amount: '1.5' },
    { payTo: 'somebody' },
    { maxTimeoutSeconds: Number.NaN },
    { maxTimeoutSeconds: -1e9 },
  ])('signs nothing for %j', async more => {
    await expect(signed(more)).rejects.toThrow(TypeError)
  })

  test('needs nothing extra', async () => {
    const { extra: _, ...plain } = requirements
    expect((await client.createPaymentPayload(2, plain)).x402Version).toBe(2)
  })

  test('speaks version 2 only', async () => {
    await expect(client.createPaymentPayload(1, requirements)).rejects.toThrow('version 2')
  })
})

describe('the server', () => {
  const server = new CreditServer()
  test('has whole credits for prices', async () => {
    for (const price of [3, '3', { asset: 'credit', amount: '3' }])
      expect(await server.parsePrice(price, `hub:${hub.aid}`)).toEqual({
        asset: 'credit',
        amount: '3',
        extra: {},
      })
    for (const price of [0, 1.5, '$3', '', { asset: 'usdc', amount: '3' }])
      await expect(server.parsePrice(price, `hub:${hub.aid}`)).rejects.toThrow('a price in credits')
  })
})

describe('a payment whose time is over', () => {
  test('is taken no more, when who took it may have been forgotten', async () => {
    let nowMs = NOW_MS
    const client = new CreditClient({ payer, now })
    const server = new CreditServer(new MemorySpentSet(() => nowMs), () => nowMs)
    const sent = await client.createPaymentPayload(2, requirements)
    const upfront = { ...requirements, extra: { paymentFlow: 'upfront' } }
    const settle = () =>
      server.schemeHooks.onBeforeSettle({ paymentPayload: { ...sent }, requirements: upfront })
    expect(await settle()).toBeUndefined()
    expect(await settle()).toMatchObject({ reason: 'duplicate_settlement' })
    // the hub still takes it for two minutes after its end, and answers for ever that it was settled
    nowMs += 120_000 + 2 * 60_000 + 1
    expect(await settle()).toMatchObject({ reason: 'expired' })
  })
})

describe('payments in memory', () => {
  test('are taken once, given back, and forgotten when they can be settled no more', () => {
    let nowMs = 0
    const spent = new MemorySpentSet(() => nowMs)
    expect([spent.claim('a', 10), spent.claim('a', 10), spent.claim('b', 20)]).toEqual([true, false, true])
    spent.release('a')
    expect(spent.claim('a', 10)).toBe(true)
    nowMs = 21
    expect([spent.claim('b', 30), spent.claim('a', 30)]).toEqual([true, true])
  })
})
