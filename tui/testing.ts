/** A screen without a terminal: presses and clicks go in, lines come out; and every screen that there is. */

import { keyRows } from '../view/keys.ts'
import { reduce } from '../view/reduce.ts'
import { firstView, type View } from '../view/state.ts'
import { BOB, idOf, item, NOW, reply, statusOf, threadOf, turn, viewOf } from '../view/testing.ts'
import { widthOf } from './cells.ts'
import { type Frame, frameOf } from './frame.ts'
import { type Effect, firstModel, type Model, type Prompt, type Size } from './model.ts'
import { pointed } from './on-mouse.ts'
import { plainLines } from './paint.ts'
import type { Press } from './press.ts'
import { RowCache } from './rows.ts'
import type { Scene, Step } from './scene.ts'
import { pressed, settled } from './update.ts'
import { pasted } from './writing.ts'

/** Names of keys that are more than their letter. */
const NAMED =
  /^(?:ctrl-|alt-|shift-)?(?:enter|esc|tab|up|down|left|right|home|end|pgup|pgdn|backspace|delete|space|[a-z_])$/

export class Screen {
  model: Model
  view: View
  effects: Effect[] = []
  readonly #cache = new RowCache()
  #rows: readonly string[] = []

  constructor(view: View, size: Size = { columns: 120, rows: 30 }) {
    this.view = view
    this.model = firstModel(size)
    this.show(view)
  }

  get scene(): Scene {
    return { model: this.model, view: this.view, cache: this.#cache, now: NOW }
  }

  /** The node said something. */
  show(view: View): this {
    this.view = view
    this.model = settled(this.scene, this.#rows)
    this.#rows = this.#cache.rows(this.model, view).ids
    return this
  }

  /** Keys by name, as `j`, `ctrl-d`, `enter`; a text in quotes is typed letter by letter. */
  press(...keys: string[]): this {
    for (const key of keys.flatMap(pressesOf)) {
      const { model, effects } = pressed(this.scene, key)
      this.effects.push(...effects)
      this.model = model
      this.show(this.view)
    }
    return this
  }

  paste(text: string): this {
    const { model, effects } = pasted(this.scene, text)
    this.effects.push(...effects)
    this.model = model
    return this.show(this.view)
  }

  /** A click on the first place that shows these words, or on a cell. */
  click(at: string | { x: number; y: number }): this {
    const place = typeof at === 'string' ? this.#placeOf(at) : at
    return this.#take(pointed(this.scene, this.frame.lines, { kind: 'click', ...place }))
  }

  wheel(by: 'up' | 'down', at: string | { x: number; y: number }): this {
    const place = typeof at === 'string' ? this.#placeOf(at) : at
    return this.#take(pointed(this.scene, this.frame.lines, { kind: `wheel_${by}`, ...place }))
  }

  #placeOf(words: string): { x: number; y: number } {
    const lines = plainLines(this.frame.lines)
    const y = lines.findIndex(line => line.includes(words))
    if (y < 0) throw new Error(`the screen does not show ${words}`)
    const line = lines[y] as string
    return { x: widthOf(line.slice(0, line.indexOf(words))), y }
  }

  #take({ model, effects }: Step): this {
    this.effects.push(...effects)
    this.model = model
    return this.show(this.view)
  }

  get frame(): Frame {
    return frameOf(this.scene)
  }

  get text(): string {
    return plainLines(this.frame.lines).join('\n')
  }

  /** Widths of the lines, which are all that of the screen. */
  get widths(): number[] {
    return [...new Set(this.frame.lines.map(line => line.reduce((sum, { text }) => sum + widthOf(text), 0)))]
  }
}

function pressesOf(key: string): Press[] {
  if (key.startsWith('"')) return [...key.slice(1, -1)].map(letter)
  return [NAMED.test(key) && key.length > 1 ? { key } : letter(key)]
}

const letter = (text: string): Press => ({ key: text === ' ' ? 'space' : text, text })

const words =
  'Summarise the report\n\n- one **point**\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode that goes on\n```'
const file = {
  name: 'report.pdf',
  media_type: 'application/pdf',
  bytes: 1_250_000,
  cid: 'b'.repeat(59),
  path: null,
}
const payment = { amount: 20, network: 'hub:x', state: 'open' } as const
const tasks = [
  item(1, { unread: 2, preview: words, attachments: 3 }),
  item(2, { state: 'pending', peer_name: null, preview: '你好，请翻译这份文件 👩‍👩‍👧 🇩🇪 👍🏽 e\u0301' }),
  item(3, { state: 'ended', receipt: { id: 'r', verified: true, status: 'OK', result_cid: 'c' }, rating: 4 }),
  item(4, { state: 'end_proposed', peer_name: 'a name that is as long as names may be, and then some' }),
  item(5, { side: 'sent', state: 'queued', delivery: { state: 'queued', reason: 'hub down' } }),
  item(6, { side: 'sent', capability: 'text.count', payment }),
  item(7, {
    side: 'sent',
    state: 'declined',
    reason: 'no time for that this week, and none in the next one',
  }),
  item(8, { side: 'sent', state: 'pending', delivery: { state: 'at_hub' } }),
]
const agent = {
  aid: BOB,
  name: 'bob',
  contact: null,
  summary: 'counts 三 and translates into every language that anybody speaks',
  caps: ['text.count', 'translate'],
  hub: 'https://hub.example',
  registered_at: 0,
  last_seen: NOW,
  quiet: false,
}
const record = (seq: number) => ({
  seq,
  event_type: 'svc.delegation.sent',
  timestamp: NOW,
  signer_aid: BOB,
  payload: {},
  id: `bafkrei${seq}`,
  prev_id: `bafkrei${seq === 3 ? 9 : seq - 1}`,
  sig: 's',
})
const head = { chain_did: 'd', head_id: 'bafkrei3', length: 4, state: 'ACTIVE' } as const

/** A node of which every screen has something to show. */
export const fullView: View = [
  reply(
    'find',
    {},
    { agents: [agent, { ...agent, aid: `A${'c'.repeat(43)}`, contact: 'carol' }], searched: 'own_hub' },
  ),
  reply('evidence', {}, { head, records: [3, 2, 1, 0].map(record) }),
  reply(
    'thread',
    { interaction_id: idOf(1) },
    threadOf(1, {
      turns: [
        turn(1, { kind: 'delegate', text: words, attachments: [file] }),
        turn(2, {
          mine: true,
          auto: true,
          text: 'Working on it',
          delivery: { state: 'queued', next_try_at: NOW + 9_000 },
        }),
        turn(3, { kind: 'end', text: '' }),
      ],
    }),
  ),
  reply('thread', { interaction_id: idOf(7) }, threadOf(7, { side: 'sent', state: 'declined' })),
].reduce(reduce, viewOf(tasks))

const PROMPTS: readonly Prompt['kind'][] = [
  ...['filter', 'command', 'search', 'find', 'attach', 'save', 'contact', 'reason', 'rate', 'question'],
  ...['hub', 'hub_name'],
] as never

type Named = readonly [name: string, screen: Screen]
const LONG = 'a long sentence of the foot, which says what was refused and which command helps: svc doctor'

/** Each screen and what may stand over it, by its name. */
export const everyScreen = (size: Size): Named[] => [...pressedScreens(size), ...changedScreens(size)]

/** What keys lead to. */
function pressedScreens(size: Size): Named[] {
  const of = (...pressed: string[]) => new Screen(fullView, size).press(...pressed)
  const reply = '"words 三 of a reply that is longer than the line in which it is written"'
  return [
    ...['1', '2', '3', '4', '5'].map(key => [`screen ${key}`, of(key)] as const),
    ['a conversation', of('1', 'enter')],
    ['a declined one', of('2', 'j', 'j', 'enter')],
    ['a reply', of('1', 'enter', 'r', reply)],
    ['a new task', of('3', 'd')],
    ['a stranger', of('j', 'a')],
    ['a payment', of('2', 'j', 'a')],
    ['declining', of('j', 'N')],
    ['a refusal', of('j', 'r')],
    ['a filter', of('/', '"report"', 'enter')],
    ['nothing found', of('/', '"zzz"', 'enter')],
    ['only what waits', of('p')],
    ['searching all', of('ctrl-k', '"needle"')],
  ]
}

/** What comes of the node, of commands and of refusals. */
function changedScreens(size: Size): Named[] {
  const shown = (view: View, ...pressed: string[]) => new Screen(view, size).press(...pressed)
  const given = (more: Partial<Model>) => {
    const screen = shown(fullView)
    screen.model = { ...screen.model, ...more }
    return screen
  }
  const lost = {
    state: 'lost',
    says: 'no node answers at 127.0.0.1:39811',
    since: NOW,
    retryAt: NOW + 2_500,
  } as const
  const hub = { ...statusOf().hub, state: 'offline' } as NonNullable<ReturnType<typeof statusOf>['hub']>
  const output = {
    title: 'svc doctor',
    text: 'a line 三\n'.repeat(90),
    top: 3,
    isRunning: true,
    since: NOW - 9_000,
  }
  const composer = {
    target: { kind: 'reply', id: idOf(1) },
    buffer: { text: 'x', at: 1 },
    files: ['~/a-path-that-is-long/report.md'],
    isSending: false,
    fault: LONG,
  } as const
  const stopped = { state: 'stopped', since: NOW, retryAt: NOW } as const
  return [
    ['a refused one', given({ composer })],
    ['a toast', given({ toast: { says: `${LONG} …`, tone: 'warn' } })],
    ['what a command prints', given({ output })],
    ['the ways on', given({ isWelcome: true })],
    ['before anything', shown(firstView)],
    ['no node', shown({ ...firstView, connection: lost })],
    ['a node that was stopped', shown({ ...fullView, connection: stopped })],
    ['many warnings', shown(viewOf(tasks, { hub, warnings: [LONG, LONG] }))],
    ['no hub', shown(viewOf([], { hub: null, hub_url: null }))],
    ...PROMPTS.map(
      kind => [`a line: ${kind}`, given({ prompt: { kind, buffer: { text: 'typed', at: 5 } } })] as const,
    ),
    ...[...new Set(keyRows.flatMap(row => row.places))].map(
      place => [`help: ${place}`, given({ help: { place, top: 0 } })] as const,
    ),
  ]
}
