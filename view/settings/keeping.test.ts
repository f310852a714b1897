/** Settings of keys, backup and profile, in each state of the node. */
import { describe, expect, test } from 'vitest'
import { CAPS_MAX } from '../../protocol/contract/limits.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { firstView, type View } from '../state.ts'
import { NOW, statusOf } from '../testing.ts'
import { keeping } from './keeping.ts'
import { profile } from './profile.ts'
import type { Setting } from './setting.ts'

const row = (id: string) => [...keeping, ...profile].find(one => one.id === id) as Setting
const at = (status: Partial<NodeStatus>): View => ({ ...firstView, status: statusOf(status) })

describe('a backup', () => {
  const backup = row('backup')

  test('says how old the last one is, and the new one’s place and size', () => {
    const never = statusOf()
    delete never.backup_at
    expect(backup.shows?.({ ...firstView, status: never }, NOW)).toBe('none is known')
    expect(backup.shows?.(at({ backup_at: NOW - 3_600_000 }), NOW)).toBe('the last one is 1h old')
    expect(backup.shows?.(at({ backup_at: NOW + 3_600_000 }), NOW)).toBe('the last one is 0s old')
    expect(backup.shows?.(firstView, NOW)).toBeUndefined()
    expect(backup.says({ archive: '/b/a.svc', bytes: 1200 }, {})).toBe(
      '/b/a.svc is written, 1.2 kB; copy it to another machine',
    )
  })

  test('goes to the folder that is filled in', () => {
    expect(backup.input({ passphrase: 'x', folder: ' /usb ' }, firstView)).toEqual({
      passphrase: 'x',
      folder: '/usb',
    })
    expect(backup.input({ passphrase: 'x', folder: ' ' }, firstView)).toEqual({ passphrase: 'x' })
  })
})

test('a key is changed while the identity lives, and is counted from one', () => {
  const rotate = row('rotate')
  expect(rotate.shows?.(at({ kel_seq: 0 }), NOW)).toBe('key 1 signs')
  expect([true, false].map(deactivated => rotate.unless?.(at({ deactivated })))).toEqual([
    'this identity has ended',
    undefined,
  ])
  expect(rotate.asks?.({}, at({ kel_seq: 1 }))?.facts?.[2]?.[1]).toMatch(/^key 2 retires/)
  expect(rotate.says({ kel_seq: 2 }, {})).toBe('key 3 signs from now on')
  expect(rotate.says({ kel_seq: 2, note: 'a note' }, {})).toBe('a note')
  expect(rotate.input({ recovery_phrase: ' ' }, firstView)).toEqual({})
})

describe('a name', () => {
  const name = row('name')
  const member = at({ hub: { aid: 'H' } as never, hub_url: 'https://h', name: 'nora' })

  test('is given at a hub', () => {
    expect(name.unless?.(at({ hub: null }))).toBe('a name is given when you join a hub')
    expect([name.unless?.(member), name.shows?.(member, NOW)]).toEqual([undefined, 'nora'])
    expect(name.shows?.(at({ name: '' }), NOW)).toBe('none')
  })

  test('is set back as it was, where there was one', () => {
    expect(name.undo?.({}, member)?.order.input).toEqual({ url: 'https://h', name: 'nora' })
    expect(name.undo?.({}, at({ hub_url: 'https://h', name: '' }))).toBeUndefined()
    expect(name.undo?.({}, at({ hub_url: null, name: 'nora' }))).toBeUndefined()
  })
})

describe('a profile', () => {
  const own = row('profile')

  test('shows what it says, or that it is empty', () => {
    expect(own.shows?.(at({ summary: 'I count', caps: ['a.b', 'c.d'] }), NOW)).toBe('I count · a.b c.d')
    expect(own.shows?.(at({ summary: '', caps: [] }), NOW)).toBe('empty')
    expect(own.shows?.(firstView, NOW)).toBeUndefined()
  })

  test('has capabilities of ASCII, and no more than a hub lists', () => {
    const fault = (caps: string) => own.fault?.({ caps }, firstView)?.says
    const many = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`).join(' ')
    expect([fault(''), fault('a.b c.d'), fault(many(CAPS_MAX))]).toEqual([undefined, undefined, undefined])
    expect(fault(many(CAPS_MAX + 1))).toBe(`${CAPS_MAX + 1} are too many; at most ${CAPS_MAX}`)
    for (const wrong of ['nö', 'x'.repeat(65)]) expect(fault(`a ${wrong}`)).toMatch(/^each is 1 to 64/)
    expect(fault('x'.repeat(64))).toBeUndefined()
  })
})

describe('who sees a profile', () => {
  const seen = row('visibility')

  test('is asked about where it is everybody', () => {
    const asks = (visibility: string) => seen.asks?.({ visibility }, firstView)?.asks
    expect(asks('public')).toBe('Show your profile to everybody?')
    expect([asks('hub-local'), asks('federated')]).toEqual([undefined, undefined])
  })

  test('is the hub alone where nobody chose, and is set back where somebody did', () => {
    const member = { hub: { aid: 'H' } as never }
    const unchosen = statusOf(member)
    delete unchosen.visibility
    const view = { ...firstView, status: unchosen }
    expect([seen.shows?.(view, NOW), seen.undo?.({}, view), seen.unless?.(view)]).toEqual([
      'agents of your hub',
      undefined,
      undefined,
    ])
    expect(seen.undo?.({}, at({ ...member, visibility: 'public' }))?.order.input).toEqual({
      visibility: 'public',
    })
    expect(seen.unless?.(at({ hub: null }))).toBe('there is no hub that shows it')
  })
})
