/** What refusals of wire 1 say: what happened, and what to do next. */
import { expect, test } from 'vitest'
import { failures } from '../../protocol/wire1/failures.ts'
import { Refusal } from '../core/refusal.ts'
import { StoreAway } from '../store/port.ts'
import { refusalAnswer, refusalRows, refusalTold } from './refusals.ts'

test.each(refusalRows())(
  '$reason says what to do next, in its sentence or beside it',
  ({ sentence, hint }) => {
    expect(hint ?? sentence.split('; ')[1]).toMatch(/^\S.*[^.]$/)
  },
)

test.each(refusalRows())('$reason is answered as its row says', ({ reason, kind, sentence, hint }) => {
  const refused = refusalTold(new Refusal(reason, { why: 'why', aid: '<AID>', part: 'body', limitBytes: 5 }))
  const { status, body } = refusalAnswer(refused as NonNullable<typeof refused>)
  // some say why there is too much
  const filled = sentence
    .replace('{why}', 'why')
    .replace('{aid}', '<AID>')
    .replace('{part}', 'body')
    .replace('{limit}', '5')
  const busy = 'the hub cannot take this now: why; try again later'
  expect(status).toBe(failures[kind])
  expect([filled, busy, 'why']).toContain(body['error'])
  expect(body['hint']).toBe(hint)
})

test('a store that is away is a storage error of this wire, and says when to come again', () => {
  const told = refusalTold(new StoreAway('the database is away: nothing listens there'))
  const { status, headers, body } = refusalAnswer(told as NonNullable<typeof told>)
  expect([status, headers]).toEqual([500, { 'Retry-After': '5' }])
  expect(JSON.stringify(body)).not.toMatch(/database/)
})
