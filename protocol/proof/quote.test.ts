import { describe, expect, test } from 'vitest'
import { Malformed } from '../encoding/bytes.ts'
import { agent } from '../testing/agents.ts'
import { networkOf } from './payment.ts'
import { paymentRequired, type Quote, quoteText, readQuote, requirementsOf } from './quote.ts'

const provider = agent('provider').aid
const network = networkOf(agent('hub').aid)
const quote: Quote = {
  provider,
  what: 'weather.now',
  amount: 5,
  network,
  holdSeconds: 3660,
  settleSeconds: 3600,
}
type Body = { accepts: Record<string, unknown>[]; resource: { url: string } }
const bodyOf = (change: (body: Body) => void): Body => {
  const body = structuredClone(paymentRequired(quote)) as Body
  change(body)
  return body
}
const terms = (change: Record<string, unknown>) =>
  bodyOf(body => {
    Object.assign(body.accepts[0] ?? {}, change)
  })

describe('a quote', () => {
  test('is read as it was written, and says its price in a sentence', () => {
    expect(readQuote(paymentRequired(quote), quote)).toEqual(quote)
    const atOnce = { ...quote, holdSeconds: undefined }
    expect(readQuote(paymentRequired(atOnce), quote)).toEqual(atOnce)
    expect(quoteText(quote)).toBe(`weather.now costs 5 credits on ${network}`)
    expect(requirementsOf(quote)).toMatchObject({ scheme: 'svc-credit', amount: '5', payTo: provider })
  })

  test.each([
    ['another payee', terms({ payTo: agent('thief').aid }), /somebody else/],
    ['another thing', bodyOf(body => Object.assign(body.resource, { url: `svc:${provider}/task` })), /else/],
    ['no amount', terms({ amount: '0' }), /amount/],
    ['an amount above all credits', terms({ amount: '9007199254740992' }), /amount/],
    ['no network of a hub', terms({ network: 'eip155:1' }), /network/],
    ['another scheme', terms({ scheme: 'exact' }), /members/],
    ['a hold of years', terms({ extra: { hold_s: 1e9 } }), /members/],
    ['two ways to pay', bodyOf(body => body.accepts.push(body.accepts[0] ?? {})), /members/],
    ['no way to pay', bodyOf(body => body.accepts.pop()), /members/],
    ['no quote', 'free', /members/],
  ])('with %s is refused', (_, body, why) => {
    expect(() => readQuote(body, quote)).toThrow(Malformed)
    expect(() => readQuote(body, quote)).toThrow(why)
  })
})
