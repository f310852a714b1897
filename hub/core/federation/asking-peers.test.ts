/** What a hub asks its peers by itself about payments in their credits. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Authorization, networkOf } from '../../../protocol/proof/payment.ts'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import type { PeerPayment } from '../../store/peer-payment-port.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import { random, TestAgent } from '../../testing/hub.ts'
import { PaymentPending } from '../ledger/refused.ts'
import { DAY_MS } from '../limits.ts'
import { keepAsking } from './asking-peers.ts'
import type { PeerPayments } from './peer-payments.ts'

const NOT_AFTER_MS = 60_000

let core: TestCore
let timers: TestTimers
let asked: number[]
let fails: Error | undefined
let stop: () => Promise<void>
beforeEach(async () => {
  core = await openCore(0)
  timers = new TestTimers(0)
  asked = []
  fails = undefined
  const payments = {
    async askAgain({ amount }: PeerPayment) {
      asked.push(amount)
      if (fails !== undefined) throw fails
    },
  } as unknown as PeerPayments
  stop = keepAsking({ ...core.context, timers, now: timers.now }, payments)
})
afterEach(async () => {
  await stop()
  await core.close()
})

async function open(amount: number, askAtMs: number): Promise<void> {
  const { aid, seed } = new TestAgent({ clock: timers } as never, { bornMs: 1 })
  const authorization = Authorization.sign(seed, {
    v: 1,
    payer: aid,
    payerKelSeq: 0,
    payTo: aid,
    amount,
    network: networkOf(aid),
    nonce: random(16),
    notBefore: 0,
    notAfter: NOT_AFTER_MS,
  })
  await core.context.store.openPeerPayment({
    transaction: random(36),
    peer: 'peer',
    payee: aid,
    amount,
    authorization: Authorization.encode(authorization),
    holdSeconds: undefined,
    askAtMs,
    creditMax: 1000,
    openMax: 10,
  })
}

async function pass(seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 5) {
    await timers.pass(5000)
    await core.context.store.putSetting('a write', 'behind all others')
    for (let turn = 0; turn < 20; turn++) await nextTurn()
  }
}

test('a payment is asked about once its time has come, and again after longer and longer pauses', async () => {
  fails = new PaymentPending(random(36), 'away')
  await open(1, 2 * NOT_AFTER_MS)
  await pass(115)
  expect(asked).toEqual([])
  await pass(10)
  expect(asked).toEqual([1])
  await pass(NOT_AFTER_MS / 1000)
  const soon = asked.length
  expect(soon).toBeGreaterThan(2)
  await pass(3600)
  // a quarter of the time waited, ten minutes at most
  expect(asked.length - soon).toBeLessThan(20)
  expect(asked.length - soon).toBeGreaterThan(5)
})

test('what a clock that ran ahead put off is asked about once it is set right, and after a start', async () => {
  fails = new PaymentPending(random(36), 'away')
  let aheadMs = 30 * DAY_MS
  const payments = { askAgain: async ({ amount }: PeerPayment) => void asked.push(amount) }
  const begin = () =>
    keepAsking(
      { ...core.context, timers, now: () => timers.now() + aheadMs },
      payments as unknown as PeerPayments,
    )
  await stop()
  stop = begin()
  await open(1, 2 * NOT_AFTER_MS)
  await pass(10)
  expect(asked).toEqual([1])
  aheadMs = 0
  await pass(2 * (NOT_AFTER_MS / 1000))
  expect(asked).toEqual([1])
  await pass(3 * (NOT_AFTER_MS / 1000))
  expect(asked.length).toBeGreaterThan(1)
  await stop()
  asked = []
  const [row] = await core.context.store.duePeerPayments(Number.MAX_SAFE_INTEGER, 1)
  if (row === undefined) throw new Error('nothing is open')
  await core.context.store.askPeerPaymentAt({ transaction: row.transaction, askAtMs: 30 * DAY_MS })
  stop = begin()
  await pass(10)
  expect(asked).toEqual([1])
})

test('a failure of this hub is told, and the others are asked about all the same', async () => {
  const told: string[] = []
  core.context.alert = event => void told.push(event)
  await stop()
  fails = new Error('no disk')
  const payments = { askAgain: () => Promise.reject(fails) } as unknown as PeerPayments
  stop = keepAsking({ ...core.context, timers, now: timers.now }, payments)
  await open(1, 0)
  await open(2, 0)
  await pass(5)
  expect(told).toEqual(['a payment at a peer could not be kept', 'a payment at a peer could not be kept'])
})

test('nothing is asked once it was ended', async () => {
  await open(1, 0)
  await stop()
  await pass(60)
  expect(asked).toEqual([])
})
