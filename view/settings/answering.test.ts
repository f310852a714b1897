/** The auto-reply: what is sent to the node for what is filled in, and what is said. */
import { describe, expect, test } from 'vitest'
import { firstView, type View } from '../state.ts'
import { NOW } from '../testing.ts'
import { answering } from './answering.ts'
import type { Setting } from './setting.ts'

const row = (id: string) => answering.find(one => one.id === id) as Setting
const answers = (autoReply: object): View => ({ ...firstView, autoReply: autoReply as never })
const off = answers({ enabled: false })
const on = answers({ enabled: true, auto_reply: { backend: 'exec', agent: 'claude', api_key_set: false } })
const numbers = { max_auto_replies: '3', api_timeout_seconds: '60', max_history: '20' }
const filled = (more: Record<string, string>) => ({
  ...{
    model: ' m ',
    work_dir: ' /w ',
    tools: 'none',
    strangers: 'no',
    guests: 'no',
    send_files: 'yes',
    ...numbers,
  },
  ...more,
})
const kept = {
  strangers: false,
  guests: false,
  max_auto_replies: 3,
  api_timeout_seconds: 60,
  max_history: 20,
}

describe('what is sent to the node', () => {
  const input = (more: Record<string, string>) => row('auto_reply').input(filled(more), firstView)

  test('is what belongs to an agent, a program or a server alone', () => {
    expect(input({ who: 'agent', agent: 'claude' })).toEqual({
      ...{ agent: 'claude', model: 'm', work_dir: '/w', tools: 'none', send_files: true },
      ...kept,
    })
    expect(input({ who: 'command', command: '/bin/x' })).toEqual({
      ...{ command: '/bin/x', work_dir: '/w', send_files: true },
      ...kept,
    })
    expect(input({ who: 'server', api_base: 'http://m', api_key: '' })).toEqual({
      ...{ api_base: 'http://m', model: 'm' },
      ...kept,
    })
    expect(input({ who: 'server', api_base: 'http://m', api_key: 'k' })).toMatchObject({ api_key: 'k' })
  })

  test('of a server has a model', () => {
    const fault = (who: string, model: string) =>
      row('auto_reply').fault?.(filled({ who, model }), firstView)?.field
    expect([fault('server', ' '), fault('server', 'm'), fault('agent', '')]).toEqual([
      'model',
      undefined,
      undefined,
    ])
  })

  test('of a trial are the same settings', () => {
    const trial = row('auto_reply').tries
    const values = filled({ who: 'agent', agent: 'claude' })
    expect(trial?.order(values, firstView)).toEqual({
      name: 'autoReplyTest',
      input: { settings: row('auto_reply').input(values, firstView) },
    })
    expect(trial?.says({ answer: 'ready\n', ms: 1234 })).toBe('it answered in 1.2 s: ready')
  })
})

describe('the auto-reply', () => {
  const own = row('auto_reply')

  test('says whether it is on', () => {
    expect(own.shows?.(firstView, NOW)).toBeUndefined()
    expect(own.shows?.(off, NOW)).toBe('off: you answer tasks yourself')
    expect(own.shows?.(on, NOW)).toBe('on')
    expect(own.shows?.(answers({ enabled: true, says: 'claude answers' }), NOW)).toBe('claude answers')
    expect([own.opens?.(off), own.opens?.(on)]).toEqual(['Turn it on', 'Change'])
    expect(own.says({ says: 'claude answers' }, {})).toBe('claude answers')
    expect(own.says({}, {})).toBe('the auto-reply is on')
  })

  test('asks before tools may write, as before they may read', () => {
    expect(own.asks?.({ tools: 'write' }, firstView)?.asks).toBe('Let the agent use tools (write)?')
  })

  test('that was off is turned off by the undo; one that was on is as it was', () => {
    expect(own.undo?.({}, off)?.order.name).toBe('autoReplyOff')
    expect(own.undo?.({}, on)?.order).toEqual({
      name: 'autoReplySet',
      input: { backend: 'exec', agent: 'claude' },
    })
  })

  test('is turned off and tried where it is on', () => {
    for (const id of ['auto_reply_off', 'auto_reply_try'])
      expect([row(id).unless?.(off), row(id).unless?.(firstView), row(id).unless?.(on)]).toEqual([
        'the auto-reply is off',
        'the auto-reply is off',
        undefined,
      ])
    expect(row('auto_reply_off').undo?.({}, off)).toBeUndefined()
    expect(row('auto_reply_try').input({ question: ' ' }, on)).toEqual({})
  })
})
