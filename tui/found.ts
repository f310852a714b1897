/** Messages of all conversations that hold what is typed: a list under the line that is being written. */
import { age } from '../view/ages.ts'
import { cleanLine } from '../view/clean.ts'
import { peerName } from '../view/sentences.ts'
import { cell, cut, fitted, type Line, ofRow, spread } from './cells.ts'
import type { Scene } from './scene.ts'

/** Exactly `height` lines, two for each message. */
export function foundLines(scene: Scene, width: number, height: number): Line[] {
  const { view, model, now } = scene
  const { matches } = view.search
  const at = Math.min(model.foundAt ?? 0, Math.max(0, matches.length - 1))
  const room = Math.max(1, Math.floor((height - 1) / 2))
  const top = Math.max(0, Math.min(at - Math.floor(room / 2), matches.length - room))
  const rows = matches.slice(top, top + room).flatMap((match, i): Line[] => {
    const row = String(top + i)
    const style = top + i === at ? { inverse: true } : {}
    const who = match.mine ? `you to ${peerName(match)}` : peerName(match)
    return [
      spread(
        [{ text: ` ${cell(who, 30)}`, bold: true }],
        [{ text: `${age(match.at, now)} `, tone: 'quiet' }],
        width,
      ).map(segment => ({ ...segment, ...style, row })),
      ofRow(
        fitted([{ text: `   ${cut(cleanLine(match.text, 400), width - 4)}`, ...style }], width, style),
        row,
      ),
    ]
  })
  const lines = [fitted([{ text: ` ${foundSays(scene, at)}`, tone: 'quiet' }], width), ...rows]
  const blank: Line = [{ text: ' '.repeat(width) }]
  return [
    ...lines.slice(0, height),
    ...Array.from({ length: Math.max(0, height - lines.length) }, () => blank),
  ]
}

/** How far the node has looked, in words. */
export function foundSays({ view, model }: Scene, at: number): string {
  const { matches, loading, loaded, refusal, nextCursor } = view.search
  if ((model.prompt?.buffer.text ?? '').trim() === '')
    return 'messages of all conversations, by the beginnings of words'
  if (refusal !== undefined) return cleanLine(refusal.says)
  if (matches.length > 0)
    return `${at + 1} of ${matches.length}${nextCursor === undefined ? '' : '+'}; ↑ ↓ choose, enter opens`
  return loading || !loaded ? 'searching …' : 'no message of any conversation fits'
}
