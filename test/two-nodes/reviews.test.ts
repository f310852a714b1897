import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import type { Node } from '../../daemon/node.ts'
import { callRoute } from '../../hub/testing/hub.ts'
import { delegated, finished, type Lab, never, openPair, stateOf, until } from './world.ts'

const DAY_MS = 86_400_000
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})

afterAll(() => lab.close())

async function ended(requester: Node, task: string): Promise<string> {
  const id = await delegated(requester, bob, task)
  await finished(requester, bob, id)
  return id
}
/** A task that was ended with a provider in place of bob. */
async function signedBy(provider: Node): Promise<string> {
  const id = await delegated(alice, provider, 'sign this')
  await provider.handlers.approve({ interaction_id: id }, never)
  await finished(alice, provider, id)
  return id
}
const reviewOf = (node: Node, id: string) =>
  node.ctx.store.get<{
    state: string
    reason: string | null
    next_at: number
    attestation: Uint8Array | null
  }>('SELECT r.* FROM reviews AS r JOIN interactions AS i ON i.key = r.interaction WHERE i.id = ?', id)

describe('a rating', () => {
  test('in the first days at a hub waits for the end of the probation, and says until when', async () => {
    const id = await ended(alice, 'too early')
    const reply = await alice.handlers.review({ interaction_id: id, rating: 5 }, never)
    expect(reply).toMatchObject({ uploaded: false, reason: 'probation' })
    const wait = (reply.next_try_at as number) - lab.hub.clock.now()
    const standing = async () =>
      (await alice.handlers.results({}, never)).items.find(item => item.interaction_id === id)?.review
    expect(await standing()).toEqual({
      uploaded: false,
      reason: 'probation',
      reason_quotes: true,
      next_try_at: reply.next_try_at,
    })
    expect(wait).toBeGreaterThan(2 * DAY_MS)
    expect(wait).toBeLessThan(4 * DAY_MS)
    lab.hub.clock.advance(wait + 1000)
    await until('uploaded', () => {
      alice.wake()
      return reviewOf(alice, id)?.state === 'uploaded'
    })
    expect(await standing()).toEqual({ uploaded: true })
  })

  test('goes up at once, the attestation of the hub is kept, and the provider has a reputation', async () => {
    const id = await ended(alice, 'rate me')
    const reply = await alice.handlers.review({ interaction_id: id, rating: 4, comment: 'fine' }, never)
    expect(reply).toMatchObject({ uploaded: true, rating: 4 })
    expect(reply.next_try_at).toBeUndefined()
    expect(reviewOf(alice, id)?.attestation).toBeInstanceOf(Uint8Array)
    const told = await callRoute(lab.hub, 'reputation', undefined, { params: { aid: bob.aid } })
    expect(JSON.stringify(told.json)).toContain('4')
    const again = alice.handlers.review({ interaction_id: id, rating: 1 }, never)
    await expect(again).rejects.toMatchObject({ code: 'wrong_state' })
  })

  test('is what shows to everybody that a receipt is older than a rotation of its provider', async () => {
    const carl = await lab.member('carl')
    const [rated, unrated] = [await signedBy(carl), await signedBy(carl)]
    await alice.handlers.review({ interaction_id: rated, rating: 5 }, never)
    await alice.handlers.idRotate({}, never)
    await carl.handlers.idRotate({}, never)
    lab.hub.clock.advance(DAY_MS)
    await alice.handlers.review({ interaction_id: unrated, rating: 5 }, never)
    const given = async (id: string) => {
      const { verdict, receipt, attestation, key_checked } = await alice.handlers.verify(
        { interaction_id: id },
        never,
      )
      expect([verdict, key_checked]).toEqual(['valid_retired_key', true])
      return { receipt: String(receipt), attestation: String(attestation) }
    }
    const check = async (...args: string[]) => {
      const { code, out, err } = await runIn(lab.folder, ['verify', '--hub', lab.hub.url, ...args])
      return { code, err, ...(out === '' ? {} : (JSON.parse(out) as Record<string, unknown>)) }
    }
    const [one, other] = [await given(rated), await given(unrated)]
    expect(await check('--receipt', one.receipt)).toMatchObject({
      code: 1,
      verdict: 'invalid',
      says: expect.stringContaining('the attestation of a hub, which the requester gets for a rating'),
    })
    expect(await check('--receipt', one.receipt, '--attestation', one.attestation)).toMatchObject({
      code: 0,
      verdict: 'valid_retired_key',
      says: expect.stringMatching(/the attestation of the hub \S+ shows it from before/),
    })
    const { kel } = await alice.handlers.keyHistory({ agent: carl.aid }, never)
    expect(
      await check('--receipt', one.receipt, '--attestation', one.attestation, '--kel', kel),
    ).toMatchObject({ code: 0, verdict: 'valid_retired_key' })
    expect(await check('--receipt', other.receipt, '--attestation', other.attestation)).toMatchObject({
      code: 1,
      verdict: 'invalid',
      says: expect.stringContaining('the evidence of its time is later than that'),
    })
    expect(await check('--receipt', other.receipt, '--attestation', one.attestation)).toMatchObject({
      code: 1,
      err: expect.stringContaining('not the word of this hub about this receipt'),
    })
    await lab.line.down()
    expect(await alice.handlers.verify({ interaction_id: rated }, never)).toMatchObject({
      verdict: 'valid_retired_key',
      key_checked: false,
    })
    await lab.line.up()
  })

  test('given while the hub is down says so with the time of the next try, and goes up by itself', async () => {
    const id = await ended(alice, 'rate me later')
    await lab.line.down()
    const reply = await alice.handlers.review({ interaction_id: id, rating: 5 }, never)
    expect(reply).toMatchObject({ uploaded: false, reason: expect.stringContaining('hub unreachable') })
    expect(reply.next_try_at).toBeGreaterThan(lab.hub.clock.now())
    await alice.stop()
    await lab.line.up()
    alice = await lab.start('alice')
    lab.hub.clock.advance(3_600_000)
    await until('uploaded', () => {
      alice.wake()
      return reviewOf(alice, id)?.state === 'uploaded'
    })
  })

  test('given with the proposal of the end waits for the receipt, also over a restart', async () => {
    const id = await delegated(alice, bob, 'rate me at the end')
    await bob.handlers.message({ interaction_id: id, text: 'done' }, never)
    await until('answered', async () => (await stateOf(alice, id)) === 'open')
    await alice.handlers.end({ interaction_id: id, rating: 3, comment: 'kept' }, never)
    expect(reviewOf(alice, id)).toBeUndefined()
    await alice.stop()
    alice = await lab.start('alice')
    await until('bob hears of the end', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await until('signed', () => reviewOf(alice, id) !== undefined)
    const item = (await alice.handlers.results({}, never)).items.find(one => one.interaction_id === id)
    expect(item).toMatchObject({ rating: 3 })
  })

  test('whose earlier upload was answered into the void is settled by review_exists', async () => {
    const id = await ended(alice, 'twice')
    await alice.handlers.review({ interaction_id: id, rating: 2 }, never)
    alice.ctx.store.run("UPDATE reviews SET state = 'kept', next_at = 0")
    await until('settled', () => {
      alice.wake()
      return reviewOf(alice, id)?.reason === 'review_exists'
    })
    expect(reviewOf(alice, id)?.state).toBe('uploaded')
  })

  test('that finds no hub for 30 days is given up with the reason', async () => {
    const id = await ended(alice, 'too late')
    await lab.line.down()
    await alice.handlers.review({ interaction_id: id, rating: 3 }, never)
    lab.hub.clock.advance(31 * DAY_MS)
    alice.wake()
    await until('given up', () => reviewOf(alice, id)?.state === 'refused')
    expect(reviewOf(alice, id)?.reason).toBe('the 30 days for a review are over')
    await lab.line.up()
  })
})
