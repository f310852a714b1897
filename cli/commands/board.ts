/** `svc task`: the board of the hub, and what this node does to its cards. */
import type { CardColumn, FreeCardColumn } from '../../protocol/contract/board.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type Control, connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { printReply, UsageRefused } from '../io.ts'
import { flag, integer } from './values.ts'

const asks =
  (ask: (control: Control, input: Input) => Promise<unknown>): Run =>
  async (io, input) => {
    printReply(io, await ask(connect(io, input), input))
    return 0
  }

const first = (input: Input) => input.positionals[0] as string
const note = (input: Input) => flag(input, '--note', 'note')

export const ls = asks((control, input) => {
  if (input.flags.has('--cursor') && !input.flags.has('--column'))
    throw new UsageRefused('--cursor needs --column', 'svc help task ls')
  return control.call('board', {
    ...(flag(input, '--column', 'column') as { column?: CardColumn }),
    ...present({ mine: input.flags.has('--mine') || undefined }),
    ...integer(input, '--limit', 'limit'),
    ...flag(input, '--cursor', 'cursor'),
  })
})

export const show = asks((control, input) => control.call('boardCard', { card_id: first(input) }))

export const create = asks((control, input) =>
  control.call('boardCreate', {
    title: first(input),
    ...flag(input, '--taskdoc', 'taskdoc_cid'),
    ...(flag(input, '--column', 'column') as { column?: FreeCardColumn }),
  }),
)

export const move = asks((control, input) =>
  control.call('boardMove', { card_id: first(input), column: input.positionals[1] as FreeCardColumn }),
)

const order = (call: (control: Control, card: { card_id: string; note?: string }) => Promise<unknown>) =>
  asks((control, input) => call(control, { card_id: first(input), ...note(input) }))

export const claim = order((control, card) => control.call('boardClaim', card))
export const submit = order((control, card) => control.call('boardSubmit', card))
export const accept = order((control, card) => control.call('boardAccept', card))
export const reject = order((control, card) => control.call('boardReject', card))
export const block = order((control, card) => control.call('boardBlock', card))
export const unblock = order((control, card) => control.call('boardUnblock', card))
