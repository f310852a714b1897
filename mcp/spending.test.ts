/** What the user of a client is asked before a price is paid. */
import { describe, expect, test } from 'vitest'
import { paymentQuestion, questionKey } from './spending.ts'

const price = { state: 'open', amount: 3, network: 'svc:hub' }
const asked = (payment: object | undefined, peer_name: string | null = 'bob') =>
  paymentQuestion({
    interaction_id: 'A',
    peer: 'Abob',
    peer_name,
    state: 'open',
    turns: [
      { mine: false, text: 'four' },
      { mine: true, text: 'a poem' },
    ],
    payment,
  } as never)

describe('the question about a price', () => {
  test('names whom it goes to, how much, and the task', () => {
    const question = 'asks 3 credits of svc:hub for this task of your agent: “a poem”.'
    expect(asked(price)).toBe(`bob ${question}`)
    expect(asked(price, null)).toBe(`Abob ${question}`)
  })

  test.each([
    [100, 'b'.repeat(100)],
    [101, `${'b'.repeat(99)}…`],
  ])('of a name of %i characters shows a hundred', (length, shown) => {
    expect(asked(price, 'b'.repeat(length))?.split(' ')[0]).toBe(shown)
  })

  test.each([
    [{ unheld: true }, /They go over at once, and nothing of them comes back\.$/],
    [{ starts: 0 }, /Withdrawn after it began, it costs 0\.$/],
    [{ lost_payments: [] }, /a copy of this node that is lost has paid this agent, .*pays once more\.$/],
    [{ says: 'cheap' }, /Its own words: “cheap”\.$/],
    [{ unheld: false }, /“a poem”\.$/],
  ])('says beside it %j', (more, end) => {
    expect(asked({ ...price, ...more })).toMatch(end)
  })

  test('is none where no price waits for a person', () => {
    expect([asked(undefined), asked({ ...price, state: 'paid' })]).toEqual([undefined, undefined])
  })

  test('has a key of its own', () => {
    expect(questionKey('a')).toMatch(/^[\w-]{22}$/)
    expect(questionKey('a')).not.toBe(questionKey('b'))
  })
})
