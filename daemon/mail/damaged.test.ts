/** Envelopes whose bytes were damaged on their way from the hub: fetched again, and nothing is said about their message. */

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { openRelay } from './open.ts'
import type { Relay } from './relay.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let relay: Relay

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  relay = openRelay(bob.ctx)
})
afterEach(async () => {
  await relay.stop()
  await world[Symbol.asyncDispose]()
})

type Harm = (bytes: Uint8Array) => Uint8Array
const flip =
  (share: number): Harm =>
  bytes => {
    const harmed = Uint8Array.from(bytes)
    const at = Math.min(bytes.length - 1, Math.floor(bytes.length * share))
    harmed[at] = (harmed[at] as number) ^ 1
    return harmed
  }
const harms: [string, Harm][] = [
  ['a bit near its end is another one', flip(0.99)],
  ['a bit in its middle is another one', flip(0.6)],
  ['its end is missing', bytes => bytes.slice(0, -40)],
  ['all but its first bytes is missing', bytes => bytes.slice(0, 20)],
  ['something follows it', bytes => Uint8Array.from([...bytes, 0])],
]

/** The next `times` polls bring every envelope with that harm. */
function harmPolls(harm: Harm, times: number): void {
  let left = times
  bob.hub.answers({
    poll: async options => {
      bob.hub.answers({})
      const reply = await bob.hub.poll(options)
      if (--left > 0) harmPolls(harm, left)
      const envelopes = reply.envelopes.map(one => {
        const [bytes] = one.source as Uint8Array[]
        return { ...one, source: [harm(bytes as Uint8Array)] }
      })
      return { ...reply, envelopes }
    },
  })
}

describe.each(harms)('an envelope of which %s', (_, harm) => {
  test.each(['words alone', 'a file'])('with %s is taken once it comes whole', async what => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-damaged-')), 'report.txt')
    writeFileSync(file, 'x'.repeat(200_000))
    const attach = what === 'a file' ? [file] : []
    const id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'count', attach })
    await alice.send()
    harmPolls(harm, 2)
    for (let n = 0; n < 2; n++) {
      await relay.drain(bob.hub, 0)
      expect(bob.ctx.threads.findById(id)).toBeUndefined()
      expect(world.post.carried).not.toEqual([])
    }
    await relay.drain(bob.hub, 0)
    expect(bob.thread(id)).toMatchObject({ state: 'open' })
    world.pass(10 * 60_000)
    await alice.ask()
    expect(alice.ctx.threads.messages(alice.thread(id).key)[0]?.delivery).toBe('delivered')
  })

  test('each time is given up, and its sender sends the message again', async () => {
    const { id } = alice.delegate(bob)
    await alice.send()
    harmPolls(harm, 3)
    for (let n = 0; n < 3; n++) await relay.drain(bob.hub, 0)
    expect([world.post.carried, world.post.dacks.size]).toEqual([[], 0])
    world.pass(10 * 60_000)
    await alice.ask()
    expect(alice.entry()).toMatchObject({ state: 'queued', lastError: 'collected, but not confirmed' })
    world.pass(10 * 60_000)
    await alice.send()
    await relay.drain(bob.hub, 0)
    expect(bob.thread(id).state).toBe('open')
  })
})
