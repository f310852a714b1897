/** A move killed at every step on its way is finished by the next start, with one rotation and no more. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { checkMoved, openMover } from './move.ts'
import { delegated, killedAt, type Lab, never, openLab, receiptSeqs, stateOf, until } from './world.ts'

let lab: Lab
let second: TestHub
beforeAll(async () => {
  lab = await openLab()
  second = await startTestHub()
})
afterAll(async () => {
  await lab.close()
  await second.close()
})

test.each([
  'node.join.after-commit',
  'node.rotate.before-next',
  'node.rotate.after-next',
  'node.rotate.kel.before-rename',
  'node.rotate.kel.after-rename',
  'node.rotate.after-kel',
  'node.rotate.after-rename',
  'node.keys.before-rename',
  'node.keys.after-rename',
  'node.key-state.before-commit',
  'node.key-state.after-commit',
])('killed at %s', async fault => {
  const mover = await openMover(lab, second, fault)
  expect(await killedAt(lab, mover.name, fault, 'hubRegister', { url: second.url })).toBe('SIGKILL')
  await checkMoved(lab, second, mover)
})

test.each(['node.rotate.after-rename', 'node.key-state.before-commit', 'node.key-state.after-commit'])(
  'a rotation killed at %s leaves no receipt under the old key',
  async fault => {
    const name = `rotates-${fault}`
    const provider = await lab.member(name)
    const asker = await lab.member(`${name}-asks`)
    await provider.handlers.contactAdd({ aid: asker.aid, petname: 'asker' }, never)
    const interaction_id = await delegated(asker, provider, 'soon over')
    await asker.handlers.end({ interaction_id }, never)
    await until('proposed', async () => (await stateOf(provider, interaction_id)) === 'end_proposed')
    await lab.line.down()
    await provider.handlers.end({ interaction_id, mode: 'accept' }, never)
    await provider.stop()
    expect(await killedAt(lab, name, fault, 'idRotate', {})).toBe('SIGKILL')
    const again = await lab.start(name)
    expect(receiptSeqs(again)).toEqual([2])
    await lab.line.up()
    await until('both signed', async () => {
      for (const node of [again, asker]) {
        node.ctx.store.run('UPDATE outbox SET next_at = 0')
        node.wake()
      }
      return (await again.handlers.verify({ interaction_id }, never)).counter_signed
    })
  },
)

test('killed before the hub is chosen, nothing has moved', async () => {
  const mover = await openMover(lab, second, 'unmoved')
  const given = { url: second.url }
  expect(await killedAt(lab, mover.name, 'node.join.before-commit', 'hubRegister', given)).toBe('SIGKILL')
  const node = await lab.start(mover.name)
  expect([node.ctx.identity.log.seq, node.ctx.identity.log.home]).toEqual([1, lab.hub.aid])
})
