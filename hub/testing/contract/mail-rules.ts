/** The contract of the store on mailboxes: queueing, polling, confirming, revoking, expiry. */
import { expect } from 'vitest'
import type { Enqueue } from '../../store/port.ts'
import { collectingRules } from './collecting-rules.ts'
import { ackOf, agentRow, bytes, DAY_MS, item, limits, NOW_MS, type Rule, rule } from './world.ts'

/** Found again before their content is read. */
const early: [string, Partial<Enqueue>][] = [
  ['of a stranger', { stranger: true }],
  ['in a file', { content: undefined, file: 'one' }],
]

export const mailRules: readonly Rule[] = [
  rule('gives ids that rise per mailbox, each mailbox for itself', async world => {
    const other = await world.newMailbox('agent-two')
    const results = await world.enqueueAll([
      item(world.box, 1),
      item(other, 2),
      item(world.box, 3),
      item(other, 4),
    ])
    expect(results).toMatchObject([1, 1, 2, 2].map(id => ({ outcome: 'queued', id })))
  }),

  rule(
    'never gives an id twice, also when the mailbox was emptied and the store opened again',
    async world => {
      await world.enqueueAll([item(world.box, 1), item(world.box, 2)])
      await world.ack(1, 2)
      await world.reopen()
      expect(await world.enqueueAll([item(world.box, 3)])).toMatchObject([{ outcome: 'queued', id: 3 }])
    },
  ),

  rule('answers a repeat that still waits as duplicate with the first rid', async world => {
    const { rid } = await world.queued(item(world.box, 1))
    expect(await world.store.enqueue(item(world.box, 1))).toEqual({ outcome: 'duplicate', rid })
    await world.reopen()
    expect(await world.store.enqueue(item(world.box, 1))).toEqual({ outcome: 'duplicate', rid })
  }),

  ...early.map(([which, more]) =>
    rule(`finds an envelope ${which} by its digest before it is sent again`, async world => {
      const { rid } = await world.queued(item(world.box, 1, more))
      expect(await world.store.findQueued(world.box, bytes(32, 1))).toEqual(rid)
      expect(await world.store.findQueued(world.box, bytes(32, 2))).toBeUndefined()
      await world.ack(1)
      expect(await world.store.findQueued(world.box, bytes(32, 1))).toBeUndefined()
    }),
  ),

  rule('lets each item of a group fail alone', async world => {
    const tight = { ...limits, envelopesMax: 2 }
    const items = [1, 2, 3, 4].map(n => item(world.box, n, { limits: n === 4 ? limits : tight }))
    expect(await world.outcomes([...items, item(999, 5), item(world.box, 1)])).toEqual([
      'queued',
      'queued',
      'mailboxFull',
      'queued',
      'noMailbox',
      'duplicate',
    ])
    expect(await world.pollIds()).toEqual([1, 2, 3])
  }),

  rule('rolls an item back whose change breaks half-way, and keeps its neighbours', async world => {
    const use = { capability: 'text' as unknown as Uint8Array, perDayMax: 1 }
    const settled = await Promise.allSettled(
      [item(world.box, 1), item(world.box, 2, { use }), item(world.box, 3)].map(one =>
        world.store.enqueue(one),
      ),
    )
    expect(settled.map(one => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await world.pollIds()).toEqual([1, 2])
    expect(await world.outcomes([item(world.box, 4, { limits: { ...limits, envelopesMax: 3 } })])).toEqual([
      'queued',
    ])
  }),

  rule(
    'holds the mailbox to its count and its bytes, and counts down when mail is collected',
    async world => {
      const small = { ...limits, bytesMax: 250 }
      expect(await world.outcomes([1, 2, 3].map(n => item(world.box, n, { limits: small })))).toEqual([
        'queued',
        'queued',
        'mailboxFull',
      ])
      await world.ack(1)
      expect(await world.outcomes([item(world.box, 3, { limits: small })])).toEqual(['queued'])
    },
  ),

  rule('holds non-contacts to their own room', async world => {
    const few = { ...limits, strangerEnvelopesMax: 1 }
    expect(
      await world.outcomes([
        item(world.box, 1, { stranger: true, limits: few }),
        item(world.box, 2, { stranger: true, limits: few }),
        item(world.box, 3, { limits: few }),
      ]),
    ).toEqual(['queued', 'strangersFull', 'queued'])
    await world.ack(1)
    expect(await world.outcomes([item(world.box, 4, { stranger: true, limits: few })])).toEqual(['queued'])
  }),

  rule('counts the uses of a capability by distinct digest and UTC day', async world => {
    const use = { capability: bytes(16, 7), perDayMax: 2 }
    expect(await world.outcomes([1, 1, 2, 3].map(n => item(world.box, n, { use })))).toEqual([
      'queued',
      'duplicate',
      'queued',
      'capabilitySpent',
    ])
    await world.ack(1)
    expect(await world.outcomes([item(world.box, 1, { use })])).toEqual(['queued'])
    expect(await world.outcomes([item(world.box, 3, { use, nowMs: NOW_MS + DAY_MS })])).toEqual(['queued'])
  }),

  rule('queues one digest only so often within a day', async world => {
    for (let round = 0; round < 3; round++) {
      expect(await world.outcomes([item(world.box, 1)])).toEqual(['queued'])
      await world.ack(round + 1)
    }
    expect(await world.outcomes([item(world.box, 1)])).toEqual(['queuedTooOften'])
    expect(await world.outcomes([item(world.box, 1, { nowMs: NOW_MS + DAY_MS })])).toEqual(['queued'])
  }),

  rule('queues nothing that was judged by a row of before, and gives its content back', async world => {
    const { version = 0 } = (await world.store.findAgent('agent-one')) ?? {}
    const judged = (n: number, judgedBy: number) => item(world.box, n, { judgedBy })
    expect(await world.outcomes([judged(1, version), judged(2, version + 1)])).toEqual(['queued', 'moved'])
    await world.put(agentRow('agent-one', { version, number: world.box }))
    expect(await world.store.enqueue(judged(3, version))).toEqual({
      outcome: 'moved',
      content: bytes(100, 3),
    })
    expect(
      await world.store.enqueue({ ...judged(4, version), content: undefined, file: 'four' }),
    ).toMatchObject({
      outcome: 'moved',
    })
    await world.store.markSeen(world.box, NOW_MS)
    expect(await world.outcomes([judged(5, version + 1), item(world.box, 6)])).toEqual(['queued', 'queued'])
    expect(await world.pollIds()).toEqual([1, 2, 3])
  }),

  rule('polls in id order after an id, within count and bytes, with at least one envelope', async world => {
    await world.enqueueAll([1, 2, 3, 4].map(n => item(world.box, n, { size: 100 * n })))
    const ask = (afterId: number, limit: number, bytesMax: number) =>
      world.store.poll({ mailbox: world.box, afterId, limit, bytesMax, nowMs: NOW_MS })
    const two = await ask(1, 2, 1e9)
    expect([two.envelopes.map(e => e.id), two.more]).toEqual([[2, 3], true])
    expect((await ask(0, 10, 350)).envelopes.map(e => e.id)).toEqual([1, 2])
    expect((await ask(3, 10, 1)).envelopes.map(e => e.id)).toEqual([4])
    expect(await ask(4, 10, 1e9)).toEqual({ envelopes: [], more: false })
    const held = await world.store.contents({ mailbox: world.box, ids: [2, 3, 9] })
    expect([...held]).toEqual([
      [2, bytes(100, 2)],
      [3, bytes(100, 3)],
    ])
  }),

  rule('does not return an envelope whose expiry has passed', async world => {
    await world.enqueueAll([item(world.box, 1, { deleteAtMs: NOW_MS + 5 }), item(world.box, 2)])
    expect(await world.pollIds(world.box, 0, NOW_MS + 5)).toEqual([2])
  }),

  rule('tells the state of a delivery and keeps its confirmation', async world => {
    const [first, second] = [await world.queued(item(world.box, 1)), await world.queued(item(world.box, 2))]
    const [handle, dack] = [bytes(16, 5), bytes(540, 6)]
    const items = [{ id: 1, handle, dack }]
    const change = { mailbox: world.box, items, keepUntilMs: NOW_MS + DAY_MS }
    expect(await world.store.ack(change)).toEqual({ acked: 1, stored: 1, ids: [1], files: [] })
    expect(await world.store.ack(change)).toEqual({ acked: 0, stored: 0, ids: [], files: [] })
    expect(await world.store.status([first.rid, second.rid, bytes(16, 3)])).toEqual([
      { state: 'done', handle, dack, fetched: false },
      { state: 'queued' },
      { state: 'unknown' },
    ])
    await world.store.markFetched([first.rid], NOW_MS + 10)
    await world.store.sweep(NOW_MS + 10, 100)
    expect(await world.store.status([first.rid])).toEqual([{ state: 'unknown' }])
  }),

  rule('knows a waiting envelope by its rid, also after it was opened again', async world => {
    const { rid } = await world.queued(item(world.box, 1))
    await world.reopen()
    expect(await world.store.status([rid, rid.toReversed(), rid.slice(1)])).toEqual([
      { state: 'queued' },
      { state: 'unknown' },
      { state: 'unknown' },
    ])
    await world.store.sweep(NOW_MS + DAY_MS, 100)
    expect(await world.store.status([rid])).toEqual([{ state: 'unknown' }])
  }),

  rule('gives every envelope a rid of its own', async world => {
    const other = await world.newMailbox('agent-two')
    const named = await Promise.all(
      [item(world.box, 1), item(world.box, 2), item(other, 1)].map(one => world.queued(one)),
    )
    expect(new Set(named.map(({ rid }) => rid.join())).size).toBe(3)
    expect(named.map(({ rid }) => rid.length)).toEqual([16, 16, 16])
  }),

  rule('acks only what lies in the mailbox of the signer', async world => {
    const other = await world.newMailbox('agent-two')
    await world.enqueueAll([item(world.box, 1)])
    const { acked } = await world.store.ack({ mailbox: other, items: [ackOf(1)], keepUntilMs: NOW_MS })
    expect(acked).toBe(0)
    expect(await world.pollIds()).toEqual([1])
  }),

  rule('keeps revocations, counts each once, and refuses more than the list holds', async world => {
    const revoke = (ids: number[], max = 3) =>
      world.store.revoke({
        mailbox: world.box,
        capabilities: ids.map(n => bytes(16, n)),
        deleteAtMs: NOW_MS + DAY_MS,
        nowMs: NOW_MS,
        max,
      })
    expect(await revoke([1, 2])).toEqual({ outcome: 'revoked', revoked: 2, total: 2 })
    expect(await revoke([2, 3])).toEqual({ outcome: 'revoked', revoked: 1, total: 3 })
    expect(await revoke([4])).toEqual({ outcome: 'full' })
    expect(await world.store.isRevoked(world.box, bytes(16, 3))).toBe(true)
    expect(await world.store.isRevoked(world.box, bytes(16, 4))).toBe(false)
    const use = { capability: bytes(16, 3), perDayMax: 5 }
    expect(await world.outcomes([item(world.box, 1, { use })])).toEqual(['capabilityRevoked'])
    await world.store.sweep(NOW_MS + DAY_MS, 100)
    expect(await world.store.isRevoked(world.box, bytes(16, 3))).toBe(false)
  }),

  rule('empties the mailbox of an agent that leaves and names the files', async world => {
    await world.enqueueAll([
      item(world.box, 1),
      item(world.box, 2, { content: undefined, file: 'f'.repeat(32) }),
    ])
    const row = { ...agentRow('agent-one'), version: 1, registered: false }
    expect(await world.store.putAgent({ row, entry: undefined, terms: [] })).toMatchObject({
      outcome: 'stored',
      dropped: 2,
      files: ['f'.repeat(32)],
    })
    expect(await world.pollIds()).toEqual([])
    expect((await world.store.findAgent('agent-one'))?.registered).toBe(false)
  }),

  rule('sweeps what has expired, bit by bit, and gives the room back', async world => {
    const full = { ...limits, envelopesMax: 4 }
    await world.enqueueAll(
      [1, 2, 3, 4].map(n => item(world.box, n, { limits: full, deleteAtMs: NOW_MS + n })),
    )
    expect(await world.store.sweep(NOW_MS + 3, 2)).toMatchObject({ more: true })
    expect((await world.store.sweep(NOW_MS + 3, 2)).envelopes).toEqual([{ mailbox: world.box, id: 3 }])
    expect(await world.pollIds()).toEqual([4])
    expect(await world.outcomes([5, 6, 7, 8].map(n => item(world.box, n, { limits: full })))).toEqual([
      'queued',
      'queued',
      'queued',
      'mailboxFull',
    ])
  }),

  rule('names the files that no envelope holds', async world => {
    await world.enqueueAll([item(world.box, 1, { content: undefined, file: 'a'.repeat(32) })])
    expect(await world.store.unusedFiles(['a'.repeat(32), 'b'.repeat(32)])).toEqual(['b'.repeat(32)])
  }),

  rule('shows mail in the order of its ids: who reads on after the last one misses none', async world => {
    const seen: number[] = []
    let looking = Promise.resolve()
    const look = async () => void seen.push(...(await world.pollIds(world.box, seen.at(-1) ?? 0)))
    const send = async (n: number) => {
      await turns(n % 5)
      await world.queued(item(world.box, n))
      looking = looking.then(look)
      await looking
    }
    await Promise.all(Array.from({ length: 40 }, (_, at) => send(at + 1)))
    await look()
    expect(seen).toEqual(Array.from({ length: 40 }, (_, at) => at + 1))
  }),

  rule('has what it answered: the next read finds it, and so does the next start', async world => {
    const file = 'a'.repeat(32)
    const { rid } = await world.queued(item(world.box, 1))
    await world.queued(item(world.box, 2, { content: undefined, file, size: 70_000, stranger: true }))
    for (const start of ['first', 'second']) {
      const { envelopes } = await world.store.poll({
        mailbox: world.box,
        afterId: 0,
        limit: 10,
        bytesMax: 1e9,
        nowMs: NOW_MS,
      })
      expect([start, envelopes]).toEqual([
        start,
        [
          { id: 1, acceptedMs: NOW_MS, size: 100, file: undefined },
          { id: 2, acceptedMs: NOW_MS, size: 70_000, file },
        ],
      ])
      expect(await world.store.contents({ mailbox: world.box, ids: [1] })).toEqual(
        new Map([[1, bytes(100, 1)]]),
      )
      expect([await world.store.status([rid]), await world.store.strangersWaiting(world.box)]).toEqual([
        [{ state: 'queued' }],
        1,
      ])
      await world.reopen()
    }
  }),

  rule('reads contents of the mailbox alone, and none of what is gone or lies in a file', async world => {
    const other = await world.newMailbox('agent-two')
    await world.queued(item(world.box, 1))
    await world.queued(item(world.box, 2, { content: undefined, file: 'one' }))
    await world.queued(item(world.box, 3))
    await world.ack(3)
    expect([...(await world.store.contents({ mailbox: world.box, ids: [3, 2, 1] })).keys()]).toEqual([1])
    expect([...(await world.store.contents({ mailbox: other, ids: [1] })).keys()]).toEqual([])
  }),

  rule(
    'takes one of several equal envelopes that arrive together, and an equal one in another mailbox',
    async world => {
      const other = await world.newMailbox('agent-two')
      const group = [item(world.box, 1), item(world.box, 1), item(other, 1), item(world.box, 1)]
      const [first, ...rest] = await world.enqueueAll(group)
      expect([first?.outcome, ...rest.map(({ outcome }) => outcome)]).toEqual([
        'queued',
        'duplicate',
        'queued',
        'duplicate',
      ])
      const rid = first?.outcome === 'queued' ? first.rid : undefined
      expect(rest.filter(({ outcome }) => outcome === 'duplicate')).toEqual([
        { outcome: 'duplicate', rid },
        { outcome: 'duplicate', rid },
      ])
      expect(await world.pollIds()).toEqual([1])
    },
  ),

  rule(
    'queues a repeat anew once the first was collected or has expired, under a rid of its own',
    async world => {
      const first = await world.queued(item(world.box, 1, { deleteAtMs: NOW_MS + 5 }))
      await world.store.sweep(NOW_MS + 5, 100)
      const second = await world.queued(item(world.box, 1, { nowMs: NOW_MS + 5 }))
      await world.ack(second.id)
      const third = await world.queued(item(world.box, 1, { nowMs: NOW_MS + 6 }))
      expect([first.id, second.id, third.id]).toEqual([1, 2, 3])
      expect(new Set([first, second, third].map(({ rid }) => rid.join())).size).toBe(3)
    },
  ),

  rule('changes nothing by what it refuses', async world => {
    const use = { capability: bytes(16, 7), perDayMax: 1 }
    const none = { ...limits, envelopesMax: 0 }
    expect(await world.outcomes([item(world.box, 1, { use, limits: none })])).toEqual(['mailboxFull'])
    expect(await world.store.findQueued(world.box, bytes(32, 1))).toBeUndefined()
    const once = { ...limits, timesPerDayMax: 1 }
    expect(await world.outcomes([item(world.box, 1, { use, limits: once })])).toEqual(['queued'])
    expect(await world.store.totals()).toEqual({
      mailboxes: 1,
      envelopes: 1,
      bytes: 100,
      strangerEnvelopes: 0,
      revocations: 0,
    })
  }),

  ...collectingRules,
]

/** So many turns of the event loop, in which other changes arrive. */
async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await new Promise(resolve => setImmediate(resolve))
}
