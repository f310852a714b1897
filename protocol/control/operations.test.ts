import { describe, expect, test } from 'vitest'
import { agent } from '../testing/agents.ts'
import { type OperationName, operations } from './operations.ts'

const names = Object.keys(operations) as OperationName[]
const those = (holds: (name: OperationName) => boolean) => names.filter(holds).sort()
const interaction_id = 'A'.repeat(22)
const { aid } = agent('alice')

describe('an operation', () => {
  test('that only reads is one of these', () => {
    expect(those(name => operations[name].reads)).toEqual([
      'a2a',
      'agentPrices',
      'attachmentLink',
      'autoReplyAgents',
      'autoReplyRuns',
      'autoReplyShow',
      'balance',
      'board',
      'boardCard',
      'capabilityList',
      'contacts',
      'draft',
      'evidence',
      'evidenceHeads',
      'find',
      'inbox',
      'interactions',
      'keyHistory',
      'p2pAdmit',
      'p2pStatus',
      'prices',
      'results',
      'search',
      'spend',
      'status',
      'thread',
      'verify',
    ])
  })

  test('that changes something is closed to an ended identity and an old copy, but for nine', () => {
    const open = those(name => !operations[name].reads && operations[name].staysOpen)
    expect(open).toEqual([
      'a2aSet',
      'a2aToken',
      'archive',
      'autoReplyOff',
      'backup',
      'consoleTicket',
      'draftKeep',
      'pull',
      'shutdown',
    ])
    const refusing = those(
      name =>
        !operations[name].reads &&
        ['identity_deactivated', 'old_copy'].every(code =>
          (operations[name].codes as string[]).includes(code),
        ),
    )
    expect(refusing).toEqual(those(name => !operations[name].staysOpen))
  })

  test('that waits for others has a quarter of an hour', () => {
    const long = those(name => operations[name].timeoutMs !== undefined)
    expect(long).toEqual([
      'auditHub',
      'autoReplyAttack',
      'autoReplySet',
      'autoReplyTest',
      'backup',
      'capabilityTest',
      'delegate',
      'hubRegister',
      'message',
    ])
    expect(new Set(long.map(name => operations[name].timeoutMs))).toEqual(new Set([900_000]))
  })

  test('takes a body as large as the words and files that it may bring', () => {
    const larger = names.map(name => [name, operations[name].limits.bodyBytes] as const)
    expect(Object.fromEntries(larger.filter(([, bytes]) => bytes > 64 * 1024))).toEqual({
      delegate: 2 * 1024 * 1024,
      message: 2 * 1024 * 1024,
      end: 2 * 1024 * 1024,
      // it may bring what was kept before as well
      draftKeep: 4 * 1024 * 1024,
      profileSet: 256 * 1024,
      autoReplySet: 256 * 1024,
      autoReplyTest: 256 * 1024,
      autoReplyAttack: 256 * 1024,
      p2pTake: 7 * 1024 * 1024,
      p2pTakeEnvelope: 7 * 1024 * 1024,
    })
  })
})

type Edge = [name: OperationName, member: string, least: number, most: number, rest?: object]
const about = { interaction_id }
const numbers: Edge[] = [
  ['inbox', 'limit', 1, 50],
  ['inbox', 'wait_s', 0, 45],
  ['hubRegister', 'guest_messages', 0, 10_000, { url: 'https://hub.test' }],
  ['find', 'limit', 1, 50],
  ['thread', 'max_chars', 1, 1_000_000, about],
  ['review', 'rating', 1, 5, about],
  ['evidence', 'limit', 1, 1000],
  ['hubRegister', 'wire', 1, 3, { url: 'https://hub.test' }],
  ['autoReplySet', 'poll_interval_seconds', 1, 3600],
  ['autoReplySet', 'max_history', 1, 200],
  ['autoReplySet', 'api_timeout_seconds', 1, 3600],
  ['autoReplySet', 'max_auto_replies', 1, 1000],
]
const lengths: Edge[] = [
  ['inbox', 'q', 0, 256],
  ['inbox', 'cursor', 0, 64],
  ['find', 'query', 0, 256],
  ['find', 'capability', 0, 1024],
  ['evidence', 'event_type', 0, 128],
  ['delegate', 'to', 1, 128, { task: 'count' }],
  ['delegate', 'idempotency_key', 1, 128, { to: aid, task: 'count' }],
  ['message', 'idempotency_key', 1, 128, about],
  ['contactRemove', 'peer', 1, 128],
  ['cancel', 'reason', 0, 1024, about],
  ['decline', 'reason', 0, 1024, about],
  ['review', 'comment', 0, 4096, { ...about, rating: 3 }],
  ['profileSet', 'pricing', 0, 4096],
]
function takes(name: OperationName, given: object): boolean {
  const row = operations[name]
  return 'request' in row && row.request.safeParse(given).success
}

describe('a request', () => {
  test.each(numbers)('%s: %s is from %d to %d', (name, member, least, most, rest = {}) => {
    const given = [least, most, least - 1, most + 1, least + 0.5]
    expect(given.map(value => takes(name, { ...rest, [member]: value }))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })

  test.each(lengths)('%s: %s has from %d to %d characters', (name, member, least, most, rest = {}) => {
    const given = (length: number) => takes(name, { ...rest, [member]: 'x'.repeat(length) })
    expect([given(least), given(most), given(most + 1)]).toEqual([true, true, false])
    if (least > 0) expect(given(least - 1)).toBe(false)
  })

  test('names at most 64 files and 64 capabilities, a file by a path', () => {
    const attach = (count: number) =>
      takes('delegate', { to: aid, task: 't', attach: Array(count).fill('f') })
    const caps = (count: number) =>
      takes('profileSet', { caps: Array.from({ length: count }, (_, n) => `c${n}`) })
    expect([attach(64), attach(65), caps(64), caps(65)]).toEqual([true, false, true, false])
    expect(takes('delegate', { to: aid, task: 't', attach: [''] })).toBe(false)
  })

  test('delegates a task or a capability, args with a capability, files with a task', () => {
    const delegates = (given: object) => takes('delegate', { to: aid, ...given })
    expect(
      [
        { task: 't' },
        { task: 't', attach: ['f'] },
        { capability: 'c' },
        { capability: 'c', args: { n: 1 } },
        { capability: 'c', attach: [] },
      ].map(delegates),
    ).toEqual([true, true, true, true, true])
    expect(
      [{}, { task: 't', capability: 'c' }, { task: 't', args: {} }, { capability: 'c', attach: ['f'] }].map(
        delegates,
      ),
    ).toEqual([false, false, false, false])
  })
})

test.each([
  ['https://hub.test', true],
  ['http://127.0.0.1:8080/', true],
  ['https://hub.test/some/path', false],
  ['https://hub.test/?a=b', false],
  ['https://hub.test/#a', false],
  ['https://user:word@hub.test', false],
  ['ftp://hub.test', false],
  ['hub.test', false],
])('the address of a hub is scheme, host and port alone: %s', (url, fits) => {
  expect(operations.hubRegister.request.safeParse({ url }).success).toBe(fits)
})
