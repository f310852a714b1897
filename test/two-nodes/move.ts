/** A node that is about to move, and what must hold once an interrupted move is finished. */
import { expect } from 'vitest'
import type { TestHub } from '../../hub/testing/hub.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { type Lab, never, until, waiting } from './world.ts'

export type Mover = { name: string; aid: string; epoch: string; friend: string; lastIn: number }

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** A stopped member of the first hub, with a contact, that the second one would take. */
export async function openMover(lab: Lab, second: TestHub, name: string): Promise<Mover> {
  const node = await lab.member(name)
  const friend = await lab.member(`${name}-friend`)
  await node.handlers.contactAdd({ aid: friend.aid, petname: 'friend' }, never)
  await node.ctx.carriers.find(friend.aid)
  await second.running.hub.context.store.admit(node.aid, true)
  await until('registered', () => node.ctx.keys.isConfirmed)
  await node.stop()
  await friend.stop()
  return { name, aid: node.aid, epoch: hex(node.ctx.keys.epoch), friend: friend.aid, lastIn: 0 }
}

/** Starts the mover again: one rotation, a new mailbox, its correspondents told, registered at the new hub. */
export async function checkMoved(lab: Lab, second: TestHub, mover: Mover): Promise<void> {
  const node = await lab.start(mover.name)
  const { log } = node.ctx.identity
  expect([log.seq, log.home]).toEqual([2, second.aid])
  expect(hex(node.ctx.keys.epoch)).not.toBe(mover.epoch)
  const told = node.ctx.store.all<{ recipient: string }>(
    'SELECT recipient FROM messages WHERE kind = ?',
    kinds.capabilities,
  )
  expect(told.map(row => row.recipient)).toContain(mover.friend)
  expect(waiting(node, kinds.capabilities).length).toBeGreaterThan(0)
  await until('registered there', () => node.ctx.keys.isConfirmed)
  const { hub, hub_url } = await node.handlers.status(undefined, never)
  expect([hub?.aid, hub_url]).toEqual([
    second.aid,
    node.ctx.store.get<{ url: string }>("SELECT url FROM hubs WHERE role = 'home'")?.url,
  ])
  await node.stop()
}
