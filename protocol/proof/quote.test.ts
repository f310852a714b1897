import { describe, expect, test } from 'vitest'
import { cidText, contentId } from '../crypto/hash.ts'
import { Malformed, utf8 } from '../encoding/bytes.ts'
import { agent, fixture } from '../testing/agents.ts'
import { parseResultDocument } from './documents.ts'
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

describe('a recorded quote', () => {
  const { asked, valid, invalid } = fixture<{
    asked: { provider: string; what: string }
    valid: {
      reason: string
      document: string
      cid: string
      quote: Record<string, unknown> & { what: string }
    }[]
    invalid: { reason: string; fault: keyof typeof SAYS; document: string }[]
  }>('payment/quotes.json')
  const SAYS = {
    members: /members/,
    amount: /no amount/,
    network: /no network/,
    payee: /somebody else/,
    resource: /something else/,
    starts: /more for a withdrawal/,
  }
  const asks = (document: string): unknown => {
    const parsed = parseResultDocument(utf8(document))
    return 'payment_required' in parsed ? parsed['payment_required'] : undefined
  }

  test.each(valid)('is read: $reason', ({ document, cid, quote: { what, ...wanted } }) => {
    const read = readQuote(asks(document), { ...asked, what })
    const { provider: by, amount, network: of, holdSeconds, starts, settleSeconds } = read
    expect({
      provider: by,
      amount,
      network: of,
      hold_s: holdSeconds ?? null,
      starts: starts ?? null,
      settle_s: settleSeconds,
    }).toEqual(wanted)
    expect(cidText(contentId(utf8(document)))).toBe(cid)
    expect(JSON.parse(document).payment_required).toEqual(paymentRequired(read))
  })

  test.each(invalid)('is refused: $reason', ({ document, fault }) => {
    expect(() => readQuote(asks(document), asked)).toThrow(Malformed)
    expect(() => readQuote(asks(document), asked)).toThrow(SAYS[fault])
  })
})
