/** A conversation as lines: each message with what it is, and under the last one the receipt and the price. */

import type { InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import type { VerifyVerdict } from '../protocol/control/verify-shape.ts'
import { fileName } from '../protocol/encoding/file-names.ts'
import { size } from '../view/ages.ts'
import { cleanLine, cleanText } from '../view/clean.ts'
import { firstNew } from '../view/first-new.ts'
import {
  isQuote,
  messageFacts,
  peerName,
  sayPayment,
  sayReceipt,
  saySending,
  sayState,
  type Tone,
  type WayOut,
  wayOut,
} from '../view/sentences.ts'
import type { Thread, View } from '../view/state.ts'
import { fitted, type Line, lineWidth, type Segment, spread, widthOf, wrapped } from './cells.ts'
import type { Scene } from './scene.ts'
import { wordLines } from './word-lines.ts'

/** How a conversation is looked at: lines that stand below, or where it begins, and what is searched in it. */
export type Look = {
  readonly up: number
  /** The turn that stands at the top. */
  readonly begin?: number | undefined
  /** How many turns were new when it was opened. */
  readonly unread?: number | undefined
  readonly find?: string | undefined
  /** Which of the places that were found is in sight. */
  readonly hit?: number | undefined
  /** How often more of long texts was asked for. */
  readonly part?: number | undefined
}
type Size = { width: number; height: number }

/** A conversation as it stands in its room: the lines in sight, how many are below, and how many places were found. */
export type Placed = { lines: Line[]; up: number; furthest: number; hits: number }

export function placed({ view, now }: Scene, id: string, { width, height }: Size, look: Look): Placed {
  const item = view.interactions.get(id)
  const head = item === undefined ? [] : headLines(item, width)
  const room = Math.max(0, height - head.length)
  const { lines, hits, starts } = bodyLines(view, id, { width, now }, look)
  const furthest = Math.max(0, lines.length - room)
  const top = topLine(view.threads.get(id)?.thread, look, { hits, starts, room })
  const up = top === undefined ? look.up : lines.length - room - top
  const last = lines.length - Math.min(Math.max(0, up), furthest)
  const shown = lines.slice(Math.max(0, last - room), last)
  return { lines: [...head, ...shown], up: lines.length - last, furthest, hits: hits.length }
}

type Marks = { hits: readonly number[]; starts: ReadonlyMap<number, number>; room: number }

/** The line that shall stand at the top: above a place that was found, else at the message where one begins to read. */
function topLine(thread: Thread | undefined, look: Look, { hits, starts, room }: Marks): number | undefined {
  const hit = look.hit === undefined ? undefined : hits[look.hit]
  if (hit !== undefined) return hit - Math.floor(room / 2)
  if (thread === undefined) return undefined
  const turn = look.begin ?? firstNew(thread, look.unread ?? 0)
  return turn === undefined ? undefined : starts.get(turn)
}

/** Exactly `height` lines. */
export function conversationLines(scene: Scene, id: string | undefined, size: Size, look: Look): Line[] {
  const { width, height } = size
  const { lines } = id === undefined ? { lines: [] } : placed(scene, id, size, look)
  const all = lines.map(line => fitted(line, width)).slice(0, height)
  const blank: Line = [{ text: ' '.repeat(width) }]
  return [...all, ...Array.from({ length: Math.max(0, height - all.length) }, () => blank)]
}

function headLines(item: InteractionSummary, width: number): Line[] {
  const { word, tone } = sayState(item.state, item.side)
  const direction = item.side === 'received' ? 'from' : 'to'
  const left: Segment[] = [
    { text: ` ${direction} ` },
    { text: peerName(item), bold: true },
    ...(item.peer_name === null ? [{ text: '  no contact', tone: 'warn' as const }] : []),
  ]
  const why = item.reason === undefined ? '' : `: ${cleanLine(item.reason, 120)}`
  const right: Segment[] = [{ text: `${word}${why} `, tone }]
  const rule: Line = [{ text: '─'.repeat(width), tone: 'quiet' }]
  if (lineWidth(left) + lineWidth(right) < width) return [spread(left, right, width), rule]
  const state = wrapped(`${word}${why}`, width - 2).slice(0, HEAD_LINES_MAX)
  return [left, ...state.map((text): Line => [{ text: ` ${text}`, tone }]), rule]
}

/** Of a state with its reason, where it needs lines of its own. */
const HEAD_LINES_MAX = 3

type Body = { lines: Line[]; hits: number[]; starts: Map<number, number> }

function bodyLines(view: View, id: string, { width, now }: { width: number; now: number }, look: Look): Body {
  const { thread, refusal } = view.threads.get(id) ?? {}
  const body: Body = { lines: [], hits: [], starts: new Map() }
  if (thread === undefined) {
    const says = refusal === undefined ? 'loading' : cleanLine(refusal.says)
    body.lines.push([{ text: ` ${says}`, tone: refusal === undefined ? 'quiet' : 'bad' }])
    return body
  }
  const words = look.find?.trim().toLowerCase() ?? ''
  for (const turn of thread.turns) {
    body.starts.set(turn.n, body.lines.length)
    const found = (line: Line): Line => {
      if (words === '' || !textOf(line).toLowerCase().includes(words)) return line
      body.hits.push(body.lines.length)
      return markedLine(line, words, body.hits.length - 1 === look.hit)
    }
    const { head, texts, rest } = turnLines(turn, thread, {
      width,
      now,
      way: wayOut(view),
      limit: limitOf(look),
    })
    body.lines.push(head)
    for (const line of texts) body.lines.push(found(line))
    body.lines.push(...rest)
  }
  body.lines.push(...standingLines(view, thread, width))
  return body
}

const textOf = (line: Line): string => line.map(({ text }) => text).join('')

/** The words that were found are inverse; those that one is at, bold too. */
function markedLine(line: Line, words: string, isNow: boolean): Line {
  const whole = textOf(line).toLowerCase()
  const places: [number, number][] = []
  for (let at = whole.indexOf(words); at >= 0; at = whole.indexOf(words, at + words.length))
    places.push([at, at + words.length])
  let from = 0
  return line.flatMap(segment => {
    const [begin, end] = [from, from + segment.text.length]
    from = end
    const cuts = [begin, ...places.flat().filter(at => at > begin && at < end), end]
    return cuts.slice(0, -1).map((at, i): Segment => {
      const isIn = places.some(([a, b]) => at >= a && at < b)
      const text = segment.text.slice(at - begin, (cuts[i + 1] ?? end) - begin)
      return isIn ? { ...segment, text, inverse: true, ...(isNow && { bold: true }) } : { ...segment, text }
    })
  })
}

/** Characters of a long text that are shown, the more the more often more was asked for; all of it while one searches. */
const PARTS = [6_000, 30_000, 200_000] as const
const limitOf = ({ part = 0, find }: Look): number =>
  PARTS[find === undefined ? Math.min(part, PARTS.length - 1) : PARTS.length - 1] as number

/** Lines of messages stay what they are, and threads are drawn often. */
const kept = new WeakMap<Turn, { width: number; limit: number; texts: readonly Line[] }>()

function textsOf(turn: Turn, width: number, limit: number): readonly Line[] {
  const known = kept.get(turn)
  if (known?.width === width && known.limit === limit) return known.texts
  const text = cleanText(turn.text.slice(0, limit)).trimEnd()
  const texts = text === '' ? [] : wordLines(text, width)
  kept.set(turn, { width, limit, texts })
  return texts
}

/** What of a text is not shown, and how it is. */
function goesOn(turn: Turn, limit: number): string | undefined {
  const whole = turn.chars ?? turn.text.length
  const shown = Math.min(limit, turn.text.length)
  if (shown >= whole) return undefined
  const more = limit < (PARTS.at(-1) as number) ? 'm shows more, ' : ''
  return `${shown.toLocaleString('en')} of ${whole.toLocaleString('en')} characters; ${more}S saves it`
}

type Drawn = { head: Line; texts: Line[]; rest: Line[] }
type How = { width: number; now: number; way: WayOut; limit: number }

function turnLines(turn: Turn, thread: Thread, { width, now, way, limit }: How): Drawn {
  const facts = messageFacts(turn, thread, { now, way })
  const bar: Segment = { text: turn.mine ? ' ▌ ' : ' │ ', tone: turn.mine ? 'wait' : 'quiet' }
  const head: Line = [
    { text: turn.mine ? ' ▌ ' : ' │ ', tone: turn.mine ? 'wait' : 'quiet' },
    { text: facts.who, bold: true },
    ...(facts.what === undefined ? [] : [{ text: `  ${facts.what}`, tone: 'warn' as const }]),
  ]
  const texts = textsOf(turn, width - 4, limit).map((line): Line => [bar, ...line])
  const files = turn.attachments.map(
    (file): Line => [
      bar,
      {
        text: `+ ${fileName(file.name)}  ${size(file.bytes)}  ${cleanLine(file.cid).slice(0, 16)}…${file.path === null ? '  not here yet' : ''}`,
        tone: 'wait',
      },
    ],
  )
  const more = goesOn(turn, limit)
  const cutText: Line[] = more === undefined ? [] : [[bar, { text: more, tone: 'warn' }]]
  const proof: Segment = { text: facts.proof.says, tone: facts.proof.tone }
  const sent = facts.delivery
  const whole = sent === undefined ? proof.text : `${proof.text} · ${sent.says}`
  const isOneLine = widthOf(whole) <= width - 4
  const lines = ({ says, tone }: { says: string; tone: Tone }): Line[] =>
    wrapped(says, width - 4).map((text): Line => [bar, { text, tone }])
  const ways: Line[] = isOneLine
    ? [
        [
          bar,
          proof,
          ...(sent === undefined
            ? []
            : [
                { text: ' · ', tone: 'quiet' as const },
                { text: sent.says, tone: sent.tone },
              ]),
        ],
      ]
    : [...lines(facts.proof), ...(sent === undefined ? [] : lines(sent))]
  return {
    head: spread(head, [{ text: `${facts.when} `, tone: 'quiet' }], width),
    texts,
    rest: [...cutText, ...files, ...ways, []],
  }
}

/** What the task comes to: price, receipt, what `verify` said. */
function standingLines(view: View, thread: Thread, width: number): Line[] {
  const peer = peerName(thread)
  const verdict = view.verdicts.get(thread.interaction_id)
  const receipt = isQuote(thread) ? undefined : sayReceipt(thread, peer)
  const sending = view.transfers.sending.get(thread.interaction_id)
  const said = [
    ...(sending === undefined
      ? []
      : [{ says: `↑ ${bar(sending)} ${saySending(sending)}; H holds it back`, tone: 'wait' as const }]),
    ...(thread.payment === undefined ? [] : [sayPayment(thread.payment, peer, thread.side)]),
    ...(receipt === undefined ? [] : [receipt]),
    ...(verdict === undefined ? [] : [sayVerdict(verdict)]),
  ]
  return said.flatMap(({ says, tone }) =>
    wrapped(says, width - 4).map((text): Line => [{ text: ` ${text}`, tone }]),
  )
}

const BAR = 20
const bar = ({ sent, total }: { sent: number; total: number }): string =>
  '█'.repeat(Math.min(BAR, Math.floor((BAR * sent) / total))).padEnd(BAR, '░')

function sayVerdict({ verdict, says }: VerifyVerdict): { says: string; tone: Tone } {
  const tone = verdict === 'invalid' ? 'bad' : verdict === 'valid' ? 'good' : 'warn'
  return { says: `${verdict.replaceAll('_', ' ')}: ${cleanLine(says, 600)}`, tone }
}
