/** `npm run -s prose`: words in sentences, paragraphs and cells of every document; with --list, those too long. */
import type { Figures } from './measured-prose.ts'
import { excessOf, type Measured, measuredDocuments } from './prose-bounds.ts'

const columns: [string, keyof Figures][] = [
  ['words', 'words'],
  ['sentence median', 'sentenceMedian'],
  ['90th', 'sentenceP90'],
  ['paragraph 90th', 'paragraphP90'],
  ['longest', 'paragraphMax'],
  ['longest cell', 'cellMax'],
]

/** A figure above its bound has an asterisk. */
function row(document: Measured, width: number): string {
  const excess = excessOf(document)
  const cells = columns.map(([title, name]) =>
    `${document.figures[name]}${name in excess ? '*' : ''}`.padStart(title.length),
  )
  return [document.path.padEnd(width), document.kind.padEnd('reference'.length), ...cells].join('  ')
}

/** The rows of the list in test/prose.test.ts. */
function listed(document: Measured): string {
  const figures = Object.entries(excessOf(document)).map(([name, value]) => `${name}: ${value}`)
  return figures.length > 0 ? `  '${document.path}': { ${figures.join(', ')} },\n` : ''
}

const documents = measuredDocuments(new URL('..', import.meta.url).pathname)
if (process.argv.includes('--list')) process.stdout.write(documents.map(listed).join(''))
else {
  const width = Math.max(...documents.map(({ path }) => path.length))
  const head = [
    'document'.padEnd(width),
    'kind'.padEnd('reference'.length),
    ...columns.map(([title]) => title),
  ]
  const lines = [head.join('  '), ...documents.map(document => row(document, width))]
  process.stdout.write(`${lines.join('\n')}\n* above its bound\n`)
}
