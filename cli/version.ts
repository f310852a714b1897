/** `svc version`: version, commit, build time, compiled modules. */
import { buildInfo } from '../protocol/build-info.ts'
import type { Run } from './command.ts'
import { printJson } from './io.ts'

export const version: Run = async io => {
  printJson(io, {
    version: buildInfo.version,
    commit: buildInfo.commit,
    built_at: buildInfo.builtAt,
    build: buildInfo.build,
    node: process.versions.node,
    modules: '(none)',
  })
  return 0
}
