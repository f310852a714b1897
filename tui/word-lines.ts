/** Markdown of others as lines of the terminal: fences, lists, emphasis and tables; each link with its address. */
import { type Block, type Inline, markdownOf, saysAddress } from '../view/markdown.ts'
import { cell, type Line, lineWidth, type Segment, type Style, widthOf, wrapped } from './cells.ts'

/** Text that was cleaned, in lines of at most `width` cells. */
export const wordLines = (text: string, width: number): Line[] =>
  blocksOf(markdownOf(text), Math.max(4, width))

const blocksOf = (blocks: readonly Block[], width: number): Line[] =>
  blocks.flatMap((block, i) => [...(i === 0 ? [] : [[]]), ...blockLines(block, width)])

function blockLines(block: Block, width: number): Line[] {
  switch (block.kind) {
    case 'paragraph':
      return flowed(
        block.kids.flatMap(kid => inline(kid)),
        width,
      )
    case 'heading':
      return flowed(
        block.kids.flatMap(kid => inline(kid, { bold: true, underline: block.depth === 1 })),
        width,
      )
    case 'code':
      return codeLines(block.text, width)
    case 'list':
      return block.items.flatMap(({ mark, blocks }) =>
        indented(
          { text: `${mark} `, tone: 'quiet' },
          blocksOf(blocks, Math.max(4, width - widthOf(mark) - 1)),
        ),
      )
    case 'quote':
      return blocksOf(block.blocks, Math.max(4, width - 2)).map(line => [
        { text: '▎ ', tone: 'quiet' },
        ...line,
      ])
    case 'table':
      return tableLines(block, width)
    case 'rule':
      return [[{ text: '─'.repeat(Math.min(width, 24)), tone: 'quiet' }]]
  }
}

/** A first mark, and the lines behind it in line with the first. */
const indented = (mark: Segment, lines: readonly Line[]): Line[] =>
  (lines.length === 0 ? [[]] : lines).map((line, i) => [
    i === 0 ? mark : { text: ' '.repeat(widthOf(mark.text)) },
    ...line,
  ])

/** Code keeps its blanks; a line that is too long goes on in the next one. */
const codeLines = (text: string, width: number): Line[] =>
  text.split('\n').flatMap(line =>
    hard(line, Math.max(2, width - 2)).map(
      (part): Line => [
        { text: '┃ ', tone: 'quiet' },
        { text: part, tone: 'wait' },
      ],
    ),
  )

/** Without a break between words: a word that is none cannot lose a blank. */
function hard(line: string, width: number): string[] {
  const parts = wrapped(line.replaceAll(' ', '\u00a0'), width)
  return parts.map(part => part.replaceAll('\u00a0', ' '))
}

function inline(kid: Inline, style: Style = {}): Segment[] {
  switch (kid.kind) {
    case 'text':
      return [{ ...style, text: kid.text }]
    case 'code':
      return [{ ...style, text: `\`${kid.text}\``, tone: 'wait' }]
    case 'link': {
      const words = kid.kids.flatMap(one => inline(one, { ...style, underline: true }))
      return saysAddress(kid) ? words : [...words, { text: ` (${kid.address})`, tone: 'quiet' }]
    }
    case 'strong':
      return kid.kids.flatMap(one => inline(one, { ...style, bold: true }))
    case 'em':
      return kid.kids.flatMap(one => inline(one, { ...style, underline: true }))
    case 'del':
      return kid.kids.flatMap(one => inline(one, { ...style, dim: true }))
  }
}

/** Columns where they fit, else each row as names and values. */
function tableLines({ head, rows }: Extract<Block, { kind: 'table' }>, width: number): Line[] {
  const segments = (cells: readonly (readonly Inline[])[]) =>
    cells.map(kids => kids.flatMap(kid => inline(kid)))
  const all = [segments(head), ...rows.map(segments)]
  const widths = head.map((_, i) => Math.max(1, ...all.map(row => lineWidth(row[i] ?? []))))
  const whole = widths.reduce((sum, one) => sum + one + 2, -2)
  if (whole > width)
    return rows.flatMap((row, i) => [
      ...(i === 0 ? [] : [[]]),
      ...segments(row).flatMap((value, at) =>
        flowed([...(segments(head)[at] ?? []), { text: ': ', tone: 'quiet' }, ...value], width),
      ),
    ])
  const line = (row: readonly Line[]): Line =>
    widths.flatMap((one, i) => {
      const given = row[i] ?? []
      return [...given, { text: cell('', one - lineWidth(given) + (i === widths.length - 1 ? 0 : 2)) }]
    })
  const [first = [], ...rest] = all
  const rule: Line = [{ text: widths.map(one => '─'.repeat(one)).join('  '), tone: 'quiet' }]
  return [line(first.map(given => given.map(part => ({ ...part, bold: true })))), rule, ...rest.map(line)]
}

/** Segments in lines, broken between words; a newline is one. */
function flowed(segments: readonly Segment[], width: number): Line[] {
  const flow = new Flow(width)
  for (const segment of segments)
    for (const text of segment.text.match(/\n|[^\S\n]+|\S+/gu) ?? []) flow.put({ ...segment, text })
  return flow.lines
}

class Flow {
  readonly lines: Segment[][] = [[]]
  readonly #width: number
  #used = 0

  constructor(width: number) {
    this.#width = width
  }

  put(segment: Segment): void {
    const { text } = segment
    if (text === '\n') this.#next()
    else if (this.#used + widthOf(text) <= this.#width) this.#add(segment)
    // a blank ends with its line
    else if (text.trim() !== '') this.#broken(segment)
  }

  #broken(segment: Segment): void {
    if (this.#used > 0) this.#next()
    for (const [i, text] of wrapped(segment.text, this.#width).entries()) {
      if (i > 0) this.#next()
      this.#add({ ...segment, text })
    }
  }

  #next(): void {
    this.lines.push([])
    this.#used = 0
  }

  #add(segment: Segment): void {
    this.lines.at(-1)?.push(segment)
    this.#used += widthOf(segment.text)
  }
}
