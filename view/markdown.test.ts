/** Markdown of others, as data that a screen draws with its own elements. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, type Inline, markdownOf, plainOf } from './markdown.ts'

const text = (words: string): Inline => ({ kind: 'text', text: words })
const one = (source: string): Block | undefined => markdownOf(source)[0]
const inlines = (source: string): readonly Inline[] => {
  const block = one(source)
  return block?.kind === 'paragraph' ? block.kids : []
}

describe('Markdown', () => {
  test('has headings, emphasis, code, lists, quotes and tables', () => {
    expect(markdownOf('# A *b*\n\nsome **bold** `code`\nnext line')).toEqual([
      { kind: 'heading', depth: 1, kids: [text('A '), { kind: 'em', kids: [text('b')] }] },
      {
        kind: 'paragraph',
        kids: [
          text('some '),
          { kind: 'strong', kids: [text('bold')] },
          text(' '),
          { kind: 'code', text: 'code' },
          text('\nnext line'),
        ],
      },
    ])
    expect(one('```ts\nconst a = `<b>`\n```')).toEqual({ kind: 'code', lang: 'ts', text: 'const a = `<b>`' })
    const list = one('3. three\n4. [x] four\n   - five')
    expect(list).toMatchObject({ kind: 'list', ordered: true, items: [{ mark: '3.' }, { mark: '☑' }] })
    expect(JSON.stringify(list)).toMatch(/"•".*five/)
    expect(one('> quoted')).toMatchObject({ kind: 'quote', blocks: [{ kids: [text('quoted')] }] })
    expect(one('| a | b |\n|---|---|\n| *1* | 2 |')).toMatchObject({
      kind: 'table',
      head: [[text('a')], [text('b')]],
      rows: [[[{ kind: 'em' }], [text('2')]]],
    })
  })

  test.each([
    '<img src=x onerror=alert(1)>',
    'a <b>bold</b> word',
    '<!-- unseen -->',
    '<script>1</script>',
    '[a]: https://unseen.example',
    '&lt;b&gt; &#x202e;',
  ])('%s is the letters that it is', source => {
    const blocks = markdownOf(source)
    expect(blocks.map(block => (block.kind === 'paragraph' ? plainOf(block.kids) : ''))).toEqual([source])
  })

  test.each([
    ['[bank](https://evil.example/a)', 'https://evil.example/a', true],
    ['[x](javascript:alert(1))', 'javascript:alert(1)', false],
    ['[x](data:text/html,1)', 'data:text/html,1', false],
    ['[x](#/node)', '#/node', false],
    ['[x](/svc/console)', '/svc/console', false],
    ['[a](https://user:secret@evil.example)', 'https://user:secret@evil.example', false],
    ['[a](https://bank.example@evil.example)', 'https://bank.example@evil.example', false],
    ['[a](https://xn--pple-43d.com)', 'https://xn--pple-43d.com/', true],
    ['[a](https://аpple.com)', 'https://xn--pple-43d.com/', true],
    ['![cat](https://evil.example/p.png)', 'https://evil.example/p.png', true],
    ['see https://plain.example/x', 'https://plain.example/x', true],
  ])('%s shows where it leads, and what no browser shall open is no link', (source, address, isOpen) => {
    const link = inlines(source).find(kid => kid.kind === 'link')
    expect([link?.address, link?.href !== undefined]).toEqual([address, isOpen])
  })

  test('loses no letter and no digit, whatever the text is', () => {
    const piece = fc.constantFrom(
      'a1',
      'b2 ',
      '\n',
      '\n\n',
      '*',
      '_',
      '`',
      '```\n',
      '- ',
      '> ',
      '|',
      '[x](y)',
      '<i>',
      '    ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), pieces => {
        const source = pieces.join('')
        const drawn = JSON.stringify(markdownOf(source))
        for (const word of source.match(/a1|b2/g) ?? []) expect(drawn).toContain(word)
        const count = (given: string, word: string) => given.split(word).length
        expect(count(drawn, 'a1')).toBeGreaterThanOrEqual(count(source, 'a1'))
      }),
    )
  })

  test.each([
    ['>'],
    ['['],
    ['_a'],
    ['1. '],
    ['- '],
    ['*a '],
    ['|'],
    ['<'],
    ['a**b**c_d_'],
    ['`'],
    ['[a]('],
    ['!['],
    ['\n- a'],
  ])('of %j over and over is read in a moment', piece => {
    const source = piece.repeat(60_000 / piece.length)
    const start = performance.now()
    expect(markdownOf(source).length).toBeGreaterThan(0)
    expect(performance.now() - start).toBeLessThan(3_000)
  })
})

describe('what a reader could not follow', () => {
  const kindsOf = (text: string) => markdownOf(text).map(({ kind }) => kind)

  test.each([
    ['quotes in each other', '> '.repeat(9), '> '.repeat(10)],
    ['brackets', `**a** ${'[x'.repeat(498)}`, `**a** ${'[x'.repeat(500)}`],
    ['underlines', `**a** ${'_x '.repeat(498)}`, `**a** ${'_x '.repeat(500)}`],
  ])('is shown as its letters: %s', (_, read, letters) => {
    const isLetters = (source: string) => {
      const [block] = markdownOf(source)
      return block?.kind === 'paragraph' && plainOf(block.kids) === source
    }
    expect([isLetters(`${read}x`), isLetters(`${letters}x`)]).toEqual([false, true])
  })

  test('is a list that is indented by forty blanks', () => {
    expect(kindsOf(`${' '.repeat(39)}- x`)).toEqual(['code'])
    expect(kindsOf(`${' '.repeat(40)}- x`)).toEqual(['paragraph'])
  })

  test('is read in parts that end at an empty line outside of a fence', () => {
    const line = `${'x'.repeat(99)}\n`
    const inFence = `\`\`\`\n${line.repeat(30)}\n${line.repeat(30)}\`\`\`\n\n`
    expect(kindsOf(`${inFence}after **it**\n\n${line.repeat(30)}`)).toEqual([
      'code',
      'paragraph',
      'paragraph',
    ])
    // longer than a part, and nowhere to end one
    const [only] = markdownOf(`**a** ${'x'.repeat(8_000)}`)
    expect(only).toMatchObject({ kind: 'paragraph', kids: [{ kind: 'text' }] })
    expect(markdownOf(`**a** ${'x'.repeat(7_994)}`)[0]).toMatchObject({ kids: [{ kind: 'strong' }, {}] })
  })
})
