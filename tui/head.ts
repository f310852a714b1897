/** The lines over the body: who this is and how it stands, the five screens, and what is wrong. */

import { cleanLine } from '../view/clean.ts'
import { isGone, stillHere } from '../view/faces.ts'
import { type Screen, screens } from '../view/rows.ts'
import { shortAid } from '../view/sentences.ts'
import type { View } from '../view/state.ts'
import { cut, type Line, lineWidth, type Segment, spread, widthOf } from './cells.ts'
import { bannersOf } from './layout.ts'
import type { Model } from './model.ts'
import type { Scene } from './scene.ts'

const NAMES: Record<Screen, string> = {
  inbox: 'To me',
  sent: 'From me',
  agents: 'Agents',
  evidence: 'Evidence',
  node: 'Node',
}

export function headLines({ model, view }: Scene, width: number): Line[] {
  const who = identity(model, view, width)
  return [spread(who, counters(view, width - lineWidth(who) - 1), width), tabs(model.screen, view, width)]
}

function identity({ isNew }: Model, { status, connection }: View, width: number): Line {
  const address = status === undefined ? '' : shortAid(status.aid)
  const name = cleanLine(status?.name ?? '', 32) || address
  const hub = status?.hub_url ? `@${hostOf(status.hub_url)}` : ''
  const light: Segment = isNew ? { text: '○ no node yet', tone: 'quiet' } : lightOf({ status, connection })
  const room = width - widthOf(light.text) - 8
  return [
    { text: ' svc ', inverse: true, bold: true },
    { text: ` ${cut(name, Math.min(24, room))}`, bold: true },
    { text: width >= 80 ? cut(hub, 32) : '' },
    { text: '  ' },
    light,
  ]
}

/** How it stands, in one sign and word. */
function lightOf({ status, connection }: Pick<View, 'status' | 'connection'>): Segment {
  if (connection.state === 'connecting') return { text: '○ connecting', tone: 'quiet' }
  if (connection.state === 'lost') return { text: '✗ no node', tone: 'bad' }
  if (connection.state === 'stopped') return { text: '✗ node stopped', tone: 'bad' }
  const hub = status?.hub
  if (hub === undefined || hub === null) return { text: '○ no hub', tone: 'warn' }
  if (hub.state === 'online')
    return hub.sealed ? { text: '● online', tone: 'good' } : { text: '● online, not sealed', tone: 'warn' }
  if (hub.state === 'registering') return { text: '◐ registering', tone: 'wait' }
  return hub.state === 'stopped'
    ? { text: '✗ hub stopped', tone: 'bad' }
    : { text: '○ hub offline', tone: 'warn' }
}

const hostOf = (url: string): string => cleanLine(URL.parse(url)?.host ?? '', 64)

/** What waits, as much of it as there is room for, the most urgent first. */
function counters(view: View, room: number): Line {
  const { status } = view
  if (status === undefined) return []
  const { unread, pending } = status.counts
  const goingOut = isGone(view) ? 0 : stillHere(status.counts)
  const auto: Segment =
    status.auto_reply === undefined
      ? { text: 'auto off ', tone: 'quiet' }
      : { text: 'auto ON ', tone: 'good' }
  const parts: Segment[] = [
    ...(pending > 0 ? [{ text: `${pending} ask you  `, tone: 'warn' as const, bold: true }] : []),
    ...(unread > 0 ? [{ text: `${unread} unread  `, bold: true }] : []),
    ...(goingOut > 0 ? [{ text: `${goingOut} going out  `, tone: 'wait' as const }] : []),
    auto,
  ]
  while (parts.length > 0 && lineWidth(parts) > room) parts.pop()
  return parts
}

function tabs(current: Screen, view: View, width: number): Line {
  const full = screens.map((screen, i) => tab(screen, i, current, view))
  const line = full.flat()
  return lineWidth(line) <= width ? line : screens.flatMap((screen, i) => short(screen, i, current))
}

function tab(screen: Screen, i: number, current: Screen, view: View): Segment[] {
  const isCurrent = screen === current
  const { loaded, nextCursor } = screen === 'inbox' ? view.lists.received : view.lists.sent
  const n = countOf(view, screen)
  const count =
    (screen === 'inbox' || screen === 'sent') && loaded && n > 0
      ? ` ${n}${nextCursor === undefined ? '' : '+'}`
      : ''
  const text = ` ${i + 1} ${NAMES[screen]}${count} `
  const press = String(i + 1)
  return [{ text, press, ...(isCurrent ? { bold: true, underline: true } : { dim: true }) }, { text: ' ' }]
}

const counted = new WeakMap<View['interactions'], Record<'received' | 'sent', number>>()

function countOf({ interactions }: View, screen: Screen): number {
  let counts = counted.get(interactions)
  if (counts === undefined) {
    counts = { received: 0, sent: 0 }
    for (const { side } of interactions.values()) counts[side] += 1
    counted.set(interactions, counts)
  }
  return screen === 'inbox' ? counts.received : counts.sent
}

function short(screen: Screen, i: number, current: Screen): Segment[] {
  const isCurrent = screen === current
  return [
    {
      text: isCurrent ? ` ${i + 1} ${NAMES[screen]} ` : ` ${i + 1} `,
      press: String(i + 1),
      ...(isCurrent ? { bold: true, underline: true } : { dim: true }),
    },
  ]
}

/** A sentence shorter than that explains nothing. */
const SAYS_MIN = 24

/** As many of what is wrong as there is room for, the worst first; where its next step has no room, `!` shows both. */
export function bannerLines({ model, view, now }: Scene, count: number, width: number): Line[] {
  const faces = bannersOf(model, view, now)
  return faces.slice(0, count).map((face, i): Line => {
    const more = i === count - 1 && faces.length > count ? `  (+${faces.length - count}: !)` : ''
    const sign = face.tone === 'bad' ? ' ✗ ' : ' ! '
    const left = width - widthOf(sign) - widthOf(more) - 1
    const next = face.next === undefined ? '' : `  → ${face.next}`
    const isWhole = left - widthOf(next) >= Math.min(SAYS_MIN, widthOf(face.says))
    const tail = isWhole ? next : more === '' ? '  (!)' : ''
    const line: Line = [
      { text: sign, tone: face.tone, bold: true },
      { text: cut(face.says, left - widthOf(tail)), tone: face.tone },
      { text: tail },
      { text: more, tone: 'quiet' },
    ]
    return line.map(segment => ({ ...segment, press: '!' }))
  })
}
