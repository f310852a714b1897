/** The tables within docs/devices.md: what goes over the device link, quirks and limits. The rest is written by hand. */
import { readFileSync } from 'node:fs'
import { fromAdapter, fromNode } from '../daemon/modules/svclink/frames.ts'
import { limits } from '../daemon/modules/svclink/limits.ts'
import { quirks } from '../daemon/modules/svclink/quirks.ts'
import type { Shape } from '../protocol/contract/route.ts'
import { betweenMarks } from './between-marks.ts'
import { membersOf, schemaOf } from './members.ts'

const PAGE = new URL('../docs/devices.md', import.meta.url)

/** The page with its tables as the code says them. */
export function devicesDocument(): string {
  return betweenMarks(readFileSync(PAGE, 'utf8'), '<!-- tables -->', tables())
}

function tables(): string {
  return [
    '## What an adapter writes\n\n`?` marks a member that may be absent. Any other member is refused.',
    ...Object.entries(fromAdapter).map(([name, shape]) => lineTable(name, shape)),
    '## What the node writes\n\nMembers may be added, so ignore those that you do not know.',
    ...Object.entries(fromNode).map(([name, shape]) => lineTable(name, shape)),
    quirkTable(),
    limitTable(),
  ].join('\n\n')
}

function lineTable(name: string, shape: Shape): string {
  const rows = membersOf(schemaOf(shape))
    .filter(member => member.name !== 'type')
    .map(({ name: member, type, optional }) => `| \`${member}\`${optional ? ' ?' : ''} | ${type} |`)
  return [`| \`${name}\` | |\n|---|---|`, ...rows].join('\n')
}

function quirkTable(): string {
  const rows = Object.entries<{ says: string; verify?: number }>(quirks).map(
    ([id, { says, verify }]) => `| \`${id}\` | ${says} | ${verify === undefined ? '' : `V${verify}`} |`,
  )
  return [
    '## Quirks\n\nA description names what is odd about a capability. The node then corrects numbers both ways, and puts the ids into `quirk`. One that has a tier lowers the trust to it.\n',
    '| Quirk | The device | At most |\n|---|---|---|',
    ...rows,
  ].join('\n')
}

function limitTable(): string {
  const rows = Object.values(limits).map(({ value, unit, says }) => `| ${says} | ${shown(value, unit)} |`)
  return ['## Limits\n\n| What | At most |\n|---|---|', ...rows].join('\n')
}

const KIB = 1024
const SECOND_MS = 1000

function shown(value: number, unit: string): string {
  switch (unit) {
    case 'bytes':
      return value >= KIB * KIB ? `${value / KIB / KIB} MiB` : `${value / KIB} KiB`
    case 'ms':
      return `${value / SECOND_MS} s`
    default:
      return value.toLocaleString('en')
  }
}
