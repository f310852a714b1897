/** What stands above carriers, over one that seals nothing and knows no envelope. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Carriers } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import { taskReading } from '../control/parts.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { Counter, openCarriers } from '../testing/open-carrier.ts'

class OpenWorld extends TestWorld {
  readonly counter = new Counter()
  protected override carriersOf(below: Ground): Carriers {
    return openCarriers(below, this.counter)
  }
}

let world: OpenWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new OpenWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

describe('over a carrier without sealing', () => {
  test('a task is delegated, answered and ended, and both sides hold its receipt', async () => {
    const { id } = alice.delegate(bob)
    await world.settle()
    bob.say(id, 'the answer')
    await world.settle()
    await world.end({ alice, bob, id })
    await world.settle()
    expect(alice.hub.sent).toEqual([])
    for (const node of [alice, bob])
      expect(node.thread(id)).toMatchObject({
        state: 'ended',
        receiptState: 'signed',
        way: expect.any(String),
      })
    expect(alice.messages(id).map(({ text }) => text)).toEqual(expect.arrayContaining(['the answer']))
  })

  test('a message is delivered once its recipient said so', async () => {
    const { id } = alice.delegate(bob)
    await alice.send()
    expect(alice.messages(id)[0]?.delivery).toBe('at_hub')
    await bob.receive()
    world.pass(HOUR_MS)
    await alice.ask()
    expect(alice.messages(id)[0]?.delivery).toBe('delivered')
  })

  test('files come whole', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-open-')), 'report.txt')
    writeFileSync(file, 'lines\n'.repeat(50_000))
    const id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'count', attach: [file] })
    await world.settle()
    const [attachment] = bob.messages(id).flatMap(({ key }) => bob.ctx.threads.attachmentsOf(key))
    const kept = bob.ctx.attachments.find(cidText(attachment?.cid as Uint8Array))
    expect(readFileSync(kept ?? '', 'utf8')).toBe('lines\n'.repeat(50_000))
  })

  test('nobody says that a task which came so was sealed', async () => {
    const { id } = alice.delegate(bob)
    await world.settle()
    expect(bob.thread(id).way).toBe('open')
    expect(taskReading(bob.ctx).views.thread(bob.thread(id), { fromTurn: 1, maxChars: 100 })).toMatchObject({
      sealed: false,
    })
  })
})
