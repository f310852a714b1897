/** The newest records as a line of links, and under each what the other side signed. */
import { type EvidenceRow, evidenceRows } from '../../../view/rows.ts'
import { peerName } from '../../../view/sentences.ts'
import type { App } from '../app.ts'
import { type Drawn, h } from '../h.ts'
import { cut, picture } from './frame.ts'

const SHOWN_WIDE = 10
const SHOWN_NARROW = 5
const STEP = 72
const LEFT = 40
const OWN_Y = 40
const PEER_Y = 104
const HEIGHT = 140

type Link = { row: EvidenceRow; peer: string | undefined; both: boolean | undefined }

export function chainPicture(app: App, now: number, isNarrow: boolean): Drawn {
  const most = isNarrow ? SHOWN_NARROW : SHOWN_WIDE
  // from left to right, as they were made
  const links = evidenceRows(app.view, now)
    .slice(0, most)
    .reverse()
    .map(row => linkOf(app, row))
  const broken = links.filter(({ row }) => row.link === 'broken').length
  const signed = links.filter(({ both }) => both === true).length
  const faults = broken === 0 ? 'every link that was looked at holds' : `${broken} of the links do NOT hold`
  return picture(
    {
      id: 'chain',
      title: 'The chain, and what the other sides signed',
      says: `The newest ${links.length} records: ${faults}; ${signed} belong to a receipt that both sides signed.`,
      width: LEFT * 2 + STEP * (most - 1),
      height: HEIGHT,
      table: {
        heads: ['Record', 'What', 'Link', 'With', 'Receipt'],
        rows: links.map(({ row, peer, both }) => [
          `#${row.seq}`,
          row.says,
          SAID[row.link],
          peer ?? '',
          both === undefined ? '' : both ? 'both signed' : 'not by both yet',
        ]),
      },
    },
    links.map((link, i) => drawn(app, link, i)),
  )
}

const SAID: Record<EvidenceRow['link'], string> = {
  holds: 'holds',
  broken: 'BROKEN',
  first: 'the first',
  unseen: 'not loaded',
}

function linkOf(app: App, row: EvidenceRow): Link {
  const item = row.interactionId === undefined ? undefined : app.view.interactions.get(row.interactionId)
  const isReceipt = row.type === 'svc.interaction.receipt' || row.type === 'svc.result.accepted'
  return {
    row,
    peer: item && peerName(item),
    both: isReceipt ? item?.receipt?.verified === true : undefined,
  }
}

function drawn(app: App, { row, peer, both }: Link, i: number): Drawn {
  const x = LEFT + STEP * i
  const isOpen = app.ui.open === String(row.seq)
  return h(
    'g',
    { key: row.id },
    row.link !== 'first' &&
      h('line', {
        class: `link ${row.link}`,
        x1: i === 0 ? x - LEFT + 6 : x - STEP + 14,
        x2: x - 14,
        y1: OWN_Y,
        y2: OWN_Y,
      }),
    both !== undefined &&
      h('line', { class: `joint ${both ? 'good' : 'wait'}`, x1: x, x2: x, y1: OWN_Y + 14, y2: PEER_Y - 10 }),
    h('rect', {
      class: `record ${both === undefined ? 'plain' : both ? 'good' : 'wait'}${isOpen ? ' open' : ''}`,
      x: x - 14,
      y: OWN_Y - 14,
      width: 28,
      height: 28,
      rx: 7,
    }),
    h('text', { x, y: OWN_Y + 4, class: 'glyph' }, GLYPHS[row.type] ?? '·'),
    h('text', { x, y: 16, class: 'label' }, `#${row.seq}`),
    both !== undefined && h('circle', { class: `record ${both ? 'good' : 'wait'}`, cx: x, cy: PEER_Y, r: 9 }),
    both === true && h('text', { x, y: PEER_Y + 4, class: 'glyph small' }, '✓'),
    both !== undefined && h('text', { x, y: PEER_Y + 28, class: 'label' }, cut(peer ?? 'unknown', 10)),
  )
}

const GLYPHS: Record<string, string> = {
  'svc.delegation.sent': '↑',
  'svc.delegation.expired': '×',
  'svc.interaction.receipt': '✎',
  'svc.result.accepted': '✓',
  'svc.payment.authorized': '$',
  'svc.payment.settled': '$',
  'svc.payment.lost': '!',
}
