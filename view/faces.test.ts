/** Every state has a face. */
import { describe, expect, test } from 'vitest'
import type { Searched } from '../protocol/control/found.ts'
import { banners, screenFace } from './faces.ts'
import { firstView } from './state.ts'
import { item, NOW, statusOf, viewOf } from './testing.ts'

const kinds = (status: Parameters<typeof statusOf>[0]) =>
  banners(viewOf([], status), NOW).map(face => face.kind)
const hub = statusOf().hub as NonNullable<ReturnType<typeof statusOf>['hub']>
const counts = statusOf().counts

describe('a node', () => {
  test('of which all is well shows nothing', () => expect(kinds({})).toEqual([]))
  test.each([
    ['without a hub', { hub: null, hub_url: null }, ['no_hub']],
    ['whose hub is not reached', { hub: { ...hub, state: 'offline' as const } }, ['hub_unreachable']],
    [
      'whose hub speaks another wire',
      { hub: { ...hub, state: 'stopped' as const, reason: 'wire 4' } },
      ['hub_stopped'],
    ],
    [
      'that waits at the door',
      { hub: { ...hub, kept_out: true as const, reason: 'not admitted' } },
      ['kept_out'],
    ],
    [
      'that registers',
      { hub: { ...hub, state: 'registering' as const, pow_progress: 0.4 } },
      ['registering'],
    ],
    ['whose mail is not sealed', { hub: { ...hub, sealed: false } }, ['not_sealed']],
    [
      'whose chain is quarantined',
      { chain: { ...statusOf().chain, state: 'QUARANTINED' as const } },
      ['quarantined'],
    ],
    ['that is an old copy', { old_copy: true }, ['old_copy']],
    ['that has ended', { deactivated: true }, ['deactivated']],
    [
      'that is offline with mail waiting',
      { hub: { ...hub, state: 'offline' as const }, counts: { ...counts, outbox: 2 } },
      ['hub_unreachable', 'queue'],
    ],
    ['with something to say', { warnings: ['the disk is nearly full'] }, ['warning']],
  ])('%s says so', (_what, status, faces) => expect(kinds(status)).toEqual(faces))

  test('says how many messages wait, in the number of them', () => {
    const offline = { ...hub, state: 'offline' as const }
    const says = (outbox: number, outbox_held = 0, outbox_at_hub = 0) =>
      banners(viewOf([], { hub: offline, counts: { ...counts, outbox, outbox_held, outbox_at_hub } }), NOW)[1]
        ?.says
    // what the hub has waits no more on this machine
    expect([says(1, 0, 1), says(3, 0, 2)]).toEqual([
      undefined,
      '1 message waits on this machine and goes out by itself',
    ])
    expect([says(1), says(2), says(3, 2), says(1, 1)]).toEqual([
      '1 message waits on this machine and goes out by itself',
      '2 messages wait on this machine and go out by themselves',
      '1 message waits on this machine and goes out by itself; 2 held back by you',
      '1 held back by you',
    ])
  })

  test.each([
    ['that is an old copy', { old_copy: true, hub: { ...hub, state: 'stopped' as const } }],
    ['that has ended', { deactivated: true, hub: { ...hub, state: 'offline' as const } }],
    ['without a hub', { hub: null, hub_url: null }],
    ['that no longer talks to its hub', { hub: { ...hub, state: 'stopped' as const } }],
  ])('%s does not promise that mail leaves by itself', (_what, status) => {
    const says = (outbox: number) =>
      banners(viewOf([], { ...status, counts: { ...counts, outbox } }), NOW).find(
        ({ kind }) => kind === 'queue',
      )?.says
    expect([says(1), says(2)]).toEqual(['1 message waits on this machine', '2 messages wait on this machine'])
  })

  test('that is an old copy names no step at its hub that changes nothing', () => {
    const faces = banners(viewOf([], { old_copy: true, hub: { ...hub, state: 'stopped' } }), NOW)
    expect(faces.map(({ next, help }) => [next, help])).toEqual([
      ['svc status', undefined],
      ['svc status', undefined],
    ])
  })

  test.each(['lost', 'stopped'] as const)('that is %s says nothing of its hub, and what waits', state => {
    const connection = { state, says: 'no node answers', since: NOW, retryAt: NOW }
    const offline = { hub: { ...hub, state: 'offline' as const }, counts: { ...counts, outbox: 1 } }
    const faces = (status: Parameters<typeof statusOf>[0]) =>
      banners({ ...viewOf([], status), transfers: { sending: new Map(), received: 9 }, connection }, NOW)
    expect(faces(offline).slice(1)).toMatchObject([
      { kind: 'queue', says: '1 message waits on this machine' },
    ])
    expect(faces({ counts: { ...counts, outbox: 1 } }).slice(1)).toMatchObject([{ kind: 'queue' }])
  })

  test('whose hub is not reached says when it was last heard of', () => {
    const offline = { ...hub, state: 'offline' as const, last_contact_at: NOW - 38_000 }
    expect(banners(viewOf([], { hub: offline }), NOW)[0]?.says).toBe('hub not reached; last heard of 38s ago')
  })

  test('that registers says how far its work is, and how long the rest may take', () => {
    const says = (more: object) =>
      banners(viewOf([], { hub: { ...hub, state: 'registering', pow_progress: 0.4, ...more } }), NOW)[0]?.says
    expect(says({ pow_left_ms: 12_000 })).toBe(
      'registering at the hub: proof of work, some 40 % of what is expected, about 12s to go',
    )
    expect(says({})).toMatch(/40 % of what is expected$/)
  })

  test('that is gone names what starts it', () => {
    const lost = { state: 'lost', says: 'no node answers', since: NOW, retryAt: NOW + 2_500 } as const
    const [face] = banners({ ...firstView, connection: lost }, NOW)
    expect(face).toMatchObject({ kind: 'node_down', next: 'svc up' })
    expect(face?.says).toBe('no node answers; trying again in 3s')
  })

  test('of which nothing was heard for long is not taken for fresh', () => {
    const view = viewOf([])
    expect(banners(view, NOW + 39_000)).toEqual([])
    expect(banners(view, NOW + 41_000)).toMatchObject([{ kind: 'stale' }])
  })
})

describe('a screen without rows', () => {
  test('loads, then is empty with the next step', () => {
    expect(screenFace(firstView, 'inbox', 0)).toMatchObject({ kind: 'loading' })
    expect(screenFace(viewOf([]), 'inbox', 0)).toMatchObject({
      kind: 'empty',
      says: expect.stringContaining('alice'),
    })
    expect(screenFace(viewOf([]), 'sent', 0)).toMatchObject({ kind: 'empty', next: expect.any(String) })
  })
  test('of tasks to us says where those from us stand, where there are some', () => {
    const next = (...items: Parameters<typeof viewOf>[0][number][]) =>
      screenFace(viewOf(items), 'inbox', 0)?.next
    expect([next(), next(item(1, { side: 'sent' }))]).toEqual([
      'give your address to somebody',
      'give your address to somebody; what you delegated stands on screen 2',
    ])
  })
  test.each(['lost', 'stopped'] as const)('does not load while the node is %s', state => {
    const connection = { state, says: 'no node answers', since: NOW, retryAt: NOW + 2_500 }
    for (const screen of ['inbox', 'sent', 'agents', 'evidence', 'node'] as const)
      expect(screenFace({ ...firstView, connection }, screen, 0)).toMatchObject({ kind: 'node_down' })
    const refusal = { code: 'unreachable', says: 'no node answers', at: NOW } as const
    const agents = { ...firstView.agents, loaded: true, refusal }
    expect(screenFace({ ...firstView, agents, connection }, 'agents', 0)).toMatchObject({ kind: 'node_down' })
  })
  test('shows no face once there are rows', () => {
    expect(screenFace(viewOf([item(1)]), 'inbox', 1)).toBeUndefined()
  })
})

test('a node that is lost is tried again in whole seconds, and at once where that time is over', () => {
  const says = (inMs: number) => {
    const connection = { state: 'lost', says: 'no node', since: NOW, retryAt: NOW + inMs } as const
    return banners({ ...viewOf([]), connection }, NOW)[0]
  }
  expect([says(1)?.says, says(0)?.says, says(1)?.next]).toEqual([
    'no node; trying again in 1s',
    'no node; trying again',
    'svc up',
  ])
})

describe('a search of the directory that found nobody', () => {
  const faceOf = (query: string, answer: Partial<Searched>) => {
    const searched: Searched = { searched: 'all_hubs', ...answer }
    const agents = { query, found: [], loaded: true, loading: false, searched }
    return screenFace({ ...firstView, agents }, 'agents', 0)
  }
  const AID = `A${'b'.repeat(43)}`

  test('by words says whose agents were looked through', () => {
    expect(faceOf('x', { searched: 'own_hub' })).toMatchObject({
      says: 'nobody was found for "x" at your hub',
      next: expect.stringContaining('AID of an agent of another hub'),
    })
  })

  test('by an AID says nobody is there only where every hub answered, and else looks again', () => {
    expect(faceOf(AID, {})).toMatchObject({
      says: 'neither your hub nor a peer of it lists this AID',
      help: { does: { words: '' } },
    })
    for (const why of ['partial', 'unusable'] as const)
      expect(faceOf(AID, { [why]: true })).toMatchObject({
        says: expect.stringContaining('not found so far: '),
        help: { says: 'Look again', does: { words: AID } },
      })
  })
})
