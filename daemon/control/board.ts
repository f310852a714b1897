/** Operations on the task board of the hub: what of it is shown, and what became of an order to it. */
import type { CardAction } from '../../protocol/contract/board.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import { BoardRefused, type Card, type CardOrder, OrderUnanswered, type TaskBoard } from '../hubs/board.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'
import { type CardView, CardViews, columnsOf, historyOf } from './board-views.ts'
import type { Handlers } from './handlers.ts'
import { type Asker, hubAsked, hubOrdered, isUnreachable } from './hub-call.ts'

const WORDS_MAX = 300

type Names = Extract<keyof Handlers, `board${string}`>
type BoardHub = Pick<HubClient, 'board' | 'identity'>
type Parts = {
  asker: Asker
  contacts: Pick<Contacts, 'petnameOf'>
  /** Refuses where there is none. */
  home: () => BoardHub
}

export function boardOperations({ asker, contacts, home }: Parts): Pick<Handlers, Names> {
  const views = new CardViews(asker.identity.aid, contacts)
  const asked = <T>(ask: (board: TaskBoard, signal: AbortSignal) => Promise<T>) => {
    const board = boardOf(home())
    return hubAsked(asker, signal => ask(board, signal).catch(refuseAs))
  }
  const ordered = async (action: CardAction, order: CardOrder): Promise<CardView> => {
    const board = boardOf(home())
    const work = () =>
      board.act(action, order).catch(async error => {
        if (isAboutCard(error)) throw await refusalOf(error, { board, views, asker, action, order })
        return refuseAs(error)
      })
    return views.card(await hubOrdered(asker, work).catch(sayAgain))
  }
  const simple =
    (action: CardAction) =>
    ({ card_id: card, note }: { card_id: string; note?: string | undefined }) =>
      ordered(action, { card, ...present({ note }) })
  return {
    async board(given) {
      const cards = await asked((board, signal) => board.cards(signal))
      return { hub: home().identity.aid, columns: columnsOf(cards, given, views) }
    },
    async boardCard({ card_id: id }) {
      return historyOf(await asked((board, signal) => board.card(id, signal)), views)
    },
    async boardCreate({ title, taskdoc_cid: taskdoc, column }) {
      const board = boardOf(home())
      // a wait that is over tells nothing
      let isSent = true
      const work = () =>
        board.create({ title, ...present({ taskdoc, column }) }).catch(error => {
          isSent = error instanceof OrderUnanswered
          return refuseAs(error)
        })
      return views.card(
        await hubOrdered(asker, work).catch(error => (isSent ? sayUnsure(error) : sayAgain(error))),
      )
    },
    boardMove: ({ card_id: card, column }) => ordered('move', { card, column }),
    boardClaim: simple('claim'),
    boardSubmit: simple('submit'),
    boardAccept: simple('accept'),
    boardReject: simple('reject'),
    boardBlock: simple('block'),
    boardUnblock: simple('unblock'),
  }
}

const boardOf = ({ board }: BoardHub): TaskBoard => board ?? refuseNoBoard()
const refuseNoBoard = (): never => refuse('no_board', 'the hub of this node has no task board')

/** Given again it changes nothing that was done. */
function sayAgain(error: unknown): never {
  if (!isUnreachable(error)) throw error
  return refuse('hub_unreachable', error.message, 'the same command again, once the hub answers')
}

/** The same order soon is the same card; later it would be another one. */
function sayUnsure(error: unknown): never {
  if (!isUnreachable(error)) throw error
  const sentence = `${error.message}; whether the card was made is not known`
  return refuse('hub_unreachable', sentence, 'look before you repeat it:\nsvc task ls --mine')
}

function refuseAs(error: unknown): never {
  if (!(error instanceof BoardRefused)) throw error
  if (error.code === 'no_board') return refuseNoBoard()
  if (error.code === 'unknown_card') return refuse('unknown_card', 'the task board has no card of this id')
  const said = plainLine(error.message, WORDS_MAX)
  if (error.code === 'malformed') return refuse('bad_request', `the hub did not take it: ${said}`)
  return refuse(error.code === 'forbidden' ? 'not_for_you' : 'wrong_state', `the hub refused: ${said}`)
}

const isAboutCard = (error: unknown): error is BoardRefused =>
  error instanceof BoardRefused && (error.code === 'forbidden' || error.code === 'conflict')

type Ordered = {
  board: TaskBoard
  views: CardViews
  asker: Asker
  action: CardAction
  order: CardOrder
}

const LOOK_MS = 5000

/** Why an order was refused, as the card shows it now; in the words of the hub where it does not. */
async function refusalOf(
  error: BoardRefused,
  { board, views, asker, action, order }: Ordered,
): Promise<never> {
  const card = await board.card(order.card, asker.timers.deadline(LOOK_MS)).then(
    found => found.card,
    () => undefined,
  )
  if (card === undefined) return refuseAs(error)
  const who = views.people(card)
  const step = `svc task show ${shellWord(card.id)}`
  if (error.code === 'forbidden')
    return refuse('not_for_you', `this card is not for you to ${action}: ${who}`, step)
  if (isFull(action, card))
    return refuse(
      'wrong_state',
      'its assignee has as many cards in progress as the hub lets one have',
      'submit one of them first:\nsvc task ls --mine --column in_progress',
    )
  return refuse('wrong_state', `you cannot ${action} this card now: it is in ${card.column}, ${who}`, step)
}

/** Whether the card stands where the action takes it from, so that something else is in the way. */
const isFull = (action: CardAction, { column }: Card): boolean =>
  (action === 'claim' && column === 'ready') || (action === 'unblock' && column === 'blocked')
