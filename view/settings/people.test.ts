/** Settings about others: what is offered, asked, said and undone. */
import { describe, expect, test } from 'vitest'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { firstView, type View } from '../state.ts'
import { ALICE, BOB, NOW, statusOf } from '../testing.ts'
import { people } from './people.ts'
import type { Setting } from './setting.ts'

const row = (id: string) => people.find(one => one.id === id) as Setting
const at = (status: Partial<NodeStatus>): View => ({ ...firstView, status: statusOf(status) })
const contact = (aid: string, petname: string | null, blocked = false) => ({
  aid,
  petname,
  blocked,
  added_at: NOW,
})
const knows = (...contacts: ReturnType<typeof contact>[]): View => ({ ...firstView, contacts })
const all = knows(contact(ALICE, 'anna'), contact(BOB, 'bob', true))

describe('taking tasks', () => {
  const accept = row('accept')

  test.each([
    [true, 'yes', 'Take no more tasks', 'no', 'tasks are taken'],
    [false, 'no', 'Take tasks again', 'yes', 'no tasks are taken'],
  ])('where it is %s now is turned round by one press, and set back', (on, shows, opens, flips, says) => {
    const view = at({ accept_delegations: on })
    expect([accept.shows?.(view, NOW), accept.opens?.(view), accept.flips?.(view)]).toEqual([
      shows,
      opens,
      { on: flips },
    ])
    expect(accept.undo?.({}, view)).toEqual({ order: { name: 'accept', input: { on } }, says })
    expect(accept.says({ accept_delegations: on }, {})).toBe(says)
  })

  test('is asked about both ways', () => {
    expect(accept.asks?.({ on: 'yes' }, firstView)?.asks).toBe('Take tasks of others again?')
    expect(accept.asks?.({ on: 'no' }, firstView)?.asks).toBe('Take no tasks of others from now on?')
    expect(accept.shows?.(firstView, NOW)).toBeUndefined()
  })
})

test('tasks of strangers are counted, once the node is at a hub', () => {
  const guests = row('guest_messages')
  const member = at({ hub: { aid: 'H' } as never, hub_url: 'https://h', guest_messages: 5 })
  const nowhere = at({ hub: null, hub_url: null, guest_messages: 0 })
  expect([guests.unless?.(nowhere), guests.unless?.(member)]).toEqual(['join a hub first', undefined])
  expect([nowhere, member].map(view => guests.shows?.(view, NOW))).toEqual([
    'nothing of strangers',
    '5 of each stranger',
  ])
  expect(guests.undo?.({}, nowhere)).toBeUndefined()
  expect(guests.undo?.({}, member)).toEqual({
    order: { name: 'hubRegister', input: { url: 'https://h', guest_messages: 5 } },
    says: '5 of each stranger',
  })
})

describe('a contact', () => {
  test('is offered for what fits it', () => {
    const offered = (id: string) => {
      const [field] = row(id).fields
      return [
        row(id).unless?.(all),
        field?.kind === 'choice' ? field.choices(all).map(({ says }) => says) : [],
      ]
    }
    expect(offered('contact_block')).toEqual([undefined, ['anna']])
    expect(offered('contact_unblock')).toEqual([undefined, ['bob']])
    expect(offered('contact_remove')).toEqual([undefined, ['anna', 'bob']])
    expect(offered('contact_rename')).toEqual([undefined, ['anna', 'bob']])
  })

  test('is offered for nothing where none fits', () => {
    const blocked = knows(contact(BOB, 'bob', true))
    expect(row('contact_block').unless?.(blocked)).toBe('you have no contact that is not blocked')
    expect(row('contact_unblock').unless?.(knows(contact(ALICE, 'anna')))).toBe('nobody is blocked')
    for (const id of ['contact_remove', 'contact_rename'])
      for (const view of [knows(), firstView]) expect(row(id).unless?.(view)).toBe('you have no contacts')
  })

  test('is named in the question by our name, with its whole address', () => {
    for (const id of ['contact_block', 'contact_remove']) {
      const question = row(id).asks?.({ peer: ALICE }, all)
      expect(question?.asks).toContain('anna')
      expect(question?.facts?.[0]).toEqual(['agent', ALICE])
      expect(row(id).asks?.({ peer: `A${'x'.repeat(43)}` }, all)?.asks).toContain('this agent')
    }
  })

  test('that is blocked is unblocked by the undo, and the other way round', () => {
    const values = { peer: ALICE }
    const blocks = (id: string) => [row(id).input(values, all), row(id).undo?.(values, all)?.order.input]
    expect(blocks('contact_block')).toEqual([
      { peer: ALICE, blocked: true },
      { peer: ALICE, blocked: false },
    ])
    expect(blocks('contact_unblock')).toEqual([
      { peer: ALICE, blocked: false },
      { peer: ALICE, blocked: true },
    ])
  })

  test('gets its name back, where it had one', () => {
    const values = { peer: ALICE, petname: 'anne' }
    for (const id of ['contact_rename', 'contact_remove']) {
      const undo = row(id).undo
      expect(undo?.(values, all)?.order).toEqual({
        name: 'contactAdd',
        input: { aid: ALICE, petname: 'anna' },
      })
      expect(undo?.(values, knows(contact(ALICE, null)))).toBeUndefined()
      expect(undo?.(values, knows())).toBeUndefined()
    }
    // one that is added anew would not be blocked
    expect(row('contact_remove').undo?.({ peer: BOB }, all)).toBeUndefined()
    expect(row('contact_rename').undo?.({ peer: BOB }, all)).toBeDefined()
  })
})
