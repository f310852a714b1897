/** The whole screen as lines of exactly its width, and where the cursor stands. Pure: the same scene gives the same frame. */

import type { Focus } from '../view/keys.ts'
import { fitted, type Line, wrapped } from './cells.ts'
import { conversationLines } from './conversation.ts'
import { foot } from './foot.ts'
import { formLines } from './form-lines.ts'
import { foundLines } from './found.ts'
import { bannerLines, headLines } from './head.ts'
import { type Layout, layoutOf } from './layout.ts'
import { listLines } from './list.ts'
import { isTooSmall, type Model, SMALLEST } from './model.ts'
import { confirmNow } from './on-tasks.ts'
import { composerLines, confirmLines, helpLines, outputLines, welcomeLines } from './overlays.ts'
import { paneOf, peekOf, type Scene } from './scene.ts'
import { settingLines } from './settings-list.ts'
import { agentPage, evidencePage, nodePage } from './side.ts'
import { placeOf } from './update.ts'

export type Cursor = { readonly x: number; readonly y: number }
export type Frame = { readonly lines: readonly Line[]; readonly cursor?: Cursor | undefined }

export function frameOf(scene: Scene): Frame {
  const { model, view, now } = scene
  const { columns: width, rows } = model.size
  if (isTooSmall(model.size)) return tooSmall(width, rows)
  const layout = layoutOf(model, view, now)
  const place = placeOf(model)
  const over = [...headLines(scene, width), ...bannerLines(scene, layout.banners, width)]
  const body = bodyOf(scene, layout, width)
  const last = foot(scene, place, width)
  const above = last.above ?? []
  const shown = body.lines.slice(0, Math.max(0, body.lines.length - above.length))
  const lines = [...over, ...shown, ...above, last.line].map(line => fitted(line, width))
  const cursor = last.cursor === undefined ? body.cursor : { x: last.cursor.x, y: rows - 1 }
  const fromTop =
    last.cursor === undefined && cursor !== undefined ? { x: cursor.x, y: cursor.y + over.length } : cursor
  return { lines, cursor: fromTop }
}

const LEAST = `${SMALLEST.columns}×${SMALLEST.rows}`
/** The last one fits on two lines of ten cells. */
const TOO_SMALL = [
  `svc: make the terminal at least ${LEAST}; q quits`,
  `svc needs ${LEAST}; q quits`,
  `svc needs ${LEAST}`,
]

/** As much of the notice as there is room for. */
function tooSmall(width: number, rows: number): Frame {
  const height = Math.max(1, rows)
  const fits = (says: string) => {
    const lines = wrapped(says, width)
    return lines.length <= height && lines.join(' ') === says
  }
  const says = wrapped(TOO_SMALL.find(fits) ?? (TOO_SMALL.at(-1) as string), width)
  const lines = Array.from({ length: height }, (_, i): Line => fitted([{ text: says[i] ?? '' }], width))
  return { lines }
}

type Body = { lines: readonly Line[]; cursor?: Cursor }

function bodyOf(scene: Scene, layout: Layout, width: number): Body {
  const { model } = scene
  const { body: height } = layout
  if (model.confirm !== undefined)
    return { lines: confirmLines(confirmNow(scene, model.confirm), width, height, model.confirmTop) }
  if (model.help !== undefined) return { lines: helpLines(helpOf(model, model.help), width, height) }
  if (model.output !== undefined) return { lines: outputLines(model.output, width, height, scene.now) }
  if (model.prompt?.kind === 'search_all') return { lines: foundLines(scene, width, height) }
  if (model.isWelcome) return { lines: welcomeLines(model, width, height) }
  if (model.form !== undefined) return formLines(scene.view, model.form, width, height)
  if (model.screen === 'node' && !layout.isWide) return { lines: nodeLines(scene, layout, width) }
  return layout.isWide ? twoPanes(scene, layout) : onePane(scene, layout, width)
}

const helpOf = ({ isAscii }: Model, { place, top }: NonNullable<Model['help']>) => ({
  place: place as Focus,
  top,
  isAscii,
})

function onePane(scene: Scene, layout: Layout, width: number): Body {
  const { model } = scene
  const room = layout.body - layout.composer
  const lines =
    model.thread !== undefined
      ? conversationLines(scene, model.thread.id, { width, height: room }, model.thread)
      : listLines(scene, width, room)
  return withComposer(scene, { lines, width, height: layout.composer, x: 0 })
}

function twoPanes(scene: Scene, layout: Layout): Body {
  const { model } = scene
  const { body, listColumns, threadColumns, composer } = layout
  const left = (model.screen === 'node' ? settingLines : listLines)(scene, listColumns, body)
  const side = sideLines(scene, threadColumns, body - composer)
  const right = withComposer(scene, {
    lines: side,
    width: threadColumns,
    height: composer,
    x: listColumns + 1,
  })
  const edge = { text: '│', tone: model.thread === undefined ? ('quiet' as const) : ('wait' as const) }
  const lines = left.map((line, i): Line => [...line, edge, ...(right.lines[i] ?? [])])
  return { ...right, lines }
}

function sideLines(scene: Scene, width: number, height: number): readonly Line[] {
  const { model } = scene
  if (model.thread !== undefined)
    return conversationLines(scene, model.thread.id, { width, height }, model.thread)
  if (model.screen === 'agents') return agentPage(scene, width, height)
  if (model.screen === 'evidence') return evidencePage(scene, width, height)
  if (model.screen === 'node') return nodePage(scene, width, height)
  const { selected } = paneOf(model)
  return conversationLines(scene, selected, { width, height }, { up: peekOf(model, selected) })
}

/** What the node says of itself, and what can be set under it. */
function nodeLines(scene: Scene, { body, settings }: Layout, width: number): readonly Line[] {
  return [...nodePage(scene, width, body - settings), ...settingLines(scene, width, settings)]
}

type Under = { lines: readonly Line[]; width: number; height: number; x: number }

function withComposer({ model }: Scene, { lines, width, height, x }: Under): Body {
  if (model.composer === undefined) return { lines }
  const composed = composerLines(model.composer, width, height)
  return {
    lines: [...lines, ...composed.lines],
    ...(model.prompt === undefined && {
      cursor: { x: x + composed.cursor.x, y: lines.length + composed.cursor.y },
    }),
  }
}
