/** Every SQL statement of the node, those that it builds in each way in which they may be. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { statementsIn } from '../../protocol/testing/statements.ts'
import { HAS_WORDS } from '../store/search.ts'

export const root = new URL('../..', import.meta.url).pathname

/** Sources of the node, without its tests and what makes its tables. */
export const sources = readdirSync(join(root, 'daemon'), { recursive: true, encoding: 'utf8' })
  .map(path => join(root, 'daemon', path))
  .filter(
    path =>
      /\.ts$/.test(path) &&
      !/\.test\.ts$|\/testing|schema(?:-\w+)?\.ts$|upgrades\.ts$|from-memory\.ts$/.test(path),
  )

/** What stands in a built statement where it is no constant: the most that it may be there, each way by itself. */
const BUILT: Readonly<Record<string, readonly string[]>> = {
  "[...conditions, part].join(' AND ')": [
    'side = ?1 AND true',
    "side = ?1 AND (updated_at, key) < (?3, ?4) AND state = 'ended'",
    `side = ?1 AND ${HAS_WORDS} AND state = 'pending'`,
  ],
  "conditions.join(' AND ')": ['seq >= ? AND seq < ? AND type = ? AND instr(record, ?) > 0'],
  'columnOf(member)': ['gave_up_at'],
  columns: ['alarm, compared_seq'],
  clause: ['state_at >= ?', 'state_at >= ? AND agent = ? AND context = ? AND state = ?'],
  "members.map(member => `${columnOf(member)} = ?`).join(', ')": ['state = ?, updated_at = ?'],
  "ofKinds.join(', ')": ['1, 2'],
  "peer === undefined ? '' : ' AND i.peer = ?'": ['', ' AND i.peer = ?'],
}
/** Lists of numbers of kinds. */
const OF_KINDS = /^(?:kinds\.\w+|SPOKEN|MOVES|wordKinds|DAY_MS)$/

export const askedStatements = (): string[] => statementsIn(sources, { ways: BUILT, numbers: OF_KINDS })
