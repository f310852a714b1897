/** How long the sentences, paragraphs and table cells of a Markdown document are, in words. */
import { marked, type Token, type Tokens } from 'marked'

/** A count of words for each sentence, paragraph (also of a list) and table cell with more than one word. */
export type Lengths = { sentences: number[]; paragraphs: number[]; cells: number[] }

export type Figures = {
  words: number
  sentenceMedian: number
  sentenceP90: number
  paragraphP90: number
  paragraphMax: number
  cellMax: number
}

/** A span of code counts as one word, whatever is in it. */
const CODE = '\uE000'
const SENTENCE_WORDS_MIN = 3
const ABBREVIATIONS = /(?:^|[\s(])(?:e\.g|i\.e|cf|vs|approx|Mr|Ms|Dr|St|\p{Lu})\.$/u
/** A full stop ends a sentence before a capital, a digit or code; a colon before a capital; a semicolon never. */
const ENDS = new RegExp(
  `(?:[.!?]["”’)\\]]*(?=\\s+["“‘([]*[\\p{Lu}\\p{N}${CODE}])|:(?=\\s+["“]?\\p{Lu}))`,
  'gu',
)

export function measure(markdown: string): Lengths {
  const lengths: Lengths = { sentences: [], paragraphs: [], cells: [] }
  for (const token of marked.lexer(markdown, { gfm: true })) measureBlock(token, lengths)
  return lengths
}

/** Headings, code, pictures, comments and other HTML are no prose. */
function measureBlock(token: Token, lengths: Lengths): void {
  if (token.type === 'paragraph' || token.type === 'text') measureParagraph(plainText([token]), lengths)
  if (token.type === 'table') measureTable(token as Tokens.Table, lengths)
  const blocks = token.type === 'list' ? (token as Tokens.List).items.flatMap(item => item.tokens) : []
  const quoted = token.type === 'blockquote' ? (token.tokens ?? []) : []
  for (const inside of [...blocks, ...quoted]) measureBlock(inside, lengths)
}

function measureParagraph(text: string, lengths: Lengths): void {
  const words = countWords(text)
  if (words === 0) return
  lengths.paragraphs.push(words)
  lengths.sentences.push(
    ...sentencesOf(text)
      .map(countWords)
      .filter(count => count >= SENTENCE_WORDS_MIN),
  )
}

function measureTable(table: Tokens.Table, lengths: Lengths): void {
  for (const cell of [table.header, ...table.rows].flat()) {
    const words = countWords(plainText(cell.tokens))
    if (words > 1) lengths.cells.push(words)
  }
}

/** The words of a reader: those of a link without its address, none of a picture or a tag. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map(token => {
      if (token.type === 'codespan') return CODE
      if (token.type === 'image') return ''
      if (token.type === 'html' || token.type === 'br') return ' '
      return 'tokens' in token && token.tokens
        ? plainText(token.tokens)
        : String('text' in token ? token.text : '')
    })
    .join('')
}

function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  for (const match of text.matchAll(ENDS)) {
    const end = match.index + match[0].length
    if (ABBREVIATIONS.test(text.slice(start, end))) continue
    sentences.push(text.slice(start, end))
    start = end
  }
  return [...sentences, text.slice(start)]
}

const aWord = new RegExp(`[\\p{L}\\p{N}${CODE}]`, 'u')
const countWords = (text: string) => text.split(/\s+/).filter(word => aWord.test(word)).length

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** The smallest value that at least this part of them does not exceed; of nothing it is 0. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0
}

export function figuresOf({ sentences, paragraphs, cells }: Lengths): Figures {
  return {
    words: sum(paragraphs) + sum(cells),
    sentenceMedian: quantile(sentences, 0.5),
    sentenceP90: quantile(sentences, 0.9),
    paragraphP90: quantile(paragraphs, 0.9),
    paragraphMax: Math.max(0, ...paragraphs),
    cellMax: Math.max(0, ...cells),
  }
}
