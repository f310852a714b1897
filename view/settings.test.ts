/** The table of settings: each row has the shape of its operation, says its bounds, asks where it must, and is undone. */
import { describe, expect, test } from 'vitest'
import { type OperationName, operations } from '../protocol/control/operations.ts'
import type { NodeStatus } from '../protocol/control/shapes.ts'
import { type Field, faultOf, type Values } from './settings/field.ts'
import {
  faultsIn,
  fieldOf,
  fieldsOf,
  orderOf,
  questionOf,
  type Setting,
  startOf,
} from './settings/setting.ts'
import { settingOf, settings } from './settings.ts'
import { firstView, type View } from './state.ts'
import { ALICE, BOB, NOW, statusOf } from './testing.ts'

const contact = (aid: string, petname: string | null, blocked = false) => ({
  aid,
  petname,
  blocked,
  added_at: NOW,
})

/** A node of which everything is known. */
const known = (status: Partial<NodeStatus> = {}): View => ({
  ...firstView,
  status: statusOf(status),
  contacts: [contact(ALICE, 'anna'), contact(BOB, 'bob', true)],
  autoReply: { enabled: true, auto_reply: { backend: 'exec', agent: 'claude', api_key_set: false } },
  answerers: {
    agents: [
      { agent: 'codex', found: false },
      { agent: 'claude', found: true },
    ],
  },
  a2a: { on: false },
  spend: { auto_max: 1, agent_max: 2, day_max: 30, payee_day_max: 20, spent_today: 3 },
  prices: { prices: [{ capability: 'task', amount: 7, starts: 4 }] },
  capabilities: {
    modules: [],
    capabilities: [{ capability: 'weather.now', module: 'service', summary: '', published: true }],
  },
})

/** What a person would fill in where nothing stands there. */
const typed: Record<string, Values> = {
  contact_add: { aid: BOB, petname: 'bob' },
  contact_rename: { petname: 'anne' },
  hub_join: { url: 'https://other.example' },
  backup: { passphrase: 'twelve and more', again: 'twelve and more' },
}
const filled = (row: Setting, view = known()): Values => startOf(row, view, typed[row.id]) ?? {}

const takes = (row: Setting, values: Values, view = known()): boolean => {
  const { name, input } = orderOf(row, values, view)
  const operation = operations[name as OperationName] as {
    request?: { safeParse(v: unknown): { success: boolean } }
  }
  return operation.request?.safeParse(input).success === true
}

const rows = settings.map(row => [row.id, row] as const)
const fieldsWith = <K extends Field['kind']>(...kinds: K[]) =>
  settings.flatMap(row =>
    row.fields
      .filter((field): field is Extract<Field, { kind: K }> => kinds.some(kind => kind === field.kind))
      .map(field => [row.id, field.name, row, field] as const),
  )

describe('a setting', () => {
  test.each(rows)('%s: what is filled in first, with what a person must type, is taken', (_, row) => {
    const view = known()
    const values = filled(row)
    expect([...faultsIn(row, values, view)]).toEqual([])
    expect(takes(row, values)).toBe(true)
  })

  test.each(rows)('%s: an order that undoes it is taken as well', (_, row) => {
    const undo = row.undo?.(filled(row), known())
    if (undo === undefined) return
    const operation = operations[undo.order.name] as {
      request?: { safeParse(v: unknown): { success: boolean } }
    }
    expect(operation.request?.safeParse(undo.order.input).success).toBe(true)
    expect(undo.says).not.toBe('')
  })

  test.each(rows)('%s: every field fills a member of its operation, and has a sentence of help', (_, row) => {
    const request = (operations[row.calls] as unknown as { request: { shape: object } }).request
    const members = Object.keys(request.shape)
    for (const field of row.fields) {
      expect(field.help, field.name).toMatch(/^[A-Z0-9].*[.]$/)
      if (row.id === 'auto_reply' && field.name === 'who') continue
      expect(members, `${row.id}: ${field.name}`).toContain(field.member ?? field.name)
    }
  })

  test.each(fieldsWith('number'))('%s, %s: has the bounds of its operation', (_, name, row, field) => {
    const at = (value: number) => ({ ...base(row, field), [name]: String(value) })
    const { least, most } = field
    const fits = (value: number) => faultOf(field, at(value), known()) === undefined
    expect([least, most, least - 1, most + 1].map(fits)).toEqual([true, true, false, false])
    // a number that another one bounds is tried where that one lets it
    expect(takes(row, at(least))).toBe(true)
    if (most < Number.MAX_SAFE_INTEGER)
      expect([takes(row, at(most)), takes(row, at(most + 1))]).toEqual([true, false])
  })

  test.each(fieldsWith('text', 'long', 'secret').filter(([, , , field]) => field.bound !== undefined))(
    '%s, %s: is as long as its operation lets it be, in the same unit',
    (_, name, row, field) => {
      const { most = 0, least, unit } = field.bound ?? {}
      if (field.name === 'aid') return
      const letter = unit === 'bytes' ? 'é' : 'x'
      const at = (length: number) => {
        const text =
          unit === 'bytes' ? `${letter.repeat(length >> 1)}${'x'.repeat(length & 1)}` : letter.repeat(length)
        return { ...base(row, field), [name]: text, ...(name === 'passphrase' && { again: text }) }
      }
      const fits = (length: number) => [
        faultOf(field, at(length), known()) === undefined,
        takes(row, at(length)),
      ]
      expect([fits(most), fits(most + 1)]).toEqual([
        [true, true],
        [false, false],
      ])
      if (least !== undefined) expect(fits(least - 1)).toEqual([false, false])
    },
  )

  test('that cannot be taken back asks, says so, and has no undo', () => {
    const final = settings.filter(row => row.isFinal === true)
    expect(final.map(({ id }) => id)).toEqual(['rotate'])
    for (const row of final) {
      expect(row.undo).toBeUndefined()
      expect(questionOf(row, filled(row), known())?.facts.at(-1)).toEqual([
        'then',
        'this cannot be taken back',
      ])
    }
  })

  test('that has no undo is one of these', () => {
    expect(settings.filter(row => row.undo === undefined).map(({ id }) => id)).toEqual([
      'auto_reply_try',
      'hub_join',
      'hub_leave',
      'hub_look',
      'backup',
      'rotate',
    ])
  })

  test('is known by one id, and called by it', () => {
    expect(new Set(settings.map(({ id }) => id)).size).toBe(settings.length)
    expect(settingOf('spend').heading).toBe('Spend without asking me')
    expect(() => settingOf('nothing')).toThrow('there is no setting nothing')
  })

  test('waits while the node has not said what stands there', () => {
    expect(startOf(settingOf('spend'), firstView)).toBeUndefined()
    expect(startOf(settingOf('accept'), firstView)).toBeUndefined()
  })
})

/** Filled in so that a field is asked. */
function base(row: Setting, field: Field): Values {
  const values = filled(row)
  const who = ['agent', 'command', 'server'].find(
    one => field.when?.({ ...values, who: one, on: 'yes' }) !== false,
  )
  return {
    ...values,
    ...(row.id === 'auto_reply' && { who: who ?? '' }),
    ...(row.id === 'price' && { amount: String(2 ** 53 - 1), starts: '' }),
  }
}

describe('auto-reply', () => {
  const row = settingOf('auto_reply')
  const asked = (who: string) => fieldsOf(row, { ...filled(row), who }).map(({ name }) => name)

  test('asks what belongs to an agent, a program or a server, and nothing else', () => {
    expect(asked('agent')).toContain('tools')
    expect(asked('command')).not.toContain('tools')
    expect(asked('server')).toEqual([
      'who',
      'api_base',
      'api_key',
      'model',
      'strangers',
      'guests',
      'max_auto_replies',
      'api_timeout_seconds',
      'max_history',
    ])
  })
  test('offers the agents that the node finds first', () => {
    const agent = row.fields.find(({ name }) => name === 'agent')
    expect(agent?.kind === 'choice' && agent.choices(known())).toEqual([
      { value: 'claude', says: 'claude' },
      { value: 'codex', says: 'codex (not found on this machine)' },
    ])
  })
  test('asks before tools are let in, and not otherwise', () => {
    const asks = (tools: string) => questionOf(row, { ...filled(row), tools }, known())?.asks
    expect([asks('none'), asks('read')]).toEqual([undefined, 'Let the agent use tools (read)?'])
  })
  test('that is turned off is turned on again as it was, unless it holds a key', () => {
    const off = settingOf('auto_reply_off')
    expect(off.undo?.({}, known())?.order).toEqual({
      name: 'autoReplySet',
      input: { backend: 'exec', agent: 'claude' },
    })
    const keyed = {
      ...known(),
      autoReply: { enabled: true, auto_reply: { backend: 'openai' as const, api_key_set: true } },
    }
    expect(off.undo?.({}, keyed)).toBeUndefined()
    expect(questionOf(off, {}, keyed)?.facts.map(([name]) => name)).toEqual(['then', 'settings'])
    expect(questionOf(off, {}, known())?.facts.at(-1)).toEqual(['undo', 'u sets it back as it was'])
  })
})

describe('what is filled in', () => {
  test('is refused before the node is asked where it cannot be right', () => {
    const faults = (id: string, values: Values) => [
      ...faultsIn(settingOf(id), { ...filled(settingOf(id)), ...values }, known()),
    ]
    expect(faults('spend', { auto_max: 'much' })).toEqual([['auto_max', 'expected a whole number']])
    expect(faults('spend', { auto_max: '50' })).toEqual([
      ['day_max', 'so much for one payment needs at least 50 here'],
    ])
    expect(faults('backup', { again: 'another one' })).toEqual([['again', 'the two passphrases differ']])
    expect(faults('backup', { passphrase: 'short' })).toEqual([
      ['passphrase', 'at least 12 characters are needed'],
    ])
    expect(faults('hub_join', { url: 'hub.example' })).toEqual([
      ['url', 'expected an address such as https://hub.example'],
    ])
    expect(faults('profile', { caps: 'ok nö' })[0]?.[0]).toBe('caps')
    expect(faults('price', { amount: '3', starts: '4' })[0]?.[0]).toBe('starts')
    expect(faults('guest_messages', { count: '10001' })).toEqual([
      ['count', 'expected a whole number from 0 to 10000'],
    ])
    expect(faults('name', { name: '' })).toEqual([['name', 'this is needed']])
  })

  test('and refused by the node is said beside the field that it names', () => {
    const row = settingOf('contact_add')
    const at = (says: string) => fieldOf(row, filled(row), says)?.name
    expect(at('petname: expected a petname')).toBe('petname')
    expect(at('aid is missing')).toBe('aid')
    expect(at('"bob" already names somebody')).toBeUndefined()
    expect(fieldOf(settingOf('profile'), {}, 'caps.3: expected …')?.name).toBe('caps')
  })
})
