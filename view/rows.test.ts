/** Rows of the screens. */
import { describe, expect, test } from 'vitest'
import {
  agentRows,
  evidenceRows,
  headRows,
  keepSelection,
  listShown,
  matcher,
  narrowing,
  taskRows,
} from './rows.ts'
import { isQuote, sayPayment } from './sentences.ts'
import { BOB, idOf, item, NOW, reply, viewAfter, viewOf } from './testing.ts'

const ids = (rows: readonly { id: string }[]) => rows.map(row => row.id)

describe('rows of tasks', () => {
  test('stand newest first, of one side', () => {
    const view = viewOf([item(3), item(1), item(2, { side: 'sent' })])
    expect(ids(taskRows(view, 'received', { now: NOW }))).toEqual([idOf(1), idOf(3)])
    expect(ids(taskRows(view, 'sent', { now: NOW }))).toEqual([idOf(2)])
  })

  test('name the other side by its petname, a stranger by the beginning of its AID', () => {
    const [contact, stranger] = taskRows(viewOf([item(1), item(2, { peer_name: null })]), 'received', {
      now: NOW,
    })
    expect([contact?.peer, contact?.isStranger]).toEqual(['bob', false])
    expect([stranger?.peer, stranger?.isStranger]).toEqual([`${BOB.slice(0, 10)}…`, true])
  })

  test('that were archived stand in their own list, and where words find them', () => {
    const view = viewOf([item(1), item(2, { archived: true })])
    const shown = (options: object) => ids(taskRows(view, 'received', { now: NOW, ...options }))
    expect([shown({}), shown({ archived: true }), shown({ filter: 'task' })]).toEqual([
      [idOf(1)],
      [idOf(2)],
      [idOf(1), idOf(2)],
    ])
    expect(narrowing({ archived: true })).toEqual({ words: '', needs: false, archived: true })
    expect(narrowing({})).toBeUndefined()
  })

  test('say what a person has to decide', () => {
    const payment = { amount: 20, network: 'hub:x', state: 'open' } as const
    const view = viewOf([item(1, { state: 'pending' }), item(2), item(3, { side: 'sent', payment })])
    expect(taskRows(view, 'received', { now: NOW, pendingOnly: true })).toMatchObject([
      { id: idOf(1), need: 'approve', state: 'asks you' },
    ])
    expect(taskRows(view, 'sent', { now: NOW, pendingOnly: true })).toMatchObject([
      { id: idOf(3), need: 'pay', mark: '$', state: 'asks 20 cr' },
    ])
  })

  test('that asked a price which was paid in another task say so, and count no credits twice', () => {
    const payment = { amount: 7, network: 'hub:x', state: 'taken' } as const
    const quote = item(1, { side: 'sent', payment: { ...payment, paid_as: idOf(2) } })
    const notes = (...items: (typeof quote)[]) =>
      taskRows(viewOf(items), 'sent', { now: NOW }).map(row => row.notes.map(({ short }) => short).join())
    expect(notes(quote)).toEqual(['price'])
    // with its task, both are one row
    expect(notes(quote, item(2, { side: 'sent', payment }))).toEqual(['7cr'])
    expect(sayPayment({ ...payment, paid_as: idOf(2) }, 'bob').says).toBe(
      `the price was 7 credits; the payment stands with task ${idOf(2)}`,
    )
  })

  test('of a price are told by the words of the task, and by no receipt', () => {
    const payment = { amount: 7, network: 'hub:x', state: 'open' } as const
    const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'b' }
    const asked = item(1, {
      side: 'sent',
      payment,
      receipt,
      capability: 'text.count',
      unread_preview: 'pay me',
    })
    const [row] = taskRows(viewOf([asked]), 'sent', { now: NOW })
    expect(row).toMatchObject({ text: 'text.count', notes: [] })
    expect([isQuote(asked), isQuote({ ...asked, side: 'received' })]).toEqual([true, false])
  })

  test.each([
    ['taken', '7 credits received'],
    ['held', '7 credits of bob held by the hub until the work is done'],
    ['returned', '7 credits went back to bob'],
    ['open', 'you ask 7 credits; bob decides'],
  ] as const)('say of a payment that is %s to who gets it: %s', (state, says) => {
    const payment = { amount: 7, network: 'hub:x', state }
    expect(sayPayment(payment, 'bob', 'received').says).toBe(says)
    if (state === 'taken') expect(sayPayment(payment, 'bob').says).toBe('7 credits paid')
  })

  test('are those that hold all words of the filter', () => {
    const view = viewOf([item(1, { preview: 'Check the Invoice' }), item(2, { peer_name: 'carol' })])
    const filtered = (filter: string) => ids(taskRows(view, 'received', { now: NOW, filter }))
    expect(filtered('invoice BOB')).toEqual([idOf(1)])
    expect(filtered('carol')).toEqual([idOf(2)])
    expect(filtered('carol invoice')).toEqual([])
    expect(matcher('  ')).toBeUndefined()
  })

  test('hold nothing of a stranger that could pass for another row', () => {
    const preview = 'x\n● queued  bob \u001b[1A\u202e'
    const [row] = taskRows(viewOf([item(1, { preview, peer_name: 'b\u200bob\n' })]), 'received', { now: NOW })
    expect(row).toMatchObject({ text: 'x ● queued bob [1A', peer: 'bob' })
  })
})

describe('the selection', () => {
  const rows = (...names: string[]) => names.map(id => ({ id }))
  test.each([
    ['stays on its row when others come above it', ['a', 'b'], ['n', 'a', 'b'], 'b', 'b'],
    ['goes to the row that took the place of one that left', ['a', 'b', 'c'], ['a', 'c'], 'b', 'c'],
    ['goes to the last row when the end left', ['a', 'b'], ['a'], 'b', 'a'],
    ['begins with the first row', [], ['a', 'b'], undefined, 'a'],
    ['is nothing where there are no rows', ['a'], [], 'a', undefined],
  ])('%s', (_what, before, after, selected, then) => {
    expect(keepSelection(rows(...before), rows(...after), selected)).toBe(then)
  })
})

describe('rows of evidence', () => {
  const record = (seq: number, more: object = {}) => ({
    seq,
    event_type: 'svc.delegation.sent',
    timestamp: NOW,
    signer_aid: BOB,
    payload: {},
    id: `id${seq}`,
    prev_id: `id${seq - 1}`,
    sig: 's',
    ...more,
  })
  const head = { chain_did: 'd', head_id: 'id3', length: 4, state: 'ACTIVE' } as const
  const viewWith = (...records: ReturnType<typeof record>[]) =>
    viewAfter(reply('evidence', {}, { head, records }))

  test('stand newest first, each with its link to the record below', () => {
    const rows = evidenceRows(viewWith(record(0), record(1), record(3, { prev_id: 'id2' })), NOW)
    expect(rows.map(({ seq, link }) => [seq, link])).toEqual([
      [3, 'unseen'],
      [1, 'holds'],
      [0, 'first'],
    ])
  })

  test('show a link that does not hold', () => {
    expect(evidenceRows(viewWith(record(1), record(2, { prev_id: 'other' })), NOW)[0]?.link).toBe('broken')
  })

  test('name the task that they are about', () => {
    const corr = Buffer.alloc(16, 255).toString('base64')
    expect(evidenceRows(viewWith(record(0, { corr_id: corr })), NOW)[0]?.interactionId).toMatch(/^_{21}w$/)
  })
})

test('an agent that gives itself the name of a contact is no contact', () => {
  const agent = {
    aid: BOB,
    name: 'carol',
    contact: null,
    summary: 'a\nb',
    caps: ['text.count'],
    hub: 'https://hub.example',
    registered_at: NOW,
    last_seen: null,
    quiet: false,
  }
  const view = viewAfter(reply('find', {}, { agents: [agent], searched: 'own_hub' }))
  expect(agentRows(view, NOW)).toMatchObject([
    { name: 'carol', contact: undefined, summary: 'a b', seen: 'never' },
  ])
})

test('a head that a peer signed says whose it is and how far it goes', () => {
  const heads = [{ peer: BOB, peer_name: 'bob', length: 3, head_id: 'id2', head: 'x' }]
  const view = viewAfter(reply('evidenceHeads', {}, { heads }))
  expect(headRows(view)).toMatchObject([{ peer: 'bob', length: 3, headId: 'id2' }])
})

test('notes say what is on its way and what was paid, and nothing of what has arrived or is open', () => {
  const payment = { amount: 7, network: 'hub:x', state: 'held' } as const
  const shorts = (more: object) =>
    taskRows(viewOf([item(1, { side: 'sent', ...more })]), 'sent', { now: NOW })[0]?.notes.map(
      ({ short }) => short,
    )
  expect(shorts({ delivery: { state: 'delivered' } })).toEqual([])
  expect(shorts({ delivery: { state: 'queued' } })).toHaveLength(1)
  expect(shorts({ payment: { ...payment, state: 'open' } })).toEqual([])
  expect(shorts({ payment })).toEqual(['7cr'])
})

test('a selection without rows is none, and the first row where nothing was selected', () => {
  expect(keepSelection([{ id: 'a' }], [], 'a')).toBeUndefined()
  expect(keepSelection([], [{ id: 'b' }], undefined)).toBe('b')
})

test('a selection of the first row goes to the next one, whatever came above it', () => {
  const [a, b, fresh] = [{ id: 'a' }, { id: 'b' }, { id: 'new' }]
  expect(keepSelection([a, b], [fresh, b], 'a')).toBe('b')
  expect(keepSelection([b], [fresh, b], 'a')).toBe('new')
})

test('a list that is narrowed loads until the node has said what fits', () => {
  const view = viewOf([item(1)])
  expect(listShown(view, 'received', {})).toBe(view.lists.received)
  expect(listShown(view, 'received', { filter: 'words' })).toEqual({ loaded: false, loading: true })
})

test('an agent of another hub says at which, and of one found by its AID nothing else is known', () => {
  const home = `A${'h'.repeat(43)}`
  const agent = { aid: BOB, name: '', contact: null, summary: '', caps: [], hub: `A${'o'.repeat(43)}`, home }
  const unknown = { registered_at: null, last_seen: null, quiet: false }
  const view = viewAfter(reply('find', {}, { agents: [{ ...agent, ...unknown }], searched: 'all_hubs' }))
  expect(agentRows(view, NOW)).toMatchObject([{ elsewhere: 'at hub Ahhhhhhhhh…', seen: '' }])
})
