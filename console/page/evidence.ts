/** The evidence chain: as a picture of linked records, as a list, and each record with what it holds. */
import { clock } from '../../view/ages.ts'
import { cleanLine, cleanText } from '../../view/clean.ts'
import { screenFace } from '../../view/faces.ts'
import { type EvidenceRow, evidenceRows, headRows } from '../../view/rows.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { faceBlock } from './helping.ts'
import { button, card, chip, facts, mark } from './parts.ts'
import { tableOf } from './pictures/frame.ts'
import { filterField } from './tasks.ts'
import { back } from './thread.ts'
import { titles } from './ui.ts'

export const evidenceOf = (app: App, now: number): EvidenceRow[] =>
  evidenceRows(app.view, now, app.ui.filter.evidence)

export function evidenceList(app: App, now: number): Drawn {
  const rows = evidenceOf(app, now)
  const { records, head } = app.view.evidence
  const face = screenFace(app.view, 'evidence', records.length)
  const isWhole = records.at(-1)?.seq === 0
  return h(
    'section',
    { class: 'list', key: 'list-evidence', 'aria-labelledby': 'list-title' },
    h(
      'div',
      { class: 'list-head' },
      h('h2', { id: 'list-title' }, titles.evidence),
      filterField(app, 'evidence'),
    ),
    head !== undefined &&
      h(
        'p',
        { class: 'pad', key: 'head' },
        chip(
          head.state === 'ACTIVE' ? 'good' : 'bad',
          head.state === 'ACTIVE' ? 'active' : cleanLine(head.state),
        ),
        ` ${head.length} ${head.length === 1 ? 'record' : 'records'}`,
      ),
    face && faceBlock(app, face),
    records.length > 0 &&
      rows.length === 0 &&
      h(
        'p',
        { class: 'soft pad', role: 'status' },
        isWhole ? 'No record fits.' : 'Searching older records …',
      ),
    app.ui.from > 0 &&
      h(
        'p',
        { class: 'pad', key: 'newer' },
        button('Show newer records', () => app.set({ from: 0 }), { class: 'quiet' }),
      ),
    rows.length > 0 &&
      h(
        'ul',
        { class: 'rows', key: 'rows' },
        rows.slice(app.ui.from, app.ui.from + app.ui.shown).map(row => recordItem(app, row)),
      ),
    records.length > 0 &&
      (!isWhole || rows.length > app.ui.from + app.ui.shown) &&
      h(
        'p',
        { class: 'pad', key: 'more' },
        button('Show older records', () => older(app), { class: 'quiet' }),
      ),
  )
}

function older(app: App): void {
  app.set({ shown: app.ui.shown + 100 })
  void app.live.moreEvidence()
}

const LINKS: Record<EvidenceRow['link'], [string, string, 'good' | 'bad' | 'quiet']> = {
  holds: ['✓', 'links to the record before it', 'good'],
  broken: ['!', 'does NOT link to the record before it', 'bad'],
  first: ['●', 'the first record', 'good'],
  unseen: ['○', 'the record before it is not loaded', 'quiet'],
}

function recordItem(app: App, row: EvidenceRow): Drawn {
  const [sign, says, tone] = LINKS[row.link]
  return h(
    'li',
    { key: row.id },
    h(
      'a',
      {
        class: `row${app.ui.cursor.evidence === String(row.seq) ? ' at' : ''}`,
        href: `#/evidence/${row.seq}`,
        'aria-current': app.ui.open === String(row.seq) ? 'true' : undefined,
        'data-row': String(row.seq),
        onclick: event => {
          event.preventDefault()
          app.open(String(row.seq))
        },
      },
      h(
        'span',
        { class: 'row-head' },
        mark(sign, tone),
        h('span', { class: 'seq' }, `#${row.seq}`),
        h('span', { class: 'peer' }, row.says),
        h('span', { class: 'unseen' }, says),
        h('time', { datetime: new Date(row.at).toISOString() }, row.age),
      ),
      h('span', { class: 'row-notes soft' }, h('code', {}, row.type)),
    ),
  )
}

/** One record, with what it holds and what it links to. */
export function evidencePane(app: App, open: string, now: number): Drawn {
  const record = app.view.evidence.records.find(one => String(one.seq) === open)
  const row = evidenceRows(app.view, now).find(one => String(one.seq) === open)
  if (record === undefined || row === undefined) return absent(app)
  const [, says, tone] = LINKS[row.link]
  const { interactionId } = row
  return h(
    'article',
    { class: 'detail', key: `record-${record.seq}`, 'aria-labelledby': 'detail-title', tabindex: '-1' },
    back(app),
    h('h2', { id: 'detail-title' }, `Record #${record.seq}: ${row.says}`),
    facts([
      ['Link', mark(LINKS[row.link][0], tone), says],
      ['Type', h('code', {}, row.type)],
      ['Time', clock(record.timestamp, now)],
      [
        'Id',
        h('code', {}, row.recordId),
        ' ',
        button('Copy', () => void app.copy(row.recordId, 'the id'), {
          class: 'small',
          'aria-label': 'Copy the id',
        }),
      ],
      ['Before it', h('code', {}, cleanLine(record.prev_id))],
      ['Signed by', h('code', {}, cleanLine(record.signer_aid))],
      ['Signature', h('code', {}, cleanLine(record.sig))],
    ]),
    interactionId !== undefined &&
      app.view.interactions.has(interactionId) &&
      h(
        'p',
        {},
        button('Open the task', () => openTask(app, interactionId)),
      ),
    card(
      'What it holds',
      h(
        'pre',
        { tabindex: '0', 'aria-label': 'Payload of the record' },
        cleanText(JSON.stringify(record.payload, null, 2) ?? ''),
      ),
    ),
  )
}

const absent = (app: App): Drawn =>
  h(
    'article',
    { class: 'detail', key: 'absent' },
    back(app),
    h('p', { class: 'soft' }, 'This record is not among those that are loaded.'),
  )

function openTask(app: App, id: string): void {
  const side = app.view.interactions.get(id)?.side
  app.open(id, side === 'sent' ? 'sent' : 'inbox')
}

export function headsCard(app: App): Drawn {
  const rows = headRows(app.view)
  const none =
    app.view.heads === undefined
      ? 'Asking the node …'
      : 'Nobody has signed a head to you yet; the first receipt brings one.'
  return card(
    'Heads that both sides hold',
    h(
      'p',
      { class: 'soft' },
      'A correspondent signs how far its own chain reached. What it cuts or writes anew after that can be shown to anybody.',
    ),
    rows.length === 0
      ? h('p', {}, none)
      : tableOf(
          {
            heads: ['Whose chain', 'Records', 'Head'],
            rows: rows.map(({ peer, length, headId }) => [peer, length, headId]),
          },
          'Heads',
        ),
  )
}
