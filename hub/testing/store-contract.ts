/** What every engine of the store must do; each engine's test runs this one suite. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AgentRow, Enqueue, ListQuery, Store } from '../store/port.ts'

const DAY_MS = 86_400_000
const NOW_MS = 1_800_000_000_000

export type Opened = { store: Store; reopen(): Promise<Store>; end(): Promise<void> }

const bytes = (length: number, fill: number): Uint8Array => new Uint8Array(length).fill(fill)

const limits = {
  envelopesMax: 100,
  bytesMax: 1_000_000,
  strangerEnvelopesMax: 50,
  strangerBytesMax: 500_000,
  timesPerDayMax: 3,
}

function item(mailbox: number, n: number, more: Partial<Enqueue> = {}): Enqueue {
  return {
    mailbox,
    digest: bytes(32, n),
    nowMs: NOW_MS,
    deleteAtMs: NOW_MS + DAY_MS,
    size: 100,
    stranger: false,
    content: bytes(100, n),
    file: undefined,
    use: undefined,
    limits,
    ...more,
  }
}

export function agentRow(aid: string, more: Partial<AgentRow> = {}): AgentRow {
  return {
    number: 0,
    aid,
    version: 0,
    registered: true,
    name: 'name',
    caps: ['a.b'],
    summary: 'summary',
    readme: 'readme',
    visibility: 'hub-local',
    kel: bytes(10, 1),
    keys: undefined,
    keysBefore: undefined,
    keysBeforeUntilMs: 0,
    registeredDayMs: NOW_MS,
    probationUntilMs: NOW_MS,
    seenHourMs: 0,
    card: undefined,
    ...more,
  }
}

/** Declares the suite over an engine. */
export function storeContract(engine: string, open: () => Promise<Opened>): void {
  describe(`store contract on ${engine}`, () => {
    let opened: Opened
    let store: Store
    let box: number

    beforeEach(async () => {
      opened = await open()
      store = opened.store
      box = await newMailbox('agent-one')
    })
    afterEach(() => opened.end())

    async function newMailbox(aid: string): Promise<number> {
      const put = await store.putAgent({
        row: agentRow(aid),
        entry: undefined,
        terms: [],
      })
      if (put.outcome !== 'stored') throw new Error('a new agent was not stored')
      return put.number
    }
    /** Queues what arrives together, as one group. */
    const enqueueAll = (items: Enqueue[]) => Promise.all(items.map(one => store.enqueue(one)))
    const outcomes = async (items: Enqueue[]) => (await enqueueAll(items)).map(result => result.outcome)
    const queuedOf = async (one: Enqueue) => {
      const result = await store.enqueue(one)
      if (result.outcome !== 'queued') throw new Error(result.outcome)
      return result
    }
    const pollIds = async (mailbox: number, afterId = 0, nowMs = NOW_MS) =>
      (await store.poll({ mailbox, afterId, limit: 100, bytesMax: 1e9, nowMs })).envelopes.map(e => e.id)
    const ackOf = (id: number) => ({ id, handle: undefined, dack: undefined })

    test('gives ids that rise per mailbox, each mailbox for itself', async () => {
      const other = await newMailbox('agent-two')
      const results = await enqueueAll([item(box, 1), item(other, 2), item(box, 3), item(other, 4)])
      expect(results).toMatchObject([1, 1, 2, 2].map(id => ({ outcome: 'queued', id })))
    })

    test('never gives an id twice, also when the mailbox was emptied and the store opened again', async () => {
      await enqueueAll([item(box, 1), item(box, 2)])
      await store.ack({ mailbox: box, items: [ackOf(1), ackOf(2)], keepUntilMs: NOW_MS + DAY_MS })
      store = await opened.reopen()
      expect(await enqueueAll([item(box, 3)])).toMatchObject([{ outcome: 'queued', id: 3 }])
    })

    test('answers a repeat that still waits as duplicate with the first rid', async () => {
      const { rid } = await queuedOf(item(box, 1))
      expect(await store.enqueue(item(box, 1))).toEqual({ outcome: 'duplicate', rid })
      store = await opened.reopen()
      expect(await store.enqueue(item(box, 1))).toEqual({ outcome: 'duplicate', rid })
    })

    test.each([
      ['of a stranger', { stranger: true }],
      ['in a file', { content: undefined, file: 'one' }],
    ])('finds an envelope %s by its digest before it is sent again', async (_, more) => {
      const { rid } = await queuedOf(item(box, 1, more))
      expect(await store.findQueued(box, bytes(32, 1))).toEqual(rid)
      expect(await store.findQueued(box, bytes(32, 2))).toBeUndefined()
      await store.ack({ mailbox: box, items: [ackOf(1)], keepUntilMs: NOW_MS + DAY_MS })
      expect(await store.findQueued(box, bytes(32, 1))).toBeUndefined()
    })

    test('lets each item of a group fail alone', async () => {
      const tight = { ...limits, envelopesMax: 2 }
      const items = [1, 2, 3, 4].map(n => item(box, n, { limits: n === 4 ? limits : tight }))
      expect(await outcomes([...items, item(999, 5), item(box, 1)])).toEqual([
        'queued',
        'queued',
        'mailboxFull',
        'queued',
        'noMailbox',
        'duplicate',
      ])
      expect(await pollIds(box)).toEqual([1, 2, 3])
    })

    test('rolls an item back whose change breaks half-way, and keeps its neighbours', async () => {
      const use = { capability: 'text' as unknown as Uint8Array, perDayMax: 1 }
      const settled = await Promise.allSettled(
        [item(box, 1), item(box, 2, { use }), item(box, 3)].map(one => store.enqueue(one)),
      )
      expect(settled.map(one => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await pollIds(box)).toEqual([1, 2])
      expect(await outcomes([item(box, 4, { limits: { ...limits, envelopesMax: 3 } })])).toEqual(['queued'])
    })

    test('holds the mailbox to its count and its bytes, and counts down when mail is collected', async () => {
      const small = { ...limits, bytesMax: 250 }
      expect(await outcomes([1, 2, 3].map(n => item(box, n, { limits: small })))).toEqual([
        'queued',
        'queued',
        'mailboxFull',
      ])
      await store.ack({ mailbox: box, items: [ackOf(1)], keepUntilMs: NOW_MS + DAY_MS })
      expect(await outcomes([item(box, 3, { limits: small })])).toEqual(['queued'])
    })

    test('holds non-contacts to their own room', async () => {
      const few = { ...limits, strangerEnvelopesMax: 1 }
      expect(
        await outcomes([
          item(box, 1, { stranger: true, limits: few }),
          item(box, 2, { stranger: true, limits: few }),
          item(box, 3, { limits: few }),
        ]),
      ).toEqual(['queued', 'strangersFull', 'queued'])
      await store.ack({ mailbox: box, items: [ackOf(1)], keepUntilMs: NOW_MS + DAY_MS })
      expect(await outcomes([item(box, 4, { stranger: true, limits: few })])).toEqual(['queued'])
    })

    test('counts the uses of a capability by distinct digest and UTC day', async () => {
      const use = { capability: bytes(16, 7), perDayMax: 2 }
      expect(await outcomes([1, 1, 2, 3].map(n => item(box, n, { use })))).toEqual([
        'queued',
        'duplicate',
        'queued',
        'capabilitySpent',
      ])
      await store.ack({ mailbox: box, items: [ackOf(1)], keepUntilMs: NOW_MS + DAY_MS })
      expect(await outcomes([item(box, 1, { use })])).toEqual(['queued'])
      expect(await outcomes([item(box, 3, { use, nowMs: NOW_MS + DAY_MS })])).toEqual(['queued'])
    })

    test('queues one digest only so often within a day', async () => {
      for (let round = 0; round < 3; round++) {
        expect(await outcomes([item(box, 1)])).toEqual(['queued'])
        await store.ack({ mailbox: box, items: [ackOf(round + 1)], keepUntilMs: NOW_MS + DAY_MS })
      }
      expect(await outcomes([item(box, 1)])).toEqual(['queuedTooOften'])
      expect(await outcomes([item(box, 1, { nowMs: NOW_MS + DAY_MS })])).toEqual(['queued'])
    })

    test('polls in id order after an id, within count and bytes, with at least one envelope', async () => {
      await enqueueAll([1, 2, 3, 4].map(n => item(box, n, { size: 100 * n })))
      const ask = (afterId: number, limit: number, bytesMax: number) =>
        store.poll({ mailbox: box, afterId, limit, bytesMax, nowMs: NOW_MS })
      const two = await ask(1, 2, 1e9)
      expect([two.envelopes.map(e => e.id), two.more]).toEqual([[2, 3], true])
      expect((await ask(0, 10, 350)).envelopes.map(e => e.id)).toEqual([1, 2])
      expect((await ask(3, 10, 1)).envelopes.map(e => e.id)).toEqual([4])
      expect(await ask(4, 10, 1e9)).toEqual({ envelopes: [], more: false })
      const held = await store.contents({ mailbox: box, ids: [2, 3, 9] })
      expect([...held]).toEqual([
        [2, bytes(100, 2)],
        [3, bytes(100, 3)],
      ])
    })

    test('does not return an envelope whose expiry has passed', async () => {
      await enqueueAll([item(box, 1, { deleteAtMs: NOW_MS + 5 }), item(box, 2)])
      expect(await pollIds(box, 0, NOW_MS + 5)).toEqual([2])
    })

    test('tells the state of a delivery and keeps its confirmation', async () => {
      const [first, second] = [await queuedOf(item(box, 1)), await queuedOf(item(box, 2))]
      const [handle, dack] = [bytes(16, 5), bytes(540, 6)]
      const items = [{ id: 1, handle, dack }]
      const change = { mailbox: box, items, keepUntilMs: NOW_MS + DAY_MS }
      expect(await store.ack(change)).toEqual({ acked: 1, stored: 1, ids: [1], files: [] })
      expect(await store.ack(change)).toEqual({ acked: 0, stored: 0, ids: [], files: [] })
      expect(await store.status([first.rid, second.rid, bytes(16, 3)])).toEqual([
        { state: 'done', handle, dack, fetched: false },
        { state: 'queued' },
        { state: 'unknown' },
      ])
      await store.markFetched([first.rid], NOW_MS + 10)
      await store.sweep(NOW_MS + 10, 100)
      expect(await store.status([first.rid])).toEqual([{ state: 'unknown' }])
    })

    test('knows a waiting envelope by its rid, also after it was opened again', async () => {
      const { rid } = await queuedOf(item(box, 1))
      store = await opened.reopen()
      expect(await store.status([rid, rid.toReversed(), rid.slice(1)])).toEqual([
        { state: 'queued' },
        { state: 'unknown' },
        { state: 'unknown' },
      ])
      await store.sweep(NOW_MS + DAY_MS, 100)
      expect(await store.status([rid])).toEqual([{ state: 'unknown' }])
    })

    test('gives every envelope a rid of its own', async () => {
      const other = await newMailbox('agent-two')
      const named = await Promise.all([item(box, 1), item(box, 2), item(other, 1)].map(queuedOf))
      expect(new Set(named.map(({ rid }) => rid.join())).size).toBe(3)
      expect(named.map(({ rid }) => rid.length)).toEqual([16, 16, 16])
    })

    test('acks only what lies in the mailbox of the signer', async () => {
      const other = await newMailbox('agent-two')
      await enqueueAll([item(box, 1)])
      const { acked } = await store.ack({ mailbox: other, items: [ackOf(1)], keepUntilMs: NOW_MS })
      expect(acked).toBe(0)
      expect(await pollIds(box)).toEqual([1])
    })

    test('keeps revocations, counts each once, and refuses more than the list holds', async () => {
      const revoke = (ids: number[], max = 3) =>
        store.revoke({
          mailbox: box,
          capabilities: ids.map(n => bytes(16, n)),
          deleteAtMs: NOW_MS + DAY_MS,
          nowMs: NOW_MS,
          max,
        })
      expect(await revoke([1, 2])).toEqual({ outcome: 'revoked', revoked: 2, total: 2 })
      expect(await revoke([2, 3])).toEqual({ outcome: 'revoked', revoked: 1, total: 3 })
      expect(await revoke([4])).toEqual({ outcome: 'full' })
      expect(await store.isRevoked(box, bytes(16, 3))).toBe(true)
      expect(await store.isRevoked(box, bytes(16, 4))).toBe(false)
      const use = { capability: bytes(16, 3), perDayMax: 5 }
      expect(await outcomes([item(box, 1, { use })])).toEqual(['capabilityRevoked'])
      await store.sweep(NOW_MS + DAY_MS, 100)
      expect(await store.isRevoked(box, bytes(16, 3))).toBe(false)
    })

    test('writes an agent only over the version that was read', async () => {
      const held = await store.findAgent('agent-one')
      if (held === undefined) throw new Error('the agent is missing')
      const change = (name: string) => ({
        row: { ...held, name },
        entry: undefined,
        terms: [],
      })
      const [first, second] = await Promise.all([
        store.putAgent(change('first')),
        store.putAgent(change('second')),
      ])
      expect([first.outcome, second.outcome]).toEqual(['stored', 'conflict'])
      expect(await store.findAgent('agent-one')).toEqual({
        ...held,
        name: 'first',
        version: held.version + 1,
      })
    })

    test('empties the mailbox of an agent that leaves and names the files', async () => {
      await enqueueAll([item(box, 1), item(box, 2, { content: undefined, file: 'f'.repeat(32) })])
      const row = { ...agentRow('agent-one'), version: 1, registered: false }
      expect(await store.putAgent({ row, entry: undefined, terms: [] })).toMatchObject({
        outcome: 'stored',
        dropped: 2,
        files: ['f'.repeat(32)],
      })
      expect(await pollIds(box)).toEqual([])
      expect((await store.findAgent('agent-one'))?.registered).toBe(false)
    })

    test('reads a bucket in order, both ends included, and goes on after an entry', async () => {
      for (const n of [3, 1, 2]) {
        const entry = { h: bytes(32, n), box: bytes(8, n) }
        await store.putAgent({ row: agentRow(`listed-${n}`), entry, terms: [] })
      }
      const ask = async (first: number, last: number, afterH?: number, most = {}) => {
        const range = { first: bytes(32, first), last: bytes(32, last) }
        const after = afterH === undefined ? undefined : bytes(32, afterH)
        const found = await store.bucket({ ...range, afterH: after, limit: 10, bytesMax: 100, ...most })
        return [...found.entries.map(entry => entry.box[0]), ...(found.more ? ['more'] : [])]
      }
      expect(await ask(1, 2)).toEqual([1, 2])
      expect(await ask(0, 255, 1)).toEqual([2, 3])
      expect([
        await ask(0, 255, undefined, { limit: 2 }),
        await ask(0, 255, undefined, { limit: 3 }),
      ]).toEqual([
        [1, 2, 'more'],
        [1, 2, 3],
      ])
      expect(await ask(0, 255, undefined, { bytesMax: 16 })).toEqual([1, 2, 'more'])
      expect([await ask(0, 255, 1, { bytesMax: 1 }), await ask(0, 255, 2, { bytesMax: 1 })]).toEqual([
        [2, 'more'],
        [3],
      ])
      await store.putAgent({
        row: { ...agentRow('listed-1'), version: 1 },
        entry: undefined,
        terms: [],
      })
      expect(await ask(0, 255)).toEqual([2, 3])
    })

    test('keeps one review an interaction and counts by provider and reviewer', async () => {
      const review = (interaction: number, reviewer: number, rating: number) =>
        store.addReview({
          provider: 'agent-rated',
          interaction: bytes(16, interaction),
          reviewer: bytes(16, reviewer),
          rating,
          receipt: bytes(8, 1),
          review: bytes(8, 2),
          attestation: bytes(8, 3),
        })
      expect([await review(1, 1, 5), await review(2, 1, 4), await review(3, 2, 1)]).toEqual([
        true,
        true,
        true,
      ])
      expect(await review(1, 2, 1)).toBe(false)
      expect(await store.hasReview('agent-rated', bytes(16, 1))).toBe(true)
      expect(await store.hasReview('agent-other', bytes(16, 1))).toBe(false)
      const reputation = { reviews: 3, ratings: 10, reviewers: 2, mostOfOne: 2 }
      expect(await store.reputation('agent-rated')).toEqual(reputation)
      expect((await store.counts(0)).reviews).toBe(3)
    })

    test('lists registered agents in AID order and finds text in any case', async () => {
      await store.putAgent({
        row: agentRow('agent-two', { registered: false }),
        entry: undefined,
        terms: [],
      })
      await store.putAgent({
        row: agentRow('agent-three', { readme: 'Paints HOUSES' }),
        entry: undefined,
        terms: [],
      })
      const all = { bytesMax: 1_000_000, rowsMax: 1000 }
      const aids = async (query: Pick<ListQuery, 'afterAid' | 'limit' | 'text'>) =>
        (await store.listAgents({ ...all, ...query })).rows.map(row => row.aid)
      expect(await aids({ afterAid: '', limit: 10 })).toEqual(['agent-one', 'agent-three'])
      expect(await aids({ afterAid: 'agent-one', limit: 10 })).toEqual(['agent-three'])
      expect(await aids({ afterAid: '', limit: 10, text: 'houses' })).toEqual(['agent-three'])
      expect(await store.counts(NOW_MS)).toMatchObject({ agents: 2, onlineAgents: 0 })
      await store.markSeen(box, NOW_MS)
      expect(await store.counts(NOW_MS)).toMatchObject({ agents: 2, onlineAgents: 1 })
    })

    test('reads of a list as much as one page may cost, and a row that is larger alone', async () => {
      await store.putAgent({
        row: agentRow('agent-three', { readme: 'Paints HOUSES' }),
        entry: undefined,
        terms: [],
      })
      const houses = { afterAid: '', limit: 10, text: 'houses' }
      for (const narrow of [
        { bytesMax: 1_000_000, rowsMax: 1 },
        { bytesMax: 1, rowsMax: 1000 },
      ]) {
        expect(await store.listAgents({ ...houses, ...narrow })).toEqual({ rows: [], next: 'agent-one' })
        const second = await store.listAgents({ ...houses, ...narrow, afterAid: 'agent-one' })
        expect([second.rows.map(row => row.aid), second.next]).toEqual([['agent-three'], undefined])
      }
    })

    test('keeps accounts, floors that only rise, and settings over a restart', async () => {
      expect(await store.account('nobody')).toEqual({
        admitted: false,
        blocked: false,
        floorMs: 0,
        quota: {},
      })
      await store.admit('nobody', true)
      await store.raiseFloor('nobody', 20)
      await store.raiseFloor('nobody', 10)
      await store.setQuota('nobody', { envelopesMax: 5 })
      await store.putSetting('admission', 'open')
      store = await opened.reopen()
      expect(await store.account('nobody')).toMatchObject({
        admitted: true,
        floorMs: 20,
        quota: { envelopesMax: 5 },
      })
      expect(await store.setting('admission')).toBe('open')
      expect(await store.setting('other')).toBeUndefined()
    })

    test('keeps what the operator refuses, and shows whom he and the registry know', async () => {
      await store.admit('late', true)
      await store.block('bad', true)
      await store.block('forgiven', true)
      await store.block('forgiven', false)
      await store.raiseFloor('signer', 5)
      for (const range of ['192.0.2.0/24', '2001:db8::/32', '198.51.100.0/24'])
        await store.refuseRange(range, true)
      await store.refuseRange('198.51.100.0/24', false)
      await store.refuseRange('192.0.2.0/24', true)
      await enqueueAll([item(box, 1)])
      store = await opened.reopen()
      expect(await store.account('bad')).toMatchObject({ admitted: false, blocked: true })
      expect(await store.refusedRanges()).toEqual(['192.0.2.0/24', '2001:db8::/32'])
      const seen = await store.overview({ afterAid: '', limit: 10 })
      expect(seen.map(({ aid }) => aid)).toEqual(['agent-one', 'bad', 'late'])
      expect(seen[0]).toMatchObject({ registered: true, admitted: false, blocked: false, envelopes: 1 })
      expect(seen[1]).toMatchObject({ registered: false, blocked: true, envelopes: 0, name: '' })
      const rest = await store.overview({ afterAid: 'agent-one', limit: 1 })
      expect(rest.map(({ aid }) => aid)).toEqual(['bad'])
      expect(await store.overviewOf('bad')).toEqual(seen[1])
      expect(await store.overviewOf('nobody')).toBeUndefined()
    })

    test('sweeps what has expired, bit by bit, and gives the room back', async () => {
      const full = { ...limits, envelopesMax: 4 }
      await enqueueAll([1, 2, 3, 4].map(n => item(box, n, { limits: full, deleteAtMs: NOW_MS + n })))
      expect(await store.sweep(NOW_MS + 3, 2)).toMatchObject({ more: true })
      expect((await store.sweep(NOW_MS + 3, 2)).envelopes).toEqual([{ mailbox: box, id: 3 }])
      expect(await pollIds(box)).toEqual([4])
      expect(await outcomes([5, 6, 7, 8].map(n => item(box, n, { limits: full })))).toEqual([
        'queued',
        'queued',
        'queued',
        'mailboxFull',
      ])
    })

    test('names the files that no envelope holds', async () => {
      await enqueueAll([item(box, 1, { content: undefined, file: 'a'.repeat(32) })])
      expect(await store.unusedFiles(['a'.repeat(32), 'b'.repeat(32)])).toEqual(['b'.repeat(32)])
    })

    test('finds itself in order', async () => {
      await enqueueAll([item(box, 1)])
      expect(await store.check()).toEqual([])
      expect(await store.health()).toEqual({ full: false, locked: false, broken: false })
    })
  })
}
