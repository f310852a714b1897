import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { delegated, inboxIds, type Lab, never, openPair, stateOf, texts, thread, until } from './world.ts'

const DAY_MS = 86_400_000
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

const summary = async (id: string) =>
  (await alice.handlers.results({}, never)).items.find(item => item.interaction_id === id)
const proof = (id: string) =>
  alice.ctx.chain
    .read({ eventType: 'svc.delegation.expired' })
    .map(record => record['payload'] as Record<string, unknown>)
    .filter(payload => payload['interaction_id'] === id)

async function pastDeadline(id: string): Promise<void> {
  lab.hub.clock.advance(7 * DAY_MS)
  await until('the deadline is noticed', async () => {
    // an answer that was under way over the jump still tells the old time
    await alice.ctx.hub.home?.refresh()
    alice.wake()
    return (await stateOf(alice, id)) === 'expired'
  })
}

describe('a task that nobody answers', () => {
  test('shows until when it waits, then says what happened and what to do; the evidence says the same', async () => {
    const id = await delegated(alice, bob, 'is anybody there')
    await until('it is known to have arrived', async () => {
      alice.ctx.store.run('UPDATE outbox SET next_at = 0')
      alice.wake()
      return (await stateOf(alice, id)) === 'delivered'
    })
    const answerBy = (await summary(id))?.answer_by as number
    expect(Math.abs(answerBy - lab.hub.clock.now() - 7 * DAY_MS)).toBeLessThan(DAY_MS / 24)
    await pastDeadline(id)
    const after = await summary(id)
    expect(after?.reason).toBe(
      `nobody answered within 7 days, it arrived; a late answer is still taken, svc cancel ${id} withdraws the task`,
    )
    expect(after?.answer_by).toBeUndefined()
    expect((await thread(alice, id)).actions).toEqual(['message', 'end', 'cancel'])
    expect(proof(id)).toMatchObject([{ provider_aid: bob.aid, delivery: 'delivered' }])
    expect(await stateOf(bob, id)).toBe('open')
  })

  test('is open again with the answer that comes too late', async () => {
    const id = await delegated(alice, bob, 'take your time')
    await pastDeadline(id)
    await bob.handlers.message({ interaction_id: id, text: 'sorry, here it is' }, never)
    await until('the answer is there', async () => (await texts(alice, id)).includes('sorry, here it is'))
    const reopened = await thread(alice, id)
    expect([reopened.state, reopened.reason]).toEqual(['open', undefined])
    await alice.handlers.message({ interaction_id: id, text: 'thanks' }, never)
    await until('the thanks arrive', async () => (await texts(bob, id)).includes('thanks'))
  })

  test('can still be withdrawn, and of one that may never have arrived it says so', async () => {
    const away = await lab.member('away')
    await away.stop()
    const { interaction_id: id } = await alice.handlers.delegate({ to: away.aid, task: 'hello?' }, never)
    await until('it lies at the hub', async () => (await summary(id))?.delivery?.state === 'at_hub')
    await pastDeadline(id)
    expect((await summary(id))?.reason).toContain('it is not known to have arrived (at hub)')
    expect(proof(id)).toMatchObject([{ delivery: 'at_hub' }])
    await alice.handlers.cancel({ interaction_id: id, reason: 'too late' }, never)
    const again = await lab.start('away')
    await until('the provider learns of both', async () => (await inboxIds(again)).includes(id))
    await until('it is withdrawn', async () => (await stateOf(again, id)) === 'cancelled')
  })
})
