/** What a form becomes when it is sent: the input of a new task, and the key under which the same is done once. */
import { randomBytes } from '#crypto'
import type { OperationInput } from '../../protocol/control/operations.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { type Draft, filesIn, type Order } from './ui.ts'

const KEY_BYTES = 16

/** A task in words or a call of a capability, as the form was filled in. */
export function inputOf(to: string, order: Order): OperationInput<'delegate'> {
  const pay = order.pay ? { pay: true, pay_as: 'person' as const } : {}
  const most =
    order.pay && order.maxCredits.trim() !== '' ? { max_credits: wholeNumber(order.maxCredits) } : {}
  if (order.capability === '') return { to, task: order.text, attach: filesIn(order), ...pay, ...most }
  const args = order.args.trim() === '' ? {} : { args: objectIn(order.args) }
  return { to, capability: order.capability, ...args, ...pay, ...most }
}

export const newKey = (): string => toHex(randomBytes(KEY_BYTES))

/** Members of a draft that are about its sending, and no part of what is sent. */
const OF_SENDING: Readonly<Record<Exclude<keyof Draft, 'text' | 'files'>, true>> = {
  busy: true,
  fault: true,
  isGone: true,
  key: true,
}

/** What a draft says changed, so that it is sent under another key. */
export const keyAfter = (change: object): { key?: undefined } =>
  Object.keys(change).every(name => name in OF_SENDING) ? {} : { key: undefined }

class Unfit extends Error {}

function wholeNumber(text: string): number {
  if (!/^[0-9]{1,12}$/.test(text.trim())) throw new Unfit('expected a whole number of credits')
  return Number(text)
}

function objectIn(text: string): Record<string, never> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, never>
  } catch {
    // told below
  }
  throw new Unfit('expected the arguments as a JSON object, such as {"text": "…"}')
}
