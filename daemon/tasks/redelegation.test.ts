/** A task that its recipient lost with a restore is delegated once more: the same, tied to the old one, and not paid twice. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { taskReading } from '../control/parts.ts'
import { glimpsesOf } from '../store/glimpses.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { PaidWorld, PRICE } from '../testing/paying.ts'
import { taskParts } from './open.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-anew-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function file(name: string, size: number): string {
  const path = join(folder, name)
  writeFileSync(path, Buffer.alloc(size, name))
  return path
}
const shown = ({ ctx }: TestNode, id: string) => {
  const interaction = ctx.threads.findById(id)
  if (interaction === undefined) throw new Error(`no interaction ${id}`)
  return taskReading(ctx).views.thread(interaction, { fromTurn: 1, maxChars: undefined })
}
const anewOf = ({ ctx }: TestNode, id: string) =>
  taskParts(ctx).redelegation.redelegate(ctx.threads.findById(id) as Interaction)
const filesOf = (node: TestNode, id: string) =>
  node
    .messages(id)
    .flatMap(({ key }) => node.ctx.threads.attachmentsOf(key))
    .map(({ name, cid }) => [name, cidText(cid)])

describe('a task that was lost', () => {
  let world: TestWorld
  let alice: TestNode
  let bob: TestNode
  let id: string

  beforeEach(async () => {
    world = new TestWorld()
    ;({ alice, bob } = await world.pair())
    const archive = world.archive(bob)
    const madeAtMs = world.clock.ms
    world.pass(HOUR_MS)
    // too large for one envelope of a stranger: each goes in a message of its own
    const attach = [file('first.bin', 150_000), file('second.bin', 150_000)]
    id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'compare the two', attach })
    await world.settle()
    world.pass(HOUR_MS)
    bob = await world.restore(bob, archive, madeAtMs)
    bob.ctx.contacts.add(alice.aid, 'alice')
    bob.askNumbers()
    for (let i = 0; i < 12; i++) {
      world.pass(10_000)
      await world.settle()
      for (const node of [alice, bob]) await node.ask()
    }
    expect(alice.thread(id).lostByPeerAt).not.toBeNull()
  })
  afterEach(() => world[Symbol.asyncDispose]())

  test('goes out as a new one, with every file, and both name each other', async () => {
    expect(shown(alice, id).actions).toContain('anew')
    const before = filesOf(alice, id)
    const anew = anewOf(alice, id).id
    await world.settle()
    expect(anew).not.toBe(id)
    expect(bob.messages(anew)[0]?.text).toBe('compare the two')
    expect(filesOf(bob, anew).sort()).toEqual(before.sort())
    expect(before).toHaveLength(2)
    expect(alice.thread(anew).requestCid).toBe(alice.thread(id).requestCid)
    expect(shown(alice, id)).toMatchObject({ anew_as: anew, reason: expect.stringContaining(anew) })
    expect(shown(alice, anew)).toMatchObject({ anew_of: id })
    expect(shown(alice, id).actions).not.toContain('anew')
  })

  test('is given anew once, however often that is asked for', () => {
    const anew = anewOf(alice, id).id
    expect(anewOf(alice, id).id).toBe(anew)
  })

  test('and whose file is gone is refused, and nothing goes out', () => {
    const [, cid = ''] = filesOf(alice, id)[0] ?? []
    rmSync(alice.ctx.attachments.find(cid) as string)
    expect(() => anewOf(alice, id)).toThrow('not on this machine any more')
    expect(alice.thread(id).anewAs).toBeNull()
  })

  test('is told apart from one that nobody lost', () => {
    const other = alice.delegate(bob)
    expect(shown(alice, other.id).actions).not.toContain('anew')
    expect(() => anewOf(alice, other.id)).toThrow('that its recipient lost')
  })

  test('says in the list what it goes on as', () => {
    const anew = anewOf(alice, id).id
    const { key } = alice.thread(id)
    const seen = glimpsesOf(alice.ctx.store, [key]).get(key)
    if (seen === undefined) throw new Error('not listed')
    expect(taskReading(alice.ctx).views.summary(alice.thread(id), seen)).toMatchObject({ anew_as: anew })
  })
})

test('what was paid for is not paid a second time but on the word of a person', async () => {
  await using world = new PaidWorld()
  const { alice, bob } = await world.paid()
  const { ctx } = alice.node
  ctx.settings.change({ spend: { auto_max: 50, agent_max: 0, day_max: 500, payee_day_max: 500 } })
  const paid = await world.held(alice, bob)
  const before = world.post.ledger.balanceOf(alice.node.aid)
  alice.node.within(() => ctx.threads.update(alice.node.thread(paid), { lostByPeerAt: world.clock.ms }))
  const anew = anewOf(alice.node, paid)
  await world.turns(4)
  expect(quoteOf(ctx.store, anew.key)).toMatchObject({
    state: 'open',
    amount: PRICE,
    reason: expect.stringContaining('was paid for before its recipient lost it'),
  })
  expect(world.post.ledger.balanceOf(alice.node.aid)).toEqual(before)
  alice.payer.pay(alice.node.thread(anew.id))
  await world.turns(3)
  expect(world.post.ledger.balanceOf(alice.node.aid).held).toBe(2 * PRICE)
})

test('what is paid for goes on with every file, also those that went in messages of their own', async () => {
  await using world = new PaidWorld()
  const { alice, bob } = await world.paid()
  const { ctx } = alice.node
  const attach = [file('first.bin', 150_000), file('second.bin', 150_000)]
  const asked = { to: bob.node.aid, task: 'compare the two', attach, pay: true, max_credits: PRICE }
  const quoted = taskParts(ctx).delegation.delegate(asked)
  expect(ctx.threads.attachmentsOf(alice.node.messages(quoted)[0]?.key ?? 0)).toEqual([])
  await world.turns(4)
  const paidAs = quoteOf(ctx.store, alice.node.thread(quoted).key)?.paidAs ?? -1
  const { id } = ctx.threads.byKey(paidAs)
  expect(filesOf(bob.node, id).map(([name]) => name)).toEqual(['first.bin', 'second.bin'])
})
