/** The checker of the chaos rounds sees what it is there to see. */
import { describe, expect, test } from 'vitest'
import { type Books, faultsOf, faultsOfBooks, faultsOfSum } from './checker.ts'
import type { Scene, Standing, Task, Turn, View } from './history.ts'

const ID = 'task-id'
const STARTED = 1_000_000
const mine = (text: string, state = 'delivered', reason?: string): Turn => ({
  mine: true,
  text,
  kind: 'message',
  delivery: { state, ...(reason !== undefined && { reason }) },
})
const theirs = (text: string): Turn => ({ mine: false, text, kind: 'message' })
const receipt = { id: 'r1', verified: true, status: 'UNVERIFIED' }
const quiet: Standing = { old_copy: false, warnings: [], counts: { outbox: 0, foreign: 0 } }

const task: Task = {
  n: 1,
  kind: 'words',
  from: 'alice',
  to: 'bob',
  id: ID,
  startedMs: STARTED,
  said: [
    { by: 'alice', to: 'bob', text: 'one', atMs: STARTED },
    { by: 'alice', to: 'bob', text: 'two', atMs: STARTED + 1 },
  ],
  outcome: 'receipt',
  moves: 0,
  isFinished: true,
}

type Change = {
  task?: Partial<Task>
  alice?: Partial<View> | null
  bob?: Partial<View> | null
  restores?: Scene['restores']
  standing?: Partial<Record<'alice' | 'bob', Partial<Standing>>>
}

function sceneOf(change: Change): Scene {
  const side = (base: View, other: Partial<View> | null | undefined) =>
    other === null ? undefined : { ...base, ...other }
  const alice = side({ state: 'ended', turns: [mine('one'), mine('two')], receipt }, change.alice)
  const bob = side({ state: 'ended', turns: [theirs('one'), theirs('two')], receipt }, change.bob)
  return {
    tasks: [{ ...task, ...change.task }],
    views: new Map([
      ['alice', new Map([[ID, alice]])],
      ['bob', new Map([[ID, bob]])],
    ]),
    restores: change.restores ?? [],
    standing: new Map([
      ['alice', { ...quiet, ...change.standing?.alice }],
      ['bob', { ...quiet, ...change.standing?.bob }],
    ]),
    hubs: new Map([
      ['hub:x', 'east'],
      ['hub:y', 'west'],
    ]),
    nowMs: STARTED + 60_000,
  }
}
const found = (change: Change) => faultsOf(sceneOf(change)).join('\n')
const bobPutBack = [{ who: 'bob', savedMs: STARTED - 1000, restoredMs: STARTED + 5000 }]

describe('the checker', () => {
  test('finds nothing where all is well', () => expect(found({})).toBe(''))

  test.each<[string, Change, RegExp]>([
    ['words that nobody has', { bob: { turns: [theirs('one')] } }, /calls delivered what bob has not: two/],
    [
      'words that their author has lost',
      { alice: { turns: [mine('one')] } },
      /alice has lost what it said: two/,
    ],
    [
      'words that came twice',
      { bob: { turns: [theirs('one'), theirs('two'), theirs('two')] } },
      /2 times: two/,
    ],
    [
      'words that are shown twice to their author',
      { alice: { turns: [mine('one'), mine('one'), mine('two')] } },
      /its own words 2 times/,
    ],
    ['disorder', { bob: { turns: [theirs('two'), theirs('one')] } }, /bob reads out of order: two \| one/],
    [
      'words called failed that are there',
      { alice: { turns: [mine('one'), mine('two', 'failed', 'no')] } },
      /calls failed what bob has/,
    ],
    [
      'words that failed',
      { alice: { turns: [mine('one'), mine('two', 'failed', 'no')] }, bob: { turns: [theirs('one')] } },
      /failed between honest nodes \(no\)/,
    ],
    [
      'a disputed receipt',
      { alice: { receipt: { ...receipt, fault: 'another transcript' } } },
      /disputes the receipt .* another transcript/,
    ],
    ['two receipts', { bob: { receipt: { ...receipt, id: 'r2' } } }, /another receipt: r1, r2/],
    ['an end with one receipt', { bob: { receipt: undefined } }, /not both have its receipt/],
    [
      'a task that is stuck',
      { task: { isFinished: false, waitedFor: 'the answer' } },
      /stuck, it waits for the answer/,
    ],
    ['a task that its reader has never seen', { bob: null }, /calls delivered what bob has not: one/],
  ])('sees %s', (_, change, says) => expect(found(change)).toMatch(says))

  const paid = (state: string, more: object = {}) => ({
    payment: { amount: 5, network: 'hub:x', state, ...more },
  })
  test.each<[string, Change, RegExp]>([
    [
      'a payment that is held for ever',
      { alice: paid('held'), bob: paid('taken', { taken: 5 }) },
      /a payment is not over/,
    ],
    [
      'sides that disagree',
      { alice: paid('returned'), bob: paid('taken', { taken: 5 }) },
      /disagree about the payment/,
    ],
    [
      'work that was not paid',
      { task: { moves: 5 }, alice: paid('returned'), bob: paid('returned') },
      /5 credits were to move/,
    ],
    [
      'a refund that moved nothing',
      { alice: paid('taken', { taken: 5 }), bob: paid('taken', { taken: 5 }) },
      /0 credits were to move/,
    ],
  ])('sees %s', (_, change, says) => expect(found(change)).toMatch(says))

  test('takes a payment that is not over for explained where its own hub or one of its sides was put back', () => {
    const open = { alice: paid('held'), bob: paid('taken', { taken: 5 }) }
    const putBack = (who: string) => [{ who, savedMs: STARTED - 1000, restoredMs: STARTED + 5000 }]
    for (const who of ['east', 'alice', 'bob'])
      expect(found({ ...open, restores: putBack(who) })).not.toMatch(/payment/)
    for (const who of ['west', 'carol'])
      expect(found({ ...open, restores: putBack(who) })).toMatch(/a payment is not over/)
  })

  test('takes one across two hubs for explained where either of them was put back, and no other hub', () => {
    const open = { alice: paid('paying', { other_hub: 'y' }), bob: paid('refused') }
    const putBack = (who: string) => [{ who, savedMs: STARTED - 1000, restoredMs: STARTED + 5000 }]
    expect(found(open)).toMatch(/a payment is not over/)
    for (const who of ['east', 'west'])
      expect(found({ ...open, restores: putBack(who) })).not.toMatch(/payment/)
    expect(found({ ...open, restores: putBack('north') })).toMatch(/a payment is not over/)
  })

  test('takes what was paid and agreed on', () => {
    const taken = paid('taken', { taken: 5 })
    expect(found({ task: { moves: 5 }, alice: taken, bob: taken })).toBe('')
    const back = paid('taken', { taken: 5, given_back: 2 })
    expect(found({ task: { moves: 3 }, alice: back, bob: back })).toBe('')
  })

  describe('of a node that was put back', () => {
    const lost: Change = { bob: null, restores: bobPutBack, task: { isFinished: false, waitedFor: 'bob' } }
    test('takes a loss that is told', () => {
      expect(found({ ...lost, alice: { lost_by_peer_at: STARTED + 6000, receipt: undefined } })).toBe('')
      const restored = { waiting: 0, lost: [{ interaction_id: ID }] }
      expect(found({ ...lost, alice: { receipt: undefined }, standing: { bob: { restored } } })).toBe('')
    })

    test('sees one that nobody is told', () => {
      expect(found({ ...lost, alice: { receipt: undefined } })).toMatch(/nobody is told that it lost: one/)
    })

    test('sees a loss of words that were said before the backup', () => {
      const restores = [{ who: 'alice', savedMs: STARTED + 10_000, restoredMs: STARTED + 20_000 }]
      expect(found({ restores, alice: { turns: [mine('one')] } })).toMatch(/alice has lost what it said: two/)
    })

    test('sees a doubled message all the same', () => {
      const turns = [theirs('one'), theirs('one'), theirs('two')]
      expect(found({ restores: bobPutBack, bob: { turns } })).toMatch(/2 times: one/)
    })
  })
})

test('a refund that a hub refuses is taken where that hub was put back, and nowhere else', () => {
  const refused = { isFinished: false, waitedFor: 'the refund', refused: 'hub_refused' }
  const restores = [{ who: 'east', savedMs: STARTED - 1000, restoredMs: STARTED + 5000 }]
  expect(found({ task: refused })).toMatch(/stuck, it waits for the refund/)
  expect(found({ task: refused, restores })).toBe('')
  expect(found({ task: { ...refused, refused: undefined }, restores })).toMatch(/stuck/)
})

describe('of the books', () => {
  const account = { network: 'hub:x', balance: 95, held: 0, unknown: [], missing: [] }
  const books: Books = {
    hub: 'east',
    node: 'alice',
    account,
    before: 100,
    explained: -5,
    wasPutBack: false,
    isUnsure: false,
  }
  test('takes what receipts explain', () => expect(faultsOfBooks(books)).toEqual([]))
  test('sees credits that nothing explains', () => {
    expect(faultsOfBooks({ ...books, explained: 0 }).join()).toMatch(/95 credits .* receipts explain 100/)
    expect(faultsOfBooks({ ...books, account: { ...account, held: 5 } }).join()).toMatch(
      /100 credits \(5 held\)/,
    )
  })
  test('sees credits that nothing explains also of a node that was put back', () => {
    const odd = { ...books, explained: 0, wasPutBack: true }
    expect(faultsOfBooks(odd).join()).toMatch(/receipts explain 100/)
    expect(faultsOfBooks({ ...odd, isUnsure: true })).toEqual([])
  })
  test('sees credits that are with nobody, or with two', () => {
    expect(faultsOfSum('east', { granted: 300, owned: 296, redeemed: 4 })).toEqual([])
    expect(faultsOfSum('east', { granted: 300, owned: 301, redeemed: 4 })).toHaveLength(1)
    expect(faultsOfSum('east', { granted: 300, owned: 291, redeemed: 4 })).toHaveLength(1)
  })
  test('sees what the comparison with the ledger finds, unless a restore explains it', () => {
    const unknown = [{ transaction: 't', delta: -5 }]
    const odd = { ...books, account: { ...account, unknown } }
    expect(faultsOfBooks(odd).join()).toMatch(/no receipt explains/)
    expect(faultsOfBooks({ ...odd, wasPutBack: true })).toEqual([])
    expect(faultsOfBooks({ ...odd, isUnsure: true })).toHaveLength(1)
  })
})
