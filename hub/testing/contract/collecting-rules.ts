/** The contract of the store on mail that goes: collected, confirmed, expired; and on capabilities that are taken back. */
import { expect } from 'vitest'
import { bytes, DAY_MS, item, NOW_MS, type Rule, rule } from './world.ts'

export const collectingRules: readonly Rule[] = [
  rule('removes an envelope once, whoever repeats it, and names its file', async world => {
    const file = 'a'.repeat(32)
    await world.queued(item(world.box, 1, { content: undefined, file, stranger: true }))
    await world.queued(item(world.box, 2))
    const results = await Promise.all([world.ack(1, 1, 7), world.ack(1)])
    expect(results).toEqual([
      { acked: 1, stored: 0, ids: [1], files: [file] },
      { acked: 0, stored: 0, ids: [], files: [] },
    ])
    expect([await world.pollIds(), await world.store.strangersWaiting(world.box)]).toEqual([[2], 0])
    expect(await world.store.totals()).toMatchObject({ envelopes: 1, bytes: 100, strangerEnvelopes: 0 })
  }),

  rule('keeps a fetched confirmation no longer for being fetched again', async world => {
    const { rid } = await world.queued(item(world.box, 1))
    const items = [{ id: 1, handle: bytes(16, 5), dack: bytes(540, 6) }]
    await world.store.ack({ mailbox: world.box, items, keepUntilMs: NOW_MS + DAY_MS })
    await world.store.markFetched([rid], NOW_MS + 10)
    await world.store.markFetched([rid, bytes(16, 3)], NOW_MS + 100)
    expect(await world.store.status([rid])).toMatchObject([{ state: 'done', fetched: true }])
    await world.store.sweep(NOW_MS + 10, 100)
    expect(await world.store.status([rid])).toEqual([{ state: 'unknown' }])
  }),

  rule('sweeps expired envelopes of all mailboxes with their files, and leaves what lives', async world => {
    const other = await world.newMailbox('agent-two')
    const file = 'a'.repeat(32)
    await world.queued(item(world.box, 1, { deleteAtMs: NOW_MS + 1 }))
    await world.queued(item(other, 2, { deleteAtMs: NOW_MS + 1, content: undefined, file }))
    await world.queued(item(other, 3))
    const { envelopes, files, more } = await world.store.sweep(NOW_MS + 1, 100)
    expect([envelopes.length, files, more]).toEqual([2, [file], false])
    expect(envelopes).toEqual(
      expect.arrayContaining([
        { mailbox: world.box, id: 1 },
        { mailbox: other, id: 1 },
      ]),
    )
    expect([await world.pollIds(), await world.pollIds(other)]).toEqual([[], [2]])
  }),

  rule('revokes the same again without counting it, and lets what has expired make room', async world => {
    const revoke = (ids: number[], nowMs = NOW_MS) =>
      world.store.revoke({
        mailbox: world.box,
        capabilities: ids.map(n => bytes(16, n)),
        deleteAtMs: nowMs + DAY_MS,
        nowMs,
        max: 2,
      })
    expect(await revoke([1, 1, 2])).toEqual({ outcome: 'revoked', revoked: 2, total: 2 })
    expect(await revoke([1, 2])).toEqual({ outcome: 'revoked', revoked: 0, total: 2 })
    expect(await revoke([3], NOW_MS + DAY_MS)).toEqual({ outcome: 'revoked', revoked: 1, total: 1 })
    expect((await world.store.totals()).revocations).toBe(1)
    const other = await world.newMailbox('agent-two')
    expect(await world.store.isRevoked(other, bytes(16, 3))).toBe(false)
  }),
]
