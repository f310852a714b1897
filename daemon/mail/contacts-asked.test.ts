/** Contacts without open tasks after a restore: what they know of lost tasks is asked of each of them once, whatever fails. */
import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kinds } from '../../protocol/mail/payload.ts'
import { failWrites } from '../testing/failing-store.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let others: string[]

beforeEach(async () => {
  world = new TestWorld()
  const names = ['bob', 'carol', 'dave']
  alice = await world.node('alice')
  others = []
  for (const name of names) {
    const { aid } = await world.node(name)
    alice.ctx.contacts.add(aid, name)
    others.push(aid)
  }
  alice = await world.restore(alice, world.archive(alice), world.clock.ms)
})
afterEach(() => world[Symbol.asyncDispose]())

const asked = (): string[] =>
  alice.ctx.store
    .all<{ recipient: string }>('SELECT recipient FROM messages WHERE kind = ?', kinds.numbers)
    .map(({ recipient }) => recipient)

function copyOf(archive: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'svc-contacts-asked-'))
  cpSync(archive, dir, { recursive: true })
  return dir
}

/** How many writes the questions take. */
function writesOf(work: () => void): number {
  const disk = failWrites(alice.ctx.store, { from: 1, count: 0 })
  work()
  disk.mend()
  return disk.written
}

describe('contacts after a restore', () => {
  test('are asked once each', () => {
    alice.askNumbers()
    alice.askNumbers()
    expect(asked().toSorted()).toEqual(others.toSorted())
  })

  test('are asked once each although any write of the first round failed', async () => {
    const archive = world.archive(alice)
    const writes = writesOf(() => alice.askNumbers())
    expect(writes).toBeGreaterThan(others.length)
    for (let from = 1; from <= writes; from++) {
      alice = await world.restore(alice, copyOf(archive), world.clock.ms)
      const disk = failWrites(alice.ctx.store, { from, count: Number.POSITIVE_INFINITY })
      expect(() => alice.askNumbers()).toThrow('full')
      disk.mend()
      await alice.reopen()
      alice.askNumbers()
      expect(asked().toSorted()).toEqual(others.toSorted())
    }
  })
})
