/** How the events of an identity are dated where the clock of the machine and the one of the hub disagree. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { presented } from '../hubs/hub.ts'
import { Publication } from '../hubs/publication.ts'
import { hubRow, writeHome } from '../store/hubs.ts'
import { DAY_MS, HOUR_MS, START_MS, type TestNode, TestWorld } from '../testing/node.ts'
import type { Membership } from './membership.ts'
import { openMembership } from './open.ts'

let world: TestWorld
let node: TestNode
let membership: Membership
const { signal } = new AbortController()

beforeEach(async () => {
  world = new TestWorld()
  node = await world.node('nora')
  const { store, identity, now, timers, random, attachments } = node.ctx
  writeHome(store, presented(node.hub), false, world.clock.ms)
  const connections = undefined as never
  const inputs = {
    identity,
    connections,
    now,
    timers,
    random,
    spoolFolder: attachments.folder,
    publication: new Publication(),
  }
  membership = openMembership(node.ctx, inputs).membership
})
afterEach(() => world[Symbol.asyncDispose]())

const eventMs = () => node.ctx.identity.log.ts

/** The clock of the machine jumps ahead; the hub says what time it really is. */
function jump(ms: number, saysAt: 'before' | 'refresh' = 'before'): void {
  const right = world.clock.ms + 1000
  world.pass(ms)
  const told = () => {
    node.hub.knownTimeMs = right
  }
  if (saysAt === 'before') told()
  else node.hub.answers({ refresh: async () => told() })
}

describe('with a clock that ran ahead', () => {
  test.each([3 * HOUR_MS, DAY_MS, 20 * DAY_MS])(
    'by %i ms a key event is dated by the hub, which takes it at once when the clock is right again',
    async ahead => {
      jump(ahead)
      await membership.rotate(signal)
      expect(eventMs()).toBe(START_MS + 1000)
      expect(hubRow(node.ctx.store, node.hub.url)?.registeredSeq).toBe(node.ctx.identity.log.seq)
    },
  )

  test('a key event waits for the time of a hub that has not said it yet', async () => {
    jump(DAY_MS, 'refresh')
    await membership.rotate(signal)
    expect(eventMs()).toBe(START_MS + 1000)
  })

  test('the end of an identity is dated by the hub', async () => {
    jump(DAY_MS)
    await membership.deactivate(signal)
    expect(eventMs()).toBe(START_MS + 1000)
  })

  test('what travels and what is signed off is dated by the hub', () => {
    jump(DAY_MS)
    expect(node.ctx.hubNow()).toBe(START_MS + 1000)
  })

  test('an event that the hub does not take for its time is named as the reason, whatever was refused last', async () => {
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 2 * HOUR_MS)
    node.hub.knownTimeMs = world.clock.ms
    node.ctx.hub.noteContact('the signature does not verify')
    expect(node.ctx.hub.state).toEqual({
      state: 'offline',
      reason: expect.stringContaining(
        'the last key event of this identity is dated 2 hours ahead of the hub',
      ),
    })
  })
})

test('a clock that is slow by hours is put right by the hub', async () => {
  node.hub.skewMs = HOUR_MS
  node.hub.knownTimeMs = world.clock.ms + HOUR_MS
  await membership.rotate(signal)
  expect(eventMs()).toBe(START_MS + HOUR_MS)
})

test('a hub that agrees but for its whole seconds changes no date', async () => {
  world.pass(500)
  node.hub.knownTimeMs = world.clock.ms - 500
  await membership.rotate(signal)
  expect(eventMs()).toBe(START_MS + 500)
})
