/** Credits: balance, prices, and what may be spent without a person. */
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { printReply, UsageRefused } from '../io.ts'
import { integer, parseInteger } from './values.ts'

export const balance: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('balance'))
  return 0
}

export const priceLs: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('prices'))
  return 0
}

const setPrice = async (...[io, input]: Parameters<Run>): Promise<number> => {
  const [capability = '', given] = input.positionals
  const amount = given === undefined ? 0 : parseInteger(given, 'the amount')
  if (given !== undefined && amount === 0)
    throw new UsageRefused(
      'expected an amount of at least 1; a capability is free without a price',
      'svc help price',
    )
  printReply(io, await connect(io, input).call('priceSet', { capability, amount }))
  return 0
}
export const priceSet: Run = setPrice
export const priceRm: Run = setPrice

export const spendShow: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('spend'))
  return 0
}

const limits = (input: Input) => ({
  ...integer(input, '--auto', 'auto_max'),
  ...integer(input, '--agent', 'agent_max'),
  ...integer(input, '--day', 'day_max'),
  ...integer(input, '--payee-day', 'payee_day_max'),
})

export const spendSet: Run = async (io, input) => {
  if (input.flags.size === 0)
    throw new UsageRefused(
      'expected at least one of --auto, --agent, --day, --payee-day',
      'svc help spend set',
    )
  printReply(io, await connect(io, input).call('spendSet', limits(input)))
  return 0
}
