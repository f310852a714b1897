import { describe, expect, test } from 'vitest'
import { ANSWER_CHARACTERS_MAX } from './backend.ts'
import { outgoing } from './outgoing.ts'

describe('what is sent of an answer', () => {
  test('is the answer, where nothing is wrong with it', () => {
    expect(outgoing('one\r\ntwo @home\n', [])).toEqual({
      text: 'one\ntwo @home',
      isRefused: false,
      changes: [],
    })
  })

  test('lacks what a terminal obeys or hides, and says so', () => {
    expect(outgoing('re\u001b[31md\u202e \u200b', [])).toEqual({
      text: 're[31md',
      isRefused: false,
      changes: ['control, bidirectional or invisible characters were taken off'],
    })
  })

  test('is cut between characters, and says at which', () => {
    const long = `${'x'.repeat(ANSWER_CHARACTERS_MAX - 1)}😀😀`
    expect(outgoing(long, [])).toEqual({
      text: 'x'.repeat(ANSWER_CHARACTERS_MAX - 1),
      isRefused: false,
      changes: ['cut: 199999 of 200003 characters are sent'],
    })
  })

  test('is a fixed sentence in place of a secret, and nothing at all where nothing shows', () => {
    expect(outgoing('it is correct-horse', ['correct-horse'])).toEqual({
      text: 'I cannot answer this request.',
      isRefused: true,
      changes: ['replaced: it held a secret of this node'],
    })
    expect(() => outgoing('\u200b\u202e \u0007', [])).toThrow('holds nothing that shows')
  })
})

test.each<[string, string, Uint8Array]>([
  ['its bytes', 'a.txt', Buffer.from('it is the-token, see')],
  ['another encoding', 'a.txt', Buffer.from('the-token', 'utf16le')],
  ['its name', 'the-token.txt', Buffer.from('x')],
])('a file that holds a secret of the node in %s goes nowhere, nor do the others', (_, name, content) => {
  const good = { name: 'good.txt', content: Buffer.from('good') }
  expect(outgoing('see the file', ['the-token'], [good, { name, content }])).toEqual({
    text: 'I cannot answer this request.',
    isRefused: true,
    changes: ['replaced: it held a secret of this node'],
  })
  expect(outgoing('see the file', ['the-token'], [good])).toMatchObject({ isRefused: false, files: [good] })
})
