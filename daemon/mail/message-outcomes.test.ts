/** Every message ends, whatever hub and recipient do: delivered, failed with a reason, or unknown at its deadline. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { seeded } from '../../protocol/testing/agents.ts'
import { outboxSize } from '../store/outbox-sizes.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith, type ScriptedHub } from '../testing/scripted-hub.ts'

type Script = Parameters<ScriptedHub['answers']>[0]

const DEADLINE_MS = 28 * DAY_MS
const refused = [
  'access_invalid',
  'bad_envelope',
  'bad_exp',
  'expired',
  'hub_busy',
  'kid_stale',
  'mailbox_full',
  'recipient_unknown',
  'session_invalid',
  'strangers_busy',
  'too_large',
  'too_large_for_stranger',
]

/** What a hub may do in an hour, good and bad. */
const scripts: Script[] = [
  {},
  {},
  ...refused.map(code => ({ send: () => Promise.reject(refusedWith(code)) })),
  { send: () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNRESET' })) },
  // takes it and loses it
  { send: async () => ({ rid: 'lost', duplicate: false }) },
  { deliveryStates: () => Promise.reject(new Error('down')) },
  { deliveryStates: async (_kind, items) => items.map(() => ({ state: 'queued' as const })) },
  { deliveryStates: async (_kind, items) => items.map(() => ({ state: 'unknown' as const })) },
  { deliveryStates: async (_kind, items) => items.map(() => ({ state: 'done' as const })) },
  {
    deliveryStates: async (_kind, items) =>
      items.map(() => ({ state: 'done' as const, dack: new Uint8Array(540).fill(9) })),
  },
]

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

/** Delivered is what the recipient holds; anything else says why. */
function expectEnd(key: number): void {
  const message = alice.ctx.threads.message(key)
  expect(message.delivery).toMatch(/^(delivered|failed|unknown)$/)
  const held = bob.ctx.store.get('SELECT 1 FROM messages WHERE message_id = ?', message.messageId)
  if (message.delivery === 'delivered') expect([message.number, held]).not.toContain(undefined)
  else expect(message.reason).toMatch(/\w+ \w+ \w+/)
}

describe('every message ends', () => {
  test.each(Array.from({ length: 24 }, (_, n) => `world ${n}`))('%s', async seed => {
    const random = seeded(seed)
    const below = (n: number) => ((random(2)[0] as number) * 256 + (random(2)[1] as number)) % n
    const isPatient = below(2) === 0
    const { id } = alice.delegate(bob)
    const said = ['one', 'two', 'three'].map(text => alice.say(id, text).key)
    const first = alice.messages(id)[0]?.key ?? -1
    for (let passed = 0; passed <= DEADLINE_MS + DAY_MS; ) {
      alice.hub.answers(scripts[below(scripts.length)] ?? {})
      // bob is away for days at a time
      if (below(4) === 0) await bob.receive()
      await alice.send()
      await alice.ask()
      alice.mail.settling.endOverdue()
      const step = isPatient ? DAY_MS : (1 + below(20)) * HOUR_MS
      world.pass(step)
      passed += step
    }
    expect(outboxSize(alice.ctx.store)).toBe(0)
    for (const key of [first, ...said]) expectEnd(key)
  })
})
