/** What a refusal says of time: the same in its sentence as in its header. */
import { expect, test } from 'vitest'
import { refusalAnswer } from './refusals.ts'

const SECOND_MS = 1000

test.each([
  [1, '1 second'],
  [30, '30 seconds'],
  [60, '1 minute'],
  [119, '119 seconds'],
  [121, '3 minutes'],
  [3600, '1 hour'],
  [7199, '120 minutes'],
  [86_399, '24 hours'],
])('a refusal that waits %d seconds says so in its sentence', (seconds, words) => {
  const { headers, body } = refusalAnswer('registration_quota', { retryAfterMs: seconds * SECOND_MS }, '', 0)
  expect(headers).toEqual({ 'Retry-After': String(seconds) })
  expect(body['error']).toBe(`the sign-ups of this address range are used up; retry in ${words}`)
})

test('one without a time of its own waits as long as its code says', () => {
  const { headers, body } = refusalAnswer('mailbox_full', {}, '', 0)
  expect(headers).toEqual({ 'Retry-After': '600' })
  expect(body['error']).toMatch(/; retry in 10 minutes$/)
})

test.each([0, 0.5, 0.99])(
  'where retries are moved apart by %d, the sentence says the time of the header',
  spread => {
    const { headers, body } = refusalAnswer('unavailable', { retryAfterMs: 5 * SECOND_MS }, '', spread)
    expect(body['error']).toContain(`; retry in ${headers['Retry-After']} seconds`)
  },
)

test('a hub that takes no more work says why where it knows', () => {
  expect(refusalAnswer('unavailable', {}, '', 0).body['error']).toBe(
    'the hub takes no more work at the moment; retry in 5 seconds',
  )
  const { body } = refusalAnswer('unavailable', { why: 'the hub has no room for mail' }, '', 0)
  expect(body['error']).toBe('the hub has no room for mail; retry in 5 seconds')
})
