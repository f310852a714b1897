import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeAccess } from '../../protocol/mail/access.ts'
import { CapabilityBody } from '../../protocol/mail/capability.ts'
import { warningsOf } from '../control/parts.ts'
import { deliveryView } from '../control/views.ts'
import { say } from '../tasks/conversation.ts'
import { textMessage } from '../tasks/messages.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith, type Script } from '../testing/scripted-hub.ts'
import { mailParts } from './open.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

type Asked = { kind: 'session' | 'capability'; rids: string[] }

/** What the hub sees of credentials when it is asked: the session of alice, or one capability. */
function recorded(node: TestNode): { asked: Asked[]; credentialOf: Map<string, string> } {
  const asked: Asked[] = []
  const credentialOf = new Map<string, string>()
  const script: Script = {
    send: async delivery => {
      for await (const _ of delivery.content());
      const access = decodeAccess(delivery.access)
      const rid = `rid ${credentialOf.size}`
      const shown = access.kind === 0 ? 'session' : CapabilityBody.decode(access.capabilityBody).id
      credentialOf.set(rid, typeof shown === 'string' ? shown : toBase64url(shown))
      return { rid, duplicate: false }
    },
    deliveryStates: async (kind, items) => {
      asked.push({ kind, rids: items.map(({ rid }) => rid) })
      return items.map(() => ({ state: 'queued' as const }))
    },
  }
  node.hub.answers(script)
  return { asked, credentialOf }
}

test('a hub that does not answer holds up no question about what another one has', async () => {
  const carol = await world.node('carol')
  const asked: (string | undefined)[] = []
  alice.hub.answers({
    send: async ({ recipient }) => ({
      rid: recipient,
      duplicate: false,
      ...(recipient === carol.aid && { viaHub: 'far' }),
    }),
    deliveryStates: (_, [item]) => {
      asked.push(item?.viaHub)
      return new Promise(() => undefined)
    },
  })
  for (let n = 0; n < 3; n++) alice.delegate(carol)
  alice.delegate(bob)
  await alice.send()
  world.pass(60_000)
  const { queries } = mailParts(alice.ctx)
  const questions = [1, 2, 3].map(() => queries.askWhatIsDue(alice.hub))
  expect(questions.map(one => one !== undefined)).toEqual([true, true, false])
  expect(asked.toSorted()).toEqual(['far', undefined])
})

describe('what another hub has, about which nobody can be asked', () => {
  const HOME = 'home-of-carol'
  let carol: TestNode
  let key: number
  beforeEach(async () => {
    carol = await world.node('carol')
    alice.hub.answers({ send: async () => ({ rid: 'one', duplicate: false, viaHub: HOME }) })
    const { id } = alice.delegate(carol)
    await alice.send()
    key = alice.messages(id)[0]?.key as number
  })

  async function ask(answer: NonNullable<Script['deliveryStates']>): Promise<void> {
    alice.hub.answers({ deliveryStates: answer })
    world.pass(130_000)
    await alice.ask()
  }
  const refuse = (code: string) => ask(() => Promise.reject(refusedWith(code)))
  const shown = () => deliveryView(alice.ctx.store, alice.ctx.threads.message(key))
  const warnings = () => warningsOf(alice.ctx).list().join()

  test('stays there, and thread and status name the hub that does not answer, over a restart too', async () => {
    for (const round of [1, 2]) {
      await refuse('home_unreachable')
      expect([round, shown()]).toMatchObject([round, { state: 'at_hub', reason_own: true }])
      expect(shown().reason).toContain(`${HOME}, has it and did not answer`)
      expect(warnings()).toContain(`the hub ${HOME} does not answer the hub of this node; a message waits`)
    }
  })

  test('is said to be there where the own hub does not ask that one any more', async () => {
    await refuse('bad_status_query')
    expect(shown()).toMatchObject({
      state: 'at_hub',
      reason: expect.stringContaining('does not ask that one'),
    })
    expect(warnings()).not.toContain(HOME)
  })

  test('is named no more once that hub has answered', async () => {
    await refuse('home_unreachable')
    await ask(async (_, items) => items.map(() => ({ state: 'queued' as const })))
    expect(shown().state).toBe('at_hub')
    expect(shown()).not.toHaveProperty('reason')
    expect(warnings()).not.toContain(HOME)
  })

  test('is unknown after its deadline, and not lost before', async () => {
    for (let day = 0; day < 40 && shown().state === 'at_hub'; day++) {
      await refuse('home_unreachable')
      world.pass(24 * HOUR_MS)
    }
    expect(shown()).toMatchObject({
      state: 'unknown',
      reason: expect.stringContaining('not known to have arrived'),
    })
  })
})

test('a message for a hub that does not answer is counted in the status, with that hub', async () => {
  alice.hub.answers({ send: () => Promise.reject(refusedWith('home_unreachable')) })
  for (let n = 0; n < 2; n++) alice.delegate(bob)
  await alice.send()
  const home = bob.hub.identity.aid
  expect(warningsOf(alice.ctx).list().join()).toContain(
    `the hub ${home} does not answer the hub of this node; 2 messages wait`,
  )
})

describe('questions about deliveries', () => {
  test('of a busy hour link no two envelopes that their credentials do not link already', async () => {
    const carol = await world.node('carol')
    const { asked, credentialOf } = recorded(alice)
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.push(alice.delegate(bob).id, alice.delegate(carol).id)
    await alice.send()
    alice.within(() => alice.ctx.capabilities.accept(bob.aid, bob.ctx.capabilities.topUp(alice.aid)))
    for (let minute = 0; minute < 60; minute++) {
      const id = ids[minute % ids.length] as string
      alice.within(() => say(alice.tasks.answers, alice.thread(id), textMessage(`words ${minute}`, [])))
      await alice.send()
      for (let n = 0; n < 20; n++) await alice.ask()
      world.pass(HOUR_MS / 60)
    }
    const used = new Set(credentialOf.values())
    expect(used.size).toBe(9)
    expect(asked.length).toBeGreaterThan(100)
    for (const { rids, kind } of asked) {
      const credentials = new Set(rids.map(rid => credentialOf.get(rid)))
      expect(credentials.size).toBe(1)
      expect(kind).toBe(credentials.has('session') ? 'session' : 'capability')
    }
    expect(new Set(asked.flatMap(({ rids }) => rids)).size).toBe(credentialOf.size)
  })

  test('about an envelope whose credential is not known ask about it alone, and name nobody', async () => {
    const { asked } = recorded(alice)
    alice.delegate(bob)
    alice.delegate(bob)
    await alice.send()
    alice.ctx.store.run('UPDATE outbox SET credential = NULL')
    world.pass(HOUR_MS)
    await alice.ask()
    await alice.ask()
    expect(asked.map(({ kind, rids }) => [kind, rids.length])).toEqual([
      ['capability', 1],
      ['capability', 1],
    ])
  })
})
