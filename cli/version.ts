/** `svc version`: version, commit, build time, compiled modules. */
import { buildInfo } from '../protocol/build-info.ts'
import { printJson } from './io.ts'
import type { Run } from './table.ts'

export const version: Run = async io => {
  printJson(io, {
    version: buildInfo.version,
    commit: buildInfo.commit,
    built_at: buildInfo.builtAt,
    node: process.versions.node,
    modules: '(none)',
  })
  return 0
}
