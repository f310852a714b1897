/** The list of what can be set, on the screen of the node: a group, a name, what stands now or why it is not offered. */
import { groups } from '../view/settings/setting.ts'
import { settings } from '../view/settings.ts'
import { cell, fitted, type Line, ofRow } from './cells.ts'
import { paneOf, type Scene } from './scene.ts'

export const settingIds: readonly string[] = settings.map(({ id }) => id)

const GROUP = 20

/** Exactly `height` lines of `width` cells. */
export function settingLines({ model, view, now: at }: Scene, width: number, height: number): Line[] {
  const { selected, top } = paneOf(model)
  const hasGroup = width >= 44
  const rows = settings.slice(top, top + height - 1).map((row, i): Line => {
    const isFirst = i === 0 || settings[top + i - 1]?.group !== row.group
    const style = row.id === selected ? { inverse: true } : {}
    const unless = row.unless?.(view)
    const now = unless ?? row.shows?.(view, at)
    const line: Line = [
      { text: ' ' },
      ...(hasGroup ? [{ text: cell(isFirst ? groups[row.group] : '', GROUP), tone: 'quiet' as const }] : []),
      { text: row.heading, dim: unless !== undefined },
      ...(now === undefined ? [] : [{ text: `  ${now}`, tone: 'quiet' as const }]),
    ]
    const styled = line.map(segment => ({ ...segment, ...style }))
    return ofRow(fitted(styled, width, style), row.id)
  })
  const head = fitted([{ text: ' what can be set; enter changes it', tone: 'quiet' }], width)
  const blank: Line = [{ text: ' '.repeat(width) }]
  const lines = [head, ...rows]
  return [
    ...lines.slice(0, height),
    ...Array.from({ length: Math.max(0, height - lines.length) }, () => blank),
  ]
}
