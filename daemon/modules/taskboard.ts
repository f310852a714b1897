/**
 * The task board of the hub as capabilities. Reading is for all callers in a list, acting for those in another one: what
 * they do, this node signs. Each act and each refusal is recorded in the evidence chain.
 */
import type * as z from 'zod'
import { type CardAction, cardActions, type FreeCardColumn } from '../../protocol/contract/board.ts'
import { Refused } from '../../protocol/contract/client.ts'
import { faultOf } from '../../protocol/contract/fault.ts'
import { boardOperations as rows } from '../../protocol/control/board.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Chain } from '../chain/chain.ts'
import type { TaskboardConfig } from '../home/module-config.ts'
import { BoardRefused, type Card, OrderUnanswered, type TaskBoard } from '../hubs/board.ts'
import { cardPages } from '../hubs/board-pages.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import {
  type Arguments,
  type CallOutcome,
  type CapabilityCall,
  type Module,
  onlyMembers,
  type Provider,
  ProviderFailed,
  unavailable,
} from './provider.ts'

const TIMEOUT_MS = 40_000
const EVENTS_MAX = 50
const WORDS_MAX = 300

export const module: Module | undefined = {
  name: 'taskboard',
  open({ config, hub, chain, identity }) {
    const { taskboard } = config
    return taskboard === undefined ? [] : new Taskboard(taskboard, hub, chain, identity).providers()
  },
}

type Run = (call: CapabilityCall, board: TaskBoard) => Promise<CallOutcome>

class Taskboard {
  readonly #config: TaskboardConfig
  readonly #hub: Pick<CurrentHub, 'home'>
  readonly #chain: Chain
  readonly #own: { readonly aid: string }

  constructor(
    config: TaskboardConfig,
    hub: Pick<CurrentHub, 'home'>,
    chain: Chain,
    own: { readonly aid: string },
  ) {
    this.#config = config
    this.#hub = hub
    this.#chain = chain
    this.#own = own
  }

  providers(): Provider[] {
    const { allow, readers } = this.#config
    const may = [...allow, ...readers]
    return [
      this.#provider('list', 'the newest cards of each column', may, (call, board) =>
        this.#list(call, board),
      ),
      this.#provider('show', 'a card and what happened to it', may, show),
      this.#provider('create', 'puts a card on the board', allow, (call, board) => this.#create(call, board)),
      ...cardActions.map(action =>
        this.#provider(action, acts[action].summary, allow, (call, board) => this.#act(call, board, action)),
      ),
    ]
  }

  #provider(name: string, summary: string, callers: readonly string[], run: Run): Provider {
    return {
      capability: `taskboard.${name}`,
      summary,
      published: false,
      timeoutMs: TIMEOUT_MS,
      // the hub says it, and nobody signed it
      trust: { verify: 2, auth: 1 },
      isPrivate: true,
      run: call => this.#run(call, callers, run),
    }
  }

  async #run(call: CapabilityCall, callers: readonly string[], run: Run): Promise<CallOutcome> {
    const { caller, capability } = call
    if (caller !== undefined && !callers.includes(caller)) {
      const reason = 'this caller is not allowed'
      this.#chain.append('svc.taskboard.refused', { caller, capability, reason })
      return unavailable(reason)
    }
    const { home } = this.#hub
    if (home === undefined) return unavailable('this node is registered at no hub')
    if (home.board === undefined) return unavailable(NO_BOARD)
    try {
      return { ...(await run(call, home.board)), protocol: 'taskboard' }
    } catch (error) {
      if (error instanceof BoardRefused && error.code === 'no_board') return unavailable(NO_BOARD)
      throw failureOf(error)
    }
  }

  async #list({ args, signal }: CapabilityCall, board: TaskBoard): Promise<CallOutcome> {
    onlyMembers(args, ['column', 'mine', 'limit'])
    const { mine, column, limit } = read(rows.board.request, args)
    const cards = await board.cards(signal)
    const pages = cardPages(cards, { column, limit, of: mine === true ? this.#own.aid : undefined })
    const shown = pages.map(page => ({ ...page, cards: page.cards.map(shownCard), next: undefined }))
    const total = pages.reduce((sum, page) => sum + page.total, 0)
    return { status: 'OK', metrics: { cards: total }, observedState: JSON.stringify(shown) }
  }

  async #create(call: CapabilityCall, board: TaskBoard): Promise<CallOutcome> {
    const { title, taskdoc_cid: taskdoc, column } = read(rows.boardCreate.request, call.args)
    const order = () => board.create({ title, ...present({ taskdoc, column }) })
    return await this.#done(call, board, '', order)
  }

  async #act(call: CapabilityCall, board: TaskBoard, action: CardAction): Promise<CallOutcome> {
    const { card_id: card, column, note } = read(acts[action].shape, call.args)
    const order = () => board.act(action, { card, ...present({ column, note }) })
    return await this.#done(call, board, card, order)
  }

  /** Recorded before it is answered, also where nobody knows whether it was done; then the card is read back. */
  async #done(
    { caller = '', capability, signal }: CapabilityCall,
    board: TaskBoard,
    card_id: string,
    order: () => Promise<Card>,
  ): Promise<CallOutcome> {
    const record = { caller, capability, card_id }
    let card: Card
    try {
      card = await order()
    } catch (error) {
      if (isUnsure(error))
        this.#chain.append('svc.taskboard.action', { ...record, column: '', answered: false })
      throw error
    }
    this.#chain.append('svc.taskboard.action', {
      ...record,
      ...{ card_id: card.id, column: card.column, answered: true },
    })
    const seen = await board.card(card.id, signal).catch(() => undefined)
    const isSeen = seen?.card.updatedAtMs !== undefined && seen.card.updatedAtMs >= card.updatedAtMs
    return {
      status: 'OK',
      nativeAck: true,
      observedState: JSON.stringify(shownCard(seen?.card ?? card)),
      ...present({ metrics: isSeen ? { events: seen.events.length } : undefined }),
    }
  }
}

const NO_BOARD = 'the hub of this node has no task board'

type ActArguments = { card_id: string; column?: FreeCardColumn; note?: string | undefined }
type Act = { summary: string; shape: z.ZodType<ActArguments> }

const acts: Record<CardAction, Act> = {
  move: { summary: 'moves a card that nobody has taken', shape: rows.boardMove.request },
  claim: { summary: 'takes a ready card', shape: rows.boardClaim.request },
  submit: { summary: 'hands in the work on a card', shape: rows.boardSubmit.request },
  accept: { summary: 'accepts the work on a card', shape: rows.boardAccept.request },
  reject: { summary: 'gives a card back to its assignee', shape: rows.boardReject.request },
  block: { summary: 'marks a card as waiting for something else', shape: rows.boardBlock.request },
  unblock: { summary: 'puts a blocked card back to where it was', shape: rows.boardUnblock.request },
}

function read<T>(shape: z.ZodType<T>, args: Arguments): T {
  const parsed = shape.safeParse(args)
  if (!parsed.success) throw new ProviderFailed(faultOf(parsed.error, args, 'the arguments'))
  return parsed.data
}

async function show({ args, signal }: CapabilityCall, board: TaskBoard): Promise<CallOutcome> {
  const { card, events } = await board.card(read(rows.boardCard.request, args).card_id, signal)
  const shown = events.slice(-EVENTS_MAX).map(({ seq, atMs, actor, action, detail }) => ({
    ...{ seq, at: atMs, actor, action, detail },
  }))
  return {
    status: 'OK',
    metrics: { events: events.length },
    observedState: JSON.stringify({ ...shownCard(card), events: shown }),
  }
}

const shownCard = ({ id, title, taskdoc, column, state, ...card }: Card) => ({
  ...{ card_id: id, title, ...present({ taskdoc_cid: taskdoc || undefined }), column, state },
  ...{ creator: card.creator, ...present({ assignee: card.assignee }) },
  ...{ created_at: card.createdAtMs, updated_at: card.updatedAtMs },
})

/** What its caller may be told; the words of a hub are one line. */
function failureOf(error: unknown): Error {
  if (error instanceof ProviderFailed) return error
  if (error instanceof BoardRefused)
    return new ProviderFailed(`the hub refused: ${plainLine(error.message, WORDS_MAX)}`)
  const why = error instanceof Refusal ? plainLine(error.message, WORDS_MAX) : describe(error)
  return new ProviderFailed(isUnsure(error) ? `no answer of the hub says what came of it: ${why}` : why)
}

/** Whether it may have been done. */
const isUnsure = (error: unknown): boolean =>
  error instanceof OrderUnanswered || (error instanceof Refused && error.status >= 500)
