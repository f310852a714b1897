/** A conversation as lines: each message with what it is, and under the last one the receipt and the price. */

import type { InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import type { VerifyVerdict } from '../protocol/control/verify-shape.ts'
import { fileName } from '../protocol/encoding/file-names.ts'
import { size } from '../view/ages.ts'
import { cleanLine, cleanText } from '../view/clean.ts'
import {
  messageFacts,
  peerName,
  sayPayment,
  sayReceipt,
  saySending,
  sayState,
  type Tone,
} from '../view/sentences.ts'
import type { Thread, View } from '../view/state.ts'
import { fitted, type Line, type Segment, spread, widthOf, wrapped } from './cells.ts'
import type { Scene } from './scene.ts'

/** Exactly `height` lines; `up` counts the lines that stand below them. */
export function conversationLines(
  scene: Scene,
  id: string | undefined,
  { width, height, up }: { width: number; height: number; up: number },
): Line[] {
  const { view, now } = scene
  const item = id === undefined ? undefined : view.interactions.get(id)
  const head = item === undefined ? [] : headLines(item, width)
  const room = Math.max(0, height - head.length)
  const lines = id === undefined ? [] : bodyLines(view, id, width, now)
  const last = Math.max(room, lines.length - Math.min(up, Math.max(0, lines.length - room)))
  const shown = lines.slice(Math.max(0, last - room), last)
  const all = [...head, ...shown].map(line => fitted(line, width)).slice(0, height)
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
  return [spread(left, right, width), [{ text: '─'.repeat(width), tone: 'quiet' }]]
}

function bodyLines(view: View, id: string, width: number, now: number): Line[] {
  const held = view.threads.get(id)
  const { thread, refusal } = held ?? {}
  if (thread === undefined) {
    const says = refusal === undefined ? 'loading' : cleanLine(refusal.says)
    return [[{ text: ` ${says}`, tone: refusal === undefined ? 'quiet' : 'bad' }]]
  }
  const turns = thread.turns.flatMap(turn => turnLines(turn, thread, width, now))
  return [...turns, ...standingLines(view, thread, width)]
}

/** Lines of messages stay what they are, and threads are drawn often. */
const kept = new WeakMap<Turn, { width: number; texts: readonly string[] }>()

function textsOf(turn: Turn, width: number): readonly string[] {
  const known = kept.get(turn)
  if (known?.width === width) return known.texts
  const texts = turn.text === '' ? [] : wrapped(cleanText(turn.text).trimEnd(), width)
  kept.set(turn, { width, texts })
  return texts
}

function turnLines(turn: Turn, thread: Thread, width: number, now: number): Line[] {
  const facts = messageFacts(turn, thread, now)
  const bar: Segment = { text: turn.mine ? ' ▌ ' : ' │ ', tone: turn.mine ? 'wait' : 'quiet' }
  const head: Line = [
    { text: turn.mine ? ' ▌ ' : ' │ ', tone: turn.mine ? 'wait' : 'quiet' },
    { text: facts.who, bold: true },
    ...(facts.what === undefined ? [] : [{ text: `  ${facts.what}`, tone: 'warn' as const }]),
  ]
  const texts = textsOf(turn, width - 4).map((text): Line => [bar, { text }])
  const files = turn.attachments.map(
    (file): Line => [
      bar,
      {
        text: `+ ${fileName(file.name)}  ${size(file.bytes)}  ${cleanLine(file.cid).slice(0, 16)}…${file.path === null ? '  not here yet' : ''}`,
        tone: 'wait',
      },
    ],
  )
  const cutText: Line[] =
    turn.truncated === true ? [[bar, { text: 'the text goes on; S saves all of it', tone: 'warn' }]] : []
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
  return [
    spread(head, [{ text: `${facts.when} `, tone: 'quiet' }], width),
    ...texts,
    ...files,
    ...cutText,
    ...ways,
    [],
  ]
}

/** What the task comes to: price, receipt, what `verify` said. */
function standingLines(view: View, thread: Thread, width: number): Line[] {
  const peer = peerName(thread)
  const verdict = view.verdicts.get(thread.interaction_id)
  const receipt = sayReceipt(thread, peer)
  const sending = view.transfers.sending.get(thread.interaction_id)
  const said = [
    ...(sending === undefined
      ? []
      : [{ says: `↑ ${bar(sending)} ${saySending(sending)}; H holds it back`, tone: 'wait' as const }]),
    ...(thread.payment === undefined ? [] : [sayPayment(thread.payment, peer)]),
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
