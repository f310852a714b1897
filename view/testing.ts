/** Views, rows of tasks and a node that answers from a script, for tests of the screens. */
import type { OperationInput, OperationName, OperationReply } from '../protocol/control/operations.ts'
import type { InteractionSummary, NodeStatus, Turn } from '../protocol/control/shapes.ts'
import type { Surroundings } from './held-view.ts'
import { type NodeClient, type NodeEventSeen, NodeGone } from './node-client.ts'
import { type Replied, reduce } from './reduce.ts'
import { firstView, type Thread, type View } from './state.ts'

export const NOW = Date.UTC(2026, 10, 22, 12, 0, 0)
export const ALICE = `A${'a'.repeat(43)}`
export const BOB = `A${'b'.repeat(43)}`

/** An interaction id that ends in a number. */
export const idOf = (n: number): string => `i${String(n).padStart(21, '0')}`

export const item = (n: number, more: Partial<InteractionSummary> = {}): InteractionSummary => ({
  interaction_id: idOf(n),
  side: 'received',
  peer: BOB,
  peer_name: 'bob',
  state: 'open',
  created_at: NOW - 60_000 * n,
  last_at: NOW - 60_000 * n,
  preview: `task ${n}`,
  unread: 0,
  attachments: 0,
  ...more,
})

export const turn = (n: number, more: Partial<Turn> = {}): Turn => ({
  n,
  from: BOB,
  mine: false,
  kind: 'message',
  at: NOW - 1000,
  text: `words ${n}`,
  attachments: [],
  ...more,
})

export const threadOf = (n: number, more: Partial<Thread> = {}): Thread => ({
  interaction_id: idOf(n),
  side: 'received',
  peer: BOB,
  peer_name: 'bob',
  state: 'open',
  sealed: true,
  turns: [turn(1)],
  actions: ['message', 'end'],
  ...more,
})

export const statusOf = (more: Partial<NodeStatus> = {}): NodeStatus => ({
  aid: ALICE,
  version: '0.3.0',
  build: 'test',
  data_dir: '/home/alice/.svc',
  hub_url: 'https://hub.example',
  name: 'alice',
  caps: [],
  summary: '',
  readme: '',
  pricing: '',
  accept_delegations: true,
  guest_messages: 5,
  console_url: 'http://127.0.0.1:39811/console',
  deactivated: false,
  old_copy: false,
  kel_seq: 0,
  pid: 1,
  hub: { aid: `A${'h'.repeat(43)}`, wire: 3, state: 'online', sealed: true, last_contact_at: NOW },
  counts: { unread: 0, pending: 0, outbox: 0, outbox_held: 0, foreign: 0, strangers_refused: 0 },
  chain: { chain_did: 'did:x', head_id: 'bafkreihead', length: 0, state: 'ACTIVE' },
  warnings: [],
  ...more,
})

export const reply = <N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  given: OperationReply<N>,
): Replied => ({ type: 'reply', name, input, reply: given, at: NOW }) as Replied

/** The view after these replies. */
export const viewAfter = (...replies: Replied[]): View =>
  replies.reduce(reduce, { ...firstView, connection: { state: 'live' } })

/** A view with a status and these tasks. */
export const viewOf = (items: readonly InteractionSummary[], status: Partial<NodeStatus> = {}): View => {
  const of = (side: string) => ({ items: items.filter(one => one.side === side), new_cursor: 'n0.0' })
  return viewAfter(
    reply('status', {}, statusOf(status)),
    reply('inbox', {}, of('received')),
    reply('results', {}, of('sent')),
  )
}

type Answers = { [N in OperationName]?: (input: OperationInput<N>) => OperationReply<N> }

/** A node that answers from a script and streams what {@link emit} says; `isDown` makes it gone. */
export class ScriptedNode implements NodeClient {
  isDown = false
  readonly calls: { name: OperationName; input: unknown }[] = []
  readonly answers: Answers
  /** Cursors with which the stream was opened. */
  readonly opened: (string | undefined)[] = []
  #queue: NodeEventSeen[] = []
  #wake: (() => void) | undefined
  #isEnding = false

  constructor(answers: Answers = {}) {
    this.answers = {
      status: () => statusOf(),
      inbox: () => ({ items: [], new_cursor: 'n0.0' }),
      results: () => ({ items: [], new_cursor: 'n0.0' }),
      ...answers,
    }
  }

  async call<N extends OperationName>(name: N, input: OperationInput<N>): Promise<OperationReply<N>> {
    if (this.isDown) throw new NodeGone('no node answers', 'svc up')
    this.calls.push({ name, input })
    const answer = this.answers[name] as ((input: OperationInput<N>) => OperationReply<N>) | undefined
    if (answer === undefined) throw new Error(`the script has no answer for ${name}`)
    return answer(input)
  }

  async *events(since: string | undefined, signal: AbortSignal): AsyncGenerator<NodeEventSeen> {
    if (this.isDown) throw new NodeGone('no node answers', 'svc up')
    this.opened.push(since)
    this.#isEnding = false
    yield { id: null, event: 'open', data: null }
    signal.addEventListener('abort', () => this.#wake?.())
    while (!signal.aborted && !this.#isEnding) {
      const event = this.#queue.shift()
      if (event !== undefined) yield event
      else
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
    }
  }

  emit(event: string, data: unknown = {}, id: string | null = null): void {
    this.#queue.push({ id, event, data })
    this.#wake?.()
  }

  /** The connection breaks. */
  cut(): void {
    this.#isEnding = true
    this.#wake?.()
  }

  count(name: OperationName): number {
    return this.calls.filter(call => call.name === name).length
  }
}

/** A clock that a test moves. */
export class Clock implements Surroundings {
  at = NOW
  #timers: { at: number; then: () => void }[] = []
  readonly now = () => this.at
  readonly random = () => 1
  readonly after = (ms: number, then: () => void) => {
    const timer = { at: this.at + ms, then }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  /** Moves on; what was to be called is, in order, and what follows from it at once. */
  async pass(ms: number): Promise<void> {
    const end = this.at + ms
    await settled()
    for (;;) {
      const next = this.#timers.filter(timer => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#timers = this.#timers.filter(other => other !== next)
      this.at = Math.max(this.at, next.at)
      next.then()
      await settled()
    }
    this.at = end
    await settled()
  }
}

/** Lets everything run that waits for nothing but promises. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await Promise.resolve()
}
