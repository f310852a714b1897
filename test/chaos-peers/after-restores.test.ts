/** Which gaps of an account a hub that was put back explains. */
import { expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { isExplained } from './after-restores.ts'

const transaction = contentId(new Uint8Array([1]))
const other = contentId(new Uint8Array([2]))
const signed = [{ transaction, startedMs: 1000 }]
const putBack = (restoredMs: number) => [{ savedMs: 0, restoredMs }]
const hold = (id: Uint8Array) =>
  `it signed that it holds 9 credits for this agent by ${cidText(id)}, and it knows of no such hold`
const entry = `it signed that ${cidText(transaction)} was paid to this agent, and its ledger has no such entry`
const short = 'its ledger comes to 9 credits for this agent, and its balance says 4'

test('a payment that a hub lost is explained where the hub was put back after it was signed', () => {
  for (const told of [hold(transaction), entry]) {
    expect(isExplained(putBack(2000), told, { signed, sinceMs: 1500 })).toBe(true)
    expect(isExplained(putBack(900), told, { signed, sinceMs: 0 })).toBe(false)
    expect(isExplained([], told, { signed, sinceMs: 0 })).toBe(false)
  }
  expect(isExplained(putBack(2000), hold(other), { signed, sinceMs: 0 })).toBe(false)
})

test('too small a balance is explained where the hub was put back since the last look', () => {
  expect(isExplained(putBack(2000), short, { signed, sinceMs: 1500 })).toBe(true)
  expect(isExplained(putBack(2000), short, { signed, sinceMs: 2001 })).toBe(false)
})

test('a debit that nobody signed and another history are explained by nothing', () => {
  for (const told of [
    `it took 9 credits by ${cidText(transaction)}, which this node did not sign: another program has the key`,
    `the hub showed another one before, ${cidText(transaction)}`,
    'an epoch counts a day again',
  ])
    expect(isExplained(putBack(2000), told, { signed, sinceMs: 0 })).toBe(false)
})
