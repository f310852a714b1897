/** Delegating and answering: contacts, find, delegate, inbox, thread, message, pull, end, cancel, results. */

import { resolve } from 'node:path'
import type { ReplyOf, RequestOf } from '../../protocol/contract/route.ts'
import { sayNobody } from '../../protocol/control/found.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type Control, connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { hint, type Io, nextLines, notice, printReply, sayOnTerminal, UsageRefused } from '../io.ts'
import { flag, flags, integer, json, textOrInput } from './values.ts'

/** How long a paid call is waited for: quote, payment and answer come one after another. */
const PAID_WAIT_S = 20

type Ask = (control: Control, input: Input, io: Io) => Promise<unknown>

const asks =
  (ask: Ask): Run =>
  async (io, input) => {
    printReply(io, await ask(connect(io, input), input, io))
    return 0
  }

const first = (input: Input) => input.positionals[0] as string
const paging = (input: Input) => ({
  ...integer(input, '--limit', 'limit'),
  ...flag(input, '--cursor', 'cursor'),
})
/** The same for an operation that takes them in its address. */
const pageQuery = (input: Input) =>
  Object.fromEntries(Object.entries(paging(input)).map(([name, value]) => [name, String(value)]))
const absolute = (io: Io, paths: readonly string[]) => paths.map(path => resolve(io.cwd, path))

export const contactAdd = asks((control, input) =>
  control.call('contactAdd', { aid: first(input), petname: input.positionals[1] as string }),
)
export const contactLs = asks(control => control.call('contacts'))
export const contactRm = asks((control, input) => control.call('contactRemove', { peer: first(input) }))
export const contactBlock = asks((control, input) =>
  control.call('contactBlock', { peer: first(input), blocked: !input.flags.has('--off') }),
)

export const find = asks(async (control, input, io) => {
  const found = await control.call('find', {
    ...present({ query: input.positionals[0] }),
    ...flag(input, '--cap', 'capability'),
    ...paging(input),
  })
  const names = found.agents.map(({ name }) => name.toLowerCase())
  const isShared = names.some((name, place) => name !== '' && names.indexOf(name) < place)
  if (isShared) notice(io, 'names are not unique, and some of these are equal; the AID says who it is')
  if (found.agents.length === 0 && io.human === undefined) {
    const { says, next } = sayNobody(found)
    notice(io, `${says}; ${next}`)
  }
  return found
})

export const delegate: Run = async (io, input) => {
  const [to, given] = input.positionals
  const task = given === undefined ? undefined : await textOrInput(io, given)
  if (!task?.trim() && !input.flags.has('--capability') && !input.flags.has('--attach'))
    throw new UsageRefused('expected a task or --capability', 'svc help delegate')
  if (input.flags.has('--max-credits') && !input.flags.has('--pay'))
    throw new UsageRefused('--max-credits needs --pay', 'svc help delegate')
  const body = {
    to: to as string,
    ...present({ task }),
    ...flag(input, '--capability', 'capability'),
    ...present({
      args: input.flags.has('--args') ? json(input, '--args') : undefined,
      attach: input.flags.has('--attach') ? absolute(io, flags(input, '--attach')) : undefined,
    }),
  }
  const control = connect(io, input)
  const reply = input.flags.has('--pay')
    ? await paidReply(io, control, { ...body, pay: true, ...integer(input, '--max-credits', 'max_credits') })
    : await control.call('delegate', body)
  printReply(io, reply)
  if (reply.warning !== undefined && io.human === undefined) notice(io, reply.warning)
  hint(io, reply.next)
  return input.flags.has('--pay') && isUnpaid(reply) ? 1 : 0
}

/** What was to be paid for was not bought. */
const isUnpaid = ({ payment }: ReplyOf<Operations['delegate']>): boolean =>
  payment?.state === 'open' || payment?.state === 'refused' || payment?.problem === 'said_refused'

type Delegation = RequestOf<Operations['delegate']>

/** Quote, payment and answer come one after another; whoever stops waiting knows which task goes on. */
async function paidReply(io: Io, control: Control, body: Delegation) {
  const keyed = { ...body, idempotency_key: `svc-pay-${crypto.randomUUID()}` }
  const { interaction_id: id } = await control.call('delegate', keyed)
  sayOnTerminal(io, `delegated as ${id}; waiting for its price and its answer, which come also without you`)
  const reply = await control.call('delegate', { ...keyed, wait_s: PAID_WAIT_S })
  const said = sentenceOf(reply.payment)
  if (said !== undefined) sayOnTerminal(io, said)
  return reply
}

const BECAME = {
  open: 'nothing was paid',
  authorized: 'the payment is on its way; the other side has not answered yet',
  paying: 'the payment is on its way between two hubs; the work begins once both have made it',
  held: 'the hub holds them while the work runs',
  taken: 'they were paid',
  returned: 'they came back',
  refused: 'nothing was paid',
} as const

const sentenceOf = (payment: ReplyOf<Operations['delegate']>['payment']): string | undefined =>
  payment && `${payment.amount} credits: ${payment.reason ?? BECAME[payment.state]}`

export const inbox = asks((control, input) =>
  control.call('inbox', {
    pull: true,
    ...present({
      pending: input.flags.has('--pending') || undefined,
      archived: input.flags.has('--archived') || undefined,
    }),
    ...flag(input, '--search', 'q'),
    ...paging(input),
  }),
)
export const search = asks((control, input) =>
  control.call('search', { words: input.positionals.join(' '), ...paging(input) }),
)
export const approve = asks((control, input) =>
  control.call('approve', {
    interaction_id: first(input),
    ...present({
      unheld: input.flags.has('--unheld') || undefined,
      again: input.flags.has('--again') || undefined,
    }),
  }),
)

const withReason = (input: Input) => ({
  interaction_id: first(input),
  ...present({ reason: input.positionals[1] }),
})
export const decline = asks((control, input) => control.call('decline', withReason(input)))
export const cancel = asks((control, input) => control.call('cancel', withReason(input)))

export const anew = asks((control, input) => control.call('anew', { interaction_id: first(input) }))

export const hold = asks((control, input) =>
  control.call('sending', { interaction_id: first(input), on: input.flags.has('--off') }),
)

export const archive = asks((control, input) =>
  control.call('archive', { interaction_id: first(input), on: !input.flags.has('--off') }),
)

export const thread = asks((control, input) =>
  control.call('thread', {
    interaction_id: first(input),
    max_chars: 1_000_000,
    mark_read: true,
    to_person: true,
  }),
)

export const message = asks(async (control, input, io) => {
  const [id, given] = input.positionals
  const path = flags(input, '--file')[0]
  const isInput = given === undefined && path === '-'
  const said = isInput ? '-' : given
  const text = said === undefined ? undefined : await textOrInput(io, said)
  const file = isInput ? undefined : path
  if (!text?.trim() && file === undefined && !input.flags.has('--attach')) {
    throw new UsageRefused('expected a text, --file or --attach', 'svc help message')
  }
  const sent = await control.call('message', {
    interaction_id: id as string,
    ...present({ text }),
    ...present({
      file: file === undefined ? undefined : resolve(io.cwd, file),
      attach: input.flags.has('--attach') ? absolute(io, flags(input, '--attach')) : undefined,
    }),
  })
  return input.flags.has('--end') ? { ...sent, ...(await proposeEnd(control, id as string)) } : sent
})

/** Proposes to end a task whose message is on its way already. */
async function proposeEnd(control: Control, id: string) {
  try {
    return await control.call('end', { interaction_id: id, mode: 'propose' })
  } catch (error) {
    if (!(error instanceof OperationRefused)) throw error
    throw new OperationRefused(
      error.code,
      `the message was sent, and the end is not proposed: ${error.message}`,
      error.next,
    )
  }
}

export const pull = asks((control, input, io) => {
  const out = resolve(io.cwd, flags(input, '--out')[0] ?? '.')
  return control.call('pull', { interaction_id: first(input), out })
})

export const end = asks((control, input) =>
  control.call('end', {
    interaction_id: first(input),
    mode: 'propose',
    ...present({ note: input.positionals[1] }),
  }),
)
export const acceptEnd = asks((control, input) =>
  control.call('end', { interaction_id: first(input), mode: 'accept' }),
)

export const acceptReceipt = asks((control, input) =>
  control.call('acceptReceipt', { interaction_id: first(input) }),
)

export const results: Run = async (io, input) => {
  const control = connect(io, input)
  const isAll = input.flags.has('--all')
  const isArchived = input.flags.has('--archived')
  const listing = await control.call('results', undefined, {
    ended: isAll ? 'false' : 'true',
    texts: 'true',
    ...present({ archived: isArchived ? ('true' as const) : undefined }),
    ...pageQuery(input),
  })
  printReply(io, listing)
  const isNone = listing.items.length === 0 && !isAll && !isArchived && !input.flags.has('--cursor')
  if (isNone) await sayOthers(io, control)
  return 0
}

/** Where no task has ended: those that have not, by their states, and what lists them. */
async function sayOthers(io: Io, control: Control): Promise<void> {
  const { items } = await control.call('results', undefined, { ended: 'false' })
  if (items.length === 0) return
  const states = new Set(items.map(({ state }) => state.replaceAll('_', ' ')))
  notice(io, `no task of yours has ended in agreement, and there are others (${[...states].join(', ')})`)
  for (const line of nextLines(io, RESULTS_ALL)) io.err(line)
}
const RESULTS_ALL = 'svc results --all'
