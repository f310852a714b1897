import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { counted } from '../store/counters.ts'
import type { Interaction, NewInteraction } from '../store/interactions.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { STRANGERS_REFUSED, UNTAKEN_BYTES_MAX } from './policies.ts'

const OPEN_MAX = 2

let world: TestWorld
let bob: TestNode
let eve: TestNode

beforeEach(async () => {
  world = new TestWorld()
  bob = await world.node('bob')
  eve = await world.node('eve')
  bob.ctx.settings.change({ guest_messages: OPEN_MAX })
})
afterEach(() => world[Symbol.asyncDispose]())

/** A task of eve's that came to bob before. */
const placed = (changes: Partial<NewInteraction> = {}): Interaction =>
  bob.within(() =>
    bob.ctx.threads.create({
      id: toBase64url(bob.ctx.random(16)),
      delegator: eve.aid,
      peer: eve.aid,
      side: 'received',
      state: 'pending',
      way: 'sealed',
      capability: null,
      preview: 'count',
      commitment: null,
      requestCid: 'b',
      ...changes,
    }),
  )
const admitted = (bytes = 1, from = eve.aid) => bob.within(() => bob.tasks.admissions.admit(from, bytes))
const MIB = 1024 * 1024
/** Brings so many bytes of files with a message of a task that waits; the bytes of the message itself. */
function brings(interaction: Interaction, size: number): number {
  const payload = new Uint8Array(100)
  const from = interaction.peer
  const body = {
    from,
    to: bob.aid,
    messageId: bob.ctx.random(16),
    kind: 0,
    number: 1,
    payload,
    attachments: [],
  }
  const { message } = bob.within(() =>
    bob.ctx.threads.storeIncoming(interaction, body, { digest: new Uint8Array(32), text: '' }),
  )
  bob.ctx.store.run(
    "INSERT INTO message_attachments (message, position, name, media_type, size, cid) VALUES (?, 0, 'a', 'text/plain', ?, 'b')",
    message.key,
    size,
  )
  return payload.length
}

describe('a task of a stranger', () => {
  test('waits while there is room, and is refused and counted where there is none', () => {
    placed()
    expect(admitted()).toBe('pending')
    placed()
    expect(admitted()).toBe('refused')
    expect(counted(bob.ctx.store, STRANGERS_REFUSED)).toBe(1)
  })

  test('of a contact is open however many there are, and nobody is asked where tasks are not accepted', () => {
    for (let n = 0; n < 3; n++) placed()
    bob.ctx.contacts.add(eve.aid, 'eve')
    expect(admitted()).toBe('open')
    bob.ctx.settings.change({ accept_delegations: false })
    expect(admitted()).toBe('refused')
    bob.ctx.settings.change({ accept_delegations: true })
    bob.ctx.contacts.block('eve', true)
    expect(admitted()).toBe('refused')
  })

  test('finds no room while calls of the last 24 hours were answered, to the millisecond', () => {
    for (let n = 0; n < OPEN_MAX; n++) placed({ state: 'ended', capability: 'words.count' })
    world.pass(DAY_MS - 1)
    expect(admitted()).toBe('refused')
    world.pass(1)
    expect(admitted()).toBe('pending')
  })

  test('may be withdrawn ten times a day for each one that may be open', () => {
    for (let n = 1; n < 10 * OPEN_MAX; n++) placed({ state: 'cancelled' })
    expect(admitted()).toBe('pending')
    placed({ state: 'cancelled' })
    expect(admitted()).toBe('refused')
    world.pass(DAY_MS)
    expect(admitted()).toBe('pending')
  })
})

describe('a message of a stranger', () => {
  test('is taken in a task that was taken or sent, and counted in one that waits or is a call', () => {
    bob.ctx.settings.change({ guest_messages: 0 })
    const may = (changes: Partial<NewInteraction>) => bob.tasks.admissions.mayAdd(placed(changes), 1)
    expect(may({ state: 'open' })).toBe(true)
    expect(may({ side: 'sent', state: 'queued' })).toBe(true)
    expect(may({ side: 'sent', state: 'pending', capability: 'words.count' })).toBe(true)
    expect(may({ state: 'pending' })).toBe(false)
    expect(may({ state: 'open', capability: 'words.count' })).toBe(false)
    expect(counted(bob.ctx.store, STRANGERS_REFUSED)).toBe(2)
    bob.ctx.contacts.add(eve.aid, 'eve')
    expect(may({ state: 'pending' })).toBe(true)
  })
})

describe('texts and files of tasks that nobody took', () => {
  test('are 8 MiB of each stranger at most, to the byte', () => {
    expect(UNTAKEN_BYTES_MAX).toEqual({ each: 8 * MIB, all: 256 * MIB })
    expect(admitted(8 * MIB)).toBe('pending')
    expect(admitted(8 * MIB + 1)).toBe('refused')
    const task = placed()
    const left = 7 * MIB - brings(task, MIB)
    expect([admitted(left), admitted(left + 1)]).toEqual(['pending', 'refused'])
    expect([bob.tasks.admissions.mayAdd(task, left), bob.tasks.admissions.mayAdd(task, left + 1)]).toEqual([
      true,
      false,
    ])
  })

  test('are 256 MiB of all of them at most, to the byte', () => {
    const task = placed({ peer: `A${'m'.repeat(43)}` })
    const left = MIB - brings(task, 255 * MIB)
    expect([admitted(left), admitted(left + 1)]).toEqual(['pending', 'refused'])
  })

  test('are as many messages as a stranger may have tasks', () => {
    const task = placed()
    brings(task, 1)
    expect(bob.tasks.admissions.mayAdd(task, 1)).toBe(true)
    bob.ctx.settings.change({ guest_messages: 1 })
    expect(bob.tasks.admissions.mayAdd(task, 1)).toBe(false)
  })
})
