/** A guest's conversation as the page keeps it, and the files that go along. */
import { describe, expect, it, test } from 'vitest'
import { begun, withEnd, withOwn, withWords } from './conversation.ts'
import { adding, sentName, sizeText } from './files.ts'

const KIB = 1024
const start = begun({ session: 's', handler: 'bob', aid: 'A', remaining: 5 })
const said = (body: string) => ({ body, system: false, end: '' as const })
const system = (end: 'requested' | 'accepted', body = '') => ({ body, system: true, end })
const texts = ({ lines }: typeof start) => lines.map(({ by, text }) => `${by}: ${text}`)

describe('a conversation', () => {
  it('counts the words that came, and shows them after what was said before', () => {
    const one = withWords(withOwn(start, 'hi', ['a.txt'], 4), [said('hello'), said('there')], false)
    expect(texts(one)).toEqual(['you: hi', 'agent: hello', 'agent: there'])
    expect([one.has, one.remaining, one.over]).toEqual([2, 4, undefined])
  })

  it('is asked to end and goes on, and is over once both sides have ended it', () => {
    const asked = withWords(start, [system('requested')], false)
    expect([asked.isAsked, asked.over]).toEqual([true, undefined])
    expect(withEnd(asked, true)).toMatchObject({ over: 'agreed' })
    const told = withEnd(start, false)
    expect(told.over).toBe('you')
    expect(withWords(told, [], true).over).toBe('you')
    const agreed = withWords(told, [system('accepted')], true)
    expect(agreed.over).toBe('agreed')
    expect(texts(agreed)).toEqual(['note: You ended the conversation.', 'note: The agent agreed to the end.'])
  })

  it('is lost where the hub knows it no more, and ended where the agent declines with its reason', () => {
    expect(withWords(start, [], true).over).toBe('lost')
    const declined = withWords(start, [system('accepted', 'no time')], true)
    expect([declined.over, ...texts(declined)]).toEqual([
      ...['agreed', 'note: The agent ended this. It says: no time'],
    ])
  })
})

test('files are taken up to their number and their bytes together, and the others are named', () => {
  const file = (name: string, bytes: number) => new File([new Uint8Array(bytes)], name)
  const max = { count: 2, bytes: 10 }
  expect(adding([], [file('a', 5), file('b', 5)], max)).toMatchObject({ refused: undefined })
  expect(adding([], [file('a', 6), file('b', 5), file('c', 4), file('d', 0)], max)).toMatchObject({
    files: [{ name: 'a' }, { name: 'c' }],
    refused: 'Not attached: b, d. A message takes 2 files with 10 B together.',
  })
})

test.each([
  ['a.txt', 'a.txt'],
  ['', 'file'],
  ['\u202e', 'file'],
  ['a\u202eb\n.txt', 'ab .txt'],
  [`${'x'.repeat(70)}.tar`, `${'x'.repeat(55)}….tar`],
  [`${'😀'.repeat(40)}.png`, `${'😀'.repeat(27)}….png`],
])('the name %j is sent as %j', (name, sent) => {
  expect(sentName(name)).toBe(sent)
  expect(sent.length).toBeLessThanOrEqual(60)
})

test('a size is told in a unit that fits', () => {
  const sizes = [0, 1023, KIB, 1536, 20 * KIB, 3.25 * KIB * KIB, 20 * KIB * KIB]
  expect(sizes.map(sizeText)).toEqual(['0 B', '1023 B', '1 KiB', '1.5 KiB', '20 KiB', '3.3 MiB', '20 MiB'])
})
