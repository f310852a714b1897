/** The tables of routes, codes and commands as plain rows, for the printed documents and for whoever holds the specification. */

import { callPaths, GLOBAL_FLAGS } from '../cli/command.ts'
import { commands } from '../cli/table.ts'
import type { RouteRow } from '../protocol/contract/route.ts'
import { controlCodes } from '../protocol/control/codes.ts'
import { controlRoutes, operations } from '../protocol/control/operations.ts'
import { present } from '../protocol/encoding/present.ts'
import { failures } from '../protocol/wire1/failures.ts'
import { adminRoutes } from '../protocol/wire1/routes/admin.ts'
import { wire1Routes } from '../protocol/wire1/routes.ts'
import { authCodes, codes, commonCodes } from '../protocol/wire3/codes.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'

/** `operator`: the listener of its own, whose failures are those of wire 1. */
export type Line = 'wire3' | 'wire1' | 'operator' | 'control'

export function routeRows() {
  const lines: [Line, Record<string, RouteRow>][] = [
    ['wire3', wire3Routes],
    ['wire1', wire1Routes],
    ['operator', adminRoutes],
    ['control', { ...operations, ...controlRoutes }],
  ]
  return lines.flatMap(([line, table]) => Object.values(table).map(row => printed(line, row)))
}

function printed(line: Line, row: RouteRow) {
  return {
    line,
    method: row.method,
    path: row.path,
    auth: row.auth,
    ...present({ action: row.action }),
    codes: [...row.codes].sort(),
    limits: row.limits,
    ...(row.own ? { own: true } : {}),
  }
}

export function codeRows() {
  const wire3 = Object.entries(codes).map(([code, row]) => ({
    line: 'wire3' as const,
    code,
    status: row.status,
    members: row.members,
  }))
  const control = Object.entries(controlCodes).map(([code, row]) => ({
    line: 'control' as const,
    code,
    status: row.status,
    members: [],
  }))
  const wire1 = Object.entries(failures).map(([code, status]) => ({
    line: 'wire1' as const,
    ...{ code, status, members: [] },
  }))
  return [...wire3, ...wire1, ...control]
}

export const common = { any: commonCodes, ...authCodes }

export function commandRows() {
  return commands.map(row => ({
    path: row.path,
    aliases: callPaths(row)
      .slice(1)
      .filter(alias => (row.aliases ?? []).includes(alias)),
    flags: [...(row.flags ?? []), ...GLOBAL_FLAGS].map(flag => ({
      name: flag.name,
      value: flag.value ?? null,
      repeat: flag.repeat === true,
    })),
    positionals: (row.positionals ?? []).map(({ name, required, repeat }) => ({
      name,
      required: required === true,
      repeat: repeat === true,
    })),
    needsDaemon: row.needsDaemon,
  }))
}
