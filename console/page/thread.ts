/** One task: every message with what it is, receipt and payment, what can be done now, and the composer. */
import { fileName } from '../../protocol/encoding/file-names.ts'
import { size } from '../../view/ages.ts'
import { cleanLine } from '../../view/clean.ts'
import { firstNew } from '../../view/first-new.ts'
import { messageFacts, peerName, sayPayment, saySending, sayState, wayOut } from '../../view/sentences.ts'
import type { Thread, ThreadHeld } from '../../view/state.ts'
import type { App } from './app.ts'
import { composer } from './composer.ts'
import { findBar } from './finding.ts'
import { type Drawn, h } from './h.ts'
import { faceBlock } from './helping.ts'
import { button, card, chip, facts, mark, sentence, toned } from './parts.ts'
import { receiptCard } from './receipt.ts'
import { download } from './saving.ts'
import { doable, hold } from './thread-actions.ts'
import { shownCharacters, wordsOf } from './written.ts'

type Turn = Thread['turns'][number]

export function threadPane(app: App, id: string, now: number): Drawn {
  const held = app.view.threads.get(id)
  const { thread } = held ?? {}
  return h(
    'article',
    { class: 'detail thread', key: `thread-${id}`, 'aria-labelledby': 'detail-title', tabindex: '-1' },
    back(app),
    thread === undefined ? waiting(app, held) : threadBody(app, thread, now),
  )
}

export const back = (app: App): Drawn =>
  h(
    'p',
    { class: 'back', key: 'back' },
    button('‹ Back to the list', () => app.open(undefined), { class: 'link' }),
  )

function waiting(app: App, held: ThreadHeld | undefined): Drawn {
  const { refusal } = held ?? {}
  if (refusal === undefined) return faceBlock(app, { kind: 'loading', tone: 'quiet', says: 'loading' })
  const next = refusal.next === undefined ? {} : { next: refusal.next.split('\n')[0] ?? '' }
  return faceBlock(app, { kind: 'refused', tone: 'bad', says: cleanLine(refusal.says), ...next })
}

function threadBody(app: App, thread: Thread, now: number): Drawn {
  const peer = peerName(thread)
  const item = app.view.interactions.get(thread.interaction_id)
  const begin = newIn(app, thread)
  return h(
    'div',
    { class: 'thread-body', key: 'body' },
    threadHead(app, thread, peer),
    callOut(app, thread, peer),
    h(
      'ol',
      { class: 'turns', key: 'turns', 'aria-label': 'Messages' },
      thread.turns.map(turn => [turn.n === begin && newFrom(), turnItem(app, thread, turn, now)]),
    ),
    sendingCard(app, thread),
    thread.payment !== undefined && paymentCard(thread, peer),
    item !== undefined && receiptCard(app, thread, item),
    thread.actions.includes('message')
      ? composer(app, thread.interaction_id, peer)
      : h('p', { class: 'soft pad', key: 'closed' }, closedBecause(thread)),
  )
}

/** The first message that was new when the conversation was opened, unless that is where it begins anyway. */
export function newIn(app: App, thread: Thread): number | undefined {
  const { begin } = app.ui
  const n = begin?.open === thread.interaction_id ? firstNew(thread, begin.unread) : undefined
  return n === thread.turns[0]?.n ? undefined : n
}

const newFrom = (): Drawn => h('li', { class: 'new-from', key: 'new-from' }, 'New')

function threadHead(app: App, thread: Thread, peer: string): Drawn {
  const state = sayState(thread.state, thread.side)
  const direction = thread.side === 'received' ? 'Task from' : 'Task for'
  return h(
    'header',
    { class: 'thread-head', key: 'head' },
    h(
      'h2',
      { id: 'detail-title' },
      `${direction} `,
      h(
        'a',
        { class: 'name', href: `#/agents/${thread.peer}`, onclick: event => toAgent(app, event, thread) },
        h('bdi', {}, peer),
      ),
    ),
    h(
      'p',
      { class: 'sub' },
      mark(state.mark, state.tone),
      toned(state.tone, state.word),
      thread.peer_name === null && chip('warn', 'stranger'),
      thread.sealed ? chip('quiet', 'sealed') : chip('warn', 'NOT sealed'),
      thread.capability !== undefined && chip('quiet', cleanLine(thread.capability, 64)),
      h('code', { class: 'id' }, thread.interaction_id),
    ),
    thread.reason !== undefined && h('p', { class: 'tone warn' }, sentence(cleanLine(thread.reason))),
    h(
      'div',
      { class: 'bar', role: 'group', 'aria-label': 'What can be done' },
      doable(app, thread)
        .filter(one => one.isElsewhere !== true)
        .map(({ name, label, key, run, isMain }) =>
          button(label, run, {
            key: name,
            class: isMain ? 'main' : undefined,
            title: key && `${label} (${key})`,
          }),
        ),
    ),
    findBar(app, thread),
  )
}

function toAgent(app: App, event: Event, { peer }: Thread): void {
  event.preventDefault()
  app.open(peer, 'agents')
}

/** What waits for a yes of this person, above everything else. */
function callOut(app: App, thread: Thread, peer: string): Drawn | undefined {
  const isPayment = thread.payment?.state === 'open'
  if (!thread.actions.includes('approve')) return undefined
  const says = isPayment
    ? sayPayment(thread.payment as NonNullable<Thread['payment']>, peer).says
    : `${peer} is a stranger to you: nothing of this task runs, and nothing goes back, until you take it.`
  return h(
    'div',
    { class: 'callout', key: 'callout' },
    h('p', {}, says),
    h(
      'div',
      { class: 'bar' },
      button(
        isPayment ? 'Look at the payment' : 'Take this task',
        () => app.ask({ kind: 'approve', id: thread.interaction_id }),
        { class: 'main' },
      ),
    ),
  )
}

/** What a message was drawn as: a long thread is not described anew for each letter that is typed under it. */
const drawn = new WeakMap<Turn, { item: Drawn; thread: Thread; shown: number; at: number }>()
/** After so long its times are looked at again. */
const DRAWN_FOR_MS = 10_000

function turnItem(app: App, thread: Thread, turn: Turn, now: number): Drawn {
  const held = drawn.get(turn)
  const shown = shownCharacters(app, thread.interaction_id, turn.n)
  // when it is tried next counts down
  const isOld = turn.delivery?.state === 'queued' || now - (held?.at ?? 0) >= DRAWN_FOR_MS
  if (held?.thread === thread && held.shown === shown && !isOld) return held.item
  const item = describeTurn(app, thread, turn, now)
  drawn.set(turn, { item, thread, shown, at: now })
  return item
}

function describeTurn(app: App, thread: Thread, turn: Turn, now: number): Drawn {
  const told = messageFacts(turn, thread, { now, way: wayOut(app.view) })
  return h(
    'li',
    {
      key: turn.n,
      'data-turn': turn.n,
      class: `turn${turn.mine ? ' mine' : ''}${turn.kind === 'message' || turn.kind === 'delegate' ? '' : ' event'}`,
    },
    h(
      'p',
      { class: 'turn-head' },
      h('bdi', { class: 'peer' }, told.who),
      told.what !== undefined && h('span', { class: 'what' }, told.what),
      h('time', { datetime: new Date(turn.at).toISOString() }, told.when),
    ),
    wordsOf(app, thread.interaction_id, turn),
    turn.attachments.length > 0 && attachments(app, thread.interaction_id, turn),
    h(
      'p',
      { class: 'turn-foot' },
      toned(told.proof.tone, told.proof.says),
      told.delivery !== undefined && [' · ', toned(told.delivery.tone, told.delivery.says)],
    ),
  )
}

function attachments(app: App, id: string, turn: Turn): Drawn {
  return h(
    'ul',
    { class: 'files', 'aria-label': 'Files' },
    turn.attachments.map((file, i) =>
      h(
        'li',
        { key: `${i} ${file.cid}` },
        h('span', { class: 'file-name' }, h('bdi', {}, fileName(file.name))),
        h('span', { class: 'soft' }, ` ${size(file.bytes)} · ${cleanLine(file.media_type, 60)} `),
        file.path === null
          ? h('span', { class: 'soft' }, 'not here yet')
          : button('Save', () => void download(app, id, file), {
              class: 'small',
              'aria-label': `Save ${fileName(file.name)}`,
            }),
      ),
    ),
  )
}

/** What is on its way to the hub, or held back here, with what changes that. */
function sendingCard(app: App, { interaction_id: id }: Thread): Drawn | undefined {
  const sending = app.view.transfers.sending.get(id)
  const isHeld = app.view.interactions.get(id)?.delivery?.held === true
  if (sending === undefined && !isHeld) return undefined
  return h(
    'div',
    { class: 'callout sending', key: 'sending', role: 'group', 'aria-label': 'On its way' },
    sending !== undefined &&
      h('progress', {
        max: sending.total,
        value: sending.sent,
        'aria-label': 'Sent to the hub',
      }),
    h('p', {}, sending === undefined ? 'Held back on this machine, by you.' : `${saySending(sending)}.`),
    button(isHeld ? 'Send it on' : 'Hold it back', () => hold(app, id), {
      title: 'Hold back, or send on (H)',
    }),
  )
}

function paymentCard(thread: Thread, peer: string): Drawn {
  const payment = thread.payment as NonNullable<Thread['payment']>
  const { says, tone } = sayPayment(payment, peer, thread.side)
  return card('Payment', h('p', {}, toned(tone, says)), facts([['Network', cleanLine(payment.network)]]))
}

function closedBecause({ state, side }: Thread): string {
  if (state === 'ended') return 'Both sides have ended this task.'
  if (state === 'pending' && side === 'received') return 'You can answer once you have taken this task.'
  return 'Nothing more can be written in this task.'
}
