/** A node that is put back to before its last rotation, of which only a previous hub has heard. */
import { expect, test } from 'vitest'
import type { Side } from './side.ts'
import { MatrixWorld } from './world.ts'

const { signal } = new AbortController()

/** Alice rotated while her home was away, told the hub where she was before, and lost the machine. */
async function rotatedUnseen(world: MatrixWorld): Promise<{ alice: Side; restore: () => Promise<void> }> {
  await world.begin()
  const { alice } = world
  await alice.parts.membership.join(world.other.url, signal)
  await alice.parts.membership.join(world.post.url, signal)
  const restore = await alice.backUp()
  const away = () => Promise.reject(world.unreached())
  alice.hub.answers({ register: away, publishKeys: away, pushLog: away, fetchAgent: away, fetchLog: away })
  await alice.parts.membership.rotate(signal)
  expect(world.other.listed.get(alice.aid)?.log.seq).toBe(alice.ctx.identity.log.seq)
  expect(world.post.listed.get(alice.aid)?.log.seq).toBe(alice.ctx.identity.log.seq - 1)
  world.heal()
  return { alice, restore }
}

test('a restored node asks previous hubs as well, and signs nothing where one holds a later key event', async () => {
  await using world = new MatrixWorld()
  const { alice, restore } = await rotatedUnseen(world)
  await restore()
  expect(alice.ctx.hub.oldCopy).toMatch(/^the hub http:\/\/other\.test holds key event \d+ of this identity/)
  const { length } = alice.ctx.chain
  await world.turns(3)
  expect(alice.ctx.chain.length).toBe(length)
})

test('one that could not ask then is told by the first refusal', async () => {
  await using world = new MatrixWorld()
  const { alice, restore } = await rotatedUnseen(world)
  const { other } = world
  const listed = [...other.listed]
  other.listed.clear()
  await restore()
  expect(alice.ctx.hub.oldCopy).toBeUndefined()
  for (const [aid, kept] of listed) other.listed.set(aid, kept)
  alice.ctx.hub.retiredAt.add(other.url)
  await alice.parts.membership.keepInSync(signal)
  expect(alice.ctx.hub.oldCopy).toMatch(/it is an old copy/)
})
