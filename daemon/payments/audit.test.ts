/** What a hub publishes of its credits is read to its end, and what cannot be true stops payments. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { HubUnreachable } from '../hubs/hub.ts'
import { Waker } from '../platform/waker.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import { seenHeads } from '../store/supply-heads.ts'
import { failWrites } from '../testing/failing-store.ts'
import { DAY_MS, HOUR_MS } from '../testing/node.ts'
import { GRANTED, PaidWorld, type PayingNode } from '../testing/paying.ts'
import { ScriptedSupply } from '../testing/scripted-supply.ts'
import type { Audit } from './audit.ts'
import { paymentParts } from './parts.ts'
import { auditOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let supply: ScriptedSupply
let audit: Audit
const signal = () => AbortSignal.timeout(1000)
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice } = await world.paid())
  supply = new ScriptedSupply(world.post, () => world.clock.ms)
  supply.showTo(alice.node)
  audit = auditOf(alice.node.ctx)
  day(1)
})
afterEach(async () => {
  await audit.stop()
  await world[Symbol.asyncDispose]()
})

/** A day on which alice was given her credits; on later ones somebody else gets some. */
function day(n: number): void {
  supply.issue(n === 1 ? alice.node.aid : hubAid(), GRANTED)
  const others: [string, number][] = n === 1 ? [] : [[hubAid(), GRANTED * (n - 1)]]
  supply.epoch(n, new Map([[alice.node.aid, GRANTED], ...others]))
}
const run = ({ all = false } = {}) => audit.run(alice.node.hub, { all, signal: signal() })
const hubAid = () => world.post.log.aid
const alarm = () => alarmOf(alice.node.ctx.store, hubAid())

describe('an audit', () => {
  test('reads every page to the head that the hub names', async () => {
    day(2)
    supply.retire(hubAid(), 10)
    expect(await run()).toMatchObject({
      hub: hubAid(),
      records: 6,
      headSeq: 5,
      headId: cidText(supply.ids[5] as Uint8Array),
      issued: 2 * GRANTED,
      retired: 10,
      day: 2,
      owed: GRANTED,
      fault: undefined,
    })
    expect(supply.asked).toEqual([0, 2, 4])
    expect(alarm()).toBeUndefined()
  })

  test('says how many of the credits rest on debts of other hubs', async () => {
    supply.owedByPeers = 10
    supply.epoch(
      2,
      new Map([
        [alice.node.aid, GRANTED],
        [hubAid(), 10],
      ]),
    )
    expect(await run()).toMatchObject({
      day: 2,
      outstanding: GRANTED + 10,
      owedByPeers: 10,
      fault: undefined,
    })
  })

  test('ends with the page that is the last, and with one that brings nothing', async () => {
    supply.retire(hubAid(), 1)
    await run()
    expect(supply.asked).toEqual([0, 2])
    supply.asked = []
    supply.lies = { isLast: false }
    await run()
    expect(supply.asked).toEqual([2, 4])
  })

  test('goes on after the last epoch, and reads all where that is asked for', async () => {
    supply.issue(hubAid(), 1)
    await run()
    supply.issue(hubAid(), 1)
    supply.asked = []
    expect(await run()).toMatchObject({ records: 5, issued: GRANTED + 2, fault: undefined })
    expect(supply.asked).toEqual([2, 4])
    supply.asked = []
    expect(await run({ all: true })).toMatchObject({ records: 5, fault: undefined })
    expect(supply.asked[0]).toBe(0)
  })

  test('writes each new head that it saw into the chain of the node, once', async () => {
    const seen = () => alice.node.ctx.chain.read({ eventType: 'svc.issuance.head_seen' })
    await run()
    await run()
    expect(seen()).toHaveLength(1)
    expect(seen()[0]?.['payload']).toMatchObject({ seq: 2, head_id: cidText(supply.ids[2] as Uint8Array) })
    supply.retire(hubAid(), 1)
    await run()
    expect(seen()).toHaveLength(2)
  })
})

describe('payments stop where the hub', () => {
  const found = async (why: RegExp) => {
    expect((await run()).fault).toMatch(why)
    expect(alarm()).toMatch(why)
    expect(alice.node.heard).toContainEqual(expect.objectContaining({ type: 'hub' }))
  }

  test('shows the chain of another one', async () => {
    supply.lies = { chainDid: 'did:other' }
    await found(/the chain is that of another hub/)
  })

  test.each([
    ['a higher number', { headSeq: 3 }],
    ['another id', { headId: 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku' }],
  ])('names a head by %s than that of its last record', async (_, lies) => {
    supply.lies = lies
    await found(/the head that the hub names is not the last record/)
  })

  test('shows another record where one of its receipts named one', async () => {
    paymentParts(alice.node.ctx).heads.note(hubAid(), [1, contentId(utf8('another record'))])
    await found(/the hub showed another one before/)
  })

  test('has lost a record that one of its receipts named', async () => {
    const id = supply.ids[2] as Uint8Array
    paymentParts(alice.node.ctx).heads.note(hubAid(), [7, id])
    await found(/the hub showed bafk?\w* there, and it is missing/)
  })

  test('has rewritten what was read before', async () => {
    await run()
    supply.cut(2)
    supply.retire(hubAid(), 5)
    await found(/the hub showed another one before/)
  })

  test('counts less for this agent than its ledger', async () => {
    supply.issue(hubAid(), 1)
    supply.epoch(
      2,
      new Map([
        [alice.node.aid, GRANTED - 1],
        [hubAid(), 2],
      ]),
    )
    await found(
      new RegExp(
        `its ledger comes to ${GRANTED} credits for this agent, and the tree of its epoch to ${GRANTED - 1}`,
      ),
    )
  })

  test('has no place for this agent in the tree of its epoch, though its ledger owes it', async () => {
    supply.liabilityLies = undefined
    await found(/the tree of its epoch to 0/)
  })

  test('proves the account by another record than its epoch, or by that of another day', async () => {
    supply.liabilityLies = { record: supply.records[1] as Uint8Array }
    await found(/the proof of this account is of another epoch/)
    audit.accept(hubAid())
    supply.liabilityLies = { record: supply.records[0] as Uint8Array }
    await found(/the proof of this account is of another epoch/)
  })

  test('proves another balance than the tree holds', async () => {
    supply.liabilityLies = { balance: GRANTED + 1 }
    await found(/this account does not stand in the tree of day 1 \(\w+\)/)
  })
})

test('an entry after the epoch is not counted in its tree', async () => {
  const [last] = (await alice.node.hub.credits.account(1, signal())).entries
  world.post.ledger.grant(alice.node.aid, 7)
  supply.issue(alice.node.aid, 7)
  supply.epoch(2, new Map([[alice.node.aid, GRANTED]]).set(hubAid(), 7), last?.seq ?? 0)
  expect((await run()).fault).toBeUndefined()
})

test('the first record alone says nothing of what is owed', async () => {
  supply.cut(1)
  supply.liabilityLies = undefined
  expect(await run()).toMatchObject({ records: 1, owed: undefined, fault: undefined })
})

test('a person may go on with a hub in spite of what was found', async () => {
  supply.lies = { chainDid: 'did:other' }
  await run()
  audit.accept(hubAid())
  expect([alarm(), seenHeads(alice.node.ctx.store, hubAid()).size]).toEqual([undefined, 0])
  supply.lies = {}
  expect((await run()).fault).toBeUndefined()
})

describe('by itself the node audits its hub', () => {
  const audited = async () => {
    supply.asked = []
    await audit.look()
    return supply.asked.length > 0
  }

  test('ten minutes after its start, and every six hours from then on', async () => {
    expect(await audited()).toBe(false)
    world.pass(10 * 60_000 - 1)
    expect(await audited()).toBe(false)
    world.pass(1)
    expect(await audited()).toBe(true)
    world.pass(6 * HOUR_MS - 1)
    expect(await audited()).toBe(false)
    world.pass(1)
    expect(await audited()).toBe(true)
  })

  test('as far as it is new since the last time', async () => {
    supply.issue(hubAid(), 1)
    world.pass(HOUR_MS)
    expect(await audited()).toBe(true)
    supply.issue(hubAid(), 1)
    world.pass(6 * HOUR_MS)
    expect(await audited()).toBe(true)
    expect(supply.asked).toEqual([2, 4])
  })

  test('and rests sixty first pauses where this machine could not keep what it found', async () => {
    const { ctx } = alice.node
    const rested: number[] = []
    const after: typeof systemTimers.after = (ms, work) => {
      rested.push(ms)
      return systemTimers.after(ms, work)
    }
    const wakers = { ...ctx.wakers, audits: new Waker({ ...systemTimers, after }) }
    const own = auditOf({ ...ctx, wakers, timings: { ...ctx.timings, backoffFirstMs: 1000 } })
    world.pass(HOUR_MS)
    const disk = failWrites(ctx.store, { from: 1, count: 1 })
    own.start()
    await expect.poll(() => rested).toEqual([60_000])
    disk.mend()
    await own.stop()
  })

  test('at once where its clock had run ahead', async () => {
    world.pass(DAY_MS)
    expect(await audited()).toBe(true)
    world.pass(-DAY_MS)
    expect(await audited()).toBe(true)
  })

  test('again at the next round where the hub gave no answer, and raises no alarm for it', async () => {
    alice.node.hub.answers({ refresh: () => Promise.reject(new HubUnreachable('http://hub.test')) })
    world.pass(HOUR_MS)
    expect(await audited()).toBe(false)
    expect(alarm()).toBeUndefined()
  })
})
