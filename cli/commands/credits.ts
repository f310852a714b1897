/** Credits: balance, prices, and what may be spent without a person. */
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { type Io, printReply, UsageRefused } from '../io.ts'
import { flag, integer, json, parseInteger } from './values.ts'

const atHub = (input: Input) => flag(input, '--hub', 'hub')

export const balance: Run = async (io, input) => {
  if (input.flags.has('--move')) return await moveCredits(io, input)
  printReply(io, await connect(io, input).call('balance', undefined, atHub(input) as Record<string, string>))
  return 0
}

/** Exit code 1 where the hub proved nothing. */
async function moveCredits(io: Io, input: Input): Promise<number> {
  const { amount } = integer(input, '--move', 'amount')
  if (!amount) throw new UsageRefused('expected an amount of at least 1', 'svc help balance')
  const reply = await connect(io, input).call('moveCredits', { amount, ...atHub(input) })
  printReply(io, reply)
  return reply.verified ? 0 : 1
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
  printReply(
    io,
    await connect(io, input).call('priceSet', {
      capability,
      amount,
      ...integer(input, '--starts', 'starts'),
    }),
  )
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

export const redeem: Run = async (io, input) => {
  const amount = parseInteger(input.positionals[0] as string, 'the amount')
  if (amount === 0) throw new UsageRefused('expected an amount of at least 1', 'svc help redeem')
  const reply = await connect(io, input).call('redeem', {
    amount,
    ...flag(input, '--ref', 'reference'),
    ...present({ again: input.flags.has('--again') || undefined }),
    ...atHub(input),
  })
  printReply(io, reply)
  return reply.verified ? 0 : 1
}

export const refund: Run = async (io, input) => {
  const [id = '', given] = input.positionals
  const amount = given === undefined ? undefined : parseInteger(given, 'the amount')
  if (amount === 0) throw new UsageRefused('expected an amount of at least 1', 'svc help refund')
  const reply = await connect(io, input).call('refund', {
    interaction_id: id,
    ...present({ amount, again: input.flags.has('--again') || undefined }),
  })
  printReply(io, reply)
  return reply.verified || reply.waits_for !== undefined ? 0 : 1
}

/** Exit code 1 where the hub took credits for which nothing was signed here. */
export const reconcile: Run = async (io, input) => {
  const reply = await connect(io, input).call('reconcile', atHub(input))
  printReply(io, reply)
  return reply.agrees ? 0 : 1
}

/** Prints the header's value and nothing else. */
export const payHeader: Run = async (io, input) => {
  const payTo = flag(input, '--pay-to', 'pay_to').pay_to
  const { amount } = integer(input, '--amount', 'amount')
  if (payTo === undefined || !amount)
    throw new UsageRefused('expected --pay-to and --amount, at least 1', 'svc help x402-authorize')
  const { header } = await connect(io, input).call('payHeader', {
    pay_to: payTo,
    amount,
    ...flag(input, '--network', 'network'),
    ...flag(input, '--interaction', 'interaction_id'),
    ...integer(input, '--timeout', 'timeout_s'),
    ...present({ extra: input.flags.has('--extra') ? json(input, '--extra') : undefined }),
    ...atHub(input),
  })
  io.out(`${header}\n`)
  return 0
}

/** Exit code 1 where the hub publishes what can't be true. */
export const auditHub: Run = async (io, input) => {
  const reply = await connect(io, input).call('auditHub', {
    ...atHub(input),
    ...present({
      all: input.flags.has('--all') || undefined,
      accept: input.flags.has('--accept') || undefined,
    }),
    ...flag(input, '--cosigner', 'cosigner'),
    ...flag(input, '--forget-cosigner', 'forget_cosigner'),
  })
  printReply(io, reply)
  return reply.verified ? 0 : 1
}
