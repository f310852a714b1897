/** How long sentences, paragraphs and table cells of the documents may be: bounds, counting, and who is above. */
import { describe, expect, test } from 'vitest'
import { type Figures, figuresOf, measure, quantile } from '../scripts/measured-prose.ts'
import { type Bounds, bounds, excessOf, type Measured, measuredDocuments } from '../scripts/prose-bounds.ts'

/**
 * Documents above their bounds, with the figures that are, in words. They may only fall: write a lower one down, and
 * take out what has reached its bound. `npm run -s prose -- --list` prints these rows.
 */
// biome-ignore format: one document a line
const above: Record<string, Bounds> = {
}

/** A figure that fell by more than this part has to be written down, so that it can't rise again. */
const FALLEN = 0.1

const documents = measuredDocuments(new URL('..', import.meta.url).pathname)
const named = (document: Measured): [string, Measured] => [document.path, document]
const entries = (figures: Bounds) => Object.entries(figures) as [keyof Figures, number][]

test.each(documents.map(named))(
  '%s keeps to its bounds, or to the figures that it is listed with',
  (path, document) => {
    const risen = entries(excessOf(document)).filter(([name, value]) => value > (above[path]?.[name] ?? 0))
    expect(risen).toEqual([])
  },
)

test.each(Object.keys(above))('%s is listed only with figures that are still so high', path => {
  const document = documents.find(one => one.path === path)
  const excess = document ? excessOf(document) : {}
  const fallen = entries(above[path] ?? {}).filter(
    ([name, value]) => (excess[name] ?? 0) < value * (1 - FALLEN),
  )
  expect([path, fallen]).toEqual([path, []])
})

test('a document that reaches its bounds leaves the list', () => {
  const reached = Object.keys(above).filter(path => {
    const document = documents.find(one => one.path === path)
    return !document || entries(above[path] ?? {}).some(([name]) => !(name in excessOf(document)))
  })
  expect(reached).toEqual([])
})

test('a how-to page is held closer than a reference', () => {
  const howTo = documents.filter(({ kind }) => kind === 'how-to').map(({ path }) => path)
  expect(howTo).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/agents.md']))
  for (const [name, value] of entries(bounds.reference)) expect(bounds['how-to'][name]).toBeLessThan(value)
})

describe('a sentence', () => {
  test.each([
    ['ends at a full stop before a capital', 'One two three. Four five six seven.', [3, 4]],
    [
      'ends before code, a digit, a quotation mark and a bracket',
      'One two three. `a` b c. 4 d e. "F g h." (I j k.)',
      [3, 3, 3, 3, 3],
    ],
    ['goes on over a line', 'One two\nthree four.', [4]],
    ['goes on after a semicolon', 'One two three; Four five six.', [6]],
    [
      'ends at a colon before a capital only',
      'One two three: four. One two three: Four five six.',
      [4, 3, 3],
    ],
    ['goes on after an abbreviation', 'Take one, e.g. Node or J. Smith of it, i.e. The other.', [12]],
    ['goes on after a version and a file name', 'Release 0.3 reads config.json and no more.', [7]],
    ['counts code as one word', 'Run `npx svc verify <id>. Then more` at once. It shows it.', [4, 3]],
    [
      'counts the words of a link, not its address',
      'See [the other page. now](docs/a.md "A title") for more.',
      [7],
    ],
    ['counts the words of a link that is code as one', 'See [`svc a b`](docs/a.md) for more.', [4]],
    ['has no word that is a sign', 'One – two → three.', [3]],
    ['has neither pictures nor tags', 'One ![four five](a.png) two <kbd>three</kbd>.', [3]],
    ['has three words or more', 'Yes. And no. That is it.', [3]],
    ['is found in bold text', '**One two three.** Four five six.', [3, 3]],
  ])('%s', (_, markdown, sentences) => {
    expect(measure(markdown).sentences).toEqual(sentences)
  })
})

describe('a paragraph', () => {
  test.each([
    ['is each item of a list', '- One two\n- three four five\n\n1. six', [2, 3, 1]],
    [
      'is each item of a nested list, apart from the one around it',
      '- One two\n  - three\n    - four five\n- six',
      [2, 1, 2, 1],
    ],
    ['is each of several in one item', '- One two\n\n  Three four five.\n\n- Six', [2, 3, 1]],
    ['is found in a quotation', '> One two\n> three\n>\n> - four', [3, 1]],
    [
      'is neither heading, code, comment nor HTML',
      '# One\n\nTwo\n---\n\n```sh\nthree. Four\n```\n\n    five\n\n<!-- six\nseven -->\n\n<p>eight</p>\n\nNine ten.',
      [2],
    ],
    ['ends where a table begins', 'One two.\n\n| a b | c |\n|---|---|\n| d | e |\n\nThree.', [2, 1]],
  ])('%s', (_, markdown, paragraphs) => {
    expect(measure(markdown).paragraphs).toEqual(paragraphs)
  })
})

describe('a table cell', () => {
  test.each([
    ['is measured in the head and below', '| One two | three |\n|---|:-:|\n| four five six | |', [2, 3]],
    [
      'goes on after an escaped pipe, in code too',
      '| a | b |\n|---|---|\n| one \\| two three | `x \\| y` four |',
      [3, 2],
    ],
    ['may do without the outer pipes', 'a b | c\n---|---\nd e f | g', [2, 3]],
    ['goes on over a break', '| a | b |\n|---|---|\n| one two<br>three `x`<br>four | |', [5]],
  ])('%s', (_, markdown, cells) => {
    expect(measure(markdown)).toMatchObject({ cells, sentences: [] })
  })
})

test('the part of a row of numbers is the smallest that so much does not exceed', () => {
  expect([quantile([], 0.9), quantile([7], 0.5), quantile([4, 1, 3, 2], 0.5)]).toEqual([0, 7, 2])
  expect(quantile([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0.9)).toBe(9)
})

test('a document is shown with its words, medians, 90th percentiles and longest', () => {
  expect(figuresOf(measure('One two three. Four five six seven.\n\n| a b | c |\n|---|---|\n'))).toEqual({
    words: 9,
    sentenceMedian: 3,
    sentenceP90: 4,
    paragraphP90: 7,
    paragraphMax: 7,
    cellMax: 2,
  })
})
