/** The lines over the body: who this is and how it stands, the five screens, and what is wrong. */

import { cleanLine } from '../view/clean.ts'
import { banners } from '../view/faces.ts'
import { type Screen, screens } from '../view/rows.ts'
import { shortAid } from '../view/sentences.ts'
import type { View } from '../view/state.ts'
import { cut, type Line, lineWidth, type Segment, spread, widthOf } from './cells.ts'
import type { Scene } from './scene.ts'

const NAMES: Record<Screen, string> = {
  inbox: 'To me',
  sent: 'From me',
  agents: 'Agents',
  evidence: 'Evidence',
  node: 'Node',
}

export function headLines({ model, view }: Scene, width: number): Line[] {
  const who = identity(view, width)
  return [spread(who, counters(view, width - lineWidth(who) - 1), width), tabs(model.screen, view, width)]
}

function identity({ status, connection }: View, width: number): Line {
  const address = status === undefined ? '' : shortAid(status.aid)
  const name = cleanLine(status?.name ?? '', 32) || address
  const hub = status?.hub_url ? `@${hostOf(status.hub_url)}` : ''
  const light = lightOf({ status, connection })
  return [
    { text: ' svc ', inverse: true, bold: true },
    { text: ` ${cut(name, 24)}`, bold: true },
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
function counters({ status }: View, room: number): Line {
  if (status === undefined) return []
  const { unread, pending, outbox } = status.counts
  const auto: Segment =
    status.auto_reply === undefined
      ? { text: 'auto off ', tone: 'quiet' }
      : { text: 'auto ON ', tone: 'good' }
  const parts: Segment[] = [
    ...(pending > 0 ? [{ text: `${pending} ask you  `, tone: 'warn' as const, bold: true }] : []),
    ...(unread > 0 ? [{ text: `${unread} unread  `, bold: true }] : []),
    ...(outbox > 0 ? [{ text: `${outbox} going out  `, tone: 'wait' as const }] : []),
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
  return [{ text, ...(isCurrent ? { bold: true, underline: true } : { dim: true }) }, { text: ' ' }]
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
      ...(isCurrent ? { bold: true, underline: true } : { dim: true }),
    },
  ]
}

/** As many of what is wrong as there is room for, the worst first. */
export function bannerLines({ view, now }: Scene, count: number, width: number): Line[] {
  const faces = banners(view, now)
  return faces.slice(0, count).map((face, i): Line => {
    const more = i === count - 1 && faces.length > count ? `  (+${faces.length - count}: !)` : ''
    const next = face.next === undefined ? '' : `  → ${face.next}`
    const sign = face.tone === 'bad' ? ' ✗ ' : ' ! '
    const room = width - widthOf(sign) - widthOf(more) - widthOf(next) - 1
    const says = cut(face.says, Math.max(20, room))
    return [
      { text: sign, tone: face.tone, bold: true },
      { text: says, tone: face.tone },
      { text: next },
      { text: more, tone: 'quiet' },
    ]
  })
}
