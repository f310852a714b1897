/** The contract of the store on agents: their rows, the directory, listings and reviews. */
import { expect } from 'vitest'
import type { ListQuery } from '../../store/port.ts'
import { agentRow, bytes, NOW_MS, type Rule, rule } from './world.ts'

export const registryRules: readonly Rule[] = [
  rule('writes an agent only over the version that was read', async world => {
    const held = await world.store.findAgent('agent-one')
    if (held === undefined) throw new Error('the agent is missing')
    const change = (name: string) => ({
      row: { ...held, name },
      entry: undefined,
      terms: [],
    })
    const [first, second] = await Promise.all([
      world.store.putAgent(change('first')),
      world.store.putAgent(change('second')),
    ])
    expect([first.outcome, second.outcome]).toEqual(['stored', 'conflict'])
    expect(await world.store.findAgent('agent-one')).toEqual({
      ...held,
      name: 'first',
      version: held.version + 1,
    })
  }),

  rule('gives peers a bucket without the entries that stay at this hub', async world => {
    for (const [n, visibility] of (['hub-local', 'federated', 'public'] as const).entries()) {
      const entry = { h: bytes(32, n), box: bytes(8, n) }
      await world.store.putAgent({ row: { ...agentRow(`seen-${n}`), visibility }, entry, terms: [] })
    }
    const ask = async (afterH: Uint8Array | undefined) => {
      const range = { first: bytes(32, 0), last: bytes(32, 255), onlyFederated: true }
      const { entries } = await world.store.bucket({ ...range, afterH, limit: 10, bytesMax: 100 })
      return entries.map(({ box }) => box[0])
    }
    expect([await ask(undefined), await ask(bytes(32, 1))]).toEqual([[1, 2], [2]])
  }),

  rule('reads a bucket in order, both ends included, and goes on after an entry', async world => {
    for (const n of [3, 1, 2]) {
      const entry = { h: bytes(32, n), box: bytes(8, n) }
      await world.store.putAgent({ row: agentRow(`listed-${n}`), entry, terms: [] })
    }
    const ask = async (first: number, last: number, afterH?: number, most = {}) => {
      const range = { first: bytes(32, first), last: bytes(32, last), onlyFederated: false }
      const after = afterH === undefined ? undefined : bytes(32, afterH)
      const found = await world.store.bucket({ ...range, afterH: after, limit: 10, bytesMax: 100, ...most })
      return [...found.entries.map(entry => entry.box[0]), ...(found.more ? ['more'] : [])]
    }
    expect(await ask(1, 2)).toEqual([1, 2])
    expect(await ask(0, 255, 1)).toEqual([2, 3])
    expect([await ask(0, 255, undefined, { limit: 2 }), await ask(0, 255, undefined, { limit: 3 })]).toEqual([
      [1, 2, 'more'],
      [1, 2, 3],
    ])
    expect(await ask(0, 255, undefined, { bytesMax: 16 })).toEqual([1, 2, 'more'])
    expect([await ask(0, 255, 1, { bytesMax: 1 }), await ask(0, 255, 2, { bytesMax: 1 })]).toEqual([
      [2, 'more'],
      [3],
    ])
    await world.store.putAgent({
      row: { ...agentRow('listed-1'), version: 1 },
      entry: undefined,
      terms: [],
    })
    expect(await ask(0, 255)).toEqual([2, 3])
  }),

  rule('keeps one review an interaction and counts by provider and reviewer', async world => {
    const review = (interaction: number, reviewer: number, rating: number) =>
      world.store.addReview({
        provider: 'agent-rated',
        interaction: bytes(16, interaction),
        reviewer: bytes(16, reviewer),
        rating,
        receipt: bytes(8, 1),
        review: bytes(8, 2),
        attestation: bytes(8, 3),
        kel: bytes(8, 4),
        home: undefined,
      })
    expect([await review(1, 1, 5), await review(2, 1, 4), await review(3, 2, 1)]).toEqual([true, true, true])
    expect(await review(1, 2, 1)).toBe(false)
    expect(await world.store.hasReview('agent-rated', bytes(16, 1))).toBe(true)
    expect(await world.store.hasReview('agent-other', bytes(16, 1))).toBe(false)
    const reputation = { reviews: 3, ratings: 10, reviewers: 2, mostOfOne: 2 }
    expect(await world.store.reputation('agent-rated')).toEqual(reputation)
    expect((await world.store.counts(0)).reviews).toBe(3)
  }),

  rule('lists registered agents in AID order and finds text in any case', async world => {
    await world.put(agentRow('agent-two', { registered: false }))
    await world.put(agentRow('agent-three', { readme: 'Paints HOUSES' }))
    const all = { bytesMax: 1_000_000, rowsMax: 1000 }
    const aids = async (query: Pick<ListQuery, 'afterAid' | 'limit' | 'text'>) =>
      (await world.store.listAgents({ ...all, ...query })).rows.map(row => row.aid)
    expect(await aids({ afterAid: '', limit: 10 })).toEqual(['agent-one', 'agent-three'])
    expect(await aids({ afterAid: 'agent-one', limit: 10 })).toEqual(['agent-three'])
    expect(await aids({ afterAid: '', limit: 10, text: 'houses' })).toEqual(['agent-three'])
    expect(await world.store.counts(NOW_MS)).toMatchObject({ agents: 2, onlineAgents: 0 })
    await world.store.markSeen(world.box, NOW_MS)
    expect(await world.store.counts(NOW_MS)).toMatchObject({ agents: 2, onlineAgents: 1 })
  }),

  rule('reads of a list as much as one page may cost, and a row that is larger alone', async world => {
    await world.put(agentRow('agent-three', { readme: 'Paints HOUSES' }))
    const houses = { afterAid: '', limit: 10, text: 'houses' }
    for (const narrow of [
      { bytesMax: 1_000_000, rowsMax: 1 },
      { bytesMax: 1, rowsMax: 1000 },
    ]) {
      expect(await world.store.listAgents({ ...houses, ...narrow })).toEqual({ rows: [], next: 'agent-one' })
      const second = await world.store.listAgents({ ...houses, ...narrow, afterAid: 'agent-one' })
      expect([second.rows.map(row => row.aid), second.next]).toEqual([['agent-three'], undefined])
    }
  }),

  rule('makes an account once where two make it together', async world => {
    const made = await Promise.all([world.put(agentRow('agent-two')), world.put(agentRow('agent-two'))])
    expect(made.map(({ outcome }) => outcome)).toEqual(['stored', 'conflict'])
    expect(await world.store.counts(0)).toMatchObject({ agents: 2 })
  }),

  rule('keeps every member of a row over a restart, and the number with its mailbox', async world => {
    const row = agentRow('agent-two', {
      visibility: 'public',
      keys: bytes(9, 2),
      keysBefore: bytes(9, 1),
      keysBeforeUntilMs: NOW_MS + 1,
      probationUntilMs: NOW_MS + 2,
      card: '{"name":"card"}',
    })
    const put = await world.put(row)
    if (put.outcome !== 'stored') throw new Error(put.outcome)
    await world.store.markSeen(put.number, NOW_MS)
    await world.reopen()
    const kept = { ...row, number: put.number, version: put.version, seenHourMs: NOW_MS }
    expect(await world.store.findAgent('agent-two')).toEqual(kept)
    expect(await world.store.findAgent('nobody')).toBeUndefined()
    await world.put({ ...kept, name: 'other' })
    expect(await world.store.findAgent('agent-two')).toMatchObject({ number: put.number, name: 'other' })
  }),

  rule(
    'finds by capability, by family, by the terms of a card, and those alone that are public',
    async world => {
      await world.put(agentRow('agent-cards', { caps: ['c.d', 'e'], visibility: 'public' }), [
        'skill:x',
        'tag:y',
      ])
      await world.put(agentRow('agent-other', { caps: ['c.e'] }), ['tag:y'])
      const aids = async (query: Partial<ListQuery>) =>
        (
          await world.store.listAgents({ afterAid: '', limit: 10, bytesMax: 1e6, rowsMax: 1000, ...query })
        ).rows.map(({ aid }) => aid)
      expect([await aids({ caps: ['c.d'] }), await aids({ caps: ['c.*'] })]).toEqual([
        ['agent-cards'],
        ['agent-cards', 'agent-other'],
      ])
      expect([await aids({ terms: ['tag:y'] }), await aids({ terms: ['tag:y', 'skill:x'] })]).toEqual([
        ['agent-cards', 'agent-other'],
        ['agent-cards'],
      ])
      expect([await aids({ onlyPublic: true }), await aids({ caps: ['c.*'], text: 'nothing' })]).toEqual([
        ['agent-cards'],
        [],
      ])
    },
  ),

  rule('counts the accounts of a range that came by work, and takes each proof once', async world => {
    const signUp = (n: number, proof: number, range = 1) => ({
      row: agentRow(`newcomer-${n}`),
      entry: undefined,
      terms: [],
      signUp: {
        day: 20_000,
        range: bytes(16, range),
        perDayMax: 2,
        proof: bytes(32, proof),
        proofUntilMs: NOW_MS,
      },
    })
    const given = [signUp(1, 1), signUp(2, 1), signUp(3, 3), signUp(4, 4), signUp(5, 5, 2)]
    const put = await Promise.all(given.map(change => world.store.putAgent(change)))
    expect(put.map(({ outcome }) => outcome)).toEqual([
      'stored',
      'proofUsed',
      'stored',
      'rangeFull',
      'stored',
    ])
    await world.reopen()
    expect(await world.store.signUps({ day: 20_000, range: bytes(16, 1) })).toBe(2)
    expect(await world.store.signUps({ day: 20_001, range: bytes(16, 1) })).toBe(0)
    expect(await Promise.all([1, 4].map(n => world.store.isProofUsed(bytes(32, n))))).toEqual([true, false])
    expect(await world.store.findAgent('newcomer-4')).toBeUndefined()
  }),

  rule('takes a fork proof twice, and keeps the agent as it was', async world => {
    const before = await world.store.findAgent('agent-one')
    const proof = { aid: 'agent-one', seq: 1, held: bytes(9, 1), submitted: bytes(9, 2), seenMs: NOW_MS }
    await Promise.all([world.store.keepForkProof(proof), world.store.keepForkProof(proof)])
    expect(await world.store.findAgent('agent-one')).toEqual(before)
  }),
]
