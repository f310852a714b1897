/**
 * A block of ours in a text file of somebody else: written between two markers, replaced there, and taken out again so
 * that every other byte is as it was.
 */
import { CommandFailed } from '../io.ts'

/** How a line of the file's language is made a comment. */
export type Comment = { readonly open: string; readonly close: string }
export const markdown: Comment = { open: '<!-- ', close: ' -->' }
export const hash: Comment = { open: '# ', close: '' }

const VERSION = 1
const BEGIN = /^(?:<!-- |# )svc:begin v(\d+)( new)?(?: -->)?\s*$/
const END = /^(?:<!-- |# )svc:end(?: -->)?\s*$/
/** A marker as somebody may have typed it, of which neither form above is made. */
const TYPED = /^(<!--|#) ?svc:(begin|end)(?: v?\d+)?(?: new)? ?(?:-->)?$/i
/** Blanks as one each: forms that begin and end in any number of them take a square of the time. */
const squeezed = (line: string): string => line.trim().replace(/\s+/g, ' ')

type BlockPlace = { begin: number; end: number; isNew: boolean }

/** The text with the block in it, where it stood before or at the end; throws {@link CommandFailed} for half a block. */
export function withBlock(text: string | undefined, body: string, comment: Comment, file: string): string {
  const lineEnd = text?.includes('\r\n') ? '\r\n' : '\n'
  const place = find(text ?? '', file)
  const isNew = text === undefined || place?.isNew === true
  const marker = (words: string) => `${comment.open}${words}${comment.close}`
  const lines = [
    marker(`svc:begin v${VERSION}${isNew ? ' new' : ''}`),
    ...body.split('\n'),
    marker('svc:end'),
  ]
  const block = lines.join(lineEnd) + lineEnd
  if (text === undefined) return block
  if (place !== undefined) return text.slice(0, place.begin) + block + text.slice(place.end)
  return text === '' ? block : text + lineEnd + block
}

/** The text as it was before the block came; undefined when the file came with it and holds nothing else. */
export function withoutBlock(text: string, file: string): string | undefined {
  const place = find(text, file)
  if (place === undefined) return text
  const before = text.slice(0, place.begin).replace(/\r?\n$/, '')
  const rest = before + text.slice(place.end)
  return rest === '' && place.isNew ? undefined : rest
}

/** What stands between the markers; undefined where there is no block. */
export function bodyIn(text: string, file: string): string | undefined {
  const place = find(text, file)
  if (place === undefined) return undefined
  return text.slice(place.begin, place.end).split(/\r?\n/).slice(1, -2).join('\n')
}

export const hasBlock = (text: string, file: string): boolean => find(text, file) !== undefined

/** Where the block stands, from its first marker to the line after its last. */
function find(text: string, file: string): BlockPlace | undefined {
  const lines = text.split(/(?<=\n)/)
  const starts = lines.flatMap((line, index) => (BEGIN.test(line) ? [index] : []))
  const ends = lines.flatMap((line, index) => (END.test(line) ? [index] : []))
  const exact = new Set([...starts, ...ends])
  const typed = lines.findIndex((line, index) => !exact.has(index) && TYPED.test(squeezed(line)))
  if (typed >= 0) refuseTyped(lines[typed] as string, typed + 1, file)
  if (starts.length === 0 && ends.length === 0) return undefined
  const [start = -1, end = -1] = [starts[0], ends[0]]
  if (starts.length !== 1 || ends.length !== 1 || start > end)
    throw new CommandFailed(
      `${file} holds half a block of svc, or two, at line ${lineOf(starts, ends)}; nothing was changed`,
      'edit the file: keep one "svc:begin" line and one "svc:end" line behind it, or neither',
    )
  const [, version, isNew] = BEGIN.exec(lines[start] as string) as RegExpExecArray
  if (Number(version) > VERSION)
    throw new CommandFailed(`the block of svc in ${file} was written by a newer release; nothing was changed`)
  const offset = (line: number) => lines.slice(0, line).join('').length
  return { begin: offset(start), end: offset(end + 1), isNew: isNew !== undefined }
}

function refuseTyped(line: string, number: number, file: string): never {
  const [, open, word] = TYPED.exec(squeezed(line)) as RegExpExecArray
  const { open: before, close } = open === '#' ? hash : markdown
  const exact = word?.toLowerCase() === 'begin' ? `svc:begin v${VERSION}` : 'svc:end'
  throw new CommandFailed(
    `${file} has a marker of svc at line ${number} that is not as svc writes it; nothing was changed`,
    `edit the file: make line ${number} exactly "${before}${exact}${close}", or take the whole block out by hand`,
  )
}

const LINES_NAMED_MAX = 4
const lineOf = (starts: number[], ends: number[]) =>
  [...starts, ...ends]
    .sort((a, b) => a - b)
    .slice(0, LINES_NAMED_MAX)
    .map(line => line + 1)
    .join(', ')
