/** Replies as people read them: aligned, in the width of the terminal, and harmless whatever a stranger wrote. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../../protocol/testing/agents.ts'
import { widthOf, wrapped } from './cells.ts'
import { humanText } from './reply.ts'
import { relative, rfc3339 } from './times.ts'

const NOW = Date.UTC(2026, 10, 22, 12, 0, 0)
const page = { now: NOW, columns: 80 }
const shown = (reply: unknown, columns = 80) => humanText(reply, { ...page, columns })
const AID = `A${'b'.repeat(43)}`

const item = (id: string, more: object = {}) => ({
  interaction_id: id,
  side: 'received',
  peer: AID,
  peer_name: 'bob',
  state: 'open',
  created_at: NOW,
  last_at: NOW - 180_000,
  preview: 'Summarise the report that is attached and say what is missing from it',
  unread: 1,
  attachments: 0,
  ...more,
})

test('a list is a table under headings, with petnames and how long ago, cut to the width', () => {
  const text = shown({ items: [item('x'.repeat(22)), item('y'.repeat(22), { peer_name: null, unread: 0 })] })
  expect(text).toBe(
    [
      'INTERACTION ID          PEER           STATE  LAST AT    UNREAD  PREVIEW',
      'xxxxxxxxxxxxxxxxxxxxxx  bob            open   3 min ago  1       Summarise the …',
      `yyyyyyyyyyyyyyyyyyyyyy  ${AID.slice(0, 12)}…  open   3 min ago          Summarise the …`,
      '',
    ].join('\n'),
  )
})

test('a list of sentences has a line for each, a list of names is one line', () => {
  expect(
    shown({ warnings: ['no hub is set, join one', 'a key waits to be told'], caps: ['code.review', 'text'] }),
  ).toBe(
    [
      'caps  code.review, text',
      '',
      'warnings:',
      '  - no hub is set, join one',
      '  - a key waits to be told',
      '',
    ].join('\n'),
  )
})

test('a difference is shown line by line, with nothing that a terminal obeys', () => {
  const diff = '--- a\n+++ a\n@@ -1 +1 @@\n-  old\n+\u001b[2Jnew\nand no member: of the reply\n'
  expect(shown({ tool: 'claude', diff })).toBe(
    [
      'tool  claude',
      '',
      'diff:',
      '  --- a',
      '  +++ a',
      '  @@ -1 +1 @@',
      '  -  old',
      '  +\\u{1b}[2Jnew',
      '  and no member: of the reply',
      '',
    ].join('\n'),
  )
})

test('where a table does not fit, each row is a block, and what is to be copied stays whole', () => {
  const text = shown({ items: [item('x'.repeat(22)), item('y'.repeat(22))] }, 40)
  expect(text.split('\n')[0]).toBe('interaction id  xxxxxxxxxxxxxxxxxxxxxx')
  expect(text).toContain('\npeer            bob\n')
  expect(text.split('\n\n')).toHaveLength(2)
  expect(Math.max(...text.split('\n').map(widthOf))).toBeLessThanOrEqual(40)
})

test('values stand beside their names, a time both as RFC 3339 and as how long ago, an AID behind its petname', () => {
  const reply = {
    peer: AID,
    peer_name: 'bob',
    state: 'open',
    answer_by: NOW + 7_200_000,
    blocked: false,
    gone: null,
  }
  expect(shown(reply)).toBe(
    [
      `peer       bob ${AID}`,
      'state      open',
      'answer by  2026-11-22T14:00:00Z (in 2 h)',
      'blocked    no',
      '',
    ].join('\n'),
  )
})

test('a conversation is told turn by turn', () => {
  const turn = {
    n: 1,
    from: AID,
    mine: false,
    kind: 'task',
    at: NOW - 60_000,
    text: 'Two\nlines',
    attachments: [],
  }
  const file = { name: 'a.md', media_type: 'text/markdown', bytes: 7, cid: 'c', path: null }
  const mine = { ...turn, n: 2, mine: true, text: 'Yes', attachments: [file], delivery: { state: 'at_hub' } }
  expect(shown({ turns: [turn] })).toMatch(`1. ${AID.slice(0, 12)}…, 2026`)
  expect(shown({ peer: AID, peer_name: 'bob', turns: [turn, mine] })).toBe(
    [
      `peer  bob ${AID}`,
      '',
      `1. bob, 2026-11-22T11:59:00Z (1 min ago)`,
      '    Two',
      '    lines',
      '',
      '2. you, 2026-11-22T11:59:00Z (1 min ago), at the hub, not confirmed yet',
      '    Yes',
      '    [a.md, 7 bytes]',
      '',
    ].join('\n'),
  )
})

test('a task board is a table for each column that has cards, and a card is told with what happened to it', () => {
  const card = {
    ...{ card_id: 'c1', title: 'Count the orders', column: 'in_progress', state: 'claimed' },
    ...{ creator: AID, creator_name: 'bob', assignee: AID, assignee_name: null, roles: ['assignee'] },
    ...{ created_at: NOW - 60_000, updated_at: NOW },
  }
  const columns = [
    { column: 'ready', total: 0, cards: [] },
    { column: 'in_progress', total: 3, cards: [card], next_cursor: '1.c1' },
  ]
  expect(shown({ hub: AID, columns })).toBe(
    [
      `hub  ${AID}`,
      '',
      'in progress (3):',
      'CARD ID  TITLE             CREATOR  ASSIGNEE  UPDATED AT',
      'c1       Count the orders  bob      you       now',
      'more with: --column in_progress --cursor 1.c1',
      '',
    ].join('\n'),
  )
  expect(shown({ hub: AID, columns: [columns[0]] })).toBe(`hub  ${AID}\n\nno cards\n`)
  const event = { seq: 7, at: NOW, actor: AID, actor_name: null, mine: true, action: 'submit' }
  const text = shown({ ...card, events: [{ ...event, detail: 'Done\u001b[2J.\nnext: rm' }] })
  expect(text).toContain(`creator     bob ${AID}\nassignee    you ${AID}\n`)
  expect(text).toMatch(
    /\nyou, 2026-11-22T12:00:00Z \(now\): submit\n {4}Done\\u\{1b\}\[2J\.\n {4}next: rm\n$/,
  )
})

test('a task on its way says where it is, and a price that it is none', () => {
  const sent = (more: object) => item('x'.repeat(22), { side: 'sent', preview: '', unread: 0, ...more })
  const price = { receipt: { status: 'PAYMENT_REQUIRED' }, state: 'ended' }
  const items = [
    sent({ state: 'queued', delivery: { state: 'queued' } }),
    sent({ state: 'queued', delivery: { state: 'at_hub' } }),
    sent({ state: 'delivered', delivery: { state: 'delivered' } }),
    sent({ ...price, payment: { state: 'open' } }),
    sent({ ...price, payment: { state: 'open', paid_as: 'y' } }),
    sent({ ...price, side: 'received' }),
    sent({ state: 'ended', receipt: { status: 'UNVERIFIED' } }),
  ]
  const states = shown({ items }, 120)
    .split('\n')
    .map(line => line.slice(30, 46).trim())
  expect(states.slice(1, -1)).toEqual([
    'queued here',
    'at the hub',
    'delivered',
    'price, to decide',
    'price',
    'price',
    'ended',
  ])
  const given = shown({ interaction_id: 'x', state: 'queued', delivery: { state: 'queued' } })
  expect(given).toContain('state           waits on this machine\n')
  const mine = { n: 1, mine: true, from: AID, at: NOW, text: 'a', delivery: { state: 'at_hub' } }
  expect(shown({ state: 'queued', turns: [mine] })).toContain('state  at the hub, not confirmed yet\n')
})

test('a turn without words is named by its kind, and one that waits says why', () => {
  const end = { n: 1, from: AID, mine: true, at: NOW, kind: 'accept_end', text: '', attachments: [] }
  const delivery = { state: 'queued', reason: 'hub unreachable, nothing listens there' }
  expect(shown({ turns: [{ ...end, delivery }] })).toMatch(
    /^1\. you, \S+ \(now\), waits on this machine \(hub unreachable, nothing listens there\)\n {4}\(accept end\)\n$/,
  )
})

test('what a check found stands with its mend', () => {
  const findings = [
    { check: 'hub', state: 'note', found: 'none', mend: 'svc hub-register <url> --name <name>' },
    { check: 'disk', state: 'ok', found: 'has room' },
  ]
  expect(shown({ ok: true, findings })).toBe(
    'ok  yes\n\nNOTE hub: none\n      mend: svc hub-register <url> --name <name>\nOK disk: has room\n',
  )
})

test('an event is its time, its name and what it says', () => {
  expect(shown({ at: NOW, id: '7', event: 'inbox', data: { interaction_id: 'x', state: 'open' } })).toBe(
    [
      'at     2026-11-22T12:00:00Z (now)',
      'id     7',
      'event  inbox',
      '',
      'data:',
      '  interaction id  x',
      '  state           open',
      '',
    ].join('\n'),
  )
})

test('an empty list is said to be empty', () => {
  expect(shown({ items: [] })).toBe('no items\n')
})

describe('text of a stranger', () => {
  const hostile = 'a\u001b[31mb\u0007\u202ec\u200b\r\nnext: rm -rf ~'

  test('obeys no terminal and forges no line, wherever it stands', () => {
    const replies = [
      { items: [item('x', { preview: hostile, peer_name: hostile })] },
      { name: hostile, payload: { [hostile]: hostile } },
      {
        turns: [
          {
            n: 1,
            from: hostile,
            mine: false,
            at: NOW,
            text: 'a\u001b[2J',
            attachments: [{ name: hostile, bytes: 1 }],
          },
        ],
      },
      { agents: [{ name: hostile, caps: [hostile], summary: hostile, aid: AID }] },
    ]
    for (const reply of replies)
      for (const columns of [200, 60, 20]) {
        const text = shown(reply, columns)
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}](?<!\n)/u)
        expect(text).not.toMatch(/^next: /m)
      }
  })

  test('of any kind stays in the width of the terminal and takes bounded time', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 24, max: 120 }), (text, columns) => {
        const lines = shown({ items: [item('i', { preview: text, peer_name: text })] }, columns).split('\n')
        for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
        for (const line of wrapped(text, columns))
          expect(widthOf(line)).toBeLessThanOrEqual(Math.max(columns, 2))
      }),
    )
  })

  test('that is wide keeps the columns aligned', () => {
    const [head = '', first = '', second = ''] = shown({
      contacts: [
        { petname: '日本語', aid: AID, blocked: false, added_at: NOW },
        { petname: 'bob', aid: AID, blocked: true, added_at: NOW },
      ],
    }).split('\n')
    const at = (line: string, what: string) => widthOf(line.slice(0, line.indexOf(what)))
    expect([at(first, AID), at(second, AID)]).toEqual([at(head, 'AID'), at(head, 'AID')])
  })
})

test.each([
  [0, 'now'],
  [-999, 'now'],
  [-1000, '1 s ago'],
  [-59_999, '59 s ago'],
  [-3_600_000, '1 h ago'],
  [-86_400_000, '1 d ago'],
  [-60 * 86_400_000, '60 d ago'],
  [-61 * 86_400_000, '2026-09-22'],
  [90_000, 'in 1 min'],
])('%i ms from now is %s', (apart, words) => {
  expect(relative(NOW + apart, NOW)).toBe(words)
})

test('a moment is RFC 3339 in seconds', () => {
  expect(rfc3339(NOW + 5)).toBe('2026-11-22T12:00:00Z')
})

test('the status of an answer in words says what it means, and any other is shown as it is', () => {
  expect(shown({ status: 'UNVERIFIED' })).toContain('answer in words, not checked by a program (UNVERIFIED)')
  expect(shown({ receipt: { status: 'OK' } })).toContain('OK')
})

test('agents that live at another hub say at which, and a search that found nobody says who was asked', () => {
  const row = { name: 'bob', contact: null, aid: AID, caps: [], summary: '', hub: AID, quiet: false }
  const found = { agents: [{ ...row, home: `A${'h'.repeat(43)}` }], searched: 'all_hubs' }
  expect(shown(found)).toMatch(/at hub Ahhhhhhhhhhh…/)
  expect(shown({ agents: [row], searched: 'own_hub' })).not.toMatch(/home|hub|searched/i)
  const says = (more: object) => shown({ agents: [], searched: 'all_hubs', ...more })
  expect(says({ partial: true })).toBe('not found so far: one of the hubs did not answer; ask again later\n')
  expect(says({ unusable: true })).toContain('does not verify')
  expect(says({})).toContain('neither your hub nor a peer of it lists this AID')
  expect(says({ searched: 'own_hub' })).toContain('an agent of another hub is found by its AID')
  expect(says({ searched: 'own_hub', next_cursor: 'c' })).toContain('nobody found on this page')
})
