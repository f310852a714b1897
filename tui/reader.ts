/** The screen for a screen reader: what matters now in a few plain lines, top down, without frames and columns. */
import { cleanLine, cleanText } from '../view/clean.ts'
import { banners, screenFace } from '../view/faces.ts'
import { keysOf, type Place } from '../view/keys.ts'
import { agentRows, evidenceRows, sentOf, taskRow } from '../view/rows.ts'
import { peerName } from '../view/sentences.ts'
import { cut, type Line, wrapped } from './cells.ts'
import { conversationLines } from './conversation.ts'
import { foot } from './foot.ts'
import { foundSays } from './found.ts'
import type { Frame } from './frame.ts'
import { confirmNow } from './on-tasks.ts'
import { paneOf, type Scene } from './scene.ts'
import { nodePage } from './side.ts'
import { placeOf } from './update.ts'

/** Signs that a reader would skip or spell. */
const SPOKEN: Readonly<Record<string, string>> = {
  '/': 'slash',
  '?': 'question mark',
  ':': 'colon',
  '!': 'exclamation mark',
  '*': 'star',
  esc: 'escape',
}
const spoken = (key: string): string =>
  SPOKEN[key] ?? (/^[A-Z]$/.test(key) ? `capital ${key}` : key.replace('ctrl-', 'control '))

const LINES_MAX = 200
const NAMES = {
  inbox: 'Tasks to me',
  sent: 'Tasks from me',
  agents: 'Agents',
  evidence: 'Evidence',
  node: 'Node',
}

export function readerFrame(scene: Scene): Frame {
  const { model, view, now } = scene
  const width = Math.max(40, model.size.columns)
  const faces = banners(view, now).map(({ says, next }) =>
    next === undefined ? says : `${says}. Next: ${next}`,
  )
  const place = placeOf(model)
  const texts = [standing(scene), ...faces, ...contentOf(scene, width)]
  const lines = texts
    .flatMap(text => wrapped(cleanText(text), width))
    .slice(0, LINES_MAX)
    .map((text): Line => [{ text }])
  const { line, above = [] } = foot(scene, place, width)
  const last = line.map(({ text }) => ({ text: text.trimEnd() === '' ? '' : text }))
  return { lines: [...lines, ...typedLine(scene), ...above, last] }
}

/** Who this is and how it stands, before anything else. */
function standing({ view, model }: Scene): string {
  const { status, connection } = view
  const screen = placeOf(model) === 'help' ? 'Help. ' : ''
  if (status === undefined || connection.state !== 'live') return `${screen}Node ${connection.state}.`
  const { unread, pending, outbox } = status.counts
  const hub = status.hub === null ? 'no hub' : `hub ${status.hub.state}`
  const waiting = [
    ...(pending > 0 ? [`${pending} ask you`] : []),
    ...(unread > 0 ? [`${unread} unread`] : []),
    ...(outbox > 0 ? [`${outbox} going out`] : []),
  ].join(', ')
  return `${screen}${cleanLine(status.name, 64) || 'Your node'}: ${hub}${waiting === '' ? '' : `, ${waiting}`}.`
}

/** The line that is being typed, with its end, since a reader sees no cursor. */
function typedLine({ model }: Scene): Line[] {
  const { prompt, confirm } = model
  if (prompt === undefined || confirm !== undefined) return []
  return [[{ text: `Typing: ${cleanLine(prompt.buffer.text) || 'nothing yet'}.` }]]
}

/** The help, and messages that are searched. */
function overOf(scene: Scene): string[] | undefined {
  const { model, view } = scene
  if (model.help !== undefined)
    return keysOf(model.help.place as Place).map(
      ({ keys, says }) => `${keys.map(spoken).join(' or ')}: ${says}.`,
    )
  if (model.prompt?.kind === 'search_all') {
    const at = Math.min(model.foundAt ?? 0, Math.max(0, view.search.matches.length - 1))
    const match = view.search.matches[at]
    return [
      foundSays(scene, at),
      ...(match === undefined ? [] : [`${peerName(match)}: ${cleanLine(match.text)}`]),
    ]
  }
  return undefined
}

function contentOf(scene: Scene, width: number): string[] {
  const { model, view } = scene
  const { confirm, output, composer, thread } = model
  if (model.isWelcome)
    return [
      'This node has no hub yet.',
      'j: join a hub. h: host one on this machine. d: see a demo. Escape: not now.',
    ]
  if (confirm !== undefined)
    return [
      confirm.asks,
      ...confirmNow(scene, confirm).facts.map(([name, value]) => `${name}: ${value}`),
      `Press y for yes,${confirm.because === undefined ? '' : ' r to write why,'} n for no.`,
    ]
  const over = overOf(scene)
  if (over !== undefined) return over
  if (output !== undefined) return [output.title, cut(output.text, 20_000)]
  const written =
    composer === undefined
      ? []
      : [`Writing: ${composer.buffer.text}`, ...composer.files.map(file => `File: ${file}`)]
  if (thread !== undefined) {
    const lines = conversationLines(scene, thread.id, { width, height: 60 }, thread).map(line =>
      line
        .map(({ text }) => text)
        .join('')
        .replace(/[│▌─]/g, '')
        .trim(),
    )
    return [...lines.filter(line => line !== ''), ...written]
  }
  if (model.screen === 'node')
    return nodePage(scene, width, 100)
      .map(line =>
        line
          .map(({ text }) => text)
          .join('')
          .trim(),
      )
      .filter(line => line !== '')
  const { ids } = scene.cache.rows(model, view)
  const face = screenFace(view, model.screen, ids.length)
  const at = ids.indexOf(paneOf(model).selected ?? '')
  const place = ids.length === 0 ? '' : `, row ${at + 1} of ${ids.length}`
  return [
    `${NAMES[model.screen]}${place}.`,
    ...(face === undefined ? [rowText(scene, at)] : [face.says, face.next ?? '']),
    ...written,
  ].filter(text => text !== '')
}

function rowText({ model, view, cache, now }: Scene, at: number): string {
  if (model.screen === 'agents') {
    const row = agentRows(view, now, paneOf(model).filter)[at]
    return row === undefined
      ? ''
      : `${row.contact ?? row.name}, ${row.contact === undefined ? 'no contact' : 'contact'}, seen ${row.seen}. ${row.summary} ${row.caps}`
  }
  if (model.screen === 'evidence') {
    const row = evidenceRows(view, now, paneOf(model).filter)[at]
    return row === undefined ? '' : `Record ${row.seq}, ${row.age}: ${row.says}. Link ${row.link}.`
  }
  const item = cache.rows(model, view).items[at]
  if (item === undefined) return ''
  const row = taskRow(item, now, sentOf(view, item))
  const notes = row.notes.map(note => note.says).join(', ')
  const unread = row.unread > 0 ? `, ${row.unread} unread` : ''
  return `${row.peer}${row.isStranger ? ', no contact' : ''}, ${row.state}, ${row.age}${unread}: ${row.text}${notes === '' ? '' : `. ${notes}`}`
}
