/** Commands for the task board of a hub. */
import { cardColumns, freeCardColumns } from '../../protocol/contract/board.ts'
import type { CommandRow } from '../command.ts'
import { need, on, takes } from './row.ts'

const board = () => import('../commands/board.ts')

const card = need('id', 'the card, as svc task ls lists it')
const note = (says: string) => takes('--note', 'TEXT', says)
const FREE = freeCardColumns.join('|')

const row = (given: Omit<CommandRow, 'group' | 'needsDaemon' | 'client'>): CommandRow => ({
  ...given,
  group: 'work',
  needsDaemon: true,
  client: true,
})

export const boardCommands: readonly CommandRow[] = [
  row({
    path: 'task ls',
    reads: true,
    summary: 'show the task board of a wire-1 hub by columns, the newest cards of each',
    flags: [
      takes('--column', 'COLUMN', `only this one: ${cardColumns.join(', ')}`, cardColumns),
      on('--mine', 'only cards that I made or have taken'),
      takes('--limit', 'N', 'how many of a column at most, 1 to 50 (20)'),
      takes('--cursor', 'CURSOR', 'where to go on in --column: the next_cursor of the reply before'),
    ],
    example: 'svc task ls --mine',
    load: async () => (await board()).ls,
  }),
  row({
    path: 'task show',
    reads: true,
    summary: 'show a card and what happened to it',
    positionals: [card],
    example: 'svc task show <id>',
    load: async () => (await board()).show,
  }),
  row({
    path: 'task create',
    summary: 'put a card on the board, where everybody can read it',
    positionals: [need('title', 'what is to be done, in one line of at most 256 bytes')],
    flags: [
      takes('--taskdoc', 'CID', 'content id of the document that describes the task'),
      takes('--column', 'COLUMN', `where it starts: ${freeCardColumns.join(', ')} (draft)`, freeCardColumns),
    ],
    example: 'svc task create "Count the orders of May" --column ready',
    load: async () => (await board()).create,
  }),
  row({
    path: 'task move',
    summary: 'move a card of mine that nobody has taken; from ready, others can claim it',
    positionals: [card, { ...need(FREE, 'the column where it goes'), values: freeCardColumns }],
    example: 'svc task move <id> ready',
    load: async () => (await board()).move,
  }),
  row({
    path: 'task claim',
    summary: 'take a ready card and work on it',
    positionals: [card],
    example: 'svc task claim <id>',
    load: async () => (await board()).claim,
  }),
  row({
    path: 'task submit',
    summary: 'hand in the work on a card that I took',
    positionals: [card],
    flags: [note('what came of it')],
    example: 'svc task submit <id> --note "412 orders"',
    load: async () => (await board()).submit,
  }),
  row({
    path: 'task accept',
    summary: 'accept the work on a card of mine',
    positionals: [card],
    final: 'the card is done, and nothing moves it any more',
    example: 'svc task accept <id>',
    load: async () => (await board()).accept,
  }),
  row({
    path: 'task reject',
    summary: 'give a card of mine back to its assignee',
    positionals: [card],
    flags: [note('what is missing')],
    example: 'svc task reject <id> --note "June is in it too"',
    load: async () => (await board()).reject,
  }),
  row({
    path: 'task block',
    summary: 'mark a card as waiting for something else',
    positionals: [card],
    flags: [note('what it waits for')],
    example: 'svc task block <id> --note "no access to the shop"',
    load: async () => (await board()).block,
  }),
  row({
    path: 'task unblock',
    summary: 'put a blocked card back to where it was',
    positionals: [card],
    example: 'svc task unblock <id>',
    load: async () => (await board()).unblock,
  }),
]
