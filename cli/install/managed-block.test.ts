import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasBlock, hash, markdown, withBlock, withoutBlock } from './managed-block.ts'

const put = (text: string | undefined, body = 'use svc') => withBlock(text, body, markdown, 'notes.md')
const takeOut = (text: string) => withoutBlock(text, 'notes.md')

describe('a managed block', () => {
  test('stands between two markers behind what was there', () => {
    expect(put('# Mine\n')).toBe('# Mine\n\n<!-- svc:begin v1 -->\nuse svc\n<!-- svc:end -->\n')
    expect(withBlock('a = 1\n', '[x]', hash, 'c.toml')).toBe('a = 1\n\n# svc:begin v1\n[x]\n# svc:end\n')
  })

  test('replaces itself and nothing else, wherever it was moved to', () => {
    const moved = `top\n${put(undefined, 'old')}bottom`
    expect(put(moved, 'new')).toBe('top\n<!-- svc:begin v1 new -->\nnew\n<!-- svc:end -->\nbottom')
    expect(put(put('x\n'))).toBe(put('x\n'))
  })

  test('has the line ends of its file', () => {
    expect(put('a\r\nb\r\n')).toBe('a\r\nb\r\n\r\n<!-- svc:begin v1 -->\r\nuse svc\r\n<!-- svc:end -->\r\n')
  })

  test('leaves every byte as it was when it goes', () => {
    const line = fc.constantFrom(
      '',
      'text',
      '# svc',
      '# svc:begin to end',
      '<!-- other -->',
      '\ttab',
      'ünïcödé',
      '---',
    )
    const file = fc
      .tuple(fc.array(line), fc.constantFrom('\n', '\r\n'), fc.boolean())
      .map(([lines, end, ends]) => lines.join(end) + (ends ? end : ''))
    fc.assert(
      fc.property(file, text => {
        expect(takeOut(put(text))).toBe(text)
        expect(takeOut(put(put(text, 'older')))).toBe(text)
      }),
    )
    expect(takeOut(put(''))).toBe('')
    expect(takeOut(put('no end of line'))).toBe('no end of line')
  })

  test('takes the file with it when the file came with it, unless somebody wrote there since', () => {
    expect(takeOut(put(undefined))).toBeUndefined()
    expect(takeOut(`${put(undefined)}mine\n`)).toBe('mine\n')
  })

  test.each([
    ['a begin without an end', '<!-- svc:begin v1 -->\nx\n'],
    ['an end without a begin', 'x\n<!-- svc:end -->\n'],
    ['an end before its begin', '<!-- svc:end -->\n<!-- svc:begin v1 -->\n'],
    ['two of them', `${put(undefined)}${put(undefined)}`],
  ])('is refused where there is %s', (_, text) => {
    for (const act of [put, takeOut, (given: string) => hasBlock(given, 'notes.md')])
      expect(() => act(text)).toThrow(/notes\.md holds half a block of svc, or two, at line \d/)
  })

  test.each([
    ['<!-- svc:begin -->\nx\n<!-- svc:end -->\n', 'line 1 exactly "<!-- svc:begin v1 -->"'],
    ['a = 1\n# svc:begin\nx\n# svc:end\n', 'line 2 exactly "# svc:begin v1"'],
    ['<!-- svc:begin v1 -->\nx\n<!--svc:end-->\n', 'line 3 exactly "<!-- svc:end -->"'],
    ['<!-- svc:begin v1 -->\nx\n  <!-- SVC:end -->\n', 'line 3 exactly "<!-- svc:end -->"'],
    [`<!-- svc:begin -->\n${put(undefined)}`, 'line 1 exactly "<!-- svc:begin v1 -->"'],
  ])('with a marker that svc does not write so (%j) is refused with the one it does', (text, exact) => {
    for (const act of [put, takeOut])
      expect(() => act(text)).toThrow(
        expect.objectContaining({
          message: expect.stringMatching(
            /^notes\.md has a marker of svc at line \d that is not .*; nothing was changed$/,
          ),
          next: expect.stringContaining(`make ${exact}, or take the whole block out`),
        }),
      )
  })

  test('of a newer release is left alone', () => {
    expect(() => put('<!-- svc:begin v2 -->\nx\n<!-- svc:end -->\n')).toThrow(/newer release/)
  })
})
