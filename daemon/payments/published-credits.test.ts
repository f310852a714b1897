/** What a reading of a hub's supply chain verifies, from where it goes on, and what is kept of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signedCheckpoint, supplyOrigin } from '../../protocol/proof/checkpoint.ts'
import { ChainRecord } from '../../protocol/proof/evidence.ts'
import { CompactRange } from '../../protocol/proof/merkle.ts'
import { HubUnreachable } from '../hubs/hub.ts'
import { alarmOf, lastSupplyRead, witnessedOf } from '../store/hub-accounts.ts'
import { cosigner } from '../testing/cosigner.ts'
import { GRANTED, PaidWorld, type PayingNode } from '../testing/paying.ts'
import { ScriptedSupply } from '../testing/scripted-supply.ts'
import { owedBefore } from './account.ts'
import { paymentParts } from './parts.ts'
import { auditOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let supply: ScriptedSupply

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice } = await world.paid())
  supply = new ScriptedSupply(world.post, () => world.clock.ms)
  supply.showTo(alice.node)
  supply.issue(alice.node.aid, GRANTED)
  supply.epoch(1, new Map([[alice.node.aid, GRANTED]]))
})
afterEach(() => world[Symbol.asyncDispose]())

const hubAid = () => world.post.log.aid
const store = () => alice.node.ctx.store
const audit = () => auditOf(alice.node.ctx)
const run = ({ all = false } = {}) => audit().run(alice.node.hub, { all, signal: AbortSignal.timeout(1000) })
const alarm = () => alarmOf(store(), hubAid())
const kept = () => lastSupplyRead(store(), hubAid())
/** From where each page was asked for since the last time. */
const asked = () => supply.asked.splice(0)
/** A day on which somebody else got some. */
function day(n: number): void {
  supply.issue(hubAid(), GRANTED)
  const balances = [
    [alice.node.aid, GRANTED],
    [hubAid(), (n - 1) * GRANTED],
  ] as const
  supply.epoch(n, new Map(balances))
}
/** A record as it was, under another signature. */
function forge(seq: number): void {
  const record = ChainRecord.decode(supply.records[seq] as Uint8Array)
  supply.records[seq] = ChainRecord.encode({ ...record, signature: record.signature.map(byte => byte ^ 1) })
}

describe('a reading', () => {
  test('verifies what was issued to this agent, and every signature where that is asked for', async () => {
    day(2)
    forge(3)
    expect((await run()).fault).toBeUndefined()
    expect((await run({ all: true })).fault).toMatch(/^record 3 .* the signature of the hub does not hold$/)
    audit().accept(hubAid())
    forge(1)
    expect((await run()).fault).toMatch(/^record 1 .* the signature of the hub does not hold$/)
  })

  test.each([
    ['does not decode', () => Uint8Array.of(1, 2, 3)],
    ['does not follow the one before it', () => supply.records[2] as Uint8Array],
  ])('finds a record that %s', async (_, record) => {
    supply.records[1] = record()
    const { fault } = await run()
    expect(fault).toEqual(expect.any(String))
    expect(alarm()).toBe(fault)
  })

  test('finds a proof of the account that does not decode', async () => {
    supply.liabilityLies = { record: Uint8Array.of(1, 2, 3) }
    const { fault } = await run()
    expect([fault, alarm()]).toEqual([expect.any(String), fault])
  })

  test('finds that the first epoch after the beginning owes this agent nothing', async () => {
    supply = new ScriptedSupply(world.post, () => world.clock.ms)
    supply.showTo(alice.node)
    supply.epoch(1, new Map())
    expect((await run()).fault).toMatch(/the tree of its epoch to 0$/)
  })

  test('of a hub that gives no answer finds nothing, and keeps nothing', async () => {
    const { credits } = alice.node.hub
    credits.liability = () => Promise.reject(new HubUnreachable('http://hub.test'))
    await expect(run()).rejects.toThrow(HubUnreachable)
    expect([alarm(), kept()]).toEqual([undefined, undefined])
  })

  test('finds that the account does not come to its entries, and keeps nothing', async () => {
    const { credits } = alice.node.hub
    const honest = credits.account.bind(credits)
    credits.account = async (...given) => ({ ...(await honest(...given)), balance: GRANTED - 1 })
    const { fault } = await run()
    expect(fault).toMatch(/^its ledger comes to 100 credits for this agent, and its balance says 99$/)
    expect([alarm(), kept(), owedBefore(store(), hubAid())]).toEqual([fault, undefined, 0])
  })

  test('without a fault keeps up to where it read, and to what the account came', async () => {
    expect((await run()).fault).toBeUndefined()
    expect(kept()).toMatchObject({ length: 3, issued: GRANTED, retired: 0 })
    expect(owedBefore(store(), hubAid())).toBe(GRANTED)
  })
})

describe('the next reading', () => {
  const pages = async () => {
    asked()
    expect((await run()).fault).toBeUndefined()
    return asked()
  }
  beforeEach(async () => {
    await run()
    day(2)
  })

  test('tells what the last day says, also where none has ended since', async () => {
    supply.owedByPeers = 7
    supply.issue(hubAid(), GRANTED)
    const balances = [
      [alice.node.aid, GRANTED],
      [hubAid(), 2 * GRANTED + 7],
    ] as const
    supply.epoch(3, new Map(balances))
    const told = { day: 3, outstanding: 3 * GRANTED + 7, owedByPeers: 7, fault: undefined }
    expect(await run()).toMatchObject(told)
    expect(await run()).toMatchObject(told)
    supply.issue(hubAid(), 1)
    expect(await run()).toMatchObject(told)
  })

  test('finds another record where the last reading ended, as the first that it is shown', async () => {
    await run()
    supply.records[4] = supply.records[1] as Uint8Array
    store().run('DELETE FROM supply_heads')
    expect((await run()).fault).toMatch(/^record 4 .* does not verify: seq$/)
    supply.cut(3)
    supply.issue(hubAid(), 1)
    supply.epoch(4, new Map())
    expect((await run()).fault).toMatch(/^record 4 of the supply chain: the hub showed another one before/)
  })

  test('goes on with the last epoch, also where a later record was witnessed or named by a receipt', async () => {
    supply.witness('one', 3)
    paymentParts(alice.node.ctx).heads.note(hubAid(), [4, supply.ids[4] as Uint8Array])
    // of the last reading its head is known, which was read
    store().run('DELETE FROM supply_heads WHERE seq = 2')
    expect(await pages()).toEqual([2, 4])
  })

  test('begins anew where a record that was read is witnessed', async () => {
    store().run('DELETE FROM supply_heads WHERE seq = 2')
    supply.witness('one', 2)
    expect(await pages()).toEqual([0, 2, 4])
  })

  test('begins anew after a person went on with the hub, of which nothing is kept', async () => {
    supply.witness('one', 1)
    await run()
    expect(witnessedOf(store(), hubAid())).toBeDefined()
    audit().accept(hubAid())
    expect([kept(), witnessedOf(store(), hubAid())]).toEqual([undefined, undefined])
    expect(await pages()).toEqual([0, 2, 4])
  })
})

describe('a tree that a witness has cosigned', () => {
  const witness = cosigner('one.example')
  /** The hub shows a tree over so many records, or over others. */
  function shows(size: number, ids = supply.ids): void {
    const tree = new CompactRange()
    for (const id of ids.slice(0, size)) tree.append(id)
    const origin = supplyOrigin(hubAid())
    const head = { size, root: tree.root() }
    const note = signedCheckpoint(world.post.seed, origin, head) + witness.lineOver(origin, head, 7)
    alice.node.hub.credits.checkpoint = async () => note
  }
  beforeEach(() => alice.node.ctx.settings.change({ cosigners: [witness.key] }))

  test('is that of the chain', async () => {
    shows(3)
    expect(await run()).toMatchObject({
      fault: undefined,
      cosigned: { trees: [{ size: 3, by: [{ name: witness.name, atMs: 7000 }] }], silent: [] },
    })
    expect(witnessedOf(store(), hubAid())?.lastMs).toBe(7000)
  })

  test('is found where it is another one', async () => {
    shows(3, supply.ids.toReversed())
    expect((await run()).fault).toMatch(/one\.example cosigned another tree of 3 records$/)
    expect(alarm()).toBeDefined()
  })

  test('is compared where a reading goes on, whatever was read after its place', async () => {
    supply.retire(hubAid(), 1)
    await run()
    supply.issue(hubAid(), 1)
    store().run('DELETE FROM supply_heads')
    asked()
    shows(5)
    expect((await run()).fault).toBeUndefined()
    expect(asked()).toEqual([2, 4])
    shows(5, supply.ids.toReversed())
    expect((await run()).fault).toMatch(/cosigned another tree of 5 records$/)
  })

  test('is compared from the first record on where an earlier release kept no tree', async () => {
    await run()
    const forget = () => {
      store().run('DELETE FROM supply_heads')
      store().run('UPDATE hub_accounts SET supply_roots = NULL')
      asked()
    }
    forget()
    shows(3)
    expect((await run()).fault).toBeUndefined()
    expect([asked()[0], kept()?.roots]).toEqual([0, expect.any(Array)])
    forget()
    alice.node.ctx.settings.change({ cosigners: [] })
    expect((await run()).fault).toBeUndefined()
    // nobody asks for it
    expect([asked(), kept()?.roots]).toEqual([[2], undefined])
  })
})
