/**
 * Turns of a thread in the budget of a result: the other side's words whole or, where they are long, as a part with the
 * place where they go on and a file that holds all of them; words of this side by their beginning.
 */
import type * as z from 'zod'
import type { Turn, threadShape } from '../protocol/control/shapes.ts'
import { present } from '../protocol/encoding/present.ts'
import { longestThatFits, size, wholeCharacters } from './budget.ts'
import { own } from './fence.ts'
import { fileRow, iso, sayDelivery } from './rows.ts'
import type { ToolContext } from './tool.ts'

export type Thread = z.infer<typeof threadShape>
type Row = Record<string, unknown>

/** Of words of this side, which whoever reads them knows. */
export const OWN_CHARACTERS_MAX = 160
/** A shorter part of a text is not worth a place in this result. */
const PART_CHARACTERS_MIN = 200

export type Shown = {
  turns: Row[]
  /** Where to go on reading: the turn, and the place in its text. */
  rest: { from_turn: number; from_char?: number } | undefined
}

/** As many turns as fit; `fromChar` says that the first one is read from there, so it is meant whoever wrote it. */
export function shownTurns(
  thread: Thread,
  turns: readonly Turn[],
  options: { budget: number; fromChar: number | undefined },
  context: ToolContext,
): Shown {
  const rows: Row[] = []
  let left = options.budget
  for (const [index, turn] of turns.entries()) {
    const isFirst = index === 0
    const row = rowOf(turn, { from: isFirst ? options.fromChar : undefined, isFirst }, left, context)
    if (row === undefined || (index > 0 && size(row) > left))
      return { turns: rows, rest: { from_turn: turn.n } }
    rows.push(row)
    left -= size(row)
    const next = row['next_char']
    if (typeof next === 'number') return { turns: rows, rest: { from_turn: turn.n, from_char: next } }
  }
  return { turns: rows, rest: thread.next_turn === undefined ? undefined : { from_turn: thread.next_turn } }
}

/** Where in its text a turn is read from, and whether it is the one that every result shows. */
type Part = { from: number; isFirst: boolean }

const rowOf = (
  turn: Turn,
  { from, isFirst }: { from: number | undefined; isFirst: boolean },
  room: number,
  context: ToolContext,
) =>
  turn.mine && from === undefined
    ? ownRow(turn, context)
    : partRow(turn, { from: from ?? 0, isFirst }, room, context)

/** The words of this side, which the reader knows. */
function ownRow(turn: Turn, context: ToolContext): Row {
  const text = turn.text.slice(0, OWN_CHARACTERS_MAX).toWellFormed()
  const isCut = text.length < turn.text.length || turn.truncated === true
  const chars = isCut ? (turn.chars ?? turn.text.length) : undefined
  return {
    ...headRow(turn, context),
    ...textOf(turn, text, context),
    ...present({ chars }),
    ...tailRow(turn, context),
  }
}

/** As much of a text as fits, and of the first one always a part; undefined when that is next to nothing. */
function partRow(turn: Turn, part: Part, room: number, context: ToolContext): Row | undefined {
  const { from, isFirst } = part
  const build = (length: number): Row => {
    const text = turn.text.slice(0, length)
    const end = from + text.length
    const chars = turn.chars ?? turn.text.length
    const isPart = text.length < chars
    return {
      ...headRow(turn, context),
      ...textOf(turn, text, context),
      ...present({
        chars: isPart ? chars : undefined,
        next_char: end < chars ? end : undefined,
        file: turn.text_file && {
          path: own(turn.text_file.path),
          bytes: turn.text_file.bytes,
          cid: turn.text_file.cid,
        },
      }),
      ...tailRow(turn, context),
    }
  }
  const length = longestThatFits(turn.text, room, build)
  const least = wholeCharacters(turn.text, PART_CHARACTERS_MIN)
  if (length >= least) return build(length)
  return isFirst ? build(least) : undefined
}

const headRow = (turn: Turn, context: ToolContext): Row => ({
  n: turn.n,
  from: turn.mine ? 'me' : turn.from,
  kind: turn.kind,
  at: iso(turn.at),
  ...present({ delivery: turn.delivery === undefined ? undefined : sayDelivery(turn.delivery, context) }),
})

/** What a program of this node said: it names what a correspondent asked for. */
const BY_PROGRAM = new Set(['result', 'quote'])

// What auto-reply wrote may be a correspondent's words.
const isOwnWord = (turn: Turn): boolean => turn.mine && turn.auto !== true && !BY_PROGRAM.has(turn.kind)

const textOf = (turn: Turn, text: string, context: ToolContext): Row =>
  text === '' ? {} : { text: isOwnWord(turn) ? own(text) : context.fence(text) }

const tailRow = (turn: Turn, context: ToolContext): Row =>
  present({
    attachments:
      turn.attachments.length === 0 ? undefined : turn.attachments.map(each => fileRow(each, context)),
    retired_key: turn.retired_key || undefined,
    missing_before: turn.missing_before,
  })
