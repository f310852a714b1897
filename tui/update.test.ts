/** What presses do, on every screen. */
import { describe, expect, test } from 'vitest'
import { reduce } from '../view/reduce.ts'
import { firstView } from '../view/state.ts'
import {
  ALICE,
  BOB,
  idOf,
  item,
  NOW,
  reply,
  statusOf,
  threadOf,
  turn,
  viewAfter,
  viewOf,
} from '../view/testing.ts'
import { plainLines } from './paint.ts'
import { readerFrame } from './reader.ts'
import { Screen } from './testing.ts'

const selected = (screen: Screen) => screen.model.panes[screen.model.screen].selected
const acts = (screen: Screen) => screen.effects.filter(effect => effect.type === 'act')
const stranger = item(1, { state: 'pending', peer_name: null })
const payment = { amount: 20, network: `hub:${statusOf().hub?.aid}`, state: 'open' } as const
const priced = item(1, { side: 'sent', capability: 'text.count', payment })
const many = (n: number) => viewOf(Array.from({ length: n }, (_, i) => item(i + 1)))

describe('the selection', () => {
  test('moves by a count, to the ends, and to a row by its number', () => {
    const screen = new Screen(many(100))
    expect(selected(screen.press('j'))).toBe(idOf(2))
    expect(selected(screen.press('6', 'j'))).toBe(idOf(8))
    expect(selected(screen.press('7', '0', 'G'))).toBe(idOf(70))
    expect(selected(screen.press('g'))).toBe(idOf(1))
    expect(selected(screen.press('G'))).toBe(idOf(100))
    expect(screen.effects).toContainEqual({ type: 'all' })
  })

  test('stays on its row when others come above it, and in sight', () => {
    const screen = new Screen(many(100), { columns: 80, rows: 20 }).press('9', '0', 'G')
    const more = [
      ...Array.from({ length: 100 }, (_, i) => item(i + 1)),
      item(0, { interaction_id: idOf(5000) }),
    ]
    screen.show(viewOf(more))
    expect(selected(screen)).toBe(idOf(90))
    expect(screen.text).toContain('task 90')
  })

  test('goes from a price to the task that was paid, which takes its row', () => {
    const screen = new Screen(viewOf([priced, item(3, { side: 'sent' })])).press('2')
    expect(selected(screen)).toBe(idOf(1))
    const paid = { ...priced, payment: { ...payment, state: 'held' as const, paid_as: idOf(2) } }
    screen.show(viewOf([paid, item(2, { side: 'sent' }), item(3, { side: 'sent' })]))
    expect(selected(screen)).toBe(idOf(2))
    expect(screen.text).not.toContain(idOf(1))
  })

  test('goes on with what took the place of a row that left', () => {
    const screen = new Screen(viewOf([stranger, item(2, { state: 'pending', peer_name: null })]))
    screen.press('p')
    expect(selected(screen)).toBe(idOf(1))
    screen.show(viewOf([item(1), item(2, { state: 'pending', peer_name: null })]))
    expect(selected(screen)).toBe(idOf(2))
  })
})

describe('a yes', () => {
  test('to a stranger is one key and y, and shows the whole address', () => {
    const screen = new Screen(viewOf([stranger])).press('a')
    expect(screen.text).toContain(BOB)
    expect(acts(screen)).toEqual([])
    screen.press('y')
    expect(acts(screen)).toMatchObject([{ name: 'approve', input: { interaction_id: idOf(1) } }])
  })

  test.each([
    ['a stranger', viewOf([stranger]), ['a']],
    ['a payment', viewOf([priced]), ['2', 'a']],
  ])('to %s on the smallest terminal counts once all of it was on the screen', (_, view, keys) => {
    const wide = new Screen(view, { columns: 60, rows: 40 }).press(...keys)
    const whole = wide.text.split('\n').map(line => line.trim())
    const facts = whole.slice(
      3,
      whole.findIndex(line => /^y yes/.test(line)),
    )
    const screen = new Screen(view, { columns: 60, rows: 12 }).press(...keys)
    const seen = new Set<string>()
    for (let line = 0; line < 40; line++) {
      for (const text of screen.text.split('\n')) seen.add(text.trim())
      if (/^ *y yes/m.test(screen.text)) break
      expect(acts(screen.press('y'))).toEqual([])
      screen.press('j')
    }
    for (const fact of facts) expect(seen).toContain(fact)
    expect(acts(screen.press('y'))).toMatchObject([{ name: 'approve' }])
  })

  test('to a payment says payee, amount, hub, what for and what remains', () => {
    const spend = { auto_max: 0, agent_max: 0, day_max: 100, payee_day_max: 0, spent_today: 30 }
    const screen = new Screen(reduce(viewOf([priced]), reply('spend', {}, spend))).press('2', 'a')
    expect(screen.effects).toContainEqual({ type: 'account' })
    for (const said of ['20 credits', BOB, 'https://hub.example', 'text.count', '70 of 100 remain'])
      expect(screen.text).toContain(said)
    expect(acts(screen.press('y'))).toMatchObject([{ name: 'approve' }])
  })

  test.each([['n'], ['esc'], ['q']])('is not %s', key => {
    const screen = new Screen(viewOf([stranger])).press('a', key)
    expect(acts(screen)).toEqual([])
    expect(screen.text).toContain('nothing was done')
  })

  test.each([['a'], ['enter'], ['space'], ['e']])('is not %s either, which leaves the question', key => {
    const screen = new Screen(viewOf([stranger])).press('a', key)
    expect(acts(screen)).toEqual([])
    expect(screen.model.confirm).toBeDefined()
  })

  test('is asked for before anything that ends a task', () => {
    for (const [key, state] of [
      ['e', 'open'],
      ['A', 'end_proposed'],
      ['X', 'open'],
      ['N', 'pending'],
    ] as const) {
      const screen = new Screen(viewOf([item(1, { state })])).press(key)
      expect([acts(screen), screen.model.confirm === undefined]).toEqual([[], false])
    }
  })

  test('to decline names the person and the task; keys that follow by habit are words to nobody', () => {
    const screen = new Screen(viewOf([item(1, { state: 'pending', preview: 'sort my mail' })])).press('N')
    expect(screen.text).toMatch(/Decline this task of .*\?/)
    expect(screen.text).toContain('sort my mail')
    screen.press('y')
    expect(acts(screen)).toMatchObject([{ name: 'decline', input: { interaction_id: idOf(1), reason: '' } }])
  })

  test('to decline may say why, in a line of its own, and is asked for all the same', () => {
    const screen = new Screen(viewOf([item(1, { state: 'pending' })])).press('N', 'r', '"no time, sorry"')
    screen.press('enter')
    expect([acts(screen), screen.text]).toEqual([[], expect.stringContaining('“no time, sorry”')])
    screen.press('y')
    expect(acts(screen)).toMatchObject([{ name: 'decline', input: { reason: 'no time, sorry' } }])
    const back = new Screen(viewOf([item(1, { state: 'pending' })])).press('N', 'r', '"half"', 'esc')
    expect([acts(back), back.text]).toEqual([[], expect.stringContaining('nothing is told')])
  })

  test('that does not fit the state of the task is told why', () => {
    const said = (key: string, more: Parameters<typeof item>[1]) => {
      const { model } = new Screen(viewOf([item(1, more)])).press(key)
      return [model.confirm, model.composer, model.prompt, model.toast?.says]
    }
    expect(said('a', {})).toEqual([undefined, undefined, undefined, expect.stringContaining('nothing here')])
    expect(said('v', {})[3]).toContain('no receipt yet')
  })

  test.each([
    ['r', 'pending', 'a approves it'],
    ['f', 'pending', 'a approves it'],
    ['ctrl-e', 'ended', 'd delegates a new one'],
    ['r', 'ended', 'd delegates a new one'],
    ['N', 'ended', 'd delegates a new one'],
    ['*', 'open', 'only a task of yours with a receipt'],
  ] as const)('%s on a task that is %s: what is typed behind the refusal is no keys', (key, state, says) => {
    const screen = new Screen(viewOf([item(1, { state })])).press(key)
    expect(screen.text).toContain(says)
    const before = screen.model
    screen.press('"Any day: 3 quick ones?"')
    expect([screen.model, acts(screen)]).toEqual([before, []])
    expect(screen.press('enter').text).not.toContain(says)
    expect(screen.model.screen).toBe('inbox')
  })

  test('comes too late where another screen answered, and says so', () => {
    const screen = new Screen(viewOf([priced])).press('2', 'a')
    screen.show(viewOf([{ ...priced, payment: { ...payment, state: 'held' } }]))
    expect(screen.text).toContain('it was answered meanwhile')
    expect(acts(screen.press('y'))).toEqual([])
    expect(screen.text).toContain('nothing was done')
  })

  test('can be given to nothing where nothing waits', () => {
    const screen = new Screen(viewOf([item(1)])).press('a')
    expect([screen.model.confirm, screen.model.toast?.says]).toEqual([
      undefined,
      'nothing here waits for a yes',
    ])
  })
})

describe('a reply', () => {
  const opened = () =>
    new Screen(reduce(viewOf([item(1)]), reply('thread', { interaction_id: idOf(1) }, threadOf(1))))

  test('is written in several lines and sent with enter', () => {
    const screen = opened().press('r', '"one"', 'ctrl-j', '"two"', 'enter')
    expect(screen.effects.at(-1)).toMatchObject({ type: 'send', composer: { buffer: { text: 'one\ntwo' } } })
  })

  test('is kept before it is sent, and where it is closed', () => {
    const kept = (screen: Screen) => screen.effects.some(effect => effect.type === 'keep_draft')
    expect(kept(opened().press('r', '"words"', 'enter'))).toBe(true)
    const screen = opened().press('r', '"words"', 'esc')
    expect([kept(screen), screen.model.composer]).toEqual([true, undefined])
  })

  test('without a word is not sent', () => {
    const screen = opened().press('r', 'enter')
    expect(screen.effects.some(effect => effect.type === 'send')).toBe(false)
  })

  test('is not sent twice by a second enter', () => {
    const screen = opened().press('r', '"once"', 'enter', 'enter', 'enter')
    expect(screen.effects.filter(effect => effect.type === 'send')).toHaveLength(1)
  })

  test('takes pasted words as words, also where they look like keys', () => {
    const screen = opened().press('r').paste('q\rrm -rf\u001b[2J')
    expect(screen.model.composer?.buffer.text).toBe('q\nrm -rf\u001b[2J')
    expect(screen.text).toContain('rm -rf[2J')
    expect(screen.text).not.toContain('\u001b')
  })

  test('names its files, and takes the last one off', () => {
    const screen = opened().press(
      'r',
      '"see"',
      'ctrl-t',
      '"a.md"',
      'enter',
      'ctrl-t',
      '"b.md"',
      'enter',
      'ctrl-x',
    )
    expect(screen.model.composer?.files).toEqual(['a.md'])
    expect(screen.text).toContain('+ a.md')
  })
})

test.each([
  ['a filter', ['/'], ['"z"']],
  ['a path of a file', ['r', 'ctrl-t'], ['enter']],
  ['the name of a folder', ['S'], []],
])('what is written as %s is drawn without what moves', (_what, before, after) => {
  const screen = new Screen(viewOf([item(1)]))
    .press(...before)
    .paste('x\u001b[2J\u202ey')
    .press(...after)
  expect(screen.text).toContain('x[2Jy')
  expect(screen.text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
})

test('what is written reaches a screen reader without what moves', () => {
  const screen = new Screen(viewOf([item(1)])).press('r').paste('x\u001b[2J\u202ey')
  expect(plainLines(readerFrame(screen.scene).lines).join('\n')).toContain('Reply to bob. Writing: x[2Jy')
})

test('a screen reader hears the help, how the node stands, and the line that is typed', () => {
  const read = (screen: Screen) => plainLines(readerFrame(screen.scene).lines).join('\n')
  const counts = { ...statusOf().counts, unread: 3, pending: 1 }
  const screen = new Screen(viewOf([item(1)], { counts }))
  expect(read(screen).split('\n')[0]).toBe('alice: hub online, 1 ask you, 3 unread.')
  expect(read(screen.press('?'))).toMatch(/^Help\. alice: /)
  expect(read(screen)).toContain('slash: filter the rows')
  expect(read(screen)).toContain('capital N: decline it')
  expect(read(screen.press('esc', ':', '"stat"'))).toContain('Typing: stat.')
  expect(read(new Screen(firstView))).toMatch(/^Node connecting\./)
})

test('what the foot explains is never cut, on the smallest terminal either', () => {
  const says =
    'this sentence says what was refused, why that is so on this very machine, and at its end which command helps: svc doctor'
  const screen = new Screen(viewOf([item(1), item(2)]), { columns: 60, rows: 12 })
  screen.model = { ...screen.model, toast: { says, tone: 'warn' } }
  const lines = screen.text.split('\n')
  expect(lines).toHaveLength(12)
  expect(lines.slice(-3).join('').replace(/ +/g, ' ').trim()).toContain('which command helps: svc doctor')
  screen.model = { ...screen.model, toast: undefined, refused: says }
  const refused = screen.text.split('\n').slice(-4).join(' ').replace(/ +/g, ' ')
  expect(refused).toContain('svc doctor')
  expect(refused).toContain('go on')
  expect(screen.widths).toEqual([60])
})

test('words pasted over the list do nothing', () => {
  const screen = new Screen(viewOf([stranger])).paste('ay\rq')
  expect([screen.effects, screen.model.confirm, screen.model.isQuitting]).toEqual([[], undefined, false])
})

test('words pasted into the filter filter, and want all rows', () => {
  const screen = new Screen(viewOf([item(1, { preview: 'invoice' }), item(2)])).press('/').paste('inv\n')
  expect(screen.text).not.toContain('task 2')
  expect(screen.effects).toContainEqual({ type: 'narrow' })
})

describe('a conversation', () => {
  const turns = Array.from({ length: 30 }, (_, i) =>
    turn(i + 1, { text: `words ${i + 1}${i % 10 === 4 ? ' needle' : ''}` }),
  )
  const opened = (unread = 0) => {
    const view = viewAfter(
      reply('status', {}, statusOf()),
      reply('inbox', {}, { items: [item(1, { unread })], new_cursor: 'n0.0' }),
      reply('thread', { interaction_id: idOf(1) }, threadOf(1, { turns })),
    )
    return new Screen(view, { columns: 80, rows: 20 }).press('enter')
  }
  const sees = (screen: Screen) => [...screen.text.matchAll(/words (\d+)/g)].map(found => Number(found[1]))

  test('opens at the first thing that is new, with the person above it, and scrolls from there', () => {
    const screen = opened(12)
    expect(sees(screen)[0]).toBe(19)
    expect(screen.text).toContain('from bob')
    expect(sees(screen.press('k', 'k', 'k', 'k'))[0]).toBe(18)
    expect(sees(screen.press('G')).at(-1)).toBe(30)
    expect(sees(opened(0)).at(-1)).toBe(30)
    expect(sees(opened(2)).at(-1)).toBe(30)
  })

  test('is scrolled no further than it is long', () => {
    const screen = opened().press('g')
    expect(sees(screen)[0]).toBe(1)
    expect(sees(screen.press('k', 'k', 'k', 'k', 'j', 'j', 'j', 'j'))[0]).toBe(2)
  })

  test('is searched with /, and gone through with n and p', () => {
    const screen = opened().press('/', '"needle"', 'enter')
    expect(sees(screen)).toContain(5)
    expect(screen.press('n').text).toContain('2 of 3; n the next, p the one before')
    expect(sees(screen)).toContain(15)
    expect(sees(screen.press('p', 'p'))).toContain(25)
    expect(screen.press('/', 'esc', 'n').text).toContain('/ searches in this conversation')
    expect(screen.press('/', '"absent"', 'enter', 'n').text).toContain('nothing here holds “absent”')
  })

  test('shows a long text in parts, more with m, and says how the rest is saved', () => {
    const long = turn(1, { text: 'word '.repeat(3_000), truncated: true, chars: 90_000, next_char: 15_000 })
    const view = viewAfter(
      reply('status', {}, statusOf()),
      reply('inbox', {}, { items: [item(1)], new_cursor: 'n0.0' }),
      reply('thread', { interaction_id: idOf(1) }, threadOf(1, { turns: [long] })),
    )
    const screen = new Screen(view, { columns: 80, rows: 20 }).press('enter')
    expect(screen.text).toContain('6,000 of 90,000 characters; m shows more, S saves it')
    expect(screen.press('m', 'G').text).toContain('15,000 of 90,000 characters')
    expect(screen.effects).toContainEqual({ type: 'read_on', id: idOf(1), all: false })
  })
})

test('ctrl-k searches all conversations and opens the message that is chosen', () => {
  const match = (n: number) => ({
    interaction_id: idOf(n),
    side: 'received' as const,
    peer: BOB,
    peer_name: 'bob',
    from: BOB,
    mine: false,
    turn: 7,
    at: NOW,
    text: `a needle ${n}`,
  })
  const screen = new Screen(viewOf([item(1)])).press('2', 'ctrl-k', '"needle"')
  expect(screen.effects).toContainEqual({ type: 'search', words: 'needle' })
  const words = 'needle*'
  screen.show(
    viewAfter(
      { type: 'asking', name: 'search', input: { words }, at: NOW } as never,
      reply('search', { words }, { matches: [match(1), match(2)] }),
    ),
  )
  expect(screen.text).toContain('a needle 1')
  screen.press('down', 'enter')
  expect(screen.model.thread).toEqual({ id: idOf(2), up: 0, begin: 7 })
  expect(screen.model.screen).toBe('inbox')
  expect(screen.effects.at(-1)).toEqual({ type: 'open_thread', id: idOf(2), read: true })
})

test('commands that were run come back with the arrows, each once, and what was typed stays', () => {
  const screen = new Screen(many(1))
  for (const line of ['status', 'find x', 'status']) screen.press(':', `"${line}"`, 'enter', 'esc')
  const shown = (...keys: string[]) => screen.press(...keys).model.prompt?.buffer.text
  expect(shown(':', '"ver"', 'up')).toBe('status')
  expect([shown('up'), shown('up'), shown('down'), shown('down')]).toEqual([
    'find x',
    'find x',
    'status',
    'ver',
  ])
})

test('a filter shows the rows that fit while it is typed, and esc takes it off', () => {
  const screen = new Screen(viewOf([item(1, { preview: 'invoice' }), item(2)])).press('/', '"inv"')
  expect(screen.text).toContain('/inv')
  expect(screen.text).not.toContain('task 2')
  expect(screen.press('enter').text).toContain('1 row')
  expect(screen.press('/', 'esc').text).toContain('task 2')
})

test('a filter that was taken with enter is cleared by esc, and the foot says so as long as it stands', () => {
  const view = viewOf([item(1, { preview: 'invoice' }), item(2)])
  for (const columns of [60, 120]) {
    const screen = new Screen(view, { columns, rows: 24 })
    expect(screen.text).not.toContain('clear filter')
    screen.press('/', '"inv"', 'enter')
    expect(screen.text.split('\n').at(-1)).toContain('esc clear filter')
    screen.press('esc')
    expect(screen.text).toContain('task 2')
    expect(screen.text).not.toContain('clear filter')
    expect(screen.press('esc').text).toContain('task 2')
  }
})

test('an agent is handed a task with one key', () => {
  const agent = {
    aid: BOB,
    name: 'bob',
    contact: null,
    summary: 'counts',
    caps: [],
    hub: 'h',
    registered_at: 0,
    last_seen: null,
    quiet: false,
  }
  const screen = new Screen(
    reduce(viewOf([]), reply('find', {}, { agents: [agent], searched: 'own_hub' })),
  ).press('3', 'd', '"do it"', 'enter')
  expect(screen.effects.at(-1)).toMatchObject({
    type: 'send',
    composer: { target: { kind: 'delegate', to: BOB }, buffer: { text: 'do it' } },
  })
})

test('a contact that was added can be taken out again', () => {
  const agent = {
    aid: BOB,
    name: 'Bob & Co',
    contact: null,
    summary: '',
    caps: [],
    hub: 'h',
    registered_at: 0,
    last_seen: null,
    quiet: false,
  }
  const screen = new Screen(
    reduce(viewOf([]), reply('find', {}, { agents: [agent], searched: 'own_hub' })),
  ).press('3', 'c')
  expect(screen.text).toContain('name of the contact: Bob-Co')
  screen.press('enter')
  expect(acts(screen)).toMatchObject([
    {
      name: 'contactAdd',
      input: { aid: BOB, petname: 'Bob-Co' },
      undo: { effect: { name: 'contactRemove' } },
    },
  ])
})

test('a rating is a number from 1 to 5 with words behind it', () => {
  const ended = item(1, { side: 'sent', state: 'ended' })
  const rated = (text: string) => acts(new Screen(viewOf([ended])).press('2', '*', `"${text}"`, 'enter'))
  expect(rated('5 well done')).toMatchObject([{ name: 'review', input: { rating: 5, comment: 'well done' } }])
  expect(rated('6')).toEqual([])
  expect(rated('')).toEqual([])
})

test('help of every place closes with the key that opened it, and esc goes back but never quits', () => {
  const screen = new Screen(many(3)).press('?')
  expect(screen.text).toContain('keys: tasks to me')
  expect(screen.press('?').text).not.toContain('keys: tasks to me')
  screen.press('esc', 'esc', 'esc')
  expect(screen.model.isQuitting).toBe(false)
  expect(screen.press('q').model.isQuitting).toBe(true)
})

test('q in a conversation goes back first', () => {
  const screen = new Screen(many(3)).press('enter', 'q')
  expect([screen.model.thread, screen.model.isQuitting]).toEqual([undefined, false])
})

test('the page of the node says whose it is', () => {
  expect(new Screen(viewOf([])).press('5').text).toContain(ALICE)
})

describe('a node that does not run', () => {
  const lost = { state: 'lost', says: 'no node answers', since: NOW, retryAt: NOW + 2_500 } as const
  const gone = (columns: number) => new Screen({ ...firstView, connection: lost }, { columns, rows: 24 })
  test.each([60, 120])('is started by a key that the foot names, and nothing loads (%i columns)', columns => {
    const screen = gone(columns)
    expect(screen.text.split('\n').at(-1)).toContain('U start the node')
    for (const key of ['1', '2', '3', '4', '5'])
      expect(screen.press(key).text).not.toMatch(/loading|asking the node/)
    expect(screen.press('U').effects).toContainEqual({ type: 'start_node' })
    expect(new Screen(viewOf([])).text).not.toContain('start the node')
  })
  test('is started by a key that the list of warnings names', () => {
    const { text } = gone(80).press('!')
    expect(text).toContain('U start the node')
  })
})

describe('a node without a hub', () => {
  const fresh = () => {
    const screen = new Screen(viewOf([], { hub: null, hub_url: null }))
    screen.model = { ...screen.model, isWelcome: true }
    return screen
  }
  test('is offered the three ways on', () => {
    expect(fresh().text).toMatch(/join a hub[\s\S]*host a hub[\s\S]*see a demo/)
  })
  test('takes a command while the ways stand there, which stay where none was given', () => {
    const screen = fresh().press(':', 'esc')
    expect(screen.text).toContain('join a hub')
    screen.press(':', '"status"', 'enter')
    expect(screen.effects).toContainEqual({ type: 'command', line: 'status' })
    expect(screen.text).not.toContain('join a hub')
  })
  test('joins the hub of an address', () => {
    const screen = fresh().press('j', '"hub.example"', 'enter')
    expect(screen.text).toContain('your name there')
    const line = "hub-register 'https://hub.example' --name 'alice'"
    expect(screen.press('"alice"', 'enter').effects).toContainEqual({ type: 'command', line })
    expect(screen.press(':', 'up').text).toContain(line)
  })
  test('takes a whole address as it was pasted', () => {
    const screen = fresh().press('j').paste('http://127.0.0.1:8088').press('enter', '"alice"', 'enter')
    const line = "hub-register 'http://127.0.0.1:8088' --name 'alice'"
    expect(screen.effects).toContainEqual({ type: 'command', line })
  })
  test('says at once what is no address, before a name is asked for, and offers the ways again', () => {
    const screen = fresh().press('j', '"ftp://hub"', 'enter')
    expect(screen.text).toContain('ftp://hub is no address of a hub; one is https://hub.example')
    expect(screen.text).toContain('join a hub')
    expect(screen.effects).toEqual([])
  })
  test('reads how a hub is hosted, sees the demo, or goes on without', () => {
    expect(fresh().press('h').effects).toContainEqual({ type: 'host' })
    const demo = fresh().press('d')
    expect(demo.effects).toContainEqual({ type: 'demo' })
    expect(demo.text).toContain('join a hub')
    expect(fresh().press('esc').text).toContain('no tasks yet')
  })
})

describe('a home in which nobody has made a node', () => {
  const lost = {
    state: 'lost',
    says: 'there is no identity in /home/x/.svc yet',
    since: NOW,
    retryAt: NOW,
  } as const
  const empty = (more: object = {}) => {
    const screen = new Screen({ ...firstView, connection: lost }, { columns: 80, rows: 24 })
    screen.model = { ...screen.model, isNew: true, isWelcome: true, ...more }
    return screen
  }
  test('shows no error but the ways on, of which the first starts a node', () => {
    const { text } = empty()
    expect(text).toMatch(/start your node[\s\S]*join a hub[\s\S]*host a hub[\s\S]*see a demo/)
    expect(text).not.toMatch(/✗|no identity|trying again/)
    expect(text).toContain('no node yet')
    expect(empty().press('s').effects).toContainEqual({ type: 'start_node' })
  })
  test('says calmly what starts one where the ways were put off', () => {
    const { text } = empty().press('esc')
    expect(text).toContain('there is no node here yet  → U starts one')
    expect(text).not.toContain('✗')
  })
  test('asks for hub and name at once where a hub is joined, and goes back to the ways', () => {
    const screen = empty().press('j', '"http://127.0.0.1:8088"', 'enter', '"me"', 'enter')
    const line = "hub-register 'http://127.0.0.1:8088' --name 'me'"
    expect(screen.effects).toContainEqual({ type: 'command', line })
    expect(empty().press('j', 'esc').text).toContain('start your node')
  })
  test('asks for the hub that was hosted once the page about it is closed', () => {
    const screen = empty()
    const then = { kind: 'hub', buffer: { text: 'http://127.0.0.1:8088', at: 21 } } as const
    screen.model = { ...screen.model, output: { title: 'a hub', text: 'x', top: 0, isRunning: false, then } }
    expect(screen.press('esc').text).toContain('address of the hub (https://…): http://127.0.0.1:8088')
  })
})

describe('a task that its recipient lost', () => {
  const lost = item(1, { side: 'sent', state: 'delivered', lost_by_peer_at: 5 })

  test('is delegated anew with one key and a yes, and says what becomes of its price', () => {
    const payment = { amount: 5, network: 'hub:x', state: 'held' as const }
    const screen = new Screen(viewOf([{ ...lost, payment }])).press('2', 'D')
    expect(screen.text).toContain('once more?')
    expect(screen.text).toContain('not paid again by itself')
    expect(acts(screen.press('y'))).toMatchObject([
      { name: 'anew', input: { interaction_id: lost.interaction_id } },
    ])
  })

  test.each([
    ['was delegated anew already', { anew_as: 'B'.repeat(22) }],
    ['is still there', { lost_by_peer_at: undefined }],
  ])('but not one that %s', (_, more) => {
    const screen = new Screen(viewOf([{ ...lost, ...more } as typeof lost])).press('2', 'D')
    expect(screen.text).toContain('only a task of yours that its recipient lost')
    expect(acts(screen)).toEqual([])
  })
})

describe('what is on its way to the hub', () => {
  const id = idOf(1)
  const going = item(1, { side: 'sent', delivery: { state: 'queued' } })
  const event = (data: object) => ({
    type: 'event' as const,
    event: { id: '1', event: 'transfer', data },
    at: NOW,
  })
  const sending = (data: object) =>
    [reply('thread', { interaction_id: id }, threadOf(1, { side: 'sent' })), event(data)].reduce(
      reduce,
      viewOf([going]),
    )

  test('says how far it is in the list and in the conversation, and no more once it is over', () => {
    const screen = new Screen(sending({ interaction_id: id, sent: 16_000_000, total: 64_000_000 }))
    screen.press('2', 'enter')
    expect(screen.text).toContain('↑25 %')
    expect(screen.text).toContain('█████░░░░░░░░░░░░░░░ 25 % of 64.0 MB sent to the hub')
    screen.show(reduce(screen.view, event({ interaction_id: id, over: true })))
    expect(screen.text).not.toContain('25 %')
  })

  test('is held back with one key, which says what stays, and sent on with the same', () => {
    const screen = new Screen(sending({ interaction_id: id, sent: 1, total: 4 })).press('2', 'H')
    expect(acts(screen)).toMatchObject([
      {
        name: 'sending',
        input: { interaction_id: id, on: false },
        says: expect.stringContaining('stays queued'),
      },
    ])
    screen.show(viewOf([{ ...going, delivery: { state: 'queued', held: true } }]))
    expect(screen.text).toContain('held back')
    expect(acts(screen.press('H')).at(-1)).toMatchObject({ input: { on: true } })
    screen.show(viewOf([item(1, { side: 'sent', delivery: { state: 'at_hub' } })]))
    expect(screen.press('H').text).toContain('nothing of this task waits on this machine')
  })

  test('is said of mail that comes, while it comes', () => {
    const screen = new Screen(reduce(viewOf([]), event({ received: 12_000_000 })))
    expect(screen.text).toContain('mail is coming in: 12.0 MB so far')
    screen.show(reduce(screen.view, event({ over: true })))
    expect(screen.text).not.toContain('coming in')
  })
})

test('the auto-reply is asked by a command, which shows how long it takes and can be stopped', () => {
  const asks = (...keys: string[]) => new Screen(viewOf([])).press('5', 't', ...keys, 'enter').effects.at(-1)
  expect(asks()).toEqual({ type: 'command', line: 'autoreply test' })
  expect(asks(`"what's -x?"`)).toEqual({
    type: 'command',
    line: String.raw`autoreply test -- 'what'\''s -x?'`,
  })
})

describe('u undoes', () => {
  test('a filter that was cleared', () => {
    const screen = new Screen(viewOf([item(1, { preview: 'invoice' }), item(2)])).press('/', '"inv"', 'enter')
    expect(screen.press('esc').text).toContain('task 2')
    expect(screen.press('u').text).not.toContain('task 2')
    expect(screen.press('u').text).toContain('there is nothing to undo')
  })

  test('that no more tasks are taken', () => {
    const screen = new Screen(viewOf([])).press('5', 'T')
    expect(screen.text).toContain('u sets it back as it was')
    screen.press('y')
    expect(screen.effects).toContainEqual({ type: 'set', id: 'accept', values: { on: 'no' } })
  })

  test('that the auto-reply was turned off, unless it has a key that no screen knows', () => {
    const asked = (api_key_set: boolean) => {
      const auto_reply = { backend: 'exec', agent: 'claude', api_key_set } as const
      const view = reduce(viewOf([]), reply('autoReplyShow', {}, { enabled: true, auto_reply }))
      return new Screen(view).press('5', 'o')
    }
    expect(asked(false).text).toContain('u sets it back as it was')
    expect(asked(true).text).not.toContain('u sets it back')
    expect(asked(true).text).toContain('so does the key of the server')
    expect(asked(false).press('y').effects).toContainEqual({ type: 'set', id: 'auto_reply_off', values: {} })
  })
})

test('a command that runs says for how long, and what stops it', () => {
  const screen = new Screen(viewOf([]))
  const output = { title: 'svc doctor', text: '', top: 0, isRunning: true }
  screen.model = { ...screen.model, output: { ...output, since: NOW - 500 } }
  expect(screen.text).toContain('runs; esc stops it')
  screen.model = { ...screen.model, output: { ...output, since: NOW - 12_000 } }
  expect(screen.text).toContain('runs, 12s; esc stops it')
  expect(screen.press('esc').effects).toContainEqual({ type: 'stop_command' })
})
