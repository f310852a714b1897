/** Books that were changed beside the hub, and a clock that jumps: nothing is paid out or given back on their word. */
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../core/limits.ts'
import { registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { ask, balanceOf, grant, order, pass, payment, redemption } from '../testing/payments.ts'

let hub: TestHub
let alice: TestAgent
let bob: TestAgent
beforeEach(async () => {
  hub = await startTestHub({ limits: { trialCredits: 0 } })
  ;[alice, bob] = [await registeredAgent(hub), await registeredAgent(hub)]
  await grant(hub, alice.aid, 100)
})
afterEach(() => hub.close())

const settle = (amount: number, holdSeconds?: number) => {
  const paid = payment(alice, bob, amount, holdSeconds === undefined ? {} : { holdSeconds })
  return ask(hub, 'x402Settle', paid.request).then(reply => ({ reply, paid }))
}
const told = (event: RegExp) => hub.alerts.filter(alert => event.test(alert.event)).length

describe('a balance that was raised in the file', () => {
  const raise = (by: number, who = alice.aid): void => {
    const db = new DatabaseSync(`${hub.directory}/hub.db`)
    db.exec(`UPDATE ledger_account SET balance = balance + ${by} WHERE name = '${who}'`)
    db.close()
  }
  const DISAGREE = /^the books do not agree; nothing is paid/

  test('while the hub was stopped pays nobody after the start, and is mended by nobody but the operator', async () => {
    const { paid } = await settle(10, 60)
    await hub.restart(() => raise(4000))
    expect((await settle(4000)).reply).toMatchObject({ status: 503, json: { reason: 'unavailable' } })
    const redeemed = await ask(hub, 'x402Redeem', redemption(alice, 50, 'x').request)
    expect(redeemed).toMatchObject({ status: 503, json: { reason: 'unavailable' } })
    expect((await ask(hub, 'x402Capture', order(bob, paid, 10))).status).toBe(503)
    await expect(grant(hub, alice.aid, 1)).rejects.toThrow('the books of this hub do not sum up')
    await hub.running.hub.books.turn()
    expect((await settle(1)).reply.status).toBe(503)
    expect(told(DISAGREE)).toBe(1)
    expect(await hub.running.hub.context.store.booksAgree()).toBe(false)
    await hub.restart(() => raise(-4000))
    expect((await settle(1)).reply.json['success']).toBe(true)
  })

  test('with the same taken from another account is found, too', async () => {
    await settle(20)
    await hub.restart(() => {
      raise(20)
      raise(-20, bob.aid)
    })
    expect((await settle(1)).reply.status).toBe(503)
  })

  test('while the hub runs is found within the hour, and gives back no hold meanwhile', async () => {
    await settle(10, 1)
    raise(4000)
    pass(hub, HOUR_MS + 1)
    await hub.running.hub.books.turn()
    expect((await settle(4000)).reply.status).toBe(503)
    expect(await hub.running.hub.context.store.lapsedHolds(hub.clock.now(), 9)).toHaveLength(1)
    raise(-4000)
  })
})

describe('a clock that goes ahead by more than an hour', () => {
  const JUMPED = /^the clock went ahead by more than an hour/
  const lapsing = async () => {
    const { paid } = await settle(30, 60)
    return paid
  }

  test.each([
    ['while the hub runs', false],
    ['while it is stopped', true],
  ])('%s gives back no hold, and its payee may still take it', async (_, isStopped) => {
    const [taken] = [await lapsing(), await lapsing()]
    hub.clock.advance(26 * HOUR_MS)
    if (isStopped) await hub.restart()
    await hub.running.hub.books.turn()
    expect(await balanceOf(alice)).toEqual({ balance: 40, held: 60 })
    expect((await ask(hub, 'x402Capture', order(bob, taken as typeof taken, 30))).json['success']).toBe(true)
    expect(told(JUMPED)).toBe(1)
    expect(await hub.running.order({ command: 'clock' })).toMatchObject({
      doubted_ms: expect.any(Number),
      next: expect.stringContaining('svc-hub clock accept'),
    })
    // what was doubted stays so over the next start
    await hub.restart()
    await hub.running.hub.books.turn()
    expect(await balanceOf(alice)).toEqual({ balance: 40, held: 30 })
    expect(told(JUMPED)).toBe(1)
    expect(await hub.running.order({ command: 'clock', accept: true })).toMatchObject({ doubted_ms: 0 })
    await hub.running.hub.books.turn()
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 0 })
    expect(await hub.running.hub.context.store.lapsedHolds(hub.clock.now(), 9)).toEqual([])
  })

  test('delays a lapse by no more than it went ahead', async () => {
    await lapsing()
    hub.clock.advance(26 * HOUR_MS)
    await hub.running.hub.books.turn()
    pass(hub, HOUR_MS)
    await hub.running.hub.books.turn()
    expect(await balanceOf(alice)).toEqual({ balance: 100, held: 0 })
  })

  test('and is set back again is right as before', async () => {
    await lapsing()
    hub.clock.advance(26 * HOUR_MS)
    await hub.running.hub.books.turn()
    hub.clock.advance(-26 * HOUR_MS)
    await hub.running.hub.books.turn()
    expect(await hub.running.order({ command: 'clock' })).toMatchObject({ doubted_ms: 0 })
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 30 })
  })

  test('while nothing is held is no matter', async () => {
    hub.clock.advance(26 * HOUR_MS)
    await hub.running.hub.books.turn()
    expect(await hub.running.order({ command: 'clock' })).toMatchObject({ doubted_ms: 0 })
  })
})

test('a grant that is repeated under its id gives nothing more, and says which id that is', async () => {
  const given = { command: 'grant', aid: bob.aid, amount: 7, reason: 'x', id: '0f'.repeat(16) } as const
  expect(await hub.running.order(given)).toMatchObject({ granted: 7, balance: 7, id: given.id })
  expect(await hub.running.order(given)).toMatchObject({ balance: 7 })
  await expect(hub.running.order({ ...given, amount: 8 })).rejects.toThrow(/carried out already/)
})
