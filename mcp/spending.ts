/** A price that a person decides on: the user of the client is asked, never the model, and only what was asked is paid. */
import { createHash } from 'node:crypto'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import { askOf, quoted } from './approval.ts'
import type { ToolContext } from './tool.ts'
import type { Thread } from './turns.ts'

const NAME_CHARACTERS_MAX = 100
export const SPENDING = { approve: 'pay it', decline: 'do not pay' } as const

const LOST =
  'After the backup that was restored, a copy of this node that is lost has paid this agent, maybe for this task: a yes pays once more.'

const ACROSS =
  'It is the first payment to an agent of another hub: both hubs learn who pays whom, how much, and when.'

type Priced = Pick<Thread, 'interaction_id' | 'peer' | 'peer_name' | 'payment' | 'turns' | 'state'>

/** What the user is asked; undefined where no price waits for a person. */
export function paymentQuestion({ peer, peer_name, payment, turns }: Priced): string | undefined {
  if (payment?.state !== 'open') return undefined
  const who = peer_name === null ? peer : plainLine(peer_name, NAME_CHARACTERS_MAX)
  const task = turns.find(turn => turn.mine)?.text ?? ''
  return [
    `${who} asks ${payment.amount} credits of ${payment.network} for this task of your agent: “${quoted(task)}”.`,
    ...(payment.unheld === true ? ['They go over at once, and nothing of them comes back.'] : []),
    ...(payment.first_across === true ? [ACROSS] : []),
    ...(payment.starts === undefined ? [] : [`Withdrawn after it began, it costs ${payment.starts}.`]),
    ...(payment.lost_payments === undefined ? [] : [LOST]),
    ...(payment.says === undefined ? [] : [`Its own words: “${quoted(payment.says)}”.`]),
  ].join(' ')
}

/** One question has one key, and another price another one. */
export const questionKey = (question: string): string =>
  createHash('sha256').update(question).digest('base64url').slice(0, 22)

/** From its first turn on, marking nothing. */
export const pricedThread = (id: string, { call, signal }: Pick<ToolContext, 'call' | 'signal'>) =>
  call('thread', { interaction_id: id, mark_read: false }, {}, { signal })

/** Pays what the user agreed to, if it is still what was asked; resolves to the task that goes on with the payment. */
export async function payAgreed(
  id: string,
  { question, answer }: { question: string; answer: string | undefined },
  context: Pick<ToolContext, 'call' | 'signal'>,
): Promise<string | undefined> {
  if (answer !== 'approve') return undefined
  const now = await pricedThread(id, context)
  if (paymentQuestion(now) !== question) return undefined
  const { unheld, lost_payments: lost } = now.payment ?? {}
  const terms = present({ unheld, again: lost === undefined ? undefined : true })
  return (await context.call('approve', { interaction_id: id, ...terms })).interaction_id
}

/** Asks about the price of a task where it waits for a person; resolves to the task that goes on once it is paid. */
export async function settledPrice(
  { interaction_id: id, payment }: Pick<Priced, 'interaction_id' | 'payment'>,
  context: ToolContext,
): Promise<string | undefined> {
  if (payment?.state !== 'open' || context.askUser === undefined || context.readOnly) return undefined
  const question = paymentQuestion(await pricedThread(id, context))
  if (question === undefined) return undefined
  const answer = await askOf(id, { question, answers: SPENDING }, context)
  return payAgreed(id, { question, answer }, context)
}
