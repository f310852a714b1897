/** What witnesses signed of a hub's chain has to stand in it, and a hub that shows none of them any more is unwatched. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { chainDid } from '../../protocol/proof/evidence.ts'
import type { ShownStatement } from '../hubs/hub.ts'
import { witnessedOf } from '../store/hub-accounts.ts'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode } from '../testing/paying.ts'
import { ScriptedSupply } from '../testing/scripted-supply.ts'
import { noteWitnessed } from './witnesses.ts'
import { auditOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let supply: ScriptedSupply
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice } = await world.paid())
  supply = new ScriptedSupply(world.post, () => world.clock.ms)
  supply.showTo(alice.node)
  supply.issue(alice.node.aid, 100)
  supply.issue(world.post.log.aid, 10)
})
afterEach(() => world[Symbol.asyncDispose]())

const run = () => {
  const audit = auditOf(alice.node.ctx)
  return audit.run(alice.node.hub, { all: false, signal: AbortSignal.timeout(1000) })
}
const kept = () => witnessedOf(alice.node.ctx.store, world.post.log.aid)

describe('a statement', () => {
  test('about a record that stands there agrees; the report names the newest', async () => {
    supply.witness('one', 1)
    world.pass(1000)
    supply.witness('two', 2)
    supply.witness('three', 0, { observedAt: world.clock.ms - 2000 })
    expect(await run()).toMatchObject({ fault: undefined, witnessed: { seq: 2, atMs: world.clock.ms } })
    expect(kept()).toMatchObject({ lastMs: world.clock.ms, isStale: false })
    expect(new Map(kept()?.agreed).size).toBe(3)
  })

  test('about another record at that place is a fault that names the witness', async () => {
    supply.witness('one', 1, { headId: supply.ids[2] as Uint8Array })
    expect((await run()).fault).toMatch(/^record 1 of the supply chain: witness \S+ signed another one/)
    expect(kept()).toBeUndefined()
  })

  test('about a record after the end is a fault: it is missing', async () => {
    supply.witness('one', 3, { headId: supply.ids[2] as Uint8Array })
    expect((await run()).fault).toMatch(
      /^record 3 of the supply chain: witness \S+ signed \S+, and it is missing/,
    )
  })

  test('that was agreed with is read past; one that differs is compared from the first record on', async () => {
    supply.witness('one', 1)
    supply.epoch(
      1,
      new Map([
        [alice.node.aid, 100],
        [world.post.log.aid, 10],
      ]),
    )
    supply.issue(world.post.log.aid, 1)
    await run()
    supply.asked = []
    await run()
    expect(supply.asked).toEqual([3])
    supply.witness('two', 1, { headId: supply.ids[0] as Uint8Array })
    expect((await run()).fault).toMatch(/signed another one/)
  })

  test('of the chain of another hub says nothing of this one', async () => {
    const chain = chainDid(alice.node.aid)
    supply.witness('one', 1, { headId: supply.ids[2] as Uint8Array, chain })
    expect(await run()).toMatchObject({ fault: undefined, witnessed: undefined })
  })

  test('that does not decode, is signed by another key, or comes without a key history says nothing', async () => {
    supply.witness('one', 1, { headId: supply.ids[2] as Uint8Array })
    const { bytes, kel } = supply.shown[0] as ShownStatement
    const forged = bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1)
    for (const shown of [
      { bytes: forged, kel },
      { bytes: new Uint8Array([1, 2, 3]), kel },
      { bytes, kel: undefined },
      { bytes, kel: new Uint8Array([1]) },
    ]) {
      supply.shown = [shown]
      expect(await run()).toMatchObject({ fault: undefined, witnessed: undefined })
    }
  })
})

describe('a hub that hides its witnesses', () => {
  test('is told apart from one that has none', async () => {
    await run()
    expect(kept()).toBeUndefined()
  })

  test('is no longer watched after two days', async () => {
    supply.witness('one', 1)
    await run()
    supply.shown = []
    world.pass(48 * HOUR_MS)
    await run()
    expect(kept()?.isStale).toBe(false)
    world.pass(1)
    await run()
    expect(kept()?.isStale).toBe(true)
  })

  test('is watched again once one of them is shown, whose clock makes it no fresher than now', async () => {
    supply.witness('one', 1)
    await run()
    supply.shown = []
    world.pass(72 * HOUR_MS)
    await run()
    expect(kept()?.isStale).toBe(true)
    supply.witness('one', 1, { observedAt: world.clock.ms + 72 * HOUR_MS })
    await run()
    expect(kept()).toMatchObject({ isStale: false, lastMs: world.clock.ms })
  })
})

test('1024 statements that agree are kept, and a witness that cosigned alone is heard as well', () => {
  const { store } = alice.node.ctx
  const [hub, nowMs] = [world.post.log.aid, world.clock.ms]
  const statement = (seq: number) => ({ seq, headId: supply.ids[0], observedAt: nowMs - 2 }) as never
  const note = (count: number, cosignedMs: number[] = []) => {
    const all = Array.from({ length: count }, (_, seq) => statement(seq))
    alice.node.within(() => noteWitnessed(store, hub, { all, open: [] }, { cosignedMs, nowMs }))
    return kept()
  }
  expect(note(0)).toBeUndefined()
  expect(note(0, [nowMs - 1])).toMatchObject({ lastMs: nowMs - 1, isStale: false })
  expect(new Map(note(1024)?.agreed).size).toBe(1024)
  expect(new Map(note(1025)?.agreed).size).toBe(1024)
  expect(note(0)).toMatchObject({ lastMs: nowMs - 1, isStale: false })
})
