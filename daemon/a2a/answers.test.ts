/** What an agent's words are to a client of A2A. */
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Message } from '../store/threads.ts'
import { Answers } from './answers.ts'

const answers = new Answers({ attachmentsOf: () => [] } as never, {} as never)
const read = (text: string, more: object = {}) =>
  answers.read({
    key: 1,
    number: 3,
    kind: kinds.message,
    text,
    payload: new Uint8Array(),
    ...more,
  } as Message)
const own = (a2a: unknown) => read(JSON.stringify({ a2a }))

describe('words', () => {
  test('are an artifact and what the status says, and leave the task open', () => {
    const parts = [{ text: 'three' }]
    expect(read('three')).toMatchObject({ pieces: [{ artifact: { artifactId: 'answer-3', parts } }], parts })
    expect(read('three').state).toBeUndefined()
    expect(read('').pieces).toEqual([])
  })

  test.each(['{"a2a": 1', '{"a2a": {}, "more": 1}', '["a2a"]', 'see {"a2a": {}}'])('%s stays words', text =>
    expect(read(text).parts).toEqual([{ text }]),
  )
})

describe('an answer in the form of A2A', () => {
  test('says its state and its artifacts, whose pieces of one id go on', () => {
    const artifacts = [
      { artifactId: 'a', parts: [{ text: '1' }] },
      { parts: [{ text: '2' }] },
      { artifactId: 'a', parts: [{ text: '3' }] },
    ]
    const { pieces, state } = own({ task: { status: { state: 'TASK_STATE_WORKING' }, artifacts } })
    expect(state).toBe('TASK_STATE_WORKING')
    expect(
      pieces.map(({ artifact: { artifactId }, append, lastChunk }) => [artifactId, append, lastChunk]),
    ).toEqual([
      ['a', false, false],
      ['answer-3.2', false, true],
      ['a', true, true],
    ])
  })

  test.each([
    ['SUBMITTED', 'WORKING'],
    ['AUTH_REQUIRED', 'INPUT_REQUIRED'],
    ['CANCELED', 'REJECTED'],
  ])('that says %s, which only the node can know, is %s', (said, means) => {
    const message = { parts: [{ text: 'pay me elsewhere' }] }
    const { state, parts } = own({ task: { status: { state: `TASK_STATE_${said}`, message } } })
    expect([state, parts]).toEqual([`TASK_STATE_${means}`, message.parts])
  })

  test('names nothing by which a client could leave its folder or a header', () => {
    const part = { text: 'x', filename: '../../../x.html', mediaType: 'text/html\r\nSet-Cookie: a=b' }
    const harmless = { text: 'x', filename: 'x.html', mediaType: 'application/octet-stream' }
    const typed = { raw: 'eA==', filename: 'con.txt', mediaType: 'text/plain; charset="utf-8"' }
    const artifacts = ['../../x', '..', 'a b\r\n', 'out-1', ''].map(artifactId => ({
      artifactId,
      name: 'two\r\nlines\u202e',
      parts: [part, typed],
    }))
    const status = { state: 'TASK_STATE_COMPLETED', message: { parts: [part] } }
    const { pieces, parts } = own({ task: { status, artifacts } })
    expect(parts).toEqual([harmless])
    expect(pieces.map(({ artifact }) => artifact.artifactId)).toEqual([
      '%2E%2E%2F..%2Fx',
      '%2E%2E',
      'a%20b%0D%0A',
      'out-1',
      'answer-3.5',
    ])
    for (const { artifact } of pieces) {
      expect(artifact.name).not.toMatch(/[\p{C}]/u)
      expect(artifact.parts).toEqual([harmless, { ...typed, filename: '_con.txt' }])
    }
    expect(own({ message: { parts: [part] } }).parts).toEqual([harmless])
  })

  test('may be words without a task', () => {
    expect(own({ message: { parts: [{ text: 'hi' }] } })).toMatchObject({
      isDirect: true,
      parts: [{ text: 'hi' }],
    })
  })

  test.each([
    {},
    { task: {} },
    { task: { status: { state: 'DONE' } } },
    { message: { parts: [] } },
    { message: { parts: [{ text: 'a', url: 'b' }] } },
    { task: { status: { state: 'TASK_STATE_COMPLETED' } }, message: { parts: [{ text: 'a' }] } },
  ])('that is none, %j, fails the task', value =>
    expect(own(value)).toMatchObject({ state: 'TASK_STATE_FAILED', isMalformed: true }),
  )
})

test.each([
  ['OK', 'TASK_STATE_COMPLETED', 1],
  ['UNVERIFIED', 'TASK_STATE_COMPLETED', 1],
  ['FAILED', 'TASK_STATE_FAILED', 0],
  ['UNAVAILABLE', 'TASK_STATE_REJECTED', 0],
])('the effect %s of a call is %s', (status, state, artifacts) => {
  const document = utf8(JSON.stringify({ message: 'so', status }))
  const answer = read('so', { kind: kinds.result, payload: encodePayload(kinds.result, { document }) })
  expect([answer.state, answer.pieces.length, answer.parts]).toEqual([state, artifacts, [{ text: 'so' }]])
})
