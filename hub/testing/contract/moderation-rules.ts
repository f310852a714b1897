/** The contract of the store on what an operator set aside, vouches for and did. */
import { expect } from 'vitest'
import type { OfficialAgent } from '../../store/moderation-port.ts'
import { agentRow, bytes, NOW_MS, type Rule, rule, type World } from './world.ts'

const ARCHIVED = { atMs: NOW_MS, reason: 'too loud' }

/** An agent with open mail; the row as it is stored. */
async function openAgent(world: World, aid: string, caps = ['a.b']) {
  const row = agentRow(aid, { mail: 'open', caps })
  const put = await world.put(row)
  if (put.outcome !== 'stored') throw new Error(put.outcome)
  const profile = { guestQuota: 5, pricing: 'free', address: undefined }
  await world.store.putOpenProfile({ ...profile, number: put.number })
  return { ...row, number: put.number, version: put.version }
}

type Row = Awaited<ReturnType<typeof openAgent>>

/** Writes the row once more, with or without a mark; the next one. */
async function rewritten({ store }: World, row: Row, more: object, archiving?: typeof ARCHIVED | 'restored') {
  const next = { ...row, ...more }
  const stored = await store.putAgent({ row: next, entry: undefined, terms: [], archiving })
  return { stored, next: stored.outcome === 'stored' ? { ...next, version: stored.version } : next }
}

const official = (aid: string, more: Partial<OfficialAgent> = {}): OfficialAgent => ({
  ...{ aid, place: 100, badge: 'ours', addedMs: NOW_MS, senders: undefined, visitors: true },
  ...more,
})

const act = (action: string) => ({ atMs: NOW_MS, who: '127.0.0.1', action, subject: 'one', detail: '' })

export const moderationRules: readonly Rule[] = [
  rule(
    'marks an agent with the write of its row, keeps what it has, and takes the mark back',
    async world => {
      const row = await openAgent(world, 'agent-open')
      const { store } = world
      expect(await store.archived('agent-open')).toBeUndefined()
      const sent = { id: 'm', from: 'x', kind: 'message', interaction: '', nowMs: NOW_MS, size: 10 } as const
      const limits = { messagesMax: 9, bytesMax: 999, totalBytesMax: 999, tasksMax: 9 }
      await store.sendOpen({ ...sent, mailbox: row.number, content: bytes(10, 1), file: undefined, limits })
      const { next } = await rewritten(world, row, { registered: false }, ARCHIVED)
      await world.reopen()
      expect(await world.store.archived('agent-open')).toEqual(ARCHIVED)
      expect(await world.store.openAgents()).toBe(0)
      const query = { mailbox: row.number, limit: 9, bytesMax: 999 }
      expect((await world.store.pollOpen(query)).map(({ id }) => id)).toEqual(['m'])
      expect((await world.store.openMailbox(row.number))?.pricing).toBe('free')
      await rewritten(world, next, { registered: true }, 'restored')
      expect(await world.store.archived('agent-open')).toBeUndefined()
      expect(await world.store.openAgents()).toBe(1)
    },
  ),

  rule('puts nobody on the registry who is archived, but for whoever restores it', async world => {
    const row = await openAgent(world, 'agent-open')
    const { next } = await rewritten(world, row, { registered: false }, ARCHIVED)
    expect((await rewritten(world, next, { registered: true })).stored.outcome).toBe('archived')
    expect((await rewritten(world, next, { name: 'other' })).stored.outcome).toBe('stored')
    expect((await world.store.findAgent('agent-open'))?.registered).toBe(false)
  }),

  rule('lists those archived, the newest first, page by page, each as it was marked first', async world => {
    for (const aid of ['one', 'two', 'three'])
      await rewritten(world, await openAgent(world, aid), { registered: false }, ARCHIVED)
    const held = await world.store.findAgent('two')
    if (held === undefined) throw new Error('gone')
    await rewritten(world, held as Row, {}, { atMs: NOW_MS + 1, reason: 'again' })
    expect(await world.store.archivedCount()).toBe(3)
    const first = await world.store.archivedAgents({ before: undefined, limit: 2 })
    expect(first).toMatchObject([
      { aid: 'three', name: 'name' },
      { aid: 'two', ...ARCHIVED },
    ])
    const rest = await world.store.archivedAgents({ before: first[1]?.n, limit: 2 })
    expect(rest.map(({ aid }) => aid)).toEqual(['one'])
  }),

  rule('keeps whom the operator vouches for, by place, and no more than it may', async world => {
    const put = (given: OfficialAgent, max = 2) => world.store.putOfficial({ ...given, max })
    expect(await put(official('late', { place: 7, senders: ['a', 'b'], visitors: false }))).toBe(true)
    expect(await put(official('early', { place: 3 }))).toBe(true)
    expect(await put(official('third'))).toBe(false)
    expect(await put(official('early', { place: 9, badge: 'new', addedMs: NOW_MS + 5 }))).toBe(true)
    await world.reopen()
    expect(await world.store.officials()).toEqual([
      official('late', { place: 7, senders: ['a', 'b'], visitors: false }),
      official('early', { place: 9, badge: 'new' }),
    ])
    expect(await world.store.official('early')).toEqual(official('early', { place: 9, badge: 'new' }))
    expect(await world.store.official('third')).toBeUndefined()
    expect(await world.store.removeOfficial('early')).toBe(true)
    expect(await world.store.removeOfficial('early')).toBe(false)
    expect((await world.store.officials()).map(({ aid }) => aid)).toEqual(['late'])
  }),

  rule('sets the visitors of one mailbox, and leaves all else that its agent says', async world => {
    const [one, two] = [await openAgent(world, 'one'), await openAgent(world, 'two')]
    await world.store.setGuestQuota({ number: one.number, guestQuota: 9 })
    await world.reopen()
    expect(await world.store.openMailbox(one.number)).toMatchObject({
      guestQuota: 9,
      pricing: 'free',
      listed: true,
    })
    expect((await world.store.openMailbox(two.number))?.guestQuota).toBe(5)
  }),

  rule('writes down what was done, the newest first, and lets the oldest go', async world => {
    for (const action of ['a', 'b', 'c', 'd']) await world.store.noteAct({ ...act(action), max: 3 })
    await world.reopen()
    const first = await world.store.acts({ before: undefined, limit: 2 })
    expect(first.map(({ action }) => action)).toEqual(['d', 'c'])
    expect(first[0]).toMatchObject(act('d'))
    const rest = await world.store.acts({ before: first[1]?.n, limit: 9 })
    expect(rest.map(({ action }) => action)).toEqual(['b'])
  }),

  rule(
    'counts capabilities of those whose mail is open and who are here, and what waits for them',
    async world => {
      const row = await openAgent(world, 'one', ['x', 'y'])
      await openAgent(world, 'two', ['y', 'z'])
      await world.put(agentRow('sealed', { caps: ['y'] }))
      const caps = (after: string, limit = 9) => world.store.openCaps({ after, limit })
      expect(await caps('')).toEqual([
        { cap: 'x', agents: 1 },
        { cap: 'y', agents: 2 },
        { cap: 'z', agents: 1 },
      ])
      expect((await caps('x', 1)).map(({ cap }) => cap)).toEqual(['y'])
      await rewritten(world, row, { registered: false }, ARCHIVED)
      expect(await caps('')).toEqual([
        { cap: 'y', agents: 1 },
        { cap: 'z', agents: 1 },
      ])
      expect(await world.store.openWaiting()).toEqual({ mailboxes: 2, messages: 0, bytes: 0 })
    },
  ),

  rule('gives the ratings of one agent in order, with the bytes of each review', async world => {
    const { number: _, ...row } = await openAgent(world, 'one')
    await openAgent(world, 'two')
    const documents = { receipt: bytes(3, 1), request: bytes(3, 3), deliverable: bytes(3, 4) }
    for (const [provider, rating] of [
      ['one', 4],
      ['two', 5],
      ['one', 1],
    ] as const)
      await world.store.addOpenReview({
        ...documents,
        ...{ provider, rating, review: bytes(3, rating), interaction: bytes(16, rating), reviewer: row.aid },
        ...{ providerKel: undefined, bytesMax: 1e6 },
      })
    const first = await world.store.openRatings({ provider: 'one', after: 0, limit: 1 })
    expect(first).toMatchObject([{ rating: 4, review: bytes(3, 4) }])
    const after = first[0]?.fedSeq ?? 0
    const rest = await world.store.openRatings({ provider: 'one', after, limit: 9 })
    expect(rest.map(({ rating }) => rating)).toEqual([1])
  }),
]
